"""Distributions of the context of the benchmark problems: independent coordinates, clipped, exact nodes."""

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
MASS_TOLERANCE, MOST_PANELS = 1e-6, 2**14
"""Panels are doubled until they hold all but this share of the probability."""


class Marginal(Protocol):
    """A continuous distribution on the line, as scipy's frozen distributions are."""

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
        """Uniform numbers as draws: the quantiles, or any map that gives this distribution."""
        ...

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draws."""
        ...


@dataclass(frozen=True)
class Mixture:
    """An equal mixture of distributions on the line."""

    components: tuple[Marginal, ...]

    def pdf(self, x: Array) -> Array:
        """The density."""
        return np.asarray(np.mean([part.pdf(x) for part in self.components], axis=0))

    def cdf(self, x: float) -> float:
        """The mass below."""
        return float(np.mean([part.cdf(x) for part in self.components]))

    def sf(self, x: float) -> float:
        """The mass above."""
        return float(np.mean([part.sf(x) for part in self.components]))

    def ppf(self, q: Array) -> Array:
        """Uniform numbers as draws: the first digit (base k) chooses the component, the rest the quantile."""
        scaled = np.asarray(q) * len(self.components)
        chosen = np.minimum(scaled.astype(int), len(self.components) - 1)
        found = np.empty_like(scaled)
        for k, part in enumerate(self.components):
            mine = chosen == k
            found[mine] = part.ppf(scaled[mine] - k)
        return found

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draws."""
        return self.ppf(random_state.random(size))


@dataclass(frozen=True)
class ClippedDistribution:
    """Independent coordinates, each a continuous distribution clipped to bounds: [0, 1] unless given."""

    marginals: Sequence[Marginal]
    bounds: Sequence[tuple[float, float]] | None = None

    @property
    def box(self) -> tuple[Array, Array]:
        """The lower and the upper bounds, Dc each."""
        low, high = np.array(self.bounds or [(0.0, 1.0)] * len(self.marginals), dtype=float).T
        return low, high

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws, n × Dc."""
        drawn = np.stack([one.rvs(size=n, random_state=rng) for one in self.marginals], axis=1)
        clipped: Array = np.clip(drawn, *self.box)
        return clipped

    def nodes(self, level: str = EXACT, sobol: bool = False) -> tuple[Array, Array]:
        """Points (m × Dc), weights (m): Gauss-Legendre panels with atoms at the bounds, or Sobol points."""
        if sobol or len(self.marginals) not in PANELS:
            return self._sobol(SOBOL[level])
        panels = PANELS[len(self.marginals)][level]
        parts = zip(self.marginals, *self.box, strict=True)
        axes = [_axis(one, low, high, panels) for one, low, high in parts]
        points = np.stack(np.meshgrid(*(p for p, _ in axes), indexing="ij"), axis=-1)
        weights = np.ones(())
        for _, w in axes:
            weights = np.multiply.outer(weights, w)
        return points.reshape(-1, len(axes)), weights.reshape(-1)

    def _sobol(self, log_count: int) -> tuple[Array, Array]:
        uniform = qmc.Sobol(len(self.marginals), seed=SOBOL_SEED).random_base2(log_count)
        points = np.stack([one.ppf(uniform[:, i]) for i, one in enumerate(self.marginals)], axis=1)
        return np.clip(points, *self.box), np.full(len(points), 1 / len(points))


def _axis(marginal: Marginal, low: float, high: float, panels: int) -> tuple[Array, Array]:
    """Points and weights of one coordinate; one too narrow for the panels gets more of them."""
    points, weights = _panels(marginal, low, high, panels)
    while abs(weights.sum() - 1) > MASS_TOLERANCE and panels < MOST_PANELS:
        panels *= 2
        points, weights = _panels(marginal, low, high, panels)
    return points, weights / weights.sum()


def _panels(marginal: Marginal, low: float, high: float, panels: int) -> tuple[Array, Array]:
    edges = np.linspace(low, high, panels + 1)
    x, w = np.polynomial.legendre.leggauss(ORDER)
    centre, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    inside = (centre[:, None] + half[:, None] * x).reshape(-1)
    mass = (half[:, None] * w).reshape(-1) * marginal.pdf(inside)
    points = np.concatenate([[low], inside, [high]])
    return points, np.concatenate([[marginal.cdf(low)], mass, [marginal.sf(high)]])
