"""Laws of the context against scipy and brute force."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import reference
from windage.density import Kde, Nodes, box, empirical, grid, sobol, sobol_box, thinned
from windage.density.bandwidth import FEWEST, isj, rule_of_thumb, silverman

ZERO, ONE = torch.zeros(1, dtype=torch.double), torch.ones(1, dtype=torch.double)


def contexts(count: int, dimensions: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (0.5 + 0.2 * torch.randn(count, dimensions, generator=generator, dtype=torch.double)).clamp(0, 1)


def test_rule_of_thumb_as_in_the_paper():
    c = contexts(50, 2, 0)
    expected = (4 / (4 * 50)) ** (1 / 6) * c.numpy().std(axis=0)
    assert np.allclose(rule_of_thumb(c).numpy(), expected)


def humps(n, seed):
    """Two narrow humps, far apart."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(
        np.where(rng.random(n) < 0.5, rng.normal(0.2, 0.02, n), rng.normal(0.8, 0.03, n))
    )[:, None]


def humps_pdf(c):
    return 0.5 * stats.norm.pdf(c, 0.2, 0.02) + 0.5 * stats.norm.pdf(c, 0.8, 0.03)


@pytest.mark.parametrize("seed", range(3))
def test_isj_finds_humps_that_the_rule_of_thumb_smooths_away(seed):
    c = humps(300, seed)
    line = torch.linspace(0, 1, 2001, dtype=torch.double)[:, None]
    true = humps_pdf(line[:, 0].numpy())
    errors = [np.abs(Kde.of(c, rule).pdf(line).numpy() - true).mean() for rule in ("isj", "rule-of-thumb")]
    assert errors[0] < 0.25 < 0.9 < errors[1]
    # and is as wide as the best width for one hump of half of the points, within a third
    best = 0.025 * (4 / (3 * 150)) ** 0.2
    assert float(isj(c)) == pytest.approx(best, rel=0.35)


@pytest.mark.parametrize("seed", range(3))
def test_isj_of_a_normal_law_is_near_the_best(seed):
    c = torch.from_numpy(np.random.default_rng(seed).normal(0.5, 0.1, 400))[:, None]
    assert float(isj(c)) == pytest.approx(float(rule_of_thumb(c)), rel=0.35)
    assert torch.allclose(isj(3 * c + 1), 3 * isj(c), rtol=1e-6)
    two = torch.cat([c, humps(400, seed)], dim=1)
    assert isj(two)[0] > 1.1 * isj(c)[0]  # wider in more dimensions, as the rule of thumb is
    assert isj(two)[1] < 0.2 * rule_of_thumb(two)[1]


def test_isj_where_it_has_no_answer():
    few = torch.from_numpy(np.random.default_rng(0).random(FEWEST - 1))[:, None]
    assert torch.equal(isj(few), rule_of_thumb(few))
    same = torch.full((50, 1), 0.3, dtype=torch.double)
    assert float(Kde.of(same, "isj").bandwidth) > 0
    counted = torch.tensor([[0.1], [0.5]], dtype=torch.double).repeat(100, 1)  # many, but two of a kind
    assert torch.equal(isj(counted), rule_of_thumb(counted))


def test_silverman_resists_an_outlier():
    c = torch.cat([contexts(50, 1, 0), torch.tensor([[1e4]], dtype=torch.double)])
    assert silverman(c)[0] < 0.2 < rule_of_thumb(c)[0]


@given(st.integers(2, 80), st.integers(0, 999))
def test_pdf_equals_scipy_in_one_dimension(count, seed):
    c = contexts(count, 1, seed)
    at = np.linspace(-0.5, 1.5, 41)
    kde = Kde.of(c, boundary="none")
    theirs = reference.scipy_kde(c.numpy()[:, 0], float(kde.bandwidth[0]))(at)
    assert np.allclose(kde.pdf(torch.tensor(at)[:, None]).numpy(), theirs, rtol=1e-9)


def test_pdf_in_two_dimensions_is_the_product_kernel():
    c = contexts(20, 2, 1)
    kde = Kde.of(c, boundary="none")
    at = contexts(7, 2, 2)
    h = kde.bandwidth.numpy()
    scaled = (at.numpy()[:, None, :] - c.numpy()) / h
    plain = np.exp(-0.5 * (scaled**2).sum(2)).mean(1) / (2 * math.pi * h.prod())
    assert np.allclose(kde.pdf(at).numpy(), plain)


