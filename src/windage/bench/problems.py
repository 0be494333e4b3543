"""Benchmark problems: what is decided, what is met, f(x, c), the exact expectation and the computed optimum.

A problem of your own is one record: ``register(Problem(...))``, in a file that ``--plugin`` names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.stats import qmc

from windage.bench import distributions, functions, portfolio
from windage.bench.cache import cached
from windage.bench.checks import check
from windage.bench.distributions import ClippedDistribution, Mixture
from windage.errors import ConfigurationError, near_match
from windage.space import Array, DecisionSpace, Integer, Parameter, Real

SCAN, CLIMBS = 2**14, 8
"""Decisions scored for the optimum, and from how many of them to climb."""
NODES, DECISIONS = 2**12, 2**4
"""Contexts and decisions whose values are computed at a time: what a cache holds."""


@dataclass(frozen=True)
class Optimum:
    """The best decision of a problem (Dx) and its expected value, computed."""

    decision: Array
    value: float


@dataclass(frozen=True)
class Problem:
    """One problem, to be maximised. Arrays are on the problem's own scale: n × Dx, n × Dc → n.

    ``function`` broadcasts as those of ``windage.bench.functions`` do. One with a method
    ``average(points, weights)``, a map from decisions to Σ_m w_m f(x, c_m), is asked for its expectation.
    ``reward``: whether the paper shows the reward as it was observed instead of the regret.
    """

    name: str
    summary: str
    decisions: Mapping[str, Parameter]
    contexts: Mapping[str, Real]
    distribution: ClippedDistribution
    """Of the context; hidden from the methods."""
    function: Callable[[Array, Array], Array]
    noise: float = 0.0
    """Standard deviation of the normal noise that ``observe`` adds."""
    reward: bool = False

    def evaluate(self, x: Array, c: Array) -> Array:
        """f(x, c), row by row, without noise."""
        return self.function(_matrix(x, len(self.decisions)), _matrix(c, len(self.contexts)))

    def observe(self, x: Array, c: Array, rng: np.random.Generator) -> Array:
        """f(x, c) with the observation's noise."""
        values = self.evaluate(x, c)
        return values + self.noise * rng.standard_normal(len(values)) if self.noise else values

    def sample_contexts(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts from the true distribution, n × Dc."""
        return self.distribution.sample(n, rng)

    def expected(self, x: Array, sobol: bool = False) -> Array:
        """E f(x, c) under the true distribution: quadrature for one or two contexts, else 2^21 Sobol points.

        ``sobol=True`` takes the Sobol points in any case.
        """
        average = self._average(distributions.EXACT, sobol=True) if sobol else self._exact
        return average(_matrix(x, len(self.decisions)))

    @cached_property
    def optimum(self) -> Optimum:
        """max_x E f(x, c), kept between processes."""
        found = cached(f"optimum-{self.name}-{self._fingerprint()}", self._climb, ("decision", "value"))
        return Optimum(np.array(found["decision"]), float(found["value"]))

    def _climb(self) -> dict[str, list[float] | float]:
        """Many points scored on few nodes, the best climbed on more, the very best on all."""
        low, high = self.box
        raw = self._valid(low + (high - low) * qmc.Sobol(len(low), seed=0).random(SCAN))
        ranked = raw[np.argsort(-self._average(distributions.SCAN)(raw), kind="stable")]
        bounds = list(zip(low, high, strict=True))

        def losing(average: Callable[[Array], Array]) -> Callable[[Array], float]:
            return lambda x: -float(average(self._valid(x)[None])[0])

        rough = losing(self._average(distributions.CLIMB))
        climbed = [minimize(rough, start, method="L-BFGS-B", bounds=bounds) for start in ranked[:CLIMBS]]
        start = min(climbed, key=lambda r: float(r.fun)).x
        whole = np.array([float(isinstance(p, Integer)) for p in self.decisions.values()])
        # a distribution with atoms or a function with kinks stops a gradient method early
        fine = {"xatol": 1e-6, "fatol": 1e-11, "initial_simplex": _simplex(start, low, high, whole)}
        top = minimize(losing(self._exact), start, method="Nelder-Mead", bounds=bounds, options=fine)
        return {"decision": self._valid(top.x).tolist(), "value": -float(top.fun)}

    @property
    def box(self) -> tuple[Array, Array]:
        """The bounds of the decision variables, Dx each."""
        parameters = DecisionSpace.of(self.decisions).parameters.values()
        numbers = [(p.low, p.high) for p in parameters if isinstance(p, Real | Integer)]
        low, high = np.array(numbers, dtype=float).T
        return low, high

    def _valid(self, x: Array) -> Array:
        """The nearest decisions: inside the box, integers whole."""
        whole = [isinstance(p, Integer) for p in self.decisions.values()]
        inside = np.clip(x, *self.box)
        return np.where(whole, np.rint(inside), inside)

    def _average(self, level: str, sobol: bool = False) -> Callable[[Array], Array]:
        points, weights = self.distribution.nodes(level, sobol)
        own = getattr(self.function, "average", None)
        if own is not None:
            result: Callable[[Array], Array] = own(points, weights)
            return result
        return lambda x: _mean(self.function, x, points, weights)

    @cached_property
    def _exact(self) -> Callable[[Array], Array]:
        return self._average(distributions.EXACT)

    def _fingerprint(self) -> str:
        """A digest of what the optimum depends on: box, distribution, and the function at fixed points."""
        low, high = self.box
        x = self._valid(low + (high - low) * qmc.Sobol(len(low), seed=1).random(64))
        points, weights = self.distribution.nodes(distributions.SCAN)
        c = points[np.linspace(0, len(points) - 1, 64).astype(int)]
        numbers = (low, high, points, weights, np.round(self.evaluate(x, c), 9))
        return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in numbers)).hexdigest()[:16]


def _mean(function: Callable[[Array, Array], Array], x: Array, points: Array, weights: Array) -> Array:
    """Σ_m w_m f(x, c_m), some decisions and some nodes at a time."""
    total = np.zeros(len(x))
    for i in range(0, len(points), NODES):
        c, w = points[None, i : i + NODES], weights[i : i + NODES]
        for k in range(0, len(x), DECISIONS):
            total[k : k + DECISIONS] += function(x[k : k + DECISIONS, None], c) @ w
    return total


def _simplex(start: Array, low: Array, high: Array, whole: Array) -> Array:
    """A small first simplex inside the box (a step of 1 for integers): the start is nearly right already."""
    corners = np.repeat(start[None], len(start) + 1, axis=0)
    width = np.maximum(1e-2 * (high - low), whole)
    for d in range(len(start)):
        corners[d + 1, d] += width[d] if start[d] + width[d] <= high[d] else -width[d]
    return corners


def _matrix(values: Array, columns: int) -> Array:
    return np.asarray(values, dtype=float).reshape(-1, columns)


def _unit(*names: str) -> dict[str, Real]:
    return {name: Real(0, 1) for name in names}


def _normal(deviation: float, count: int = 1) -> ClippedDistribution:
    return ClippedDistribution((stats.norm(0.5, deviation),) * count)


COMPLICATED = Mixture(
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
)
"""Six normal and two Cauchy distributions, equally likely (paper, Appendix B)."""


def _table() -> tuple[Problem, ...]:
    two, five, one = _unit("x1", "x2"), _unit("x1", "x2", "x3", "x4", "x5"), _unit("c")
    ackley = ("two decision variables and one context, a bumpy hill", two, one)
    branin = ("two decision variables and two contexts, the modified Branin", two, _unit("c1", "c2"))
    hartmann = ("five decision variables and one context", five, one)
    trading, year = (_unit(*portfolio.DECISIONS), _unit(*portfolio.CONTEXTS)), portfolio.Portfolio()
    return (
        Problem("ackley", *ackley, _normal(0.15), functions.ackley),
        Problem("branin", *branin, _normal(0.1, 2), functions.modified_branin),
        Problem("hartmann", *hartmann, _normal(0.1), functions.hartmann),
        Problem(
            "hartmann-complicated",
            "Hartmann's, with a context of many modes and long tails",
            *hartmann[1:],
            ClippedDistribution((COMPLICATED,)),
            functions.hartmann,
            reward=True,
        ),
        Problem(
            "newsvendor",
            "how much to stock before demand is known",
            _unit("stock"),
            _unit("demand"),
            ClippedDistribution((stats.burr12(2, 20),)),
            functions.newsvendor,
        ),
        Problem(
            "portfolio-normal",
            "a trading policy before spread and borrowing cost are known",
            *trading,
            _normal(0.1, 2),
            year,
        ),
        Problem(
            "portfolio-uniform",
            "the same, with spread and borrowing cost anywhere in their range",
            *trading,
            ClippedDistribution((stats.uniform(0, 1),) * 2),
            year,
        ),
        Problem(
            "ackley-4",
            "two decision variables and four contexts, a bumpy hill",
            two,
            _unit("c1", "c2", "c3", "c4"),
            _normal(0.15, 4),
            functions.ackley,
        ),
        # the protocol of later works: wider distributions
        Problem("ackley@0.2", *ackley, _normal(0.2), functions.ackley),
        Problem("branin@0.2", *branin, _normal(0.2, 2), functions.modified_branin),
        Problem("hartmann@0.2", *hartmann, _normal(0.2), functions.hartmann),
    )


PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in _table()}


def register(problem: Problem) -> None:
    """Make a problem of your own known by its name; a ConfigurationError says what is wrong with it."""
    if problem.name in PROBLEMS:
        raise ConfigurationError(f"there is a problem {problem.name!r} already: give yours another name.")
    check(problem)
    PROBLEMS[problem.name] = problem


def get(name: str, noise: float = 0.0, portfolio_data: str | Path | None = None) -> Problem:
    """The problem of that name, or a ConfigurationError with the list.

    ``noise`` is the standard deviation of the observation's noise; ``portfolio_data`` the path of another
    table of samples for the portfolio problems.
    """
    if name not in PROBLEMS:
        known = ", ".join(PROBLEMS)
        raise ConfigurationError(
            f"unknown problem {name!r}; the problems are {known}.{near_match(name, PROBLEMS)}"
        )
    problem = PROBLEMS[name]
    if not 0 <= noise < np.inf:
        raise ConfigurationError(f"noise is a standard deviation: 0 or a positive number, not {noise!r}.")
    if noise:
        problem = replace(problem, noise=float(noise))
    if portfolio_data is not None and isinstance(problem.function, portfolio.Portfolio):
        problem = replace(problem, function=portfolio.Portfolio(str(portfolio_data)))
    return problem
