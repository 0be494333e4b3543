"""The deviations of the published code, each against what that code computes, written out plainly."""

import numpy as np
import pytest

import reference
from windage import ConfigurationError, Optimizer, Real, proposal
from windage.contexts import Nodes, grid
from windage.gp import ProductGP
from windage.methods import as_published
from windage.methods.as_published import MisplacedInfimum, UnweightedMinimax
from windage.methods.settings import PAPER_SAMPLES
from windage.search import Maximum

METHODS = ["drbo-kde", "stableopt", "drbo-mmd", "drbo-mmd-minimax", "gp-ucb"]


def told(method: str, contexts: int = 1, **settings) -> Optimizer:
    """A study with twelve observations."""
    names = [f"c{i}" for i in range(contexts)]
    opt = Optimizer(
        {"x": Real(0, 1), "y": Real(0, 1)}, {name: Real(0, 1) for name in names}, method, seed=1, **settings
    )
    rng = np.random.default_rng(3)
    for _ in range(12):
        x, y, *c = rng.random(2 + contexts).tolist()
        opt.tell({"x": x, "y": y}, dict(zip(names, c, strict=True)), float(np.sin(9 * x) + y * sum(c)))
    return opt


def acquisition(method: str, contexts: int = 1, **settings):
    opt = told(method, contexts, as_published=True, **settings)
    return opt._acquisition(opt._state(opt._configuration.method.uses_context))


@pytest.mark.parametrize("method", METHODS)
def test_it_is_an_option_that_changes_the_acquisition_and_can_be_asked(method):
    plain, published = told(method, 2), told(method, 2, as_published=True)
    joint = method != "gp-ucb"
    x = np.random.default_rng(0).random((5, 2))
    values = [opt._acquisition(opt._state(joint)).value(x) for opt in (plain, published)]
    assert not np.allclose(*values, atol=1e-3)
    assert published.to_dict()["settings"] == {"as_published": True}
    assert 0 <= published.ask().decision["x"] <= 1


@pytest.mark.parametrize(("published", "count"), [(False, 12), (True, 0)])
def test_the_search_begins_at_raw_samples_alone(monkeypatch, published, count):
    scored = []

    def maximize(target, blocks, raw_samples, restarts, seed, extra, avoid):
        scored.append(extra)
        return Maximum(np.full(2, 0.5), 0.0)

    monkeypatch.setattr(proposal, "maximize", maximize)
    told("drbo-kde", as_published=published).ask()
    assert [extra.shape for extra in scored] == [(count, 2)]


@pytest.mark.parametrize("method", ["sbo-kde", "auto", "erbo"])
def test_methods_without_deviations_refuse_it(method):
    with pytest.raises(ConfigurationError, match="does not use as_published"):
        told(method, as_published=True)


def test_it_is_true_or_false():
    with pytest.raises(ConfigurationError, match="as_published must be True or False"):
        told("drbo-kde", as_published=1)


def test_the_infimum_is_over_the_box_on_the_other_side_of_zero():
    found = acquisition("drbo-kde")
    assert isinstance(found, MisplacedInfimum)
    assert len(found.nodes) == PAPER_SAMPLES
    assert found.space.min() < -0.99
    assert -0.01 < found.space.max() <= 0


@pytest.mark.parametrize("seed", range(20))
def test_a_misplaced_infimum_gives_what_the_two_dimensional_dual_gives(seed):
    """Wherever the infimum lies: below all bounds, among them, or above all of them."""
    rng = np.random.default_rng(seed)
    gp = reference.fitted(12, 2, 1, 0)
    nodes = Nodes.equal(rng.random((17, 1)))
    found = MisplacedInfimum(gp, nodes, rng.uniform(0, 1.5), -rng.random((3, 1)))
    bounds = rng.normal(size=(4, 20))
    bounds[:, 17:] += rng.uniform(-3, 4)
    expected = [
        reference.total_variation_dual(row[:17], nodes.weights, found.radius, row[17:].min())
        for row in bounds
    ]
    assert np.allclose(found.objective(bounds).value, expected, atol=1e-8)


