"""Laws of the context of the benchmark problems: independent, clipped to [0, 1], with exact quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from windage.space import Array

ORDER = 4
PANELS = {1: 2048, 2: 64}
"""Panels a side of the exact quadrature, by the number of contexts; kinks in c ask for many."""
COARSE = {1: 64, 2: 8}
"""The same for a first look at many decisions."""


@dataclass(frozen=True)
class ClippedLaw:
    """Independent coordinates, each a continuous scipy distribution clipped to [0, 1]."""

    marginals: tuple[Any, ...]

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


def _axis(law: Any, panels: int) -> tuple[Array, Array]:
    edges = np.linspace(0, 1, panels + 1)
    x, w = np.polynomial.legendre.leggauss(ORDER)
    centre, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    inside = (centre[:, None] + half[:, None] * x).reshape(-1)
    mass = (half[:, None] * w).reshape(-1) * law.pdf(inside)
    points = np.concatenate([[0.0], inside, [1.0]])
    weights = np.concatenate([[law.cdf(0.0)], mass, [law.sf(1.0)]])
    return points, weights / weights.sum()
