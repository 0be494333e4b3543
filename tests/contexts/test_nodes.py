"""Nodes: grids, boxes and thinning, against brute force."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from windage.contexts import NO_CONTEXT, Nodes, box, grid, thinned
from windage.search import sobol

ZERO, ONE = np.zeros(1), np.ones(1)


def contexts(count: int, dimensions: int, seed: int) -> np.ndarray:
    return np.clip(0.5 + 0.2 * np.random.default_rng(seed).normal(size=(count, dimensions)), 0, 1)


def test_nodes_of_equal_weight():
    c = contexts(4, 2, 0)
    nodes = Nodes.equal(c)
    assert nodes.points is c
    assert nodes.weights.tolist() == [0.25] * 4
    assert len(nodes) == 4


def test_a_study_without_contexts_has_one_node():
    assert NO_CONTEXT.points.shape == (1, 0)
    assert NO_CONTEXT.weights.tolist() == [1.0]


@pytest.mark.parametrize(
    ("dimensions", "size", "side"),
    [(1, 2, 2), (1, 100, 100), (2, 100, 10), (2, 1024, 32), (4, 1024, 6), (3, 1000, 10)],
)
def test_grid_is_full_and_counts_the_nearest(dimensions, size, side):
    c = contexts(30, dimensions, 5)
    nodes = grid(c, size)
    axis = np.linspace(0, 1, side)
    plain = np.stack(np.meshgrid(*[axis] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    np.testing.assert_allclose(nodes.points, plain, atol=1e-15)
    assert nodes.weights.sum() == pytest.approx(1.0)
    nearest = cdist(c, nodes.points).argmin(axis=1)
    np.testing.assert_allclose(nodes.weights, np.bincount(nearest, minlength=side**dimensions) / 30)


def test_grid_takes_contexts_outside_its_box_at_the_border():
    nodes = grid(np.array([[-3.0], [7.0]]), 11)
    assert nodes.weights[0] == nodes.weights[-1] == 0.5


def test_box_is_mean_plus_minus_deviation_within_the_bounds():
    c = contexts(200, 1, 3)
    nodes = box(c, ZERO, ONE, 1024, seed=1)
    assert nodes.points.min() == pytest.approx(c.mean() - c.std(), abs=2e-3)
    assert nodes.points.max() == pytest.approx(c.mean() + c.std(), abs=2e-3)
    assert (nodes.weights == 1 / 1024).all()
    skewed = np.array([[0.0]] * 9 + [[1.0]])
    assert box(skewed, ZERO, ONE, 64, 0).points.min() >= 0


def test_box_covers_its_whole_range_evenly_in_every_dimension():
    c = np.array([[2.0, -1.0], [3.0, 1.0]])  # mean ± deviation is [2, 3] × [-1, 1]
    infinite = np.full(2, np.inf)
    points = box(c, -infinite, infinite, 256, 0).points
    for d in range(2):  # one point in each of 256 intervals, as many as there are
        cells = np.floor((points[:, d] - c[0, d]) / (c[1, d] - c[0, d]) * 256)
        np.testing.assert_array_equal(np.sort(cells), np.arange(256))


def test_box_of_equal_contexts_is_a_point():
    points = box(np.full((3, 1), 0.3), ZERO, ONE, 8, 0).points
    np.testing.assert_allclose(points, 0.3, atol=1e-12)


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_thinned_nodes_keep_the_mean_and_nearly_the_distribution(dimensions):
    nodes = Nodes.equal(sobol(1024, dimensions, 0))
    few = thinned(nodes, 64)
    assert len(few) <= 81
    assert few.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(few.weights @ few.points, nodes.weights @ nodes.points)
    smooth = [n.weights @ np.cos(2 * n.points.sum(axis=1)) for n in (nodes, few)]
    assert smooth[0] == pytest.approx(smooth[1], abs=0.02 * dimensions)
    assert thinned(few, 64) is few
    uneven = Nodes(nodes.points, np.linspace(0, 1, 1024) / 512)
    assert thinned(uneven, 64) is uneven


def test_thinned_nodes_of_one_dimension_are_means_of_neighbours():
    nodes = Nodes.equal(np.random.default_rng(0).permutation(np.arange(12.0))[:, None])
    few = thinned(nodes, 4)
    assert few.points.tolist() == [[1.0], [4.0], [7.0], [10.0]]
    assert few.weights.tolist() == [0.25] * 4
