"""Every acquisition function against its slow form on BoTorch's tiled posterior."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from botorch.optim import optimize_acqf

import reference
from windage.acquisition import (
    Acquisition,
    Disagreement,
    Expectation,
    ExpectedBound,
    Minimax,
    MixtureBound,
    Mmd,
    TotalVariation,
    Wasserstein,
    WorstBound,
    WorstCase,
)
from windage.botorch import _Bridge, to_botorch
from windage.contexts import NO_CONTEXT, Nodes, grid
from windage.gp import KERNELS
from windage.search import Valued, maximize, score, sobol
from windage.search.maximize import score_and_gradient
from windage.space import Block

REALS = (Block(0, 1, 0, False), Block(1, 2, 0, False))
ROOT, RADIUS, AVERSION = 1.5, 0.3, 1.41
SURROGATES = [("rbf", 1), ("matern", 2), ("matern-3/2", 1), ("rational-quadratic", 2)]
"""Kernel and number of contexts."""


@dataclass(frozen=True)
class Case:
    """An acquisition function, its slow form B × d → B, and the same in torch where that is easy."""

    fast: Acquisition
    slow: Callable[[np.ndarray], np.ndarray]
    tensors: Callable[[torch.Tensor], torch.Tensor] | None = None


def weighted(count, dc, seed):
    weights = np.linspace(1, 3, count)
    return Nodes(sobol(count, dc, seed), weights / weights.sum())


def bounds(model, x, points):
    """μ + √β σ on the tiled x × c, B × M."""
    mean, variance = reference.tiled_moments(model, x, points)
    return mean + ROOT * np.sqrt(variance)


def torch_bounds(model, x, points):
    mean, variance = reference.torch_moments(model, x, points)
    return mean + ROOT * variance.sqrt()


def torch_total_variation(g, weights, radius):
    """The worst weights held constant: the envelope theorem."""
    worst = [reference.worst_weights(row, weights, radius) for row in g.detach().numpy()]
    return (g * reference.tensor(np.stack(worst))).sum(1)


def context_kernel(model, points):
    """GPyTorch's kernel of the contexts, n × n: at equal decisions that of the decisions is 1."""
    pairs = np.concatenate([np.zeros((len(points), model.data.x.shape[1])), points], axis=1)
    return to_botorch(model).covar_module(reference.tensor(pairs)).to_dense().detach().numpy()


def rows(function):
    """A function of one row of bounds, as one of many."""
    return lambda g: np.array([function(row) for row in g])


def worst_bound(models, nodes, space, x):
    points, found = np.concatenate([nodes.points, space]), []
    for model in models:
        means = reference.tiled_moments(model, x, points).mean
        for row, point in zip(means, x, strict=True):
            worst = reference.worst_weights(row, nodes.weights, RADIUS)
            mean, variance = reference.tiled_expectation(model, point[None], points, worst)
            found.append(mean[0] + ROOT * np.sqrt(variance[0]))
    return np.reshape(found, (len(models), len(x))).mean(axis=0)


def disagreement(models, nodes, x):
    moments = [reference.torch_moments(model, x, nodes.points) for model in models]
    means = torch.stack([mean for mean, _ in moments])
    upper = torch.stack([mean + ROOT * variance.sqrt() for mean, variance in moments])
    apart = (means - means.mean(0)).square().mean(0).sqrt()
    return (upper.mean(0) - AVERSION * apart) @ reference.tensor(nodes.weights)


def expected_bound(models, nodes, x):
    moments = [reference.torch_expectation(model, x, nodes.points, nodes.weights) for model in models]
    return torch.stack([mean + ROOT * variance.sqrt() for mean, variance in moments]).mean(0)


def mixture_bound(models, nodes, x):
    """From the first two moments of the mixture: E[F²] - E[F]²."""
    moments = [reference.torch_expectation(model, x, nodes.points, nodes.weights) for model in models]
    means, variances = (torch.stack(part) for part in zip(*moments, strict=True))
    mean, squares = means.mean(0), (variances + means**2).mean(0)
    return mean + ROOT * (squares - mean**2).sqrt()


