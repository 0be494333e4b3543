"""Benchmark problems: what is decided, what is met, f(x, c), and the exact expectation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.stats import qmc

from windage.bench.laws import ClippedLaw, Mixture
from windage.errors import ConfigurationError, near_match
from windage.space import Array, DecisionSpace, Parameter, Real

SCAN, CLIMBS = 2**14, 8
CHUNK = 2**18
"""Values of f computed at a time."""


@dataclass(frozen=True)
class Optimum:
    """The best decision of a problem (Dx) and its expected value, computed."""

    decision: Array
    value: float


@dataclass(frozen=True)
class Problem:
    """One problem, to be maximised. Arrays are on the problem's own scale: n × Dx, n × Dc → n."""

    name: str
    summary: str
    decisions: Mapping[str, Parameter]
    contexts: Mapping[str, Real]
    law: ClippedLaw
    function: Callable[[Array, Array], Array]

    def evaluate(self, x: Array, c: Array) -> Array:
        """f(x, c), row by row."""
        return self.function(_matrix(x, len(self.decisions)), _matrix(c, len(self.contexts)))

    def sample_contexts(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts from the true law, n × Dc."""
        return self.law.sample(n, rng)

    def expected(self, x: Array) -> Array:
        """E f(x, c) over the true law, by quadrature."""
        return self._mean(_matrix(x, len(self.decisions)), *self._quadrature)

    def _mean(self, x: Array, points: Array, weights: Array) -> Array:
        """Σ_m w_m f(x, c_m), some decisions at a time."""
        m, step = len(points), max(1, CHUNK // len(points))
        parts = [x[i : i + step] for i in range(0, len(x), step)]
        values = [self.function(np.repeat(p, m, axis=0), np.tile(points, (len(p), 1))) for p in parts]
        return np.concatenate([v.reshape(-1, m) @ weights for v in values])

    @cached_property
    def optimum(self) -> Optimum:
        """max_x E f(x, c): many points scored on a coarse quadrature, the best climbed on the exact one."""
        space = DecisionSpace.of(self.decisions)
        low, high = np.array([(p.low, p.high) for p in space.parameters.values() if isinstance(p, Real)]).T
        raw = low + (high - low) * qmc.Sobol(len(low), seed=0).random(SCAN)
        values = self._mean(raw, *self.law.nodes(coarse=True))
        bounds = list(zip(low, high, strict=True))

        def loss(x: Array) -> float:
            return -float(self.expected(np.clip(x, low, high)[None])[0])

        climbed = [
            minimize(loss, raw[k], method="L-BFGS-B", bounds=bounds) for k in np.argsort(-values)[:CLIMBS]
        ]
        start = min(climbed, key=lambda r: float(r.fun)).x
        # a law with atoms or a function with kinks stops a gradient method early
        top = minimize(
            loss, start, method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-7, "fatol": 1e-12}
        )
        return Optimum(np.asarray(top.x), -float(top.fun))

    @cached_property
    def _quadrature(self) -> tuple[Array, Array]:
        return self.law.nodes()


def _matrix(values: Array, columns: int) -> Array:
    return np.asarray(values, dtype=float).reshape(-1, columns)


def _newsvendor(x: Array, c: Array) -> Array:
    """9 min(x, c) + max(0, x - c) - 5x: price 9, salvage 1, cost 5 a unit (paper, Section 4.3)."""
    stock, demand = x[:, 0], c[:, 0]
    profit: Array = 9 * np.minimum(stock, demand) + np.maximum(0, stock - demand) - 5 * stock
    return profit


def _ackley(x: Array, c: Array) -> Array:
    """The negated standard Ackley on [-32.768, 32.768]^3 (the paper prints other signs)."""
    z = 65.536 * np.concatenate([x, c], axis=1) - 32.768
    root = np.sqrt(np.mean(z**2, axis=1))
    bumps = np.exp(np.mean(np.cos(2 * math.pi * z), axis=1))
    height: Array = 20 * np.exp(-0.2 * root) + bumps - 20 - math.e
    return height


def _branin(u: Array, v: Array) -> Array:
    square = (v - 5.1 / (4 * math.pi**2) * u**2 + 5 / math.pi * u - 6) ** 2
    return np.asarray(square + 10 * (1 - 1 / (8 * math.pi)) * np.cos(u) + 10)


def _modified_branin(x: Array, c: Array) -> Array:
    """-sqrt(h(15x₁-5, 15c₁)·h(15c₂-5, 15x₂)), h the Branin function (paper, Appendix B)."""
    first = _branin(15 * x[:, 0] - 5, 15 * c[:, 0])
    return -np.sqrt(first * _branin(15 * c[:, 1] - 5, 15 * x[:, 1]))


HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
"""The standard weights; the paper prints a 2.0 for the second."""
HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def _hartmann(x: Array, c: Array) -> Array:
    """Σ_i α_i exp(-Σ_j A_ij (y_j - P_ij)²) with y = (x, c), to be maximised (paper, Appendix B)."""
    y = np.concatenate([x, c], axis=1)
    height = np.zeros(len(y))
    for alpha, a, p in zip(HARTMANN_ALPHA, HARTMANN_A, HARTMANN_P, strict=True):
        height += alpha * np.exp(-((y - p) ** 2) @ a)
    return height


def _unit(prefix: str, count: int) -> dict[str, Real]:
    return {prefix if count == 1 else f"{prefix}{i + 1}": Real(0, 1) for i in range(count)}


def _normal(deviation: float, count: int = 1) -> ClippedLaw:
    return ClippedLaw((stats.norm(0.5, deviation),) * count)


COMPLICATED = ClippedLaw(
    (
        Mixture(
            (
                stats.norm(0.1, 0.02),
                stats.norm(0.3, 0.075),
                stats.norm(0.4, 0.1),
                stats.norm(0.5, 0.1),
                stats.norm(0.7, 0.075),
                stats.norm(0.8, 0.03),
                stats.cauchy(0.2, 0.02),
                stats.cauchy(0.8, 0.02),
            )
        ),
    )
)
"""Six normal and two Cauchy laws, equally likely (paper, Appendix B)."""


def _table() -> tuple[Problem, ...]:
    ackley = ("two decisions and one context of a bumpy hill", _unit("x", 2), _unit("c", 1))
    branin = ("two decisions and two contexts, the modified Branin", _unit("x", 2), _unit("c", 2))
    hartmann = ("five decisions and one context", _unit("x", 5), _unit("c", 1))
    return (
        Problem("ackley", *ackley, _normal(0.15), _ackley),
        Problem("branin", *branin, _normal(0.1, 2), _modified_branin),
        Problem("hartmann", *hartmann, _normal(0.1), _hartmann),
        Problem("hartmann-complicated", *hartmann, COMPLICATED, _hartmann),
        Problem(
            "newsvendor",
            "how much to stock before demand is known",
            {"stock": Real(0, 1)},
            {"demand": Real(0, 1)},
            ClippedLaw((stats.burr12(2, 20),)),
            _newsvendor,
        ),
        # the protocol of later works: wider laws
        Problem("ackley@0.2", *ackley, _normal(0.2), _ackley),
        Problem("branin@0.2", *branin, _normal(0.2, 2), _modified_branin),
        Problem("hartmann@0.2", *hartmann, _normal(0.2), _hartmann),
    )


PROBLEMS: Mapping[str, Problem] = {problem.name: problem for problem in _table()}


def get(name: str) -> Problem:
    """The problem of that name, or a ConfigurationError with the list."""
    if name in PROBLEMS:
        return PROBLEMS[name]
    known = ", ".join(PROBLEMS)
    raise ConfigurationError(
        f"unknown problem {name!r}; the problems are {known}.{near_match(name, PROBLEMS)}"
    )
