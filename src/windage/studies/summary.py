"""The conditions seen, in numbers and in letters for the terminal. Numpy alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from windage.space import Real

LINES, WIDTH = 10, 40
SMALLEST = 1e-9


def summarise(values: Sequence[float]) -> dict[str, float]:
    """Times, mean, deviation, least and most."""
    figures = np.array(values)
    deviation = float(figures.std(ddof=1)) if len(figures) > 1 else 0.0
    return {
        "times": len(figures),
        "mean": float(figures.mean()),
        "deviation": deviation,
        "least": float(figures.min()),
        "most": float(figures.max()),
    }


def bars(values: Sequence[float], real: Real, contexts: int) -> list[str]:
    """The estimated probability of ten equal parts of the range seen, as lines with bars.

    The masses are those of the kernel density estimate with the rule-of-thumb bandwidth for so many contexts
    (paper, Section 4.1), what lies beyond a stated bound counted at the bound.
    """
    seen = np.array(values)
    scaled = np.log(seen) if real.log else seen
    spread = float(scaled.std())
    if len(seen) < 2 or spread <= SMALLEST * max(1.0, float(np.abs(scaled).max())):
        return [f"{seen[0]:.4g}: seen {len(seen)} times" if len(seen) else "nothing seen yet"]
    width = spread * (4 / ((contexts + 2) * len(seen))) ** (1 / (contexts + 4))
    ends = [float(scaled.min()) - 2 * width, float(scaled.max()) + 2 * width]
    for i, bound in enumerate((real.low, real.high)):
        if bound is not None:
            limit = math.log(bound) if real.log else bound
            ends[i] = max(ends[i], limit) if i == 0 else min(ends[i], limit)
    edges = np.linspace(ends[0], ends[1], LINES + 1)
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    below = np.array([[_normal((e - c) / width) for e in outer] for c in scaled]).mean(axis=0)
    mass = np.diff(below)
    shown = np.exp(edges) if real.log else edges
    most = mass.max()
    return [
        f"{a:>10.4g} to {b:<10.4g} {'█' * round(WIDTH * m / most):<{WIDTH}} {100 * m:.0f} %"
        for a, b, m in zip(shown[:-1], shown[1:], mass, strict=True)
    ]


def _normal(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))
