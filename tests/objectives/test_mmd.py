"""The MMD ball: against CVXPY, autograd and differences; with what its approximation shares with it."""

from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import reference
from balls import Ball, rough_ball, smooth_ball
from windage.gp import kernel_factor
from windage.objectives import MmdSolver, minimax, mmd
from windage.objectives.mmd_interior import GAP, interior_point
from windage.objectives.mmd_support import WIDE_RANK, Supports, solve, solve_on_support

SOLVER = import_module("windage.objectives.mmd")  # the function of this name hides it in its package


def distances(weights: np.ndarray, ball: Ball) -> np.ndarray:
    """MMD from the reference, B × n → B."""
    return np.linalg.norm((weights - ball.weights) @ ball.factor.T, axis=-1)


def test_mmd_equals_cvxpy():
    worst = 0.0
    for seed in range(60):
        ball = smooth_ball(seed)
        worst = max(worst, abs(mmd(*ball).value - reference.mmd_ball(*ball)))
    assert worst < 1e-6


@given(st.integers(0, 10_000))
def test_the_mmd_gradient_is_a_distribution_in_the_ball(seed):
    ball = smooth_ball(seed)
    v = ball.values
    batch = np.stack([v, -v, 1e6 * v, np.zeros_like(v)])
    value, worst = mmd(batch, *ball[1:])
    assert (worst >= 0).all()
    np.testing.assert_allclose(worst.sum(axis=1), 1, atol=1e-12)
    assert (distances(worst, ball) <= ball.radius + 1e-8).all()
    np.testing.assert_allclose((worst * batch).sum(axis=1), value)
    # scaling the values does not change the worst weights; the value lies between the minimum and the mean
    assert worst[0] @ v == pytest.approx(worst[2] @ v, abs=1e-7)
    assert v.min() - 1e-9 <= value[0] <= ball.weights @ v + 1e-9


@given(st.integers(0, 10_000))
def test_mmd_invariances(seed):
    values, weights, factor, radius = smooth_ball(seed)
    order = np.random.default_rng(seed).permutation(len(values))
    value = pytest.approx(float(mmd(values, weights, factor, radius).value), abs=1e-7)
    assert mmd(values[order], weights[order], factor[:, order], radius).value == value
    halves = np.repeat(values, 2), np.repeat(weights / 2, 2), np.repeat(factor, 2, axis=1)
    assert mmd(*halves, radius).value == value
    assert mmd(values, weights, factor, 1.2 * radius).value <= value.expected + 1e-7
    stretched = mmd(3 * values + 2, weights, factor, radius)
    assert stretched.value == pytest.approx(3 * value.expected + 2, abs=3e-7)


def climb_of_values(n: int, steps: int, seed: int) -> np.ndarray:
    """Rows of smooth values that change a little from one to the next, as along a climb."""
    rng = np.random.default_rng(seed)
    grid, phase = np.linspace(0, 1, n), rng.uniform(0, 6, 3)
    rows = [
        sum(np.sin((3 + 2 * k) * grid + phase[k] + 0.03 * step) for k in range(3)) + 0.02 * step * grid
        for step in range(steps)
    ]
    return np.array(rows)


@pytest.mark.parametrize("seed", range(6))
def test_remembering_supports_changes_the_time_and_not_the_result(seed):
    ball = smooth_ball(3 * seed + 1)
    values = climb_of_values(len(ball.weights), 40, seed)
    solver = MmdSolver(*ball[1:])
    from_memory = np.concatenate([solver(part) for part in np.split(values, 8)])
    plain = mmd(values, *ball[1:]).gradient
    error = np.abs(((from_memory - plain) * values).sum(axis=1)) / np.ptp(values, axis=1)
    assert error.max() < 1e-8
    assert (distances(from_memory, ball) <= ball.radius + 1e-8).all()


def test_most_of_a_climb_is_solved_from_memory_with_a_certificate():
    _, weights, factor, _ = smooth_ball(2)
    values = climb_of_values(len(weights), 40, seed=1)
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    cost = (values - low) / (high - low)
    exact = mmd(values, weights, factor, 0.3).gradient
    guess = Supports.of(exact)[np.roll(np.arange(40), 1)]  # each row guesses the one before it
    found = solve_on_support(cost, weights, factor.T @ factor, 0.3, guess, 1e-9)
    assert found.certain.mean() > 0.7
    assert np.abs(((found.weights - exact) * cost).sum(axis=1)[found.certain]).max() < 1e-8
    wrong = Supports(np.zeros((40, 16), dtype=np.intp), np.zeros((40, 16), dtype=bool))
    nothing = solve_on_support(cost, weights, factor.T @ factor, 0.3, wrong, 1e-9)
    bad = ((nothing.weights - exact) * cost).sum(axis=1)[nothing.certain]
    assert (np.abs(bad) < 1e-8).all()  # from a bad guess: the right weights, or none


@pytest.mark.parametrize("seed", range(8))
def test_the_interior_point_method_alone_finds_the_same(seed):
    """It is the way out where no support is certain, which is rare: so it is tried on its own."""
    ball = smooth_ball(seed)
    values = np.concatenate([climb_of_values(len(ball.weights), 5, seed), ball.values[None]])
    cost = (values - values.min(axis=1, keepdims=True)) / np.ptp(values, axis=1)[:, None]
    found = interior_point(cost, *ball[1:], GAP)
    assert (found > 0).all()
    assert (distances(found, ball) <= ball.radius + 1e-7).all()
    np.testing.assert_allclose((found * cost).sum(axis=1), mmd(cost, *ball[1:]).value, atol=1e-7)


