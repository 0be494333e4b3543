"""The mean, the worst node and the total-variation ball: against linear programmes, CVXPY and autograd."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from windage.objectives import expectation, remaining, total_variation, worst_case

RADII = [0.0, 0.3, 1.0, 1.9, 2.0, 3.0]
NINE = {"equal": np.full(9, 1 / 9), "ascending": np.arange(1.0, 10) / 45, "zeros": np.eye(9)[[2, 5]].mean(0)}


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


def separate(count: int, seed: int) -> np.ndarray:
    """Three rows of values without ties, so that the objectives are smooth there."""
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(count) + rng.uniform(-0.2, 0.2, count) for _ in range(3)])


def tied(count: int, seed: int) -> np.ndarray:
    """Three rows of values with many ties, at the top, at the bottom and where a node is split."""
    return np.random.default_rng(seed).integers(0, 3, (3, count)).astype(float)


def torch_total_variation(values, weights, radius, floor):
    """As Rockafellar & Uryasev (2000): what is left is max_t (1-δ/2)·t - Σ w (t-g)₊, t one of the values."""
    moved = min(radius, 2.0) / 2
    shortfall = (values[:, :, None] - values[:, None, :]).clamp_min(0) @ torch.from_numpy(weights)
    left = ((1 - moved) * values - shortfall).amax(dim=1)
    return left + moved * torch.minimum(values.amin(dim=1), torch.from_numpy(floor))


def test_total_variation_equals_the_linear_programme_and_the_dual_on_200_cases():
    worst_primal = worst_dual = 0.0
    for seed in range(200):
        case = weighted_case(seed)
        scale = max(1.0, np.abs(case[0]).max())
        value = total_variation(*case).value
        worst_primal = max(worst_primal, abs(value - reference.total_variation_primal(*case)) / scale)
        worst_dual = max(worst_dual, abs(value - reference.total_variation_dual(*case)) / scale)
    assert worst_primal < 1e-9
    assert worst_dual < 1e-9


@given(st.integers(0, 10_000))
def test_total_variation_limits_and_invariances(seed):
    values, weights, radius, floor = weighted_case(seed)
    order = np.random.default_rng(seed).permutation(len(values))
    assert total_variation(values, weights, 0.0, floor).value == pytest.approx(weights @ values, abs=1e-12)
    for everything in (2.0, 3.0):
        assert total_variation(values, weights, everything, floor).value == pytest.approx(floor, abs=1e-12)
    value = pytest.approx(total_variation(values, weights, radius, floor).value, abs=1e-12)
    assert total_variation(values[order], weights[order], radius, floor).value == value
    halves = total_variation(np.repeat(values, 2), np.repeat(weights / 2, 2), radius, floor)
    assert halves.value == value
    assert total_variation(values, weights, radius + 0.1, floor).value <= value.expected + 1e-12
    stretched = total_variation(3 * values + 2, weights, radius, 3 * floor + 2)
    assert stretched.value == pytest.approx(3 * value.expected + 2, abs=1e-9)


@pytest.mark.parametrize("weights", NINE.values(), ids=NINE)
@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("draw", [separate, tied])
def test_without_a_floor_the_gradient_is_the_worst_distribution(draw, radius, weights):
    values = draw(9, seed=5)
    value, gradient = total_variation(values, weights, radius)
    np.testing.assert_allclose((gradient * values).sum(axis=1), value, atol=1e-14)
    np.testing.assert_allclose(gradient.sum(axis=1), 1)
    assert (gradient >= 0).all()
    assert (np.abs(gradient - weights).sum(axis=1) <= radius + 1e-12).all()


@pytest.mark.parametrize("weights", NINE.values(), ids=NINE)
@pytest.mark.parametrize("radius", [0.0, 0.3, 1.1, 2.0])
@pytest.mark.parametrize("floor", [[-1.0, -2.0, -0.5], [0.7, 1e9, 4.0], [-3.0, 0.5, -1.0]])
def test_total_variation_gradient(floor, radius, weights):
    """The floor below all values, above the lowest, and one row so and the other so."""
    values, floor = separate(9, seed=3), np.array(floor)
    value, gradient = total_variation(values, weights, radius, floor)
    theirs, slope = reference.autograd(lambda v: torch_total_variation(v, weights, radius, floor), values)
    np.testing.assert_allclose(value, theirs, atol=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-12)
    moved = reference.differences(lambda v: total_variation(v, weights, radius, floor).value, values, 1e-4)
    np.testing.assert_allclose(gradient, moved, atol=1e-9)


@pytest.mark.parametrize("weights", NINE.values(), ids=NINE)
@pytest.mark.parametrize("radius", [0.0, 0.3, 2.0, 3.0])
def test_the_slope_in_a_floor_below_is_the_probability_taken(radius, weights):
    values, step = separate(9, seed=4), 1e-4
    for floor, taken in ((-1.0, min(radius, 2) / 2), (5.0, 0.0)):
        ahead, behind = (total_variation(values, weights, radius, floor + s).value for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * step), taken, atol=1e-9)
        gradient = total_variation(values, weights, radius, floor).gradient
        np.testing.assert_allclose(gradient.sum(axis=1), 1 - taken)


@given(st.integers(0, 10_000))
def test_the_gradient_at_ties_is_a_supergradient(seed):
    """Worst cases are concave: the value nowhere rises above the plane, whichever way a tie is broken."""
    rng = np.random.default_rng(seed)
    values, weights, radius, floor = weighted_case(4 * seed)
    others = np.concatenate([values + rng.normal(size=(20, len(values))), rng.permuted(values[None], axis=1)])
    for worst in (
        lambda v: total_variation(v, weights, radius, floor),
        lambda v: total_variation(v, weights, radius),
        worst_case,
    ):
        value, gradient = worst(values)
        assert (worst(others).value <= value + (others - values) @ gradient + 1e-9).all()


def test_total_variation_without_a_floor_uses_the_least_value():
    value, gradient = total_variation(np.array([[3.0, 1.0, 2.0]]), np.array([0.2, 0.3, 0.5]), 0.4)
    assert value == pytest.approx(0.3 + 1.0 + 0.2)
    np.testing.assert_allclose(gradient, [[0.0, 0.5, 0.5]])


def test_total_variation_takes_one_row_and_a_plain_floor():
    values = np.array([3.0, 1.0, 2.0])
    value, gradient = total_variation(values, np.array([0.2, 0.3, 0.5]), 0.4, -1.0)
    assert value == pytest.approx(0.3 + 1.0 - 0.2)
    np.testing.assert_allclose(gradient, [0.0, 0.3, 0.5])
    assert total_variation(values, np.full(3, 1 / 3), 0.4, -1.0).value == pytest.approx(1.2)


def test_total_variation_takes_lists_whole_numbers_and_a_single_node():
    value, gradient = total_variation([3, 1, 2], [0.2, 0.3, 0.5], 0.4, -1)
    assert float(value) == pytest.approx(1.1)
    assert gradient.dtype == float
    assert total_variation([3, 1, 2], [1, 0, 0], 0.4).value == pytest.approx(2.6)
    value, gradient = total_variation([7.0], [1.0], 0.5, 3.0)
    assert (float(value), gradient.tolist()) == (6.0, [0.75])


@pytest.mark.parametrize("weights", NINE.values(), ids=NINE)
@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_total_variation_takes_any_leading_shape(radius, weights):
    rng = np.random.default_rng(0)
    values, floor = rng.normal(size=(2, 3, 9)), rng.normal(size=(2, 3)) - 1
    whole = total_variation(values, weights, radius, floor)
    assert whole.value.shape == (2, 3)
    assert whole.gradient.shape == (2, 3, 9)
    for at in np.ndindex(2, 3):
        row = total_variation(values[at], weights, radius, floor[at])
        assert whole.value[at] == pytest.approx(row.value)
        np.testing.assert_allclose(whole.gradient[at], row.gradient)
    # weights of their own for each row: the same where they are the same
    apart = total_variation(values, np.broadcast_to(weights, values.shape), radius, floor)
    np.testing.assert_allclose(apart.value, whole.value)
    np.testing.assert_allclose(apart.gradient, whole.gradient, atol=1e-15)


def test_total_variation_leaves_its_arguments_alone():
    for weights in NINE.values():
        given_arrays = values, own, floor = separate(9, seed=1), weights.copy(), np.zeros(3)
        for array in given_arrays:
            array.flags.writeable = False
        for radius in RADII:
            assert total_variation(values, own, radius, floor).gradient.flags.writeable


def test_no_probability_is_negative_where_a_node_is_split_at_its_very_end():
    for m in range(1, 120):
        values, weights = np.arange(m, dtype=float), np.full(m, 1 / m)
        for taken in range(m + 1):
            left, moved = remaining(values, weights, 2 * taken / m)
            assert left.min() >= 0
            assert left.sum() + moved == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_total_variation_at_any_scale(scale):
    values = separate(9, seed=2)
    for weights in NINE.values():
        plain, scaled = (total_variation(s * values, weights, 0.7, -s) for s in (1.0, scale))
        np.testing.assert_allclose(scaled.value, scale * plain.value)
        np.testing.assert_allclose(scaled.gradient, plain.gradient, atol=1e-15)


def test_expectation():
    values, weights = np.array([[1.0, 2.0, 4.0], [0.0, -1.0, 1.0]]), np.array([0.5, 0.25, 0.25])
    value, gradient = expectation(values, weights)
    assert value.tolist() == [2.0, 0.0]
    assert gradient.tolist() == [weights.tolist()] * 2
    assert expectation(values[0], weights).value == 2.0
    assert expectation(values[None], weights).gradient.shape == (1, 2, 3)


def test_worst_case():
    values = np.array([[1.0, 2.0, 4.0], [0.0, -1.0, 1.0]])
    value, gradient = worst_case(values)
    assert value.tolist() == [1.0, -1.0]
    assert gradient.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert worst_case(values[1]).value == -1.0
    assert worst_case(values[None]).gradient.shape == (1, 2, 3)
    np.testing.assert_allclose(reference.differences(lambda v: worst_case(v).value, values, 1e-4), gradient)
    assert worst_case(np.array([2.0, 1.0, 1.0])).gradient.sum() == 1