def test_above_all_bounds_it_is_the_plain_mean_and_the_infimum_has_no_gradient():
    found = MisplacedInfimum(
        reference.fitted(12, 2, 1, 0), Nodes.equal(np.ones((4, 1))), 0.5, -np.ones((2, 1))
    )
    bounds = np.array([[1.0, 2.0, 3.0, 4.0, 9.0, 8.0], [1.0, 2.0, 3.0, 4.0, 0.5, 8.0]])
    value, gradient = found.objective(bounds)
    assert value[0] == pytest.approx(2.5)
    assert np.allclose(gradient[0], [0.25, 0.25, 0.25, 0.25, 0, 0])
    assert np.allclose(gradient[1], [0.25, 0.25, 0.25, 0, 0, 0])


def test_the_box_of_stableopt_lies_below_the_mean():
    contexts = np.random.default_rng(0).normal(0.5, 0.1, size=(40, 2))
    points = as_published.misplaced_box(contexts, 1024, 0).points
    mean, deviation = contexts.mean(axis=0), contexts.std(axis=0, ddof=1)
    assert np.allclose(points.max(axis=0), mean - deviation, atol=0.01)
    assert np.allclose(points.min(axis=0), mean - 3 * deviation, atol=0.01)


def test_the_grid_is_a_diagonal_and_contexts_count_at_their_nearest_point():
    contexts = np.random.default_rng(0).random((30, 2))
    nodes = as_published.diagonal_grid(contexts, 100)
    assert np.allclose(nodes.points, np.repeat(np.linspace(0, 1, 10)[:, None], 2, axis=1))
    nearest = np.linalg.norm(contexts[:, None] - nodes.points, axis=2).argmin(axis=1)
    assert np.allclose(nodes.weights, np.bincount(nearest, minlength=10) / 30)
    assert len(acquisition("drbo-mmd", 2).nodes) == 10
    assert len(acquisition("drbo-mmd-minimax", 2).nodes) == 32


def test_with_one_context_the_diagonal_is_the_whole_grid():
    contexts = np.random.default_rng(0).random((30, 1))
    mine, right = as_published.diagonal_grid(contexts, 100), grid(contexts, 100)
    assert np.allclose(mine.points, right.points)
    assert np.allclose(mine.weights, right.weights)


def test_the_radius_shrinks_by_the_output_scale_of_the_kernel():
    plain = acquisition("drbo-mmd")
    scaled = acquisition("drbo-mmd", surrogate="2023")
    scale = scaled.model.scale
    assert plain.model.scale == 1
    assert scaled.radius == pytest.approx(plain.radius / np.sqrt(scale))


def published_minimax(bounds, weights, kernel, radius):
    """As the code has it, for a batch of bounds."""
    values, middle = np.zeros(len(bounds)), []
    for row in bounds:
        worst = np.eye(len(row))[row.argmin()]
        corner = np.sqrt((worst - weights) @ kernel @ (worst - weights))
        middle.append(radius <= corner)
        values[len(middle) - 1] = (row.mean() + radius * (row.min() - row.mean()) / corner + row.min()) / 2
    rest = 0.0 if any(middle) else bounds.min(axis=1)
    return np.where(middle, values, rest)


@pytest.mark.parametrize("radius", [0.05, 0.4, 0.8, 3.0])
def test_the_minimax_approximation_has_its_three_faults(radius):
    gp: ProductGP = reference.fitted(12, 2, 1, 0)
    rng = np.random.default_rng(1)
    nodes = grid(rng.random((9, 1)), 12)
    found = UnweightedMinimax(gp, nodes, radius)
    kernel = gp.context_kernel(nodes.points, nodes.points).k
    bounds = rng.normal(size=(6, 12))
    value, gradient = found.objective(bounds)
    assert np.allclose(value, published_minimax(bounds, nodes.weights, kernel, radius), atol=1e-8)
    slopes = reference.differences(
        lambda rows: found.objective(np.concatenate([rows, bounds[1:]])).value[: len(rows)], bounds[:1], 1e-6
    )
    assert np.allclose(gradient[0], slopes[0], atol=1e-6)


def test_gp_ucb_takes_beta_for_its_root():
    assert acquisition("gp-ucb").sqrt_beta == pytest.approx(1.5**0.5)
