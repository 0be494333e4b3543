"""Rules for the bandwidth of a kernel density estimate, one width a dimension (docs/methods.md).

Contexts are n × Dc on the unit box; every rule returns Dc widths, 0 where all contexts are equal.
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


def rule_of_thumb(contexts: Array) -> Array:
    """h_d = (4 / ((Dc+2)·n))^(1/(Dc+4)) σ̂_d (paper, Section 4.1), with the deviation of ddof 0."""
    return np.asarray(_reference(*contexts.shape) * contexts.std(axis=0))


def _reference(n: int, dimensions: int) -> float:
    """The best width for a normal distribution of deviation 1."""
    return float((4 / ((dimensions + 2) * n)) ** (1 / (dimensions + 4)))


def silverman(contexts: Array) -> Array:
    """h_d = 0.9 min(σ̂_d, IQR_d/1.34) n^(-1/(Dc+4)): narrower than the rule of thumb where tails are heavy."""
    first, third = np.quantile(contexts, [0.25, 0.75], axis=0)
    deviation, spread = contexts.std(axis=0), (third - first) / 1.34
    scale = np.where(spread > 0, np.minimum(deviation, spread), deviation)
    return np.asarray(0.9 * scale * len(contexts) ** (-1 / (contexts.shape[1] + 4)))


def isj(contexts: Array) -> Array:
    """The improved Sheather-Jones rule (Botev, Grotowski & Kroese 2010), a dimension at a time.

    It finds several modes that the rule of thumb smooths away. In more than one dimension its width is
    stretched as the rule of thumb's is.
    """
    n, dimensions = contexts.shape
    widths = rule_of_thumb(contexts)
    stretch = _reference(n, dimensions) / _reference(n, 1)
    for d in range(dimensions):
        found = _plug_in(np.unique(contexts[:, d]), contexts[:, d])
        if found is not None:
            widths[d] = found * stretch
    return widths


def _plug_in(different: Array, values: Array) -> float | None:
    """The width in one dimension, or None where the rule has no answer."""
    from scipy.fft import dct

    n = len(different)
    if n < FEWEST:
        return None
    span = different[-1] - different[0]
    low, reach = different[0] - span / 2, 2 * span
    counts, _ = np.histogram(values, bins=BINS, range=(low, low + reach))
    waves = dct(counts / len(values))[1:] / 2  # Fourier coefficients, which heat flow damps
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


RULES: Mapping[str, Callable[[Array], Array]] = {
    "rule-of-thumb": rule_of_thumb,
    "silverman": silverman,
    "isj": isj,
}
