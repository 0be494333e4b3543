"""Laws of the context of the benchmark problems: independent, clipped to [0, 1], with exact quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from windage.space import Array

ORDER = 4
PANELS = {1: 2048, 2: 24}
"""Panels a side of the exact quadrature, by the number of contexts; kinks in c ask for many."""
COARSE = {1: 64, 2: 6}
"""The same for a first look at many decisions."""


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

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draws: a component first, then from it."""
        draws = np.stack([law.rvs(size=size, random_state=random_state) for law in self.components])
        chosen: NDArray[np.int64] = random_state.integers(len(self.components), size=size)
        return np.asarray(draws[chosen, np.arange(size)])


@dataclass(frozen=True)
class ClippedLaw:
    """Independent coordinates, each a continuous law clipped to [0, 1]."""

    marginals: Sequence[Marginal]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws, n × Dc."""
        columns = [law.rvs(size=n, random_state=rng) for law in self.marginals]
        drawn: Array = np.clip(np.stack(columns, axis=1), 0, 1)
        return drawn

    def nodes(self, coarse: bool = False) -> tuple[Array, Array]:
        """Points (m × Dc) and weights (m) of a quadrature: Gauss-Legendre panels, atoms at 0 and 1."""
        panels = (COARSE if coarse else PANELS)[len(self.marginals)]
        axes = [_axis(law, panels) for law in self.marginals]
        points = np.stack(np.meshgrid(*(p for p, _ in axes), indexing="ij"), axis=-1)
        weights = np.ones(())
        for _, w in axes:
            weights = np.multiply.outer(weights, w)
        return points.reshape(-1, len(axes)), weights.reshape(-1)


def _axis(law: Marginal, panels: int) -> tuple[Array, Array]:
    edges = np.linspace(0, 1, panels + 1)
    x, w = np.polynomial.legendre.leggauss(ORDER)
    centre, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    inside = (centre[:, None] + half[:, None] * x).reshape(-1)
    mass = (half[:, None] * w).reshape(-1) * law.pdf(inside)
    points = np.concatenate([[0.0], inside, [1.0]])
    weights = np.concatenate([[law.cdf(0.0)], mass, [law.sf(1.0)]])
    return points, weights / weights.sum()
