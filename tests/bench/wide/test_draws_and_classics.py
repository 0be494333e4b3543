"""Draws from Gaussian processes and classic functions of the wide suite."""

import math
from functools import cache

import numpy as np
import pytest

from windage.bench.wide import classics, gp_draws
from windage.bench.wide import instance as wide_instance
from windage.bench.wide.contexts import NODES
from windage.bench.wide.gp_draws import Waves

FAMILIES = {family.name: family for family in (*gp_draws.FAMILIES, *classics.FAMILIES)}
PROBLEMS = [(name, number) for name in FAMILIES for number in range(3)]

every = pytest.mark.parametrize(("name", "number"), PROBLEMS)


@pytest.fixture(autouse=True)
def _short_scan(monkeypatch):
    """An eighth of the scan for the optimum and half of the climbs: quicker, and a harder test."""
    monkeypatch.setattr(wide_instance, "SCAN", 2**10)
    monkeypatch.setattr(wide_instance, "STARTS", 12)


@cache
def instance(name, number):
    return FAMILIES[name].instance(number)


def decisions(found, n, seed):
    return found.valid(np.random.default_rng(seed).random((n, len(found.decisions))))


@every
def test_the_same_number_is_the_same_instance(name, number):
    first, second = instance(name, number), FAMILIES[name].instance(number)
    x = decisions(first, 5, 0)
    c = first.sample_contexts(5, np.random.default_rng(1))
    assert np.array_equal(first.evaluate(x, c), second.evaluate(x, c))
    assert np.array_equal(first.distribution.nodes, second.distribution.nodes)
    assert first.noise == (0.0, 0.05, 0.2)[number]


@every
def test_values_broadcast_and_are_finite_at_extreme_contexts(name, number):
    found = instance(name, number)
    x = decisions(found, 3, 0)
    ends = np.array([1e-15, 0.3, 0.5, 1 - 1e-15])[:, None] * np.ones(len(found.contexts))
    c = found.distribution.from_uniform(ends)
    values = found.evaluate(x[:, None], c[None])
    assert values.shape == (3, 4)
    assert np.isfinite(values).all()
    pairs = [found.evaluate(x[[i]], c[[j]])[0] for i in range(3) for j in range(4)]
    np.testing.assert_allclose(values.ravel(), pairs, rtol=1e-9, atol=1e-9)
    assert np.isfinite(found.evaluate(x, np.full((3, len(found.contexts)), 1e3))).all()


@every
def test_the_expectation_is_the_mean_over_nodes(name, number):
    found = instance(name, number)
    x = decisions(found, 2, 2)
    nodes = found.distribution.nodes
    assert len(nodes) == NODES
    values = found.evaluate(x[:, None], nodes[None])
    np.testing.assert_allclose(found.expected(x), values.mean(axis=1), rtol=1e-9, atol=1e-9 * values.std())
    assert found.expected(x[:0]).shape == (0,)


@every
def test_the_expectation_is_near_a_monte_carlo_mean(name, number):
    found = instance(name, number)
    x = decisions(found, 1, 3)
    rng = np.random.default_rng(4)
    drawn = np.concatenate([found.evaluate(x, found.sample_contexts(4000, rng)) for _ in range(5)])
    error = drawn.std() / math.sqrt(len(drawn))
    assert abs(found.expected(x)[0] - drawn.mean()) < 5 * error


@every
def test_no_random_decision_beats_the_optimum(name, number):
    found = instance(name, number)
    values = found.expected(decisions(found, 2000, 5))
    assert found.optimum.value >= values.max()
    assert found.optimum.value > found.random + 0.5 * values.std()


@every
def test_the_context_matters(name, number):
    found = instance(name, number)
    x = decisions(found, 64, 6)
    c = found.sample_contexts(64, np.random.default_rng(7))
    values = found.evaluate(x[:, None], c[None])
    by_context = values.std(axis=1).mean()
    by_decision = found.expected(x).std()
    assert 0.2 < by_context / by_decision < 5
    assert len(set(values.argmax(axis=0))) > 1  # the best decision depends on the context


def test_splits_dimensions_and_names():
    assert len(FAMILIES) == 12
    validation = {name for name, family in FAMILIES.items() if family.split == "validation"}
    assert validation == {"gp-rough", "gp-nonstationary", "styblinski-tang", "griewank", "schwefel"}
    sizes = {(len(instance(*key).decisions), len(instance(*key).contexts)) for key in PROBLEMS}
    assert {dx for dx, _ in sizes} == set(range(1, 9))
    assert {dc for _, dc in sizes} == {1, 2, 3}


def test_waves_at_a_point_by_hand():
    """2 cos(π x + π c + 0) - 3 cos(0·x + π c + π/2) + x/2 - c at x = 1/4 (or its square) and c = 1/2."""
    parts = np.array([2.0, -3.0]), np.array([[math.pi, 0.0]]), np.array([[math.pi, math.pi]])
    rest = np.array([0.0, math.pi / 2]), np.array([0.5]), np.array([-1.0])
    x, c = np.array([[0.25]]), np.array([[0.5]])
    for power, warped in ((1.0, 0.25), (2.0, 1 / 16), (-2.0, 1 - 9 / 16)):
        value = 2 * math.cos(math.pi * (warped + 0.5)) - 3 * math.cos(math.pi) + 0.125 - 0.5
        waves = Waves(*parts, *rest, np.array([power]))
        assert waves(x, c)[0] == pytest.approx(value)
        assert waves.average(c)(x)[0] == pytest.approx(value)


