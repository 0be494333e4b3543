"""The kernel density estimate: against scipy and brute force."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import reference
from windage.contexts import Kde, estimate
from windage.contexts.bandwidth import isj, rule_of_thumb
from windage.contexts.kde import NEGLIGIBLE
from windage.dataset import Dataset
from windage.observations import Observations, Row
from windage.search import sobol
from windage.space import ContextSpace, DecisionSpace, Real

ZERO, ONE, INFINITE = np.zeros(1), np.ones(1), np.full(1, np.inf)
BOUNDARIES = ["clamp", "reflect", "none"]
BOUNDS = {
    "both": (ZERO, ONE),
    "lower": (ZERO, INFINITE),
    "upper": (-INFINITE, ONE),
    "no": (-INFINITE, INFINITE),
}


def contexts(count: int, dimensions: int, seed: int) -> np.ndarray:
    return np.clip(0.5 + 0.2 * np.random.default_rng(seed).normal(size=(count, dimensions)), 0, 1)


@given(st.integers(2, 80), st.integers(0, 999))
def test_pdf_equals_scipy_in_one_dimension(count, seed):
    c = contexts(count, 1, seed)
    at = np.linspace(-0.5, 1.5, 41)
    kde = Kde.of(c, boundary="none")
    theirs = reference.scipy_kde(c[:, 0], kde.bandwidth[0])(at)
    np.testing.assert_allclose(kde.pdf(at[:, None]), theirs, rtol=1e-9)


def test_pdf_in_two_dimensions_is_the_product_kernel():
    c, at = contexts(20, 2, 1), contexts(7, 2, 2)
    kde = Kde.of(c, boundary="none")
    h = kde.bandwidth
    scaled = (at[:, None, :] - c) / h
    plain = np.exp(-0.5 * (scaled**2).sum(axis=2)).mean(axis=1) / (2 * math.pi * h.prod())
    np.testing.assert_allclose(kde.pdf(at), plain)
    for d in range(2):
        theirs = reference.scipy_kde(c[:, d], h[d])(at[:, d])
        np.testing.assert_allclose(kde.marginal(d).pdf(at[:, d : d + 1]), theirs)


def mirrored(a: float, b: float, lower: float, upper: float) -> list[tuple[float, float]]:
    """The intervals that reflection at the bounds brings to [a, b], as far as a kernel of width 1 reaches."""
    bounds = [bound for bound in (lower, upper) if math.isfinite(bound)]
    found = {(a, b)}
    for _ in range(12):
        found |= {(2 * bound - high, 2 * bound - low) for low, high in found for bound in bounds}
    return sorted({(round(low, 12), round(high, 12)) for low, high in found if high > -9 and low < 10})


def edges_of(kde: Kde, d: int, count: int) -> np.ndarray:
    """Of cells from four bandwidths below the contexts to four above, within the bounds."""
    c, h = kde.centres[:, d], kde.bandwidth[d]
    low, high = c.min() - 4 * h, c.max() + 4 * h
    if kde.boundary != "none":
        low, high = max(low, kde.lower[d]), min(high, kde.upper[d])
    return np.linspace(low, high, count + 1)


def cells_of(kde: Kde, d: int, count: int) -> tuple[np.ndarray, list[list[tuple[float, float]]]]:
    """Points and, for each of them, the intervals of the whole line whose mass it holds."""
    edges = edges_of(kde, d, count)
    points, pairs = (edges[1:] + edges[:-1]) / 2, list(pairwise(edges))
    if kde.boundary == "reflect":
        return points, [mirrored(a, b, kde.lower[d], kde.upper[d]) for a, b in pairs]
    below, above = (-math.inf, edges[0]), (edges[-1], math.inf)
    if kde.boundary == "clamp":
        return np.r_[edges[0], points, edges[-1]], [[below], *([pair] for pair in pairs), [above]]
    return points, [[below, pairs[0]], *([pair] for pair in pairs[1:-1]), [pairs[-1], above]]


@pytest.mark.parametrize("bandwidth", ["rule-of-thumb", 0.02, 0.9])
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_cells_hold_the_masses_that_scipy_finds(boundary, bounds, bandwidth):
    kde = Kde.of(contexts(30, 1, 4), bandwidth, boundary, *bounds)
    scipy_kde = reference.scipy_kde(kde.centres[:, 0], kde.bandwidth[0])
    points, intervals = cells_of(kde, 0, 64)
    masses = np.array([sum(scipy_kde.integrate_box_1d(*pair) for pair in held) for held in intervals])
    keep = masses > NEGLIGIBLE
    nodes = kde.cells(64)
    np.testing.assert_allclose(nodes.points[:, 0], points[keep], atol=1e-14)
    np.testing.assert_allclose(nodes.weights * masses[keep].sum(), masses[keep], rtol=1e-9, atol=1e-13)
    assert masses.sum() == pytest.approx(1, abs=1e-12 if boundary != "reflect" else 1e-4)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_cells_in_two_dimensions_hold_each_centres_product(boundary):
    kde = Kde.of(contexts(7, 2, 6), "rule-of-thumb", boundary, np.array([0, -np.inf]), np.ones(2))
    axes = [cells_of(kde, d, 5) for d in range(2)]
    points, masses = [], []
    for first, in_first in zip(*axes[0], strict=True):
        for second, in_second in zip(*axes[1], strict=True):
            mass = 0.0
            for centre in kde.centres:
                kernel = stats.norm(centre, kde.bandwidth)
                parts = [
                    sum(kernel.cdf(b)[d] - kernel.cdf(a)[d] for a, b in held)
                    for d, held in enumerate((in_first, in_second))
                ]
                mass += parts[0] * parts[1] / 7
            points.append((first, second))
            masses.append(mass)
    keep = np.array(masses) > NEGLIGIBLE
    exact = np.array(masses)[keep]
    nodes = kde.cells(5)
    np.testing.assert_allclose(nodes.points, np.array(points)[keep], atol=1e-14)
    np.testing.assert_allclose(nodes.weights, exact / exact.sum(), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_samples_follow_the_density(boundary, bounds):
    """Moments of draws against nodes, which are exact; their share of intervals against the density."""
    kde = Kde.of(np.random.default_rng(4).random((30, 1)), "rule-of-thumb", boundary, *bounds)
    draws = kde.sample(200_000, np.random.default_rng(0))[:, 0]
    nodes = kde.nodes()
    assert draws.mean() == pytest.approx(nodes.weights @ nodes.points[:, 0], abs=2e-3)
    assert (draws**2).mean() == pytest.approx(nodes.weights @ nodes.points[:, 0] ** 2, abs=2e-3)
    for low, high in ((0.0, 0.1), (0.4, 0.6), (0.9, 1.0)):
        line = np.linspace(low, high, 301)
        inside = np.trapezoid(kde.pdf(line[:, None]), line)
        assert ((draws > low) & (draws < high)).mean() == pytest.approx(inside, abs=4e-3)
    if boundary != "none":
        assert (draws >= bounds[0]).all()
        assert (draws <= bounds[1]).all()


def test_a_kernel_wider_than_the_box_is_reflected_again_and_again():
    kde = Kde.of(np.full((1, 1), 0.1), 0.9, "reflect", ZERO, ONE)
    draws = kde.sample(100_000, np.random.default_rng(0))[:, 0]
    assert ((draws > 0) & (draws < 1)).all()
    line = np.linspace(0, 0.5, 301)
    share = 0.5 + 2 / math.pi * math.exp(-((0.9 * math.pi) ** 2) / 2) * math.cos(0.1 * math.pi)  # heat flow
    assert np.trapezoid(kde.pdf(line[:, None]), line) == pytest.approx(share, abs=1e-6)
    assert (draws < 0.5).mean() == pytest.approx(share, abs=4e-3)


@pytest.mark.parametrize("bounds", [(ZERO, ONE), (ZERO, INFINITE)], ids=["both", "lower"])
def test_reflection_keeps_all_mass_inside_and_clamping_puts_atoms_on_the_bounds(bounds):
    c = np.random.default_rng(1).random((40, 1))
    line = np.linspace(0, 1 if np.isfinite(bounds[1]) else 3, 20_001)[:, None]
    reflected = Kde.of(c, "rule-of-thumb", "reflect", *bounds)
    assert np.trapezoid(reflected.pdf(line), line[:, 0]) == pytest.approx(1.0, abs=1e-6)
    clamped = Kde.of(c, "rule-of-thumb", "clamp", *bounds)
    nodes = clamped.nodes()
    atoms = nodes.weights[np.isin(nodes.points[:, 0], bounds)].sum()
    assert atoms > 0.01
    assert np.trapezoid(clamped.pdf(line), line[:, 0]) == pytest.approx(1.0 - atoms, abs=1e-4)
    for kde in (clamped, reflected):
        assert kde.pdf(np.array([[-0.01]])) == 0
    assert Kde.of(c, boundary="none", lower=ZERO, upper=ONE).pdf(np.array([[-0.01]])) > 0


BOUNDED = {
    "clamp": lambda c: np.clip(c, 0, 1),
    "reflect": lambda c: 1 - np.abs(1 - c % 2),
    "none": lambda c: c,
}


@pytest.mark.parametrize(("dimensions", "tolerance"), [(1, 2e-4), (2, 5e-3), (3, 2e-2), (4, 2e-2)])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_deterministic_nodes_integrate_better_than_the_papers_draws(dimensions, tolerance, boundary):
    low, high = np.zeros(dimensions), np.ones(dimensions)
    kde = Kde.of(contexts(40, dimensions, 2), boundary=boundary, lower=low, upper=high)

    def g(c: np.ndarray) -> np.ndarray:
        return np.sin(6 * c).sum(axis=1) + c.prod(axis=1)

    # the coordinates of one centre's kernel are independent: integrals over lines
    z = np.linspace(-8, 8, 4001)
    normal = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    lines = BOUNDED[boundary](kde.centres[:, :, None] + kde.bandwidth[:, None] * z)
    exact = ((np.sin(6 * lines) @ normal).sum(axis=1) + (lines @ normal).prod(axis=1)).mean()
    nodes = kde.nodes()
    assert nodes.weights.sum() == pytest.approx(1.0, abs=1e-12)
    error = abs(nodes.weights @ g(nodes.points) - exact)
    assert error < tolerance
    draws = [g(kde.monte_carlo(1024, np.random.default_rng(seed)).points).mean() for seed in range(40)]
    apart = np.array(draws) - exact
    assert error < np.sqrt(np.mean(apart**2))
    assert abs(apart.mean()) < 4 * apart.std() / math.sqrt(40)


def test_quasi_random_nodes_are_seeded():
    kde = Kde.of(contexts(20, 3, 0))
    np.testing.assert_array_equal(kde.nodes(seed=4).points, kde.nodes(seed=4).points)
    assert not np.array_equal(kde.nodes(seed=4).points, kde.nodes(seed=5).points)


def test_all_contexts_equal_still_give_a_density():
    kde = Kde.of(np.full((5, 1), 0.3), lower=ZERO, upper=ONE)
    assert kde.bandwidth[0] > 0
    assert np.isfinite(kde.pdf(np.array([[0.3]]))).all()
    nodes = kde.nodes()
    assert nodes.weights @ nodes.points[:, 0] == pytest.approx(0.3, abs=1e-3)


@pytest.mark.parametrize("boundary", [*BOUNDARIES, "held-out"])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_one_context_gives_a_density(dimensions, boundary):
    kde = Kde.of(
        np.full((1, dimensions), 0.3), "held-out", boundary, np.zeros(dimensions), np.ones(dimensions)
    )
    assert np.isfinite(kde.sample(10, np.random.default_rng(0))).all()
    assert kde.nodes().weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("dimensions", [1, 2])
def test_held_out_likelihood_is_that_of_the_estimate_from_the_others(boundary, dimensions):
    c = sobol(9, dimensions, 3)
    ends = np.zeros(dimensions), np.ones(dimensions)
    kde = Kde(c, np.full(dimensions, 0.1), *ends, boundary)
    others = [Kde(np.delete(c, i, axis=0), kde.bandwidth, *ends, boundary) for i in range(9)]
    plain = [math.log(rest.pdf(c[i : i + 1])[0]) for i, rest in enumerate(others)]
    assert kde.held_out() == pytest.approx(np.mean(plain), rel=1e-9)


def test_on_a_bound_the_held_out_likelihood_counts_the_probability_there():
    c = np.array([[0.0], [0.1], [0.4]])
    kde = Kde(c, np.full(1, 0.1), ZERO, ONE, "clamp")
    rest = Kde(c[1:], kde.bandwidth, ZERO, ONE, "clamp")
    atom = stats.norm.cdf(-c[1:, 0] / 0.1).mean()
    inside = [math.log(Kde(np.delete(c, i, 0), kde.bandwidth, ZERO, ONE).pdf(c[[i]])[0]) for i in (1, 2)]
    assert kde.held_out() == pytest.approx((math.log(atom) + sum(inside)) / 3, rel=1e-9)
    assert rest.nodes().weights[0] == pytest.approx(atom, rel=1e-6)


def test_contexts_on_a_bound_speak_for_clamping_and_a_distribution_that_ends_there_for_reflection():
    rng = np.random.default_rng(4)
    inside = rng.random((80, 1))
    clipped = np.clip(0.4 * rng.normal(size=(80, 1)) + 0.5, 0, 1)
    assert Kde.of(inside, "held-out", "held-out", ZERO, ONE).boundary == "reflect"
    assert Kde.of(clipped, "held-out", "held-out", ZERO, ONE).boundary == "clamp"
    atom = Kde.of(clipped, "rule-of-thumb", "clamp", ZERO, ONE).nodes().weights[0]
    assert 0.3 < atom / (clipped == 0).mean() < 3  # the probability that the likelihood counts


def test_held_out_likelihood_chooses_the_narrow_rule_for_humps_and_the_wide_for_one():
    noise = np.random.default_rng(5).normal(size=(200, 1))
    centres = np.array([0.2, 0.5, 0.8])[np.arange(200) % 3][:, None]
    humps, hill = centres + 0.02 * noise, 0.5 + 0.1 * noise
    chosen, plain = Kde.of(humps, "held-out"), Kde.of(humps)
    np.testing.assert_array_equal(chosen.bandwidth, isj(humps))
    assert chosen.held_out() > plain.held_out() + 0.3
    assert (Kde.of(hill, "held-out").bandwidth / rule_of_thumb(hill))[0] > 0.7


@pytest.mark.parametrize("seen", [[[0.3]], [[0.3], [0.3]], [[0.0], [0.0], [1.0]]])
def test_held_out_choice_of_hardly_any_contexts(seen):
    kde = Kde.of(np.array(seen), "held-out", "held-out", ZERO, ONE)
    assert kde.nodes().weights.sum() == pytest.approx(1)


def test_the_estimate_of_a_dataset_is_that_of_its_contexts_in_the_unit_box():
    decisions = DecisionSpace.of({"x": Real(0, 1)})
    seen = Observations().add([Row({"x": 0.5}, {"c": c, "d": 7.0 + c}, 1.0) for c in (10.0, 20.0, 25.0)])
    space = ContextSpace.of({"c": Real(0, 50), "d": Real()}, decisions)
    data = Dataset(decisions, space, seen, maximize=True)
    kde = estimate(data, 0.1, "reflect")
    np.testing.assert_allclose(kde.centres[:, 0], [0.2, 0.4, 0.5])
    assert kde.bandwidth.tolist() == [0.1, 0.1]
    assert (kde.lower.tolist(), kde.upper.tolist()) == ([0, -np.inf], [1, np.inf])
    assert kde.boundary == "reflect"
    alone = Observations().add([Row({"x": 0.5}, {}, 1.0)])
    assert estimate(Dataset(decisions, ContextSpace({}), alone, maximize=True), 0.1, "clamp") is None
