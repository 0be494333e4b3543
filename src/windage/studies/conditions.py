"""How the conditions of a study vary, in the terminal: bars of their estimated distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from windage.space import Array, Categorical, Integer, Parameter, Real
from windage.studies.quantities import counted as plural
from windage.studies.quantities import figure

if TYPE_CHECKING:
    from windage.contexts import ContextDensity

LINES, WIDTH = 10, 40
MOST_LEVELS = 30
"""Whole numbers that get a bar each; of more, ten parts of the range do."""
SMALLEST = 1e-9
"""A spread below this share of the values is none."""
NEAR = 2.0
"""Bandwidths beyond the contexts seen: so far go the bars."""
DRAWS = 40_000
"""From the density: a bar is right to a quarter of a percent."""


def summarise(values: Sequence[Any], parameter: Parameter) -> dict[str, Any]:
    """Times; of numbers mean, deviation, least and most; of choices how often each."""
    if isinstance(parameter, Categorical):
        return {"times": len(values), "counts": {str(c): values.count(c) for c in parameter.choices}}
    figures = np.array(values, dtype=float)
    deviation = float(figures.std(ddof=1)) if len(figures) > 1 else 0.0
    return {
        "times": len(figures),
        "mean": float(figures.mean()),
        "deviation": deviation,
        "least": float(figures.min()),
        "most": float(figures.max()),
    }


def bars(density: ContextDensity, values: Sequence[Any], parameter: Parameter) -> list[str]:
    """The estimated probability of each choice, or of the parts of a range, as lines with bars.

    ``density`` is that of the one context, ``values`` are those seen.
    """
    if isinstance(parameter, Categorical):
        return _drawn([str(c) for c in parameter.choices], [density.pdf(c) for c in parameter.choices])
    if isinstance(parameter, Integer):
        return _counts(density, values, parameter)
    return _parts(density, values, parameter)


def _counts(density: ContextDensity, values: Sequence[int], parameter: Integer) -> list[str]:
    """Each whole number has a bar; where there are many, ten parts of those seen have."""
    low, high = parameter.low, parameter.high
    if high - low < MOST_LEVELS:
        every = range(low, high + 1)
        return _drawn([str(k) for k in every], [density.pdf(k) for k in every])
    edges = np.unique(np.linspace(min(values), max(values) + 1, LINES + 1).round())
    shares = np.histogram(values, edges)[0] / len(values)
    parts = [(int(a), int(b) - 1) for a, b in pairwise(edges)]
    return _drawn([str(a) if a == b else f"{a} to {b}" for a, b in parts], shares)


def _drawn(names: Sequence[str], shares: Sequence[float] | Array) -> list[str]:
    most, width = max(max(shares), SMALLEST), max(map(len, names))
    return [
        f"{name:>{width}} {'█' * round(WIDTH * share / most):<{WIDTH}} {100 * share:.0f} %"
        for name, share in zip(names, shares, strict=True)
    ]


def _parts(density: ContextDensity, values: Sequence[float], real: Real) -> list[str]:
    """The estimated probability of ten equal parts of the range."""
    seen = np.array(values)
    scaled = np.log(seen) if real.log else seen
    if len(seen) < 2 or float(scaled.std()) <= SMALLEST * max(1.0, float(np.abs(scaled).max())):
        return [f"{figure(float(seen[0]))}: seen {plural(len(seen), 'time')}"]
    edges, mass = masses(density, scaled, real)
    shown = np.exp(edges) if real.log else edges
    return [
        f"{figure(a):>10} to {figure(b):<10} {'█' * round(WIDTH * m / mass.max()):<{WIDTH}} {100 * m:.0f} %"
        for a, b, m in zip(shown[:-1].tolist(), shown[1:].tolist(), mass, strict=True)
    ]


def masses(density: ContextDensity, scaled: Array, real: Real) -> tuple[Array, Array]:
    """Edges of ten equal parts, and the probability of each under the study's own density.

    ``scaled`` are the contexts seen, in logarithms for a context with ``log``; so are the edges. Probability
    beyond the first and the last edge counts with the first and the last part.
    """
    (width,) = density.bandwidth.values()
    bounds = [None if b is None else math.log(b) if real.log else b for b in (real.low, real.high)]
    low, high = float(scaled.min()) - NEAR * width, float(scaled.max()) + NEAR * width
    low = low if bounds[0] is None else max(low, bounds[0])
    high = high if bounds[1] is None else min(high, bounds[1])
    edges = np.linspace(low, high, LINES + 1)
    draws = density.sample(DRAWS, seed=0)[:, 0]
    with np.errstate(divide="ignore"):
        placed = np.clip(np.log(draws) if real.log else draws, low, high)
    return edges, np.histogram(placed, edges)[0] / DRAWS
