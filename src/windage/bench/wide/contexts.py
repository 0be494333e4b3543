"""Distributions of the context in the wide suite: a map from uniform numbers, so that any shape has nodes.

A coordinate is a quantile function. Coordinates may be correlated (a Gaussian copula) and clipped to bounds,
which leaves atoms there. Expectations are sums over equally likely points: midpoints of quantiles with one
context, scrambled Sobol points with more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from windage.bench.distributions import Mixture
from windage.space import Array, Real

NODES = 2**12
"""Equally likely points of the expectation: scanning 2^13 decisions at them takes seconds."""
SEED = 0
"""Of the Sobol points."""
INNERMOST = 1e-12
"""Uniform numbers stay this far from 0 and 1, where a quantile may be infinite."""

Quantiles = Callable[[Array], Array]


@dataclass(frozen=True)
class ContextDistribution:
    """Dc coordinates: quantile functions, a correlation matrix of the copula, and bounds."""

    quantiles: tuple[Quantiles, ...]
    """Uniform numbers → contexts, one a coordinate."""
    correlation: Array | None = None
    """Dc × Dc, of the normal numbers below; None: independent coordinates."""
    bounds: tuple[tuple[float, float], ...] | None = None
    """Of each coordinate, to which it is clipped; None: unbounded."""
    points: int = NODES
    """How many ``nodes`` there are."""

    def from_uniform(self, uniform: Array) -> Array:
        """n × Dc uniform numbers → contexts, n × Dc."""
        u = np.clip(uniform, INNERMOST, 1 - INNERMOST)
        if self.correlation is not None:
            u = ndtr(ndtri(u) @ np.linalg.cholesky(self.correlation).T)
        c = np.stack([quantile(u[:, d]) for d, quantile in enumerate(self.quantiles)], axis=1)
        return c if self.bounds is None else np.clip(c, *np.array(self.bounds).T)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws, n × Dc."""
        return self.from_uniform(rng.random((n, len(self.quantiles))))

    @cached_property
    def nodes(self) -> Array:
        """Equally likely points, ``points`` × Dc."""
        count = len(self.quantiles)
        if count == 1:
            return self.from_uniform(((0.5 + np.arange(self.points)) / self.points)[:, None])
        return self.from_uniform(qmc.Sobol(count, seed=SEED).random(self.points))

    def contexts(self, *names: str) -> dict[str, Real]:
        """What a study is told of them: names and bounds; c1, c2, … unless given."""
        names = names or tuple(f"c{d + 1}" for d in range(len(self.quantiles)))
        if self.bounds is None:
            return {name: Real() for name in names}
        return {name: Real(*ends) for name, ends in zip(names, self.bounds, strict=True)}


KINDS = ("normal", "skewed", "heavy", "humps", "correlated", "atoms", "unbounded")
"""Shapes that ``draw`` knows."""


def draw(kind: str, dc: int, rng: np.random.Generator) -> ContextDistribution:
    """A distribution of that kind about the unit box, with its location and width drawn.

    normal: within the box nearly always. skewed: beta. heavy: Student's with 2 degrees of freedom, clipped.
    humps: two or three normals. correlated: normals with correlation 0.7 (of alternate sign). atoms: so wide
    that a tenth or more lies on the bounds. unbounded: log-normal, logistic or normal, without bounds.
    """
    unit = ((0.0, 1.0),) * dc
    if kind == "correlated" and dc > 1:
        sign = np.where(np.arange(dc) % 2, -1.0, 1.0)
        correlation = 0.7 * np.outer(sign, sign) + 0.3 * np.eye(dc)
        return ContextDistribution(tuple(_quantile("normal", rng) for _ in range(dc)), correlation, unit)
    found = tuple(_quantile(kind, rng) for _ in range(dc))
    return ContextDistribution(found, None, None if kind == "unbounded" else unit)


def _quantile(kind: str, rng: np.random.Generator) -> Quantiles:
    at = rng.uniform(0.35, 0.65)
    if kind == "skewed":
        return _of(stats.beta(rng.uniform(1.2, 2.0), rng.uniform(4.0, 8.0)))
    if kind == "heavy":
        return _of(stats.t(2, at, rng.uniform(0.05, 0.1)))
    if kind == "humps":
        centres = np.sort(rng.uniform(0.1, 0.9, rng.integers(2, 4)))
        return Mixture(tuple(stats.norm(centre, rng.uniform(0.03, 0.08)) for centre in centres)).ppf
    if kind == "atoms":
        return _of(stats.norm(at, rng.uniform(0.4, 0.6)))
    if kind == "unbounded":
        width = rng.uniform(0.1, 0.2)
        shapes = (stats.lognorm(0.5, 0, at), stats.logistic(at, width / 1.8), stats.norm(at, width))
        return _of(shapes[rng.integers(3)])
    return _of(stats.norm(at, rng.uniform(0.08, 0.18)))  # normal, and correlated with one context


def _of(distribution: stats.rv_continuous) -> Quantiles:
    return lambda u: np.asarray(distribution.ppf(u))
