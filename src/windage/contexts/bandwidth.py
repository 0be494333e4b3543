"""Rules for the bandwidth of a kernel density estimate, one width a dimension (docs/methods.md).

Contexts are n × Dc on the unit box, with weights of sum 1 (None: equal ones); every rule returns Dc widths, 0
where all contexts are equal. With weights, n is n_eff = 1/Σw².
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from windage.space import Array

FEWEST = 30
"""Below so many different contexts the plug-in rule is unreliable, and the rule of thumb is taken."""
BINS = 1024
STAGES = 7
"""Of the plug-in rule: how many derivatives are estimated one after the other."""


def rule_of_thumb(contexts: Array, weights: Array | None = None) -> Array:
    """h_d = (4 / ((Dc+2)·n))^(1/(Dc+4)) σ̂_d (paper, Section 4.1), with the deviation of ddof 0."""
    n, dimensions = effective(contexts, weights), contexts.shape[1]
    return np.asarray(reference(n, dimensions) * _deviation(contexts, weights))


def effective(contexts: Array, weights: Array | None) -> float:
    """n, or n_eff with weights."""
    return float(len(contexts) if weights is None else 1 / (weights**2).sum())


def _deviation(contexts: Array, weights: Array | None) -> Array:
    """The standard deviations, Dc."""
    if weights is None:
        return np.asarray(contexts.std(axis=0))
    return np.asarray(np.sqrt(weights @ (contexts - weights @ contexts) ** 2))


def _quantiles(contexts: Array, levels: list[float], weights: Array | None) -> Array:
    """Of each context, levels × Dc."""
    if weights is None:
        return np.asarray(np.quantile(contexts, levels, axis=0))
    found = np.empty((len(levels), contexts.shape[1]))
    for d, column in enumerate(contexts.T):
        order = np.argsort(column, kind="stable")
        middle = weights[order].cumsum() - weights[order] / 2
        found[:, d] = np.interp(levels, middle, column[order])
    return found


def reference(n: float, dimensions: int) -> float:
    """The best width for a normal distribution of deviation 1."""
    return float((4 / ((dimensions + 2) * n)) ** (1 / (dimensions + 4)))


def silverman(contexts: Array, weights: Array | None = None) -> Array:
    """h_d = 0.9 min(σ̂_d, IQR_d/1.34) n^(-1/(Dc+4)): narrower than the rule of thumb where tails are heavy."""
    first, third = _quantiles(contexts, [0.25, 0.75], weights)
    deviation, spread = _deviation(contexts, weights), (third - first) / 1.34
    scale = np.where(spread > 0, np.minimum(deviation, spread), deviation)
    return np.asarray(0.9 * scale * effective(contexts, weights) ** (-1 / (contexts.shape[1] + 4)))


def isj(contexts: Array, weights: Array | None = None) -> Array:
    """The improved Sheather-Jones rule (Botev, Grotowski & Kroese 2010), a dimension at a time.

    It finds several modes that the rule of thumb smooths away. In more than one dimension its width is
    stretched as the rule of thumb's is.
    """
    n, dimensions = effective(contexts, weights), contexts.shape[1]
    widths = rule_of_thumb(contexts, weights)
    stretch = reference(n, dimensions) / reference(n, 1)
    for d in range(dimensions):
        found = _plug_in(np.unique(contexts[:, d]), contexts[:, d], weights)
        if found is not None:
            widths[d] = found * stretch
    return widths


def _plug_in(different: Array, values: Array, weights: Array | None) -> float | None:
    """The width in one dimension, or None where the rule has no answer."""
    from scipy.fft import dct

    n = len(different) * effective(values, weights) / len(values)
    if n < FEWEST:
        return None
    span = different[-1] - different[0]
    low, reach = different[0] - span / 2, 2 * span
    counts, _ = np.histogram(values, bins=BINS, range=(low, low + reach), weights=weights)
    waves = dct(counts / counts.sum())[1:] / 2  # Fourier coefficients, which heat flow damps
    squares = np.arange(1, BINS, dtype=float) ** 2
    power = waves**2

    def roughness(s: int, time: float) -> float:
        """‖f⁽ˢ⁾‖² of the density after so much heat flow, in units of the reach."""
        return float(
            2 * math.pi ** (2 * s) * (squares**s * power * np.exp(-squares * math.pi**2 * time)).sum()
        )

    def excess(time: float) -> float:
        """How much longer heat flows than the estimate that follows from it: zero at the rule's choice."""
        rough = roughness(STAGES, time)
        for s in range(STAGES - 1, 1, -1):
            odd = math.prod(range(1, 2 * s, 2)) / math.sqrt(2 * math.pi)
            wanted = (2 * (1 + 0.5 ** (s + 0.5)) / 3 * odd / (n * rough)) ** (2 / (3 + 2 * s))
            rough = roughness(s, wanted)
        return time - float((2 * n * math.sqrt(math.pi) * rough) ** (-2 / 5))

    times = np.geomspace(1e-9, 0.1, 60)
    signs = [excess(float(time)) for time in times]
    for a, b, left, right in zip(times[:-1], times[1:], signs[:-1], signs[1:], strict=True):
        if left < 0 <= right:
            return math.sqrt(_root(excess, float(a), float(b))) * float(reach)
    return None


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is 0, by bisection (SciPy's solvers are slow to import)."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


RULES: Mapping[str, Callable[[Array, Array | None], Array]] = {
    "rule-of-thumb": rule_of_thumb,
    "silverman": silverman,
    "isj": isj,
}