def of_bounds(fast, model, points, slow, differentiable=None):
    """The case of an objective of bounds: ``slow`` B × M → B."""
    with_torch = None if differentiable is None else lambda x: differentiable(torch_bounds(model, x, points))
    return Case(fast, lambda x: slow(bounds(model, x, points)), with_torch)


def of_torch(fast, function):
    """The case of a slow form in torch alone."""

    def slow(x):
        with torch.no_grad():
            return function(reference.tensor(x)).numpy()

    return Case(fast, slow, function)


@lru_cache
def cases(kernel: str, dc: int) -> dict[str, Case]:
    """All acquisition functions of a surrogate with this kernel."""
    model = reference.fitted(25, 2, dc, seed=4, kernel=kernel)
    models = [reference.fitted(25, 2, dc, seed=4, kernel=k) for k in KERNELS[:3]]
    nodes, equal, space = weighted(12, dc, 7), Nodes.equal(sobol(16, dc, 7)), sobol(16, dc, 8)
    weights, everywhere = reference.tensor(nodes.weights), np.concatenate([nodes.points, space])
    cells = grid(model.data.c, 20)
    gram = context_kernel(model, cells.points)
    factor = np.linalg.cholesky(gram + 1e-10 * np.eye(len(gram))).T
    slope = nodes.points, nodes.weights, space, RADIUS, ROOT

    def tv(values, count, reference_weights):
        return reference.total_variation_primal(values[:count], reference_weights, RADIUS, values.min())

    return {
        "Expectation": of_bounds(
            Expectation(model, nodes, ROOT),
            model,
            nodes.points,
            lambda g: g @ nodes.weights,
            lambda g: g @ weights,
        ),
        "WorstCase": of_bounds(
            WorstCase(model, nodes, ROOT),
            model,
            nodes.points,
            lambda g: g.min(axis=1),
            lambda g: g.min(1).values,
        ),
        "TotalVariation": of_bounds(
            TotalVariation(model, nodes, RADIUS, space, ROOT),
            model,
            everywhere,
            rows(lambda g: tv(g, 12, nodes.weights)),
            lambda g: torch_total_variation(g, nodes.weights, RADIUS),
        ),
        "TotalVariation of equal weights": of_bounds(
            TotalVariation(model, equal, RADIUS, space, ROOT),
            model,
            np.concatenate([equal.points, space]),
            rows(lambda g: tv(g, 16, equal.weights)),
            lambda g: torch_total_variation(g, equal.weights, RADIUS),
        ),
        "Mmd": of_bounds(
            Mmd(model, cells, RADIUS, ROOT),
            model,
            cells.points,
            rows(lambda g: reference.mmd_ball(g, cells.weights, factor, RADIUS)),
        ),
        "Minimax": of_bounds(
            Minimax(model, cells, RADIUS, ROOT),
            model,
            cells.points,
            rows(lambda g: reference.minimax_formula(g, cells.weights, gram, RADIUS)),
        ),
        "ExpectedBound": of_torch(
            ExpectedBound(models, nodes, ROOT), lambda x: expected_bound(models, nodes, x)
        ),
        "MixtureBound": of_torch(
            MixtureBound(models, nodes, ROOT), lambda x: mixture_bound(models, nodes, x)
        ),
        "WorstBound": Case(
            WorstBound(models, nodes, ROOT, RADIUS, space), lambda x: worst_bound(models, nodes, space, x)
        ),
        "Disagreement": of_torch(
            Disagreement(models, nodes, ROOT, AVERSION), lambda x: disagreement(models, nodes, x)
        ),
        "Wasserstein": Case(
            Wasserstein(model, nodes, ROOT, RADIUS, space),
            lambda x: reference.wasserstein_bound(model, x, *slope),
            lambda x: reference.torch_wasserstein_bound(model, x, *slope),
        ),
    }


NAMES = (
    "Expectation",
    "WorstCase",
    "TotalVariation",
    "TotalVariation of equal weights",
    "Mmd",
    "Minimax",
    "ExpectedBound",
    "MixtureBound",
    "WorstBound",
    "Disagreement",
    "Wasserstein",
)
SOLVED = {"Mmd": 1e-6}
"""Values that come from CVXPY, and how exact they are."""
every_function = pytest.mark.parametrize("name", NAMES)
every_surrogate = pytest.mark.parametrize(("kernel", "dc"), SURROGATES)


