"""Projected BFGS in a batch: smooth hills, kinks, bounds, and what it has learnt of the curvature."""

import numpy as np
import pytest

from windage.search import Valued, ascend, sobol
from windage.search.ascent import SHARED_ROUNDS


def climb(function, starts, smooth=True):
    return ascend(function, starts, np.zeros_like(starts), np.ones_like(starts), smooth=smooth)


def quadratic(curvature, top):
    return lambda x: Valued(-(curvature * (x - top) ** 2).sum(axis=1), -2 * curvature * (x - top))


@pytest.mark.parametrize("dimensions", [1, 2, 6, 12])
def test_ascent_reaches_the_top_of_an_ill_conditioned_hill(dimensions):
    hill = quadratic(np.logspace(-1, 2, dimensions), np.linspace(0.2, 0.7, dimensions))
    found = climb(hill, sobol(10, dimensions, 0))
    assert found.values.max() > -1e-6
    assert (found.points <= 1).all()
    assert np.array_equal(found.values, hill(found.points).value)


def test_ascent_on_rosenbrock():
    def hill(x):
        u, v = (4 * x - 2).T
        slope = np.stack([-400 * u * (v - u**2) - 2 * (1 - u), 200 * (v - u**2)], axis=1)
        return Valued(-(100 * (v - u**2) ** 2 + (1 - u) ** 2), -4 * slope)

    assert climb(hill, sobol(20, 2, 1)).values.max() > -1e-5


def test_ascent_stops_at_the_bounds():
    def hill(x):
        slope = np.stack([1 - 2 * (x[:, 0] - 3), np.full(len(x), -2.0)], axis=1)
        return Valued(x[:, 0] - 2 * x[:, 1] - (x[:, 0] - 3) ** 2, slope)

    assert np.allclose(climb(hill, sobol(5, 2, 0)).points, [1.0, 0.0])


def test_every_start_keeps_to_its_own_bounds():
    hill, starts = quadratic(np.ones(2), np.array([0.5, 0.9])), sobol(6, 2, 0)
    lower, upper = np.zeros((6, 2)), np.ones((6, 2))
    lower[:, 0] = upper[:, 0] = starts[:, 0]  # as choices are held while the reals climb
    found = ascend(hill, starts, lower, upper)
    assert np.array_equal(found.points[:, 0], starts[:, 0])
    best = found.values.argmax()
    assert found.points[best, 1] == pytest.approx(0.9, abs=1e-6)
    outside = ascend(hill, starts + 5, np.zeros((6, 2)), np.ones((6, 2)))
    assert np.allclose(outside.points[outside.values.argmax()], [0.5, 0.9], atol=1e-6)


@pytest.mark.parametrize("dimensions", [1, 2, 5, 8])
@pytest.mark.parametrize("seed", [0, 1, 2, 4, 6])
def test_ascent_reaches_the_top_of_a_kinked_hill(dimensions, seed):
    generator = np.random.default_rng(seed)
    slopes = generator.standard_normal((3 * dimensions, dimensions))
    slopes = np.concatenate([slopes, -slopes])  # so that the top is where they all meet
    top = 0.2 + 0.6 * generator.random(dimensions)

    def hill(x):
        planes = (x - top) @ slopes.T
        lowest = planes.argmin(axis=1)
        value = planes.min(axis=1) - 0.1 * ((x - top) ** 2).sum(axis=1)
        return Valued(value, slopes[lowest] - 0.2 * (x - top))

    values = climb(hill, generator.random((6, dimensions)), smooth=False).values
    assert -1e-6 < values.max() <= 0


def test_the_inverse_hessian_is_learnt_and_saves_rounds():
    curvature, top = np.array([1.0, 8.0, 40.0]), np.array([0.3, 0.5, 0.6])
    calls = []

    def hill(x):
        calls.append(len(x))
        return quadratic(curvature, top)(x)

    start, ends = np.full((1, 3), 0.9), (np.zeros((1, 3)), np.ones((1, 3)))
    first = ascend(hill, start, *ends)
    alone = len(calls)
    assert np.allclose(first.inverse_hessians[0], np.diag(1 / (2 * curvature)), atol=0.02)
    calls.clear()
    again = ascend(hill, start, *ends, inverse_hessians=first.inverse_hessians)
    assert again.values[0] > -1e-9
    assert len(calls) < alone / 2
    at_the_top = ascend(hill, top[None], *ends)
    assert not at_the_top.inverse_hessians.any()  # nothing was learnt


def test_one_round_evaluates_one_point_of_each_start():
    calls = []

    def hill(x):
        calls.append(len(x))
        return quadratic(np.array([1.0, 30.0]), np.array([0.4, 0.6]))(x)

    climb(hill, sobol(20, 2, 0))
    assert calls[0] == 20
    assert max(calls) == 20
    assert sorted(calls, reverse=True) == calls  # a start that has left does not come back
    assert len(calls) < SHARED_ROUNDS


def test_the_best_of_a_batch_is_the_best_of_single_climbs_in_any_order():
    hill, starts = quadratic(np.array([1.0, 30.0]), np.array([0.4, 0.6])), sobol(8, 2, 0)
    batch = climb(hill, starts)
    alone = [climb(hill, start[None]).values[0] for start in starts]
    assert batch.values.max() == pytest.approx(max(alone), abs=1e-9)
    assert climb(hill, starts[::-1]).values.max() == pytest.approx(batch.values.max(), abs=1e-9)


def test_starts_without_a_value_stay_where_they_are():
    def hill(x):
        there = x[:, 0] > 0.5
        return Valued(np.where(there, np.nan, x[:, 0]), np.where(there[:, None], np.nan, 1.0))

    with np.errstate(invalid="ignore"):
        found = climb(hill, np.array([[0.2], [0.9]]))
    assert found.points[1, 0] == 0.9
    assert np.isnan(found.values[1])
