"""The functionals against linear programmes and CVXPY, with their limits, invariances and gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from windage.functionals import (
    MmdSolver,
    expectation,
    minimax,
    mmd,
    mmd_weights,
    total_variation,
    total_variation_law,
    worst_case,
)
from windage.functionals.mmd_support import WIDE_RANK, Supports, solve_on_support
from windage.surrogate import kernel_factor


def weighted_case(seed: int) -> tuple[np.ndarray, np.ndarray, float, float]:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 40))
    values = rng.normal(size=m) * 10 ** rng.uniform(-1, 1)
    if seed % 4 == 0:  # ties
        values = np.round(values, 0)
    weights = rng.dirichlet(np.full(m, rng.choice([0.1, 1.0, 20.0]))) if seed % 3 else np.full(m, 1 / m)
    radius = float(rng.choice([0.0, rng.uniform(0, 2), 2.0, 0.158]))
    floor = float(values.min() - rng.exponential() * rng.integers(0, 2))
    return values, weights, radius, floor


def tensors(*arrays):
    return [torch.as_tensor(np.asarray(a), dtype=torch.double) for a in arrays]


def closed_form(values, weights, radius, floor) -> float:
    v, w, f = tensors(values, weights, floor)
    return float(total_variation(v[None], w, radius, f[None])[0])


def test_total_variation_equals_the_linear_programme_and_the_dual_on_200_cases():
    worst_primal = worst_dual = 0.0
    for seed in range(200):
        case = weighted_case(seed)
        scale = max(1.0, np.abs(case[0]).max())
        value = closed_form(*case)
        worst_primal = max(worst_primal, abs(value - reference.total_variation_primal(*case)) / scale)
        worst_dual = max(worst_dual, abs(value - reference.total_variation_dual(*case)) / scale)
    assert worst_primal < 1e-9
    assert worst_dual < 1e-9


@given(st.integers(0, 10_000))
def test_total_variation_limits_and_invariances(seed):
    values, weights, radius, floor = weighted_case(seed)
    order = np.random.default_rng(seed).permutation(len(values))
    assert closed_form(values, weights, 0.0, floor) == pytest.approx(weights @ values, abs=1e-12)
    for everything in (2.0, 3.0):
        assert closed_form(values, weights, everything, floor) == pytest.approx(floor, abs=1e-12)
    value = closed_form(values, weights, radius, floor)
    assert closed_form(values[order], weights[order], radius, floor) == pytest.approx(value, abs=1e-12)
    twice_v, twice_w = np.repeat(values, 2), np.repeat(weights / 2, 2)
    assert closed_form(twice_v, twice_w, radius, floor) == pytest.approx(value, abs=1e-12)
    assert closed_form(values, weights, radius + 0.1, floor) <= value + 1e-12
    assert closed_form(3 * values + 2, weights, radius, 3 * floor + 2) == pytest.approx(
        3 * value + 2, abs=1e-9
    )


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 1.9, 2.0, 3.0])
def test_the_worst_law_attains_the_worst_expectation(radius):
    generator = torch.Generator().manual_seed(5)
    values = torch.randn(4, 9, generator=generator, dtype=torch.double)
    weights = torch.rand(9, generator=generator, dtype=torch.double)
    weights = weights / weights.sum()
    for w in (weights, torch.full((9,), 1 / 9, dtype=torch.double)):
        law = total_variation_law(values, w, radius)
        assert torch.allclose((law * values).sum(1), total_variation(values, w, radius))
        assert torch.allclose(law.sum(1), torch.ones(4, dtype=torch.double))
        assert (law >= 0).all()
        assert ((law - w).abs().sum(1) <= radius + 1e-12).all()


def test_total_variation_without_a_floor_uses_the_least_value():
    values, weights = tensors([[3.0, 1.0, 2.0]], [0.2, 0.3, 0.5])
    assert float(total_variation(values, weights, 0.4)) == pytest.approx(0.3 + 1.0 + 0.2)


def test_total_variation_takes_one_row_and_a_plain_floor():
    values, weights = tensors([3.0, 1.0, 2.0], [0.2, 0.3, 0.5])
    assert float(total_variation(values, weights, 0.4, -1.0)) == pytest.approx(0.3 + 1.0 - 0.2)
    third = torch.full((3,), 1 / 3, dtype=torch.double)
    assert float(total_variation(values, third, 0.4, -1.0)) == pytest.approx(1.2)


def test_total_variation_takes_any_leading_shape():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(2, 3, 7, generator=generator, dtype=torch.double)
    for weights in (
        torch.full((7,), 1 / 7, dtype=torch.double),
        torch.rand(7, dtype=torch.double).softmax(0),
    ):
        whole = total_variation(values, weights, 0.5)
        assert whole.shape == (2, 3)
        assert torch.allclose(whole[1, 2], total_variation(values[1, 2][None], weights, 0.5)[0])


def separate(count: int, seed: int) -> torch.Tensor:
    """Rows of values without ties, so that the functional is smooth there."""
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(count) + rng.uniform(-0.2, 0.2, count) for _ in range(3)]
    return torch.tensor(np.array(rows), dtype=torch.double, requires_grad=True)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("radius", [0.0, 0.3, 1.1, 2.0])
def test_total_variation_gradient(radius, equal):
    values = separate(9, seed=3)
    weights = torch.full((9,), 1 / 9) if equal else torch.arange(1.0, 10) / 45
    floor = torch.tensor([-1.0, -2.0, -0.5], dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda v, f: total_variation(v, weights.double(), radius, f), (values, floor)
    )


def mmd_case(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([5, 30, 100]))
    grid = np.linspace(0, 1, n)
    scale = rng.uniform(0.1, 1.0)
    kernel = np.exp(-0.5 * ((grid[:, None] - grid) / scale) ** 2)
    factor = kernel_factor(torch.tensor(kernel)).numpy()
    hits = int(rng.integers(1, 60))
    weights = np.bincount(rng.integers(0, n, hits), minlength=n) / hits
    values = np.sin(rng.uniform(1, 12) * grid + rng.uniform(0, 6)) + rng.normal() * grid
    return values, weights, factor, float(rng.choice([0.02, 0.2, 0.6, 1.5]))


def test_mmd_equals_cvxpy():
    worst = 0.0
    for seed in range(60):
        values, weights, factor, radius = mmd_case(seed)
        v, w, a = tensors(values, weights, factor)
        mine = float(mmd(v[None], w, a, radius)[0])
        worst = max(worst, abs(mine - reference.mmd_ball(values, weights, factor, radius)))
    assert worst < 1e-6


@given(st.integers(0, 10_000))
def test_mmd_weights_are_a_law_in_the_ball(seed):
    values, weights, factor, radius = mmd_case(seed)
    v, w, a = tensors(values, weights, factor)
    batch = torch.stack([v, -v, 1e6 * v, torch.zeros_like(v)])
    worst = mmd_weights(batch, w, a, radius)
    assert (worst >= 0).all()
    assert torch.allclose(worst.sum(1), torch.ones(4, dtype=torch.double), atol=1e-12)
    assert (((worst - w) @ a.mT).norm(dim=1) <= radius + 1e-8).all()
    # scaling the values does not change the law, and the value lies between the minimum and the mean
    assert torch.allclose(worst[0] @ v, worst[2] @ v, atol=1e-7)
    assert v.min() - 1e-9 <= worst[0] @ v <= w @ v + 1e-9


def climb_of_values(n: int, steps: int, seed: int) -> torch.Tensor:
    """Rows of smooth values that change a little from one to the next, as along a climb."""
    rng = np.random.default_rng(seed)
    grid, phase = np.linspace(0, 1, n), rng.uniform(0, 6, 3)
    rows = [
        sum(np.sin((3 + 2 * k) * grid + phase[k] + 0.03 * step) for k in range(3)) + 0.02 * step * grid
        for step in range(steps)
    ]
    return torch.tensor(np.array(rows))


@pytest.mark.parametrize("seed", range(6))
def test_remembering_supports_changes_the_time_and_not_the_result(seed):
    _, weights, factor, radius = mmd_case(3 * seed + 1)
    w, a = tensors(weights, factor)
    values = climb_of_values(len(weights), 40, seed)
    solver = MmdSolver(w, a, radius)
    from_memory = torch.cat([solver(part) for part in values.split(5)])
    plain = mmd_weights(values, w, a, radius)
    spread = values.amax(1) - values.amin(1)
    error = ((from_memory - plain) * values).sum(1).abs() / spread
    assert error.max() < 1e-8
    assert (((from_memory - w) @ a.mT).norm(dim=1) <= radius + 1e-8).all()


def test_most_of_a_climb_is_solved_from_memory_with_a_certificate():
    _, weights, factor, _ = mmd_case(2)
    w, a = tensors(weights, factor)
    values = climb_of_values(len(weights), 40, seed=1)
    low, high = values.amin(1, keepdim=True), values.amax(1, keepdim=True)
    cost = (values - low) / (high - low)
    exact = mmd_weights(values, w, a, 0.3)
    guess = Supports.of(exact)[torch.arange(40).roll(1)]  # each row guesses the one before it
    found = solve_on_support(cost, w, a.mT @ a, 0.3, guess, 1e-9)
    assert found.certain.double().mean() > 0.7
    error = ((found.laws - exact) * cost).sum(1)[found.certain]
    assert error.abs().max() < 1e-8
    wrong = Supports(torch.zeros(40, 16, dtype=torch.long), torch.zeros(40, 16, dtype=torch.bool))
    nothing = solve_on_support(cost, w, a.mT @ a, 0.3, wrong, 1e-9)
    bad = ((nothing.laws - exact) * cost).sum(1)[nothing.certain]
    assert (bad.abs() < 1e-8).all()  # from a bad guess: the right law, or none


def test_mmd_limits():
    values, weights, factor, _ = mmd_case(3)
    v, w, a = tensors(values, weights, factor)
    assert float(mmd(v[None], w, a, 0.0)) == pytest.approx(float(w @ v), abs=1e-12)
    assert float(mmd(v[None], w, a, 10.0)) == pytest.approx(float(v.min()), abs=1e-8)


def test_mmd_gradient_is_the_envelope():
    values, weights, factor, radius = mmd_case(7)
    v, w, a = tensors(values, weights, factor)
    v = v[None].requires_grad_(True)
    (gradient,) = torch.autograd.grad(mmd(v, w, a, radius).sum(), v)
    # along smooth changes, as a decision makes them: the worst law jumps under rough ones
    direction = torch.cos(3 * torch.linspace(0, 1, v.shape[1], dtype=torch.double))[None]
    step = 1e-3
    ahead, behind = (mmd(v.detach() + s * step * direction, w, a, radius) for s in (1, -1))
    assert float((gradient * direction).sum()) == pytest.approx(
        float((ahead - behind) / (2 * step)), abs=1e-4
    )


@given(st.integers(0, 10_000))
def test_minimax_equals_its_formula(seed):
    values, weights, factor, radius = mmd_case(seed)
    v, w, a = tensors(values, weights, factor)
    plain = reference.minimax_formula(values, weights, factor.T @ factor, radius)
    assert float(minimax(v[None], w, a, radius)) == pytest.approx(plain, abs=1e-6)


def test_minimax_is_continuous_and_falls_from_the_mean_to_the_minimum():
    values, weights, factor, _ = mmd_case(5)
    v, w, a = tensors(values, weights, factor)
    radii = np.linspace(0, 2.5, 4001)
    curve = np.array([float(minimax(v[None], w, a, float(r))) for r in radii])
    assert curve[0] == pytest.approx(float(w @ v))
    assert curve[-1] == pytest.approx(float(v.min()))
    assert (np.diff(curve) <= 1e-12).all()
    assert np.abs(np.diff(curve)).max() < 0.05


@pytest.mark.parametrize("radius", [0.01, 0.3, 3.0])
def test_minimax_gradient(radius):
    values, weights, factor, _ = mmd_case(11)
    v, w, a = tensors(values, weights, factor)
    batch = torch.stack([v, 2 * v + 1]).requires_grad_(True)
    assert torch.autograd.gradcheck(lambda g: minimax(g, w, a, radius), (batch,))


@pytest.mark.parametrize("functional", [minimax, mmd])
def test_equal_values_have_a_finite_gradient(functional):
    _, weights, factor, radius = mmd_case(5)
    w, a = tensors(weights, factor)
    values = torch.full((2, len(weights)), 0.7, dtype=torch.double, requires_grad=True)
    result = functional(values, w, a, radius)
    assert torch.allclose(result, torch.full_like(result, 0.7))
    assert torch.isfinite(torch.autograd.grad(result.sum(), values)[0]).all()


def test_expectation_and_worst_case():
    values, weights = tensors([[1.0, 2.0, 4.0], [0.0, -1.0, 1.0]], [0.5, 0.25, 0.25])
    assert expectation(values, weights).tolist() == [2.0, 0.0]
    assert worst_case(values).tolist() == [1.0, -1.0]


def test_balls_of_high_rank_are_solved_from_the_reference():
    """Four contexts: the kernel has full rank, and one interior-point step costs more than all of this."""
    generator = torch.Generator().manual_seed(5)
    axis = torch.linspace(0, 1, 4, dtype=torch.double)
    points = torch.cartesian_prod(*[axis] * 4)
    kernel = torch.exp(-0.5 * (torch.cdist(points, points) / 0.3) ** 2)
    factor = kernel_factor(kernel)
    assert len(factor) > WIDE_RANK
    seen = torch.randint(256, (60,), generator=generator)
    weights = torch.bincount(seen, minlength=256).double() / 60
    slope = torch.randn(12, 4, generator=generator, dtype=torch.double)
    values = torch.sin(slope @ points.mT) + 0.1 * torch.randn(
        12, 256, generator=generator, dtype=torch.double
    )
    for radius in (0.05, 0.4, 0.9):
        found = mmd(values, weights, factor, radius)
        for row, value in zip(values[:4], found, strict=False):
            slow = reference.mmd_ball(row, weights, factor, radius)
            assert float(value) == pytest.approx(slow, abs=1e-6)
