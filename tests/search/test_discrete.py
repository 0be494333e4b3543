"""Integers and choices on the unit box: valid points, all of them, and their neighbours."""

import numpy as np
import pytest

from windage.search import every, from_uniform, sobol
from windage.search.discrete import continuous, neighbours, rounded
from windage.space import ONE_HOT, Block

REALS = (Block(0, 1, 0, False), Block(1, 2, 0, False))
MIXED = (Block(0, 1, 0, False), Block(1, 2, 7, False), Block(2, 5, 3, True))


def test_raw_points_are_valid_and_even():
    points = from_uniform(sobol(700, 3, 0), MIXED)
    levels, counts = np.unique((points[:, 1] * 6).round(), return_counts=True)
    assert len(levels) == 7
    assert counts.min() > 80
    assert np.allclose(points[:, 2:].sum(axis=1), ONE_HOT)
    assert np.array_equal(points, from_uniform(np.minimum(sobol(700, 3, 0), 1 - 1e-16), MIXED))
    assert from_uniform(np.ones((1, 3)), MIXED)[0].tolist() == [1, 1, 0, 0, ONE_HOT]


def test_small_discrete_spaces_are_enumerated():
    blocks = (Block(0, 1, 4, False), Block(1, 3, 2, True))
    points = every(blocks, 8)
    assert points is not None
    assert len({tuple(p) for p in points.tolist()}) == 8
    assert np.array_equal(points, rounded(points, blocks))
    assert every(blocks, 7) is None
    assert every(REALS, 1000) is None
    assert every(MIXED, 10**9) is None
    assert continuous(REALS)
    assert not continuous(MIXED)


def test_rounding_moves_integers_alone():
    points = sobol(20, 5, 0)
    before = points.copy()
    found = rounded(points, MIXED)
    assert np.array_equal(points, before)
    assert np.array_equal(found[:, [0, 2, 3, 4]], points[:, [0, 2, 3, 4]])
    assert np.allclose(found[:, 1] * 6, (points[:, 1] * 6).round())


@pytest.mark.parametrize("level", [0, 3, 6])
def test_neighbours_differ_in_one_variable(level):
    point = np.array([0.37, level / 6, 0.0, ONE_HOT, 0.0])
    found = neighbours(point, MIXED)
    assert (found[:, 0] == 0.37).all()
    for other in found:
        integer, choice = other[1] != point[1], (other[2:] != point[2:]).any()
        assert not (integer and choice)
        assert sorted(other[2:].tolist()) == [0, 0, ONE_HOT]
    levels = {round(6 * other[1]) for other in found} - {level}
    assert levels == {near for near in (level - 1, level + 1) if 0 <= near <= 6}
    assert {int(other[2:].argmax()) for other in found} == {0, 1, 2}
    many = (Block(0, 1, 33, False),)
    steps = {round(32 * other[0]) - 16 for other in neighbours(np.array([0.5]), many)}
    assert steps == {-8, -4, -2, -1, 1, 2, 4, 8}
