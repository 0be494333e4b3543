"""The maximiser against functions whose maxima are known, or found by brute force."""

import numpy as np
import pytest

from windage.search import Valued, maximize, score, sobol, untaken
from windage.search.maximize import APART, _peaks, score_and_gradient
from windage.space import ONE_HOT, Block

REALS = (Block(0, 1, 0, False), Block(1, 2, 0, False))
MIXED = (Block(0, 1, 0, False), Block(1, 2, 7, False), Block(2, 5, 3, True))


class Function:
    """A function to maximise; counts the points at which it is asked for gradients."""

    chunk = 100
    coarse_is_close = smooth = jumps = False
    climbed = 0

    def value(self, x):
        return self.of(x).value

    def value_and_gradient(self, x):
        self.climbed += len(x)
        return self.of(x)

    def of(self, x):
        raise NotImplementedError

    def coarse(self):
        return self


class Given(Function):
    """One that is given as values and gradients."""

    def __init__(self, function):
        self.of = function


class Bowl(Function):
    """-(distance to a point)²."""

    def __init__(self, top):
        self.top = np.array(top)

    def of(self, x):
        return Valued(-((x - self.top) ** 2).sum(axis=1), -2 * (x - self.top))


class Cliff(Function):
    """Rises towards the line x1 + x2 = 1, where it falls; highest there at x1 = 0.3."""

    jumps = True

    def of(self, x):
        level, below = x.sum(axis=1), x.sum(axis=1) < 1
        slope = np.ones_like(x)
        slope[:, 0] -= np.where(below, 2 * (x[:, 0] - 0.3), 0.0)
        return Valued(np.where(below, level - (x[:, 0] - 0.3) ** 2, level - 10), slope)


def test_a_jump_is_searched_without_gradients():
    found = maximize(Cliff(), REALS, 256, 10, 0)
    assert found.value > 1 - 5e-4
    assert found.point[0] == pytest.approx(0.3, abs=0.02)


def test_a_flat_function_and_one_with_nan_do_no_harm():
    flat = Given(lambda x: Valued(np.zeros(len(x)), np.zeros_like(x)))
    assert maximize(flat, REALS, 32, 4, 0).value == 0

    def broken(x):
        there = x[:, 0] > 0.5
        return Valued(np.where(there, np.nan, x[:, 0]), np.where(there[:, None], np.nan, [1.0, 0.0]))

    with np.errstate(invalid="ignore"):
        assert 0.4 < maximize(Given(broken), REALS, 64, 4, 0).value <= 0.5
        nowhere = maximize(Given(lambda x: Valued(np.full(len(x), np.nan), x)), REALS, 64, 4, 0)
    assert nowhere.value == -np.inf
    assert nowhere.point.shape == (2,)


def test_the_same_seed_gives_the_same_point():
    found = [maximize(Hills([0.41, 0.77]), REALS, 256, 10, seed).point for seed in (3, 3)]
    assert found[0].tobytes() == found[1].tobytes()


def test_scores_in_chunks_are_those_of_the_whole():
    bowl, points = Bowl([0.2, 0.4]), sobol(250, 2, 0)
    assert np.array_equal(score(bowl, points), bowl.value(points))
    for part, whole in zip(score_and_gradient(bowl, points), bowl.of(points), strict=True):
        assert np.array_equal(part, whole)
    assert score(bowl, points[:0]).shape == (0,)
    assert bowl.climbed == 250


def test_a_coarse_approximation_is_climbed_first_where_it_is_close():
    class Costly(Bowl):
        coarse_is_close = smooth = True

        def coarse(self):
            near = Bowl(self.top + 0.01)
            near.smooth = True
            return near

    costly = Costly([0.2, 0.4, 0.6])
    found = maximize(costly, (*REALS, Block(2, 3, 0, False)), 256, 20, 0)
    assert found.value > -1e-9
    assert costly.climbed < 40  # from the coarse maximum alone


def test_mixed_decisions_equal_enumeration():
    table = np.random.default_rng(3).standard_normal((7, 3))

    def of(x):
        level = np.clip((x[:, 1] * 6).round(), 0, 6).astype(int)
        away = x[:, 1] * 6 - level
        value = table[level, x[:, 2:5].argmax(axis=1)] - (x[:, 0] - 0.37) ** 2 - 0.01 * away**2
        gradient = np.zeros_like(x)
        gradient[:, 0], gradient[:, 1] = -2 * (x[:, 0] - 0.37), -0.12 * away
        return Valued(value, gradient)

    found = maximize(Given(of), MIXED, 128, 8, seed=0)
    assert found.value == pytest.approx(table.max(), abs=1e-8)
    assert found.point[0] == pytest.approx(0.37, abs=1e-4)
    assert sorted(found.point[2:].tolist()) == pytest.approx([0, 0, ONE_HOT])
    assert found.point[1] * 6 == pytest.approx(round(found.point[1] * 6), abs=1e-9)