@every_surrogate
@every_function
def test_the_value_equals_the_slow_form(name, kernel, dc):
    case, x = cases(kernel, dc)[name], sobol(5, 2, 3)
    assert np.allclose(case.fast.value(x), case.slow(x), rtol=0, atol=SOLVED.get(name, 1e-8))


@every_surrogate
@every_function
def test_the_gradient_equals_differences_of_the_slow_form(name, kernel, dc):
    case, x = cases(kernel, dc)[name], sobol(5, 2, 3)
    slope = reference.differences(case.slow, x, 1e-4)
    assert np.allclose(case.fast.value_and_gradient(x).gradient, slope, rtol=5e-4, atol=1e-4)


@every_surrogate
@every_function
def test_the_gradient_equals_differences_of_the_value(name, kernel, dc):
    fast, x = cases(kernel, dc)[name].fast, sobol(6, 2, 3)
    slope = reference.differences(fast.value, x, 1e-5)
    assert np.allclose(fast.value_and_gradient(x).gradient, slope, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "kernel", "dc"),
    [
        (name, kernel, dc)
        for name in NAMES
        for kernel, dc in SURROGATES
        if name not in ("Mmd", "Minimax", "WorstBound")
        and not (name == "Wasserstein" and "matern" in kernel)  # torch cannot differentiate it twice
    ],
)
def test_the_gradient_equals_autograd(name, kernel, dc):
    case, x = cases(kernel, dc)[name], sobol(5, 2, 3)
    value, gradient = reference.autograd(case.tensors, x)
    mine = case.fast.value_and_gradient(x)
    assert np.allclose(mine.value, value, rtol=0, atol=1e-8)
    assert np.allclose(mine.gradient, gradient, rtol=1e-6, atol=1e-6)