@pytest.mark.parametrize("boundary", ["clamp", "reflect", "none"])
def test_samples_follow_the_density(boundary):
    """Mean, deviation and the mass of intervals, of draws against nodes, which are exact."""
    kde = Kde.of(contexts(30, 1, 4), boundary=boundary, lower=ZERO, upper=ONE)
    draws = kde.sample(200_000, torch.Generator().manual_seed(0))[:, 0]
    nodes = kde.nodes()
    mean = float(nodes.weights @ nodes.points[:, 0])
    assert float(draws.mean()) == pytest.approx(mean, abs=2e-3)
    second = float(nodes.weights @ nodes.points[:, 0].square())
    assert float(draws.square().mean()) == pytest.approx(second, abs=2e-3)
    if boundary != "none":
        assert draws.min() >= 0
        assert draws.max() <= 1


def test_reflection_keeps_all_mass_inside_and_clamping_puts_atoms_on_the_bounds():
    c = torch.rand(40, 1, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    line = torch.linspace(0, 1, 20_001, dtype=torch.double)[:, None]
    reflected = Kde.of(c, boundary="reflect", lower=ZERO, upper=ONE)
    assert float(reflected.pdf(line).mean()) == pytest.approx(1.0, abs=1e-3)
    clamped = Kde.of(c, lower=ZERO, upper=ONE)
    nodes = clamped.nodes()
    atoms = float(nodes.weights[nodes.points[:, 0] == 0] + nodes.weights[nodes.points[:, 0] == 1].sum())
    assert atoms > 0.01
    assert float(clamped.pdf(line).mean()) == pytest.approx(1.0 - atoms, abs=1e-3)
    assert float(clamped.pdf(torch.tensor([[1.5]], dtype=torch.double))) == 0


@pytest.mark.parametrize(("dimensions", "tolerance"), [(1, 2e-4), (2, 5e-3), (3, 2e-2), (4, 2e-2)])
@pytest.mark.parametrize("boundary", ["clamp", "reflect", "none"])
def test_deterministic_nodes_integrate_better_than_the_papers_draws(dimensions, tolerance, boundary):
    low, high = torch.zeros(dimensions).double(), torch.ones(dimensions).double()
    kde = Kde.of(contexts(40, dimensions, 2), boundary=boundary, lower=low, upper=high)

    def g(c: torch.Tensor) -> torch.Tensor:
        return torch.sin(6 * c).sum(1) + c.prod(1)

    exact = float(g(kde.sample(2_000_000, torch.Generator().manual_seed(9))).mean())
    nodes = kde.nodes()
    assert float(nodes.weights.sum()) == pytest.approx(1.0, abs=1e-12)
    error = abs(float(nodes.weights @ g(nodes.points)) - exact)
    assert error < tolerance + 1e-3  # the reference itself is known to about 1e-3
    draws = [
        abs(float(g(kde.monte_carlo(1024, torch.Generator().manual_seed(s)).points).mean()) - exact)
        for s in range(40)
    ]
    assert error < np.sqrt(np.mean(np.square(draws)))


def test_all_contexts_equal_still_give_a_density():
    kde = Kde.of(torch.full((5, 1), 0.3, dtype=torch.double), lower=ZERO, upper=ONE)
    assert float(kde.bandwidth[0]) > 0
    assert torch.isfinite(kde.pdf(torch.tensor([[0.3]], dtype=torch.double))).all()
    nodes = kde.nodes()
    assert float(nodes.weights @ nodes.points[:, 0]) == pytest.approx(0.3, abs=1e-3)


def test_one_context_gives_a_density():
    kde = Kde.of(torch.tensor([[0.3, 0.4]], dtype=torch.double))
    assert torch.isfinite(kde.sample(10, torch.Generator().manual_seed(0))).all()


@pytest.mark.parametrize("boundary", ["clamp", "reflect", "none"])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_held_out_likelihood_is_that_of_the_estimate_from_the_others(boundary, dimensions):
    contexts = sobol(9, dimensions, 3)
    ends = torch.zeros(dimensions).double(), torch.ones(dimensions).double()
    kde = Kde(contexts, torch.full((dimensions,), 0.1).double(), *ends, boundary)
    others = [torch.cat([contexts[:i], contexts[i + 1 :]]) for i in range(9)]
    plain = [
        float(Kde(rest, kde.bandwidth, *ends, boundary).pdf(contexts[i : i + 1]).log())
        for i, rest in enumerate(others)
    ]
    assert kde.held_out() == pytest.approx(np.mean(plain), rel=1e-9)


def test_contexts_on_a_bound_speak_for_clamping_and_a_law_that_ends_there_for_reflection():
    generator = torch.Generator().manual_seed(4)
    ends = torch.zeros(1).double(), torch.ones(1).double()
    inside = torch.rand(80, 1, generator=generator, dtype=torch.double)
    clipped = (0.4 * torch.randn(80, 1, generator=generator, dtype=torch.double) + 0.5).clamp(0, 1)
    assert Kde.of(inside, "held-out", "held-out", *ends).boundary == "reflect"
    assert Kde.of(clipped, "held-out", "held-out", *ends).boundary == "clamp"
    on = clipped[:, 0] == 0
    law = Kde.of(clipped, "rule-of-thumb", "clamp", *ends)
    atom = law.nodes().weights[0]
    assert 0.3 < float(atom) / float(on.double().mean()) < 3  # the probability that the likelihood counts


def test_held_out_likelihood_chooses_the_narrow_rule_for_humps_and_the_wide_for_one():
    generator = torch.Generator().manual_seed(5)
    noise = torch.randn(200, 1, generator=generator, dtype=torch.double)
    centres = torch.tensor([0.2, 0.5, 0.8], dtype=torch.double)[torch.arange(200) % 3][:, None]
    humps, hill = centres + 0.02 * noise, 0.5 + 0.1 * noise
    chosen, plain = Kde.of(humps, "held-out"), Kde.of(humps)
    assert torch.equal(chosen.bandwidth, isj(humps))
    assert chosen.held_out() > plain.held_out() + 0.3
    assert float(Kde.of(hill, "held-out").bandwidth / rule_of_thumb(hill)) > 0.7


@pytest.mark.parametrize("contexts", [[[0.3]], [[0.3], [0.3]], [[0.0], [0.0], [1.0]]])
def test_held_out_choice_of_hardly_any_contexts(contexts):
    ends = torch.zeros(1).double(), torch.ones(1).double()
    law = Kde.of(torch.tensor(contexts, dtype=torch.double), "held-out", "held-out", *ends)
    assert float(law.nodes().weights.sum()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("dimensions", "size", "side"), [(1, 100, 100), (2, 100, 10), (2, 1024, 32), (4, 1024, 6), (3, 1000, 10)]
)
def test_grid_is_full_and_counts_the_nearest(dimensions, size, side):
    c = contexts(30, dimensions, 5)
    nodes = grid(c, size)
    assert len(nodes.points) == side**dimensions
    assert float(nodes.weights.sum()) == pytest.approx(1.0)
    nearest = torch.cdist(c, nodes.points).argmin(1)
    counts = torch.bincount(nearest, minlength=len(nodes.points)) / 30
    assert torch.allclose(counts.double(), nodes.weights)


def test_grid_takes_contexts_outside_its_box_at_the_border():
    nodes = grid(torch.tensor([[-3.0], [7.0]], dtype=torch.double), 11)
    assert nodes.weights[0] == nodes.weights[-1] == 0.5


def test_box_is_mean_plus_minus_deviation_within_the_bounds():
    c = contexts(200, 1, 3)
    nodes = box(c, ZERO, ONE, 1024, seed=1)
    mean, deviation = float(c.mean()), float(c.std(correction=0))
    assert float(nodes.points.min()) == pytest.approx(mean - deviation, abs=2e-3)
    assert float(nodes.points.max()) == pytest.approx(mean + deviation, abs=2e-3)
    skewed = torch.tensor([[0.0]] * 9 + [[1.0]], dtype=torch.double)
    assert float(box(skewed, ZERO, ONE, 64, 0).points.min()) >= 0


def test_sobol_box_covers_the_whole_range():
    low, high = torch.tensor([2.0, -1.0]).double(), torch.tensor([3.0, 1.0]).double()
    points = sobol_box(low, high, 256, 0).points
    assert (points.amin(0) - low).abs().max() < 0.05
    assert (high - points.amax(0)).abs().max() < 0.05


def test_sobol_continues_and_is_seeded():
    assert torch.equal(sobol(8, 3, 5)[3:], sobol(5, 3, 5, skip=3))
    assert not torch.equal(sobol(8, 3, 5), sobol(8, 3, 6))


def test_empirical():
    c = contexts(4, 2, 0)
    nodes = empirical(c)
    assert torch.equal(nodes.points, c)
    assert nodes.weights.tolist() == [0.25] * 4


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_thinned_nodes_keep_the_mean_and_nearly_the_law(dimensions):
    nodes = Nodes.equal(sobol(1024, dimensions, 0))
    few = thinned(nodes, 64)
    assert len(few.weights) <= 81
    assert float(few.weights.sum()) == pytest.approx(1)
    assert torch.allclose(few.weights @ few.points, nodes.weights @ nodes.points)
    smooth = [n.weights @ torch.cos(2 * n.points.sum(1)) for n in (nodes, few)]
    assert float(smooth[0]) == pytest.approx(float(smooth[1]), abs=0.02 * dimensions)
    assert thinned(few, 64) is few
    uneven = Nodes(nodes.points, torch.linspace(0, 1, 1024).double() / 512)
    assert thinned(uneven, 64) is uneven
