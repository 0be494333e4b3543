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

from windage.bench.laws import ClippedLaw
from windage.errors import ConfigurationError, near_match
from windage.space import Array, DecisionSpace, Parameter, Real

SCAN, CLIMBS = 2**14, 12
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
        best = [
            minimize(
                lambda x: -float(self.expected(np.clip(x, low, high)[None])[0]),
                raw[i],
                method="Nelder-Mead",
                bounds=list(zip(low, high, strict=True)),
                options={"xatol": 1e-9, "fatol": 1e-12},
            )
            for i in np.argsort(-values)[:CLIMBS]
        ]
        top = min(best, key=lambda r: float(r.fun))
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


PROBLEMS: Mapping[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem(
            "newsvendor",
            "how much to stock before demand is known; demand is Burr XII(2, 20)",
            {"stock": Real(0, 1)},
            {"demand": Real(0, 1)},
            ClippedLaw((stats.burr12(2, 20),)),
            _newsvendor,
        ),
        Problem(
            "ackley",
            "two decisions and one context of a bumpy hill; the context is N(0.5, 0.15²)",
            {"x1": Real(0, 1), "x2": Real(0, 1)},
            {"c": Real(0, 1)},
            ClippedLaw((stats.norm(0.5, 0.15),)),
            _ackley,
        ),
    )
}


def get(name: str) -> Problem:
    """The problem of that name, or a ConfigurationError with the list."""
    if name in PROBLEMS:
        return PROBLEMS[name]
    known = ", ".join(PROBLEMS)
    raise ConfigurationError(
        f"unknown problem {name!r}; the problems are {known}.{near_match(name, PROBLEMS)}"
    )