@every_surrogate
@every_function
def test_the_value_alone_is_that_beside_the_gradient(name, kernel, dc):
    fast, x = cases(kernel, dc)[name].fast, sobol(20, 2, 5)
    assert np.allclose(fast.value(x), fast.value_and_gradient(x).value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("count", [1, 7])
@every_surrogate
@every_function
def test_shapes_are_the_same_in_every_class(name, kernel, dc, count):
    fast, x = cases(kernel, dc)[name].fast, sobol(count, 2, 5)
    moments = [posterior.moments(x) for posterior in fast.posteriors]
    widths = {found.mean.shape[1] for found in moments}
    assert len(widths) == 1
    shape = (len(moments), count, widths.pop())
    means, variances = np.stack([m.mean for m in moments]), np.stack([m.variance for m in moments])
    assert means.shape == variances.shape == shape
    found = fast.combine(means, variances)
    assert found.value.shape == (count,)
    assert found.by_mean.shape == found.by_variance.shape == shape
    both = fast.value_and_gradient(x)
    assert isinstance(both, Valued)
    assert both.value.shape == fast.value(x).shape == (count,)
    assert both.gradient.shape == (count, 2)
    assert both.value.dtype == both.gradient.dtype == np.float64
    assert isinstance(fast.chunk, int)
    assert fast.chunk >= 1
    assert fast.coarse().value(x).shape == (count,)


@every_function
def test_chunks_change_nothing(name):
    fast, x = cases("rbf", 1)[name].fast, sobol(40, 2, 5)
    whole = fast.value_and_gradient(x)
    for size in (1, 7):
        chunked = Chunked(fast, size)
        value, gradient = score_and_gradient(chunked, x)
        assert np.allclose(score(chunked, x), whole.value, rtol=0, atol=1e-12)
        assert np.allclose(value, whole.value, rtol=0, atol=1e-12)
        assert np.allclose(gradient, whole.gradient, rtol=1e-10, atol=1e-12)


@dataclass(frozen=True)
class Chunked:
    """The same function in smaller parts."""

    fast: Any
    chunk: int

    def __getattr__(self, name):
        return getattr(self.fast, name)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Mmd"])  # it remembers, to save time
def test_what_was_asked_before_does_not_count(name):
    fast, x = cases("matern", 2)[name].fast, sobol(9, 2, 5)
    before, first = x.copy(), fast.value_and_gradient(x)
    for i in range(20):
        fast.value(sobol(1 + i, 2, i))
        again = fast.value_and_gradient(x)
        assert again.value.tobytes() == first.value.tobytes()
        assert again.gradient.tobytes() == first.gradient.tobytes()
    assert np.array_equal(x, before)


@every_surrogate
@every_function
def test_all_is_finite_at_a_decision_and_contexts_that_were_seen(name, kernel, dc):
    fast = cases(kernel, dc)[name].fast
    model = reference.fitted(25, 2, dc, seed=4, kernel=kernel)
    found = fast.value_and_gradient(np.concatenate([model.data.x, np.eye(2), np.zeros((1, 2))]))
    assert np.isfinite(found.value).all()
    assert np.isfinite(found.gradient).all()


def assert_same(one, other, atol=1e-9):
    x = sobol(9, 2, 3)
    for mine, theirs in zip(one.value_and_gradient(x), other.value_and_gradient(x), strict=True):
        assert np.allclose(mine, theirs, rtol=0, atol=atol)


def test_a_radius_of_zero_is_the_expectation():
    model, other = (reference.fitted(25, 2, 1, seed=4, kernel=k) for k in ("rbf", "matern"))
    nodes, space, cells = weighted(12, 1, 7), sobol(16, 1, 8), grid(model.data.c, 20)
    plain = Expectation(model, nodes, ROOT)
    assert_same(TotalVariation(model, nodes, 0.0, space, ROOT), plain)
    assert_same(Wasserstein(model, nodes, ROOT, 0.0, space), plain)
    for ball in (Mmd, Minimax):
        assert_same(ball(model, cells, 0.0, ROOT), Expectation(model, cells, ROOT))
    assert_same(
        WorstBound([model, other], nodes, ROOT, 0.0, space), ExpectedBound([model, other], nodes, ROOT)
    )


def test_a_large_radius_is_the_worst_case():
    model = reference.fitted(25, 2, 1, seed=4)
    nodes, space, cells = weighted(12, 1, 7), sobol(16, 1, 8), grid(model.data.c, 20)
    everywhere = Nodes.equal(np.concatenate([nodes.points, space]))
    assert_same(TotalVariation(model, nodes, 2.0, space, ROOT), WorstCase(model, everywhere, ROOT))
    for ball in (Mmd, Minimax):
        assert_same(ball(model, cells, 3.0, ROOT), WorstCase(model, cells, ROOT), atol=1e-6)


def test_without_contexts_it_is_the_bound_itself():
    model, x = reference.fitted(25, 2, 0, seed=4), sobol(6, 2, 3)
    posterior = to_botorch(model).posterior(reference.tensor(x))
    theirs = posterior.mean[:, 0] + ROOT * posterior.variance[:, 0].sqrt()
    fast = Expectation(model, NO_CONTEXT, ROOT)
    assert np.allclose(fast.value(x), theirs.detach().numpy(), rtol=0, atol=1e-8)
    assert fast.coarse() is fast


def test_without_exploration_the_bound_is_the_posterior_mean():
    model, nodes, x = reference.fitted(25, 2, 1, seed=4), weighted(12, 1, 7), sobol(6, 2, 3)
    found = ExpectedBound([model], nodes, 0.0).value(x)
    mean = reference.tiled_expectation(model, x, nodes.points, nodes.weights).mean
    assert np.allclose(found, mean, rtol=0, atol=1e-8)


def test_surrogates_that_agree_are_one():
    model = reference.fitted(25, 2, 1, seed=4)
    nodes = Nodes.equal(sobol(12, 1, 7))
    for models in ([model], [model, model, model]):
        assert_same(Disagreement(models, nodes, ROOT, AVERSION), Expectation(model, nodes, ROOT), atol=1e-5)
        assert_same(ExpectedBound(models, nodes, ROOT), ExpectedBound([model], nodes, ROOT))
        assert_same(MixtureBound(models, nodes, ROOT), ExpectedBound([model], nodes, ROOT))


def test_surrogates_without_aversion_are_averaged():
    models = [reference.fitted(25, 2, 1, seed=4, kernel=k) for k in KERNELS]
    nodes, x = weighted(12, 1, 7), sobol(9, 2, 3)
    each = [Expectation(model, nodes, ROOT).value_and_gradient(x) for model in models]
    found = Disagreement(models, nodes, ROOT, 0.0).value_and_gradient(x)
    assert np.allclose(found.value, np.mean([e.value for e in each], axis=0), atol=1e-10)
    assert np.allclose(found.gradient, np.mean([e.gradient for e in each], axis=0), atol=1e-9)


@lru_cache
def large() -> dict[str, Acquisition]:
    """The functions at about the sizes of a study."""
    model, *others = (reference.fitted(40, 2, 1, seed=2, kernel=k) for k in KERNELS)
    nodes, c = Nodes.equal(sobol(128, 1, 0)), model.data.c
    return {
        "Expectation": Expectation(model, nodes),
        "WorstCase": WorstCase(model, nodes),
        "TotalVariation": TotalVariation(model, nodes, RADIUS, sobol(128, 1, 1)),
        "Mmd": Mmd(model, grid(c, 30), 0.4),
        "Minimax": Minimax(model, grid(c, 100), 0.4),
        "ExpectedBound without exploration": ExpectedBound([model], nodes, 0.0),
        "ExpectedBound": ExpectedBound([model, *others], nodes, ROOT),
        "MixtureBound": MixtureBound([model, *others], nodes, ROOT),
        "WorstBound": WorstBound([model, others[0]], nodes, ROOT, RADIUS, sobol(64, 1, 1)),
        "Disagreement": Disagreement([model, *others], Nodes.equal(c), ROOT, AVERSION),
        "Wasserstein": Wasserstein(model, Nodes.equal(c), ROOT, 0.05, sobol(64, 1, 1)),
    }


@pytest.mark.parametrize("name", [*(n for n in NAMES if " " not in n), "ExpectedBound without exploration"])
def test_the_maximum_is_at_least_that_of_botorch_and_of_brute_force(name):
    acquisition = large()[name]
    found = maximize(acquisition, REALS, 256, 16, seed=1)
    bridge = _Bridge(acquisition, to_botorch(reference.fitted(40, 2, 1, seed=2)))
    box = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy's L-BFGS-B stops at kinks, and BoTorch says so
        _, theirs = optimize_acqf(bridge, box, q=1, num_restarts=16, raw_samples=256)
    assert found.value >= float(theirs) - 1e-6 * abs(float(theirs))
    axis = np.linspace(0, 1, 61)
    net = np.stack(np.meshgrid(axis, axis), axis=2).reshape(-1, 2)
    assert found.value >= score(acquisition, net).max() - 1e-9
    assert acquisition.value(found.point[None])[0] == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_coarse_approximations_rank_decisions_as_the_functions_do(dimensions):
    """They only choose where to climb from; the best starts must be among their best."""
    model = reference.fitted(40, 2, dimensions, seed=3)
    nodes = Nodes.equal(sobol(1024, dimensions, 0))
    points = sobol(256, 2, 5)
    for acquisition in (
        Expectation(model, nodes),
        WorstCase(model, nodes),
        TotalVariation(model, nodes, RADIUS, sobol(1024, dimensions, 1)),
        Mmd(model, grid(model.data.c, 100), 0.4),
        Minimax(model, grid(model.data.c, 1024), 0.4),
    ):
        exact, rough = (score(a, points) for a in (acquisition, acquisition.coarse()))
        ranks = [values.argsort().argsort() for values in (exact, rough)]
        # the minimax approximation that stands for the MMD ball is rough in many dimensions
        least = 0.7 if isinstance(acquisition, Mmd | Minimax) else 0.95
        assert np.corrcoef(ranks)[0, 1] > least
        assert exact.argmax() in (-rough).argsort()[:16]