def test_many_smooth_draws_have_the_squared_exponential_covariance():
    """Of f(x, c) and f(x', c): exp(-|x - x'|²/2ℓ²), over 2,000 draws with ℓ = 0.3."""
    rng = np.random.default_rng(8)
    x, c = np.array([[0.2], [0.5]]), np.zeros((2, 1))
    scales = np.array([[0.3], [1.0]])
    draws = [
        gp_draws._waves(gp_draws._normal(50, rng), rng.standard_normal((2, 50)) / scales, 1, rng)(x, c)
        for _ in range(2000)
    ]
    covariance = np.cov(np.array(draws).T)
    np.testing.assert_allclose(covariance, [[1, math.exp(-0.5)], [math.exp(-0.5), 1]], atol=0.1)


def literal(name, z):
    """Each classic as it is printed, one point at a time."""
    d = len(z)
    if name == "levy":
        w = [1 + (v - 1) / 4 for v in z]
        inner = sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1])
        last = (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)
        return math.sin(math.pi * w[0]) ** 2 + inner + last
    if name == "styblinski_tang":
        return sum(v**4 - 16 * v**2 + 5 * v for v in z) / 2
    if name == "log_rosenbrock":
        total = sum(100 * (z[i + 1] - z[i] ** 2) ** 2 + (1 - z[i]) ** 2 for i in range(d - 1))
        return math.log(1 + total)
    if name == "griewank":
        product = math.prod(math.cos(v / math.sqrt(i)) for i, v in enumerate(z, 1))
        return 1 + sum(v * v for v in z) / 4000 - product
    if name == "michalewicz":
        return -sum(math.sin(v) * math.sin(i * v * v / math.pi) ** 8 for i, v in enumerate(z, 1))
    return sum(418.9828872724338 - v * math.sin(math.sqrt(abs(v))) for v in z)


MINIMA = {
    "levy": ([1.0, 1.0, 1.0], 0.0),
    "styblinski_tang": ([-2.903534] * 3, -3 * 39.16617),
    "log_rosenbrock": ([1.0, 1.0, 1.0], 0.0),
    "griewank": ([0.0, 0.0, 0.0], 0.0),
    "michalewicz": ([2.2, math.pi / 2], -1.80),
    "schwefel": ([420.968746] * 3, 0.0),
}


@pytest.mark.parametrize("name", MINIMA)
def test_classics_are_as_printed_and_have_their_known_minimum(name):
    classic = getattr(classics, name)
    z, value = MINIMA[name]
    z = np.array(z)
    assert float(classic(0.3 * z, 0.7 * z)) == pytest.approx(
        value, abs=0.01 if name == "michalewicz" else 1e-4
    )
    rng = np.random.default_rng(9)
    width = 20.0 if name == "schwefel" else 1.0
    for point in z + width * rng.standard_normal((5, len(z))):
        part = rng.standard_normal(len(z))
        assert float(classic(point - part, part)) == pytest.approx(literal(name, point), rel=1e-9, abs=1e-9)
        if name != "michalewicz":  # its minimum above is rounded
            assert literal(name, point) > value


def test_schwefel_rises_beyond_its_box():
    z = np.array([700.0])
    inside = 418.9828872724338 - 700 * math.sin(math.sqrt(700))
    assert float(classics.schwefel(z, np.zeros(1))) == pytest.approx(inside + 0.01 * 200**2)


@pytest.mark.parametrize("number", range(3))
def test_the_optimum_of_the_ellipsoid_is_that_of_the_linear_equations(number):
    """The gradient of -E|x A + v|², 0 at x A Aᵀ = -E v Aᵀ."""
    found = instance("ellipsoid", number)
    a, v = found.function.decision_matrix, found.function.offset
    v = v + found.distribution.nodes.mean(axis=0) @ found.function.context_matrix
    exact = np.linalg.solve(a @ a.T, -a @ v)
    assert (np.abs(exact) < 5).all()
    assert found.optimum.value == pytest.approx(found.expected(exact)[0], rel=1e-6)


@pytest.mark.parametrize(("name", "region"), [("levy", classics.LEVY), ("schwefel", classics.SCHWEFEL)])
def test_x_and_c_are_rotated_together(name, region):
    """(A, B), freed of units, is a rotation times the factors of its columns: its columns are orthogonal."""
    found = instance(name, 1)
    low, high = found.box
    spread = found.distribution.nodes.std(axis=0)
    a = found.function.decision_matrix * (high - low)[:, None]
    b = found.function.context_matrix * (spread / region.spread)[:, None]
    gram = a.T @ a + b.T @ b
    factors = np.sqrt(np.diag(gram)) / region.width
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9 * region.width**2)
    assert (factors >= classics.STRETCH[0]).all()
    assert (factors <= classics.STRETCH[1]).all()
    assert (np.abs(a) > 0).all()
    assert (np.abs(b) > 0).all()