def test_a_singular_system_spoils_no_other():
    matrices = np.stack([2 * np.eye(3), np.zeros((3, 3)), np.eye(3)])
    found = solve(matrices, np.ones((3, 3, 2)))
    np.testing.assert_allclose(found[[0, 2]], np.stack([np.full((3, 2), 0.5), np.ones((3, 2))]))
    assert np.isnan(found[1]).all()


def test_mmd_limits():
    values, weights, factor, _ = smooth_ball(3)
    nothing, everything = (mmd(values, weights, factor, radius) for radius in (0.0, 10.0))
    assert nothing.value == pytest.approx(weights @ values, abs=1e-12)
    np.testing.assert_allclose(nothing.gradient, weights)
    assert everything.value == pytest.approx(values.min(), abs=1e-8)


@pytest.mark.parametrize("objective", [minimax, mmd])
def test_any_leading_shape(objective):
    _, weights, factor, radius = smooth_ball(4)
    values = climb_of_values(len(weights), 6, seed=3).reshape(2, 3, -1)
    whole = objective(values, weights, factor, radius)
    assert whole.value.shape == (2, 3)
    assert whole.gradient.shape == values.shape
    for at in np.ndindex(2, 3):
        row = objective(values[at], weights, factor, radius)
        assert row.gradient.shape == weights.shape
        assert whole.value[at] == pytest.approx(row.value, abs=1e-8)


def test_mmd_gradient_is_the_envelope():
    ball = smooth_ball(7)
    gradient = mmd(*ball).gradient
    # along smooth changes, as a decision makes them: the worst weights jump under rough ones
    direction = np.cos(3 * np.linspace(0, 1, len(ball.values)))
    step = 1e-3
    ahead, behind = (mmd(ball.values + s * step * direction, *ball[1:]).value for s in (1, -1))
    assert gradient @ direction == pytest.approx((ahead - behind) / (2 * step), abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("radius", [0.02, 0.2, 0.5])
def test_mmd_gradient_in_every_value(radius, seed):
    """Of a well-conditioned kernel; autograd goes through the closed form on the support."""
    ball = rough_ball(seed, radius=radius)
    value, worst = mmd(*ball)
    on = torch.from_numpy(np.flatnonzero(worst > 1e-9))
    kernel, weights = torch.from_numpy(ball.factor.T @ ball.factor), torch.from_numpy(ball.weights)
    inverse, pull = torch.linalg.inv(kernel[on][:, on]), (kernel @ weights)[on]
    ones = torch.ones(len(on), dtype=torch.double)

    def least(rows):
        g = rows[0, on]
        nearest = inverse @ (pull + (1 - ones @ inverse @ pull) / (ones @ inverse @ ones) * ones)
        down = inverse @ ((ones @ inverse @ g) / (ones @ inverse @ ones) * ones - g)
        away = torch.zeros_like(weights).index_add(0, on, nearest) - weights
        reach = ((radius**2 - away @ kernel @ away) / (-down @ g)).sqrt()
        return (nearest + reach * down) @ g

    theirs, slope = reference.autograd(least, ball.values[None])
    assert value == pytest.approx(theirs, abs=1e-7)
    np.testing.assert_allclose(worst, slope[0], atol=1e-6)
    moved = reference.differences(lambda v: mmd(v, *ball[1:]).value, ball.values[None], 1e-4)
    np.testing.assert_allclose(worst, moved[0], atol=1e-5)


def test_balls_of_high_rank_are_solved_from_the_reference(monkeypatch):
    """Four contexts: the kernel has full rank, and one interior-point step costs more than all of this."""
    rng = np.random.default_rng(5)
    points = np.indices((4,) * 4).reshape(4, -1).T / 3
    factor = kernel_factor(np.exp(-0.5 * (cdist(points, points) / 0.3) ** 2))
    assert len(factor) > WIDE_RANK
    weights = np.bincount(rng.integers(0, 256, 60), minlength=256) / 60
    values = np.sin(rng.normal(size=(12, 4)) @ points.T) + 0.1 * rng.normal(size=(12, 256))
    slow, solved = SOLVER.worst_weights, []  # by the interior-point method: none but in the smallest ball
    monkeypatch.setattr(SOLVER, "worst_weights", lambda cost, *rest: solved.append(cost) or slow(cost, *rest))
    for radius, rows in ((0.9, 0), (0.4, 0), (0.05, 12)):
        found = mmd(values, weights, factor, radius).value
        for row, value in zip(values[:4], found, strict=False):
            assert value == pytest.approx(reference.mmd_ball(row, weights, factor, radius), abs=1e-6)
        assert sum(map(len, solved)) == rows


@pytest.mark.parametrize("objective", [minimax, mmd])
@pytest.mark.parametrize("radius", [0.0, 0.2, 3.0])
def test_equal_values_have_a_finite_gradient(objective, radius):
    for _, weights, factor, _ in (smooth_ball(5), rough_ball(5)):
        value, gradient = objective(np.full((2, len(weights)), 0.7), weights, factor, radius)
        np.testing.assert_allclose(value, 0.7)
        np.testing.assert_allclose(gradient.sum(axis=1), 1)
        assert np.isfinite(gradient).all()


def test_ties_for_the_worst_node_go_to_one_of_them():
    _, weights, factor, _ = rough_ball(3)
    values = np.array([0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 2.0, 2.0, 1.0])
    for objective in (minimax, mmd):
        value, gradient = objective(values, weights, factor, 0.3)
        assert gradient.sum() == pytest.approx(1)
        assert gradient @ values == pytest.approx(float(value))
    assert minimax(values, weights, factor, 5.0).gradient.tolist() == np.eye(9)[0].tolist()
