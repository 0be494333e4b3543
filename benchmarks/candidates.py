"""Candidates for the default, compared on the development half of the wide suite:

    windage bench wide --plugin benchmarks/candidates.py --methods ei,kg,thompson --out results/candidates

All are on the posterior of the expectation F under the KDE, with the ensemble of ``auto``, equal weights.
What came out: docs/evidence.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from windage.acquisition import Acquisition, ExpectedBound, MixtureBound
from windage.acquisition.base import Combined, by_variance, deviation
from windage.contexts import Nodes
from windage.gp import KERNELS, ExpectationPosterior, ProductGP
from windage.gp.posterior import DecisionKernel, Moments
from windage.methods import Method, State, register
from windage.methods.auto import METHOD
from windage.search import Valued
from windage.search.discrete import from_uniform
from windage.space import Array

HORIZON = 80
"""Decisions of a run of the suite, for the candidates that know when it ends."""
FEATURES = 1024
"""Random features of a draw of Thompson sampling."""
LOG_ROOT = 0.5 * math.log(2 * math.pi)


class Difference(ExpectationPosterior):
    """The posterior of F(x) - F(x⁺), x⁺ the told decision of the best μ_F (Zhou, Ma & Blaschko 2023)."""

    def __init__(self, model: ProductGP, nodes: Nodes, incumbent: int) -> None:
        super().__init__(model, nodes)
        self.incumbent = incumbent
        self.at = self.kernel(model.data.x[[incumbent]]).k[0] * self.z

    def moments(self, x: Array) -> Moments:
        """At decisions, B × d."""
        k, h = self.kernel(x)
        away = k * self.z - self.at
        solved = away @ self.model.precision
        variance = 2 * self.v0 * (1 - k[:, self.incumbent]) - (solved * away).sum(axis=1)
        variance = np.maximum(variance, 0)
        return Moments((away @ self.model.alpha)[:, None], variance[:, None], x, h, (solved,))

    def vjp(self, moments: Moments, by_mean: Array, by_variance: Array) -> Array:
        """∂/∂x, B × d."""
        (solved,) = moments.inner
        by_k = self.z * (by_mean * self.model.alpha - 2 * by_variance * solved)
        by_k[:, self.incumbent] -= 2 * self.v0 * by_variance[:, 0]
        return self.kernel.vjp(moments.x, moments.slope, by_k)


class Learning(Difference):
    """The same mean; the variance is by how much one more observation at x moves it (knowledge gradient).

    The observation is at an average context: E_c cov(F(x) - F(x⁺), f(x, c)) = var F(x) - cov(F(x), F(x⁺)).
    """

    def __init__(self, model: ProductGP, nodes: Nodes, incumbent: int) -> None:
        super().__init__(model, nodes, incumbent)
        kc = model.context_kernel(nodes.points, model.data.c).k
        self.inner = model.precision * ((kc.T * nodes.weights) @ kc)
        self.solved_at = model.precision @ self.at

    def moments(self, x: Array) -> Moments:
        """At decisions, B × d."""
        k, h = self.kernel(x)
        seen = k * self.z
        solved, inner = seen @ self.model.precision, k @ self.inner
        common = self.v0 * (1 - k[:, self.incumbent]) - (solved * seen).sum(axis=1) + seen @ self.solved_at
        outcome = np.maximum(1 - (inner * k).sum(axis=1), 1e-9) + self.model.hyperparameters.noise
        mean = (seen - self.at) @ self.model.alpha
        parts = (solved, inner, common, outcome)
        return Moments(mean[:, None], (common**2 / outcome)[:, None], x, h, parts)

    def vjp(self, moments: Moments, by_mean: Array, by_variance: Array) -> Array:
        """∂/∂x, B × d."""
        solved, inner, common, outcome = moments.inner
        by_common = (2 * common / outcome)[:, None] * by_variance
        by_outcome = -(common**2 / outcome**2)[:, None] * by_variance
        by_k = self.z * (by_mean * self.model.alpha + by_common * (self.solved_at - 2 * solved))
        by_k[:, self.incumbent] -= self.v0 * by_common[:, 0]
        return self.kernel.vjp(moments.x, moments.slope, by_k - 2 * by_outcome * inner)


def density(u: Array) -> Array:
    """φ(u)."""
    return np.exp(-0.5 * u * u - LOG_ROOT)


def log_improvement(u: Array) -> Array:
    """log(φ(u) + uΦ(u)), finite far below 0 (Ament et al. 2023)."""
    low = np.minimum(u, -1.0)
    ratio = math.sqrt(math.pi / 2) * erfcx(-low / math.sqrt(2))  # Φ/φ
    inner = np.where(low > -1e4, np.maximum(1 + low * ratio, 1e-300), low**-2.0)
    high = np.maximum(u, -1.0)
    below = -0.5 * low * low - LOG_ROOT + np.log(inner)
    return np.where(u > -1, np.log(density(high) + high * ndtr(high)), below)


class LogImprovement(Acquisition):
    """log of the expected improvement, averaged over the GPs before the log."""

    def combine(self, means: Array, variances: Array) -> Combined:
        """K × B × 1 each → value and derivatives."""
        spread = deviation(variances)
        u = means / spread
        log_h = log_improvement(u)
        each = np.log(spread) + log_h
        top = each.max(axis=0)
        share = np.exp(each - top)
        total = share.sum(axis=0)
        value = (top + np.log(total / len(means)))[:, 0]
        share = share / total / spread
        by_mean = share * np.exp(log_ndtr(u) - log_h)
        by_spread = share * np.exp(-0.5 * u * u - LOG_ROOT - log_h)
        return Combined(value, by_mean, by_variance(by_spread, variances, spread))


class Online(Acquisition):
    """μ_F + H·E[improvement], H the decisions left (Ryzhov, Powell & Frazier 2012)."""

    def __init__(self, posteriors: list[Difference], horizon: int) -> None:
        super().__init__(posteriors)
        self.horizon = horizon

    def combine(self, means: Array, variances: Array) -> Combined:
        """K × B × 1 each → value and derivatives."""
        spread, share = deviation(variances), 1 / len(means)
        u = means / spread
        gain = spread * (density(u) + u * ndtr(u))
        value = (means + self.horizon * gain).mean(axis=0)[:, 0]
        by_spread = share * self.horizon * density(u)
        return Combined(
            value, share * (1 + self.horizon * ndtr(u)), by_variance(by_spread, variances, spread)
        )


class Drawn(Acquisition):
    """One draw of F under one GP: random features and the update by the data (Wilson et al. 2020)."""

    chunk = 2048

    def __init__(self, model: ProductGP, nodes: Nodes, rng: np.random.Generator) -> None:
        super().__init__(())
        data = model.data
        self.mean, self.kernel = model.mean, DecisionKernel(model)
        self.wx = _frequencies(data.kernel, model.covariance.x_scale, rng)
        wc = _frequencies(data.kernel, model.covariance.c_scale, rng)
        self.phase = rng.uniform(0, 2 * math.pi, FEATURES)
        weights = math.sqrt(2 / FEATURES) * rng.standard_normal(FEATURES)
        at = nodes.points @ wc.T
        self.cosine = weights * (nodes.weights @ np.cos(at))
        self.sine = weights * (nodes.weights @ np.sin(at))
        prior = np.cos(data.x @ self.wx.T + data.c @ wc.T + self.phase) @ weights
        noise = math.sqrt(model.hyperparameters.noise) * rng.standard_normal(len(data.y))
        z = nodes.weights @ model.context_kernel(nodes.points, data.c).k
        self.update = z * (model.precision @ (data.y - model.mean - prior - noise))

    def value(self, x: Array) -> Array:
        """Decisions B × d → B."""
        return self.value_and_gradient(x).value

    def value_and_gradient(self, x: Array) -> Valued:
        """Decisions B × d → values B and gradients B × d."""
        at = x @ self.wx.T + self.phase
        cosine, sine, (k, h) = np.cos(at), np.sin(at), self.kernel(x)
        value = self.mean + cosine @ self.cosine - sine @ self.sine + k @ self.update
        slope = -(sine * self.cosine + cosine * self.sine) @ self.wx
        return Valued(value, slope + self.kernel.vjp(x, h, np.broadcast_to(self.update, k.shape)))

    def combine(self, means: Array, variances: Array) -> Combined:
        """It has no moments."""
        raise NotImplementedError


class Anywhere(Drawn):
    """A decision at random: the distance from it."""

    def __init__(self, point: Array) -> None:
        Acquisition.__init__(self, ())
        self.point = point

    def value_and_gradient(self, x: Array) -> Valued:
        """Decisions B × d → values B and gradients B × d."""
        return Valued(-((x - self.point) ** 2).sum(axis=1), -2 * (x - self.point))


def _frequencies(kernel: str, scale: Array, rng: np.random.Generator) -> Array:
    """Draws from the spectral density of a kernel, FEATURES × d."""
    normal = rng.standard_normal((FEATURES, len(scale)))
    freedom = {"matern": 5, "matern-3/2": 3}.get(kernel)
    if freedom is not None:
        normal /= np.sqrt(rng.chisquare(freedom, (FEATURES, 1)) / freedom)
    elif kernel == "rational-quadratic":
        normal *= np.sqrt(rng.gamma(1.0, 1.0, (FEATURES, 1)))
    return np.asarray(normal / scale)


def _rng(state: State) -> np.random.Generator:
    return np.random.default_rng([state.seeds.study, state.seeds.trial, 77])


def _against_best(kind: type[Difference], state: State) -> list[Difference]:
    nodes = state.deterministic_nodes()
    means = [ExpectationPosterior(model, nodes).moments(state.data.x).mean[:, 0] for model in state.models]
    best = int(np.mean(means, axis=0).argmax())
    return [kind(model, nodes, best) for model in state.models]


def _left(state: State) -> int:
    return max(HORIZON - state.t - 1, 0)


def _thompson(state: State) -> Acquisition:
    rng = _rng(state)
    return Drawn(state.models[rng.integers(len(state.models))], state.deterministic_nodes(), rng)


def _bounded(sqrt_beta: Callable[[State], float]) -> Callable[[State], Acquisition]:
    return lambda state: MixtureBound(state.models, state.deterministic_nodes(), sqrt_beta(state))


def _sometimes_anywhere(state: State) -> Acquisition:
    rng, blocks = _rng(state), state.data.decisions.blocks
    if rng.random() < 0.05:
        return Anywhere(from_uniform(rng.random((1, len(blocks))), blocks)[0])
    return MixtureBound(state.models, state.deterministic_nodes(), state.sqrt_beta)


def _mean_of_bounds(sqrt_beta: float) -> Callable[[State], Acquisition]:
    return lambda state: ExpectedBound(state.models, state.deterministic_nodes(), sqrt_beta)


CANDIDATES: dict[str, Callable[[State], Acquisition]] = {
    "ei": lambda state: LogImprovement(_against_best(Difference, state)),
    "kg": lambda state: LogImprovement(_against_best(Learning, state)),
    "online-ei": lambda state: Online(_against_best(Difference, state), _left(state)),
    "online-kg": lambda state: Online(_against_best(Learning, state), _left(state)),
    "thompson": _thompson,
    "epsilon": _sometimes_anywhere,
    "randomised": _bounded(lambda state: math.sqrt(_rng(state).exponential(2.0))),
    # an index for a known horizon: Lai 1987
    "horizon": _bounded(lambda state: math.sqrt(2 * math.log(max(HORIZON / state.t, 1.0)))),
    "means-1.5": _mean_of_bounds(1.5),
    "means-2": _mean_of_bounds(2.0),
}
"""Name → acquisition function. "means-…" average the members' bounds; the others see the mixture."""


def _methods() -> list[Method]:
    found = [replace(METHOD, name=name, build=build) for name, build in CANDIDATES.items()]
    more = [(f"{one.name}-4", one) for one in found if one.name in ("ei", "kg", "means-1.5")]
    return [*found, *(replace(one, name=name, kernels=KERNELS) for name, one in more)]


for _method in _methods():
    register(_method)