def test_small_discrete_spaces_are_searched_whole():
    blocks = (Block(0, 1, 4, False), Block(1, 3, 2, True))
    bowl = Bowl([1.0, ONE_HOT, 0.0])
    assert maximize(bowl, blocks, 100, 4, 0).value == pytest.approx(0.0)
    assert bowl.climbed == 0


class Waves(Function):
    """Many hills on a line, one of them the highest."""

    smooth = True

    def __init__(self, highest, flat=False):
        self.highest, self.flat = highest, flat

    def of(self, x):
        if self.flat:
            return Valued(0 * x[:, 0], 0 * x)
        value = np.cos(40 * np.pi * x[:, 0]) - 4 * (x[:, 0] - self.highest) ** 2
        return Valued(value, -40 * np.pi * np.sin(40 * np.pi * x) - 8 * (x - self.highest))


@pytest.mark.parametrize("highest", [0.0, 0.03, 0.5, 0.7321, 1.0])
def test_on_a_line_only_peaks_are_climbed_and_none_is_missed(highest):
    waves = Waves(highest)
    found = maximize(waves, REALS[:1], 256, 50, 0)
    everywhere = np.linspace(0, 1, 200_001)[:, None]
    assert found.value >= waves.value(everywhere).max() - 1e-9
    assert (
        waves.climbed < 21 * 10
    )  # a few steps on each hill, and the best refined; from fifty points it is more


def test_on_a_line_a_plain_and_known_decisions_do_no_harm():
    known = np.array([[0.25], [0.25], [1.0]])
    assert maximize(Waves(0.5, flat=True), REALS[:1], 64, 8, 0, known).value == 0
    found = maximize(Waves(0.25), REALS[:1], 64, 8, 0, known)
    assert abs(found.value - 1) < 1e-9
    other = maximize(Waves(0.25), REALS[:1], 256, 8, 0, known, avoid=found.point[None])
    assert abs(other.point - found.point).max() > 1e-3
    assert other.value > 0.9


class Hills(Bowl):
    """Hills on a square, five by five, the highest of them near a given one."""

    smooth = True

    def of(self, x):
        value, gradient = super().of(x)
        waves = np.cos(10 * np.pi * x).sum(axis=1)
        return Valued(value + waves, gradient - 10 * np.pi * np.sin(10 * np.pi * x))


@pytest.mark.parametrize("highest", [[0.0, 0.0], [0.41, 0.77], [0.5, 1.0], [0.62, 0.19]])
def test_on_a_square_few_points_are_climbed_from_and_the_highest_hill_is_found(highest):
    hills = Hills(highest)
    known = 0.6 + 0.01 * sobol(32, 2, 1)  # decisions tried before lie close together
    found = maximize(hills, REALS, 1024, 50, 0, known)
    axis = np.linspace(0, 1, 1001)
    net = np.stack(np.meshgrid(axis, axis), axis=2).reshape(-1, 2)
    assert found.value >= hills.value(net).max()
    assert hills.climbed < 50 * 5  # 36 hills, many of which are soon seen to be lower


def test_a_peak_is_what_none_of_its_nearest_is_above():
    points, values = np.concatenate([sobol(200, 2, 0), 0.3 + 0.001 * sobol(20, 2, 1)]), sobol(220, 1, 2)[:, 0]
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    expected = [i for i in range(220) if values[i] >= values[distances[i].argsort()[:9]].max()]
    found = _peaks(points, values, 1000)
    assert sorted(found.tolist()) == expected
    assert found.tolist() == sorted(expected, key=lambda i: -values[i])
    assert _peaks(points, values, 3).tolist() == found[:3].tolist()


def test_few_points_and_points_that_are_all_the_same_have_a_peak():
    for count in (1, 3, 30):
        for dimensions in (1, 2):
            assert len(_peaks(np.full((count, dimensions), 0.5), np.zeros(count), 50)) > 0


def test_points_to_avoid_are_avoided_where_there_is_another():
    bowl = Bowl([0.5, 0.5])
    first = maximize(bowl, REALS, 64, 4, 0)
    second = maximize(bowl, REALS, 64, 4, 0, avoid=first.point[None])
    assert np.abs(second.point - first.point).max() > APART
    blocks = (Block(0, 1, 2, False),)
    both = np.array([[0.0], [1.0]])
    assert maximize(Bowl([1.0]), blocks, 10, 1, 0, avoid=both[1:]).point.item() == 0.0
    assert maximize(Bowl([1.0]), blocks, 10, 1, 0, avoid=both).point.item() == 1.0
    assert untaken(both, both[:1]).tolist() == [False, True]
    assert untaken(both, both[:0]).tolist() == [True, True]
