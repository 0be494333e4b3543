"""The Sobol' points: their structure exactly, their quality against SciPy's."""

import subprocess
import sys
from itertools import combinations
from math import erf, pi, sqrt

import numpy as np
import pytest
from scipy.stats import qmc

from windage.search.sobol import INITIAL, direction_numbers, polynomial_of, primitive_polynomials, sobol


def peaked(x):
    return np.exp(-((x - 0.4) ** 2).sum(axis=1))


def exponential(x):
    return np.exp(x.sum(axis=1) / sqrt(x.shape[1]))


def product(x):
    return np.prod(1 + (x - 0.5) * 2 / sqrt(x.shape[1]), axis=1)


def square(x):
    return (x - 0.5).sum(axis=1) ** 2


INTEGRALS = {  # exact, by dimension
    peaked: lambda d: (sqrt(pi) / 2 * (erf(0.6) + erf(0.4))) ** d,
    exponential: lambda d: (sqrt(d) * np.expm1(1 / sqrt(d))) ** d,
    product: lambda d: 1.0,
    square: lambda d: d / 12,
}
PINNED = [
    [0.13509650502241122, 0.6719948779563595],
    [0.949498823157155, 0.438940162578518],
    [0.45241548138504684, 0.06935157425588911],
]


def scipy_sobol(count, dimensions, seed):
    return qmc.Sobol(dimensions, scramble=True, seed=seed).random(count)


def monte_carlo(count, dimensions, seed):
    return np.random.default_rng(seed).random((count, dimensions))


def errors(draw, count, dimensions, seeds=60):
    """Root-mean-square errors of the integrals over seeds."""
    samples = [draw(count, dimensions, seed) for seed in range(seeds)]
    found = []
    for f, exact in INTEGRALS.items():
        found.append(sqrt(np.mean([(f(x).mean() - exact(dimensions)) ** 2 for x in samples])))
    return np.array(found)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 100])
@pytest.mark.parametrize("skip", [0, 1, 5, 63, 64, 1000])
def test_skip_continues_the_sequence(count, skip):
    np.testing.assert_array_equal(sobol(count, 5, 3, skip=skip), sobol(count + skip, 5, 3)[skip:])


def test_first_points_and_first_coordinates_stay_the_same():
    points = sobol(1024, 12, 8)
    np.testing.assert_array_equal(sobol(100, 12, 8), points[:100])
    np.testing.assert_array_equal(sobol(1024, 4, 8), points[:, :4])


def test_far_along_the_sequence():
    start = 2**32 - 9
    points = sobol(9, 3, 1, skip=start)
    np.testing.assert_array_equal(points[4:], sobol(5, 3, 1, skip=start + 4))
    assert len(np.unique(points)) == points.size


def test_same_points_in_another_process():
    code = "from windage.search.sobol import sobol; print(sobol(33, 60, 5).tobytes().hex())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == sobol(33, 60, 5).tobytes().hex()


def test_points_of_a_seed_do_not_change():
    assert sobol(3, 2, 0).tolist() == PINNED


def test_shapes_types_and_range():
    assert sobol(7, 0, 0).shape == (7, 0)
    assert sobol(0, 7, 0).shape == (0, 7)
    points = sobol(4096, 6, 0)
    assert points.dtype == np.float64
    assert points.flags.c_contiguous
    assert 0 < points.min() < points.max() < 1


@pytest.mark.parametrize("arguments", [(-1, 2, 0), (2, -1, 0), (2, 2, 0, -1), (2, 2, 0, 2**32 - 1)])
def test_refusals(arguments):
    with pytest.raises(ValueError, match="Sobol' points"):
        sobol(*arguments)


@pytest.mark.parametrize("seed", [0, 1, 12345678901234567890])
def test_every_coordinate_has_one_point_in_each_interval(seed):
    points = sobol(1024, 60, seed)
    for k in range(11):
        cells = np.sort(np.floor(points[: 2**k] * 2**k), axis=0)
        np.testing.assert_array_equal(cells, np.broadcast_to(np.arange(2**k)[:, None], cells.shape))


@pytest.mark.parametrize("skip", [0, 1024])
def test_the_first_plane_is_a_net_with_t_zero(skip):
    points = sobol(1024, 2, 4, skip=skip)
    for k in range(11):
        for a in range(k + 1):
            box = np.floor(points[: 2**k] * [2**a, 2 ** (k - a)]) @ [2 ** (k - a), 1]
            assert len(np.unique(box)) == 2**k


def test_seeds_and_dimensions_differ():
    assert len({sobol(16, 3, seed).tobytes() for seed in range(50)}) == 50
    assert len(np.unique(sobol(1, 500, 0))) == 500


def test_every_point_is_uniform_over_seeds():
    points = np.stack([sobol(6, 4, seed, skip=11) for seed in range(200)])
    deviation = sqrt(1 / 12 / 200)
    assert np.abs(points.mean(axis=0) - 0.5).max() < 3.5 * deviation
    assert np.abs((points < 0.25).mean(axis=0) - 0.25).max() < 3.5 * sqrt(0.25 * 0.75 / 200)
    between = np.corrcoef(points[:, 0].T) - np.eye(4)
    assert np.abs(between).max() < 3.5 / sqrt(200)


def test_a_thousand_dimensions():
    points = sobol(256, 1200, 2)
    assert np.abs(points.mean(axis=0) - 0.5).max() < 1 / 256
    assert np.abs(np.corrcoef(points.T) - np.eye(1200)).mean() < 0.06  # independent draws have 0.05


@pytest.mark.parametrize("degree", range(1, 9))
def test_polynomials_are_primitive(degree):
    """By walking: the powers of x run through everything but 0 before they come back to 1."""

    def order(polynomial):
        power, steps = 1, 0
        while True:
            power, steps = power << 1, steps + 1
            power ^= polynomial * (power >> degree)
            if power == 1 or steps == 2**degree:
                return steps

    slow = [p for p in range(2**degree + 1, 2 ** (degree + 1), 2) if order(p) == 2**degree - 1]
    assert list(primitive_polynomials(degree)) == slow


def test_numbers_of_primitive_polynomials():
    def totient(n):
        return sum(np.gcd(np.arange(1, n + 1), n) == 1)

    for degree in range(1, 14):
        assert len(primitive_polynomials(degree)) == totient(2**degree - 1) // degree


def test_table_is_odd_and_small_and_fits_its_polynomials():
    for dimension, initial in enumerate(INITIAL, start=1):
        polynomial = polynomial_of(dimension)
        assert len(initial) == polynomial.bit_length() - 1
        for i, number in enumerate(direction_numbers(polynomial, initial, 32), start=1):
            assert number % 2 == 1
            assert number < 2**i


@pytest.mark.parametrize("dimensions", [2, 5, 10, 20])
@pytest.mark.parametrize("count", [256, 1024])
def test_integrals_are_as_good_as_scipys(dimensions, count):
    ours = errors(sobol, count, dimensions)
    assert np.exp(np.mean(np.log(ours / errors(scipy_sobol, count, dimensions)))) < 1.3
    assert np.all(ours < errors(monte_carlo, count, dimensions) / (10 if dimensions < 10 else 2))


@pytest.mark.parametrize("count", [64, 256, 1024])
def test_planes_are_as_even_as_scipys(count):
    def evenness(draw):
        points = draw(count, 10, 0)
        return np.mean([qmc.discrepancy(points[:, plane]) for plane in combinations(range(10), 2)])

    assert evenness(sobol) < 1.3 * evenness(scipy_sobol)
