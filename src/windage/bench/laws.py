"""Laws of the context of the benchmark problems: independent, clipped to [0, 1], with exact nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import qmc

from windage.space import Array

ORDER = 4
"""Of the Gauss-Legendre rule on each panel."""
SCAN, CLIMB, EXACT = "scan", "climb", "exact"
PANELS: Mapping[int, Mapping[str, int]] = {
    1: {SCAN: 64, CLIMB: 2048, EXACT: 2048},
    2: {SCAN: 6, CLIMB: 24, EXACT: 24},
}
"""Panels a side of the quadrature for one and two contexts; kinks in c ask for many."""
SOBOL: Mapping[str, int] = {SCAN: 10, CLIMB: 14, EXACT: 21}
"""log₂ of the number of Sobol points, for more contexts or on request (the paper: 2^21)."""
SOBOL_SEED = 0


class Marginal(Protocol):
    """A continuous law on the line, as scipy's frozen distributions are."""

    def pdf(self, x: Array) -> Array:
        """The density."""
        ...

    def cdf(self, x: float) -> float:
        """The mass below."""
        ...

    def sf(self, x: float) -> float:
        """The mass above."""
        ...

    def ppf(self, q: Array) -> Array:
        """Uniform numbers as draws: the quantiles, or any map that gives this law."""
        ...

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draws."""
        ...


@dataclass(frozen=True)
class Mixture:
    """An equal mixture of laws on the line."""

    components: tuple[Marginal, ...]

    def pdf(self, x: Array) -> Array:
        """The density."""
        return np.asarray(np.mean([law.pdf(x) for law in self.components], axis=0))

    def cdf(self, x: float) -> float:
        """The mass below."""
        return float(np.mean([law.cdf(x) for law in self.components]))

    def sf(self, x: float) -> float:
        """The mass above."""
        return float(np.mean([law.sf(x) for law in self.components]))

    def ppf(self, q: Array) -> Array:
        """Uniform numbers as draws: the first digit (base k) chooses the component, the rest the quantile."""
        scaled = np.asarray(q) * len(self.components)
        chosen = np.minimum(scaled.astype(int), len(self.components) - 1)
        found = np.empty_like(scaled)
        for k, law in enumerate(self.components):
            mine = chosen == k
            found[mine] = law.ppf(scaled[mine] - k)
        return found

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draws."""
        return self.ppf(random_state.random(size))


@dataclass(frozen=True)
class ClippedLaw:
    """Independent coordinates, each a continuous law clipped to [0, 1]."""

    marginals: Sequence[Marginal]

    def sample(self, n: int, rng: np.random.Generator, clip: bool = True) -> Array:
        """n draws, n × Dc; as they were before clipping on request."""
        drawn = np.stack([law.rvs(size=n, random_state=rng) for law in self.marginals], axis=1)
        return np.clip(drawn, 0, 1) if clip else drawn

    def nodes(self, level: str = EXACT, sobol: bool = False) -> tuple[Array, Array]:
        """Points (m × Dc) and weights (m): Gauss-Legendre panels with atoms at 0 and 1, or Sobol points."""
        if sobol or len(self.marginals) not in PANELS:
            return self._sobol(SOBOL[level])
        axes = [_axis(law, PANELS[len(self.marginals)][level]) for law in self.marginals]
        points = np.stack(np.meshgrid(*(p for p, _ in axes), indexing="ij"), axis=-1)
        weights = np.ones(())
        for _, w in axes:
            weights = np.multiply.outer(weights, w)
        return points.reshape(-1, len(axes)), weights.reshape(-1)

    def _sobol(self, log_count: int) -> tuple[Array, Array]:
        uniform = qmc.Sobol(len(self.marginals), seed=SOBOL_SEED).random_base2(log_count)
        points = np.stack([law.ppf(uniform[:, i]) for i, law in enumerate(self.marginals)], axis=1)
        return np.clip(points, 0, 1), np.full(len(points), 1 / len(points))


def _axis(law: Marginal, panels: int) -> tuple[Array, Array]:
    edges = np.linspace(0, 1, panels + 1)
    x, w = np.polynomial.legendre.leggauss(ORDER)
    centre, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    inside = (centre[:, None] + half[:, None] * x).reshape(-1)
    mass = (half[:, None] * w).reshape(-1) * law.pdf(inside)
    points = np.concatenate([[0.0], inside, [1.0]])
    weights = np.concatenate([[law.cdf(0.0)], mass, [law.sf(1.0)]])
    return points, weights / weights.sum()
