"""The functions of the benchmark problems, each written once.

f(x, c) takes x[..., Dx] and c[..., Dc]; the leading dimensions broadcast, as numpy's do. So paired points
are (n, Dx) and (n, Dc), and all decisions beside all contexts are (n, 1, Dx) and (1, m, Dc): what depends
on x or on c alone is then computed once.
"""

from __future__ import annotations

import math

import numpy as np

from windage.space import Array


def newsvendor(x: Array, c: Array) -> Array:
    """9 min(x, c) + max(0, x - c) - 5x: price 9, salvage 1, cost 5 a unit (paper, Section 4.3)."""
    stock, demand = x[..., 0], c[..., 0]
    return np.asarray(9 * np.minimum(stock, demand) + np.maximum(0, stock - demand) - 5 * stock)


def ackley(x: Array, c: Array) -> Array:
    """The negated standard Ackley on [-32.768, 32.768]^d (the paper prints other signs)."""
    squares, waves = 0.0, 0.0
    for part in (x, c):
        z = 65.536 * part - 32.768
        squares = squares + np.sum(z**2, axis=-1)
        waves = waves + np.sum(np.cos(2 * math.pi * z), axis=-1)
    d = x.shape[-1] + c.shape[-1]
    return np.asarray(20 * np.exp(-0.2 * np.sqrt(squares / d)) + np.exp(waves / d) - 20 - math.e)


def _branin(u: Array, v: Array) -> Array:
    square = (v - 5.1 / (4 * math.pi**2) * u**2 + 5 / math.pi * u - 6) ** 2
    return np.asarray(square + 10 * (1 - 1 / (8 * math.pi)) * np.cos(u) + 10)


def modified_branin(x: Array, c: Array) -> Array:
    """-sqrt(h(15x₁-5, 15c₁)·h(15c₂-5, 15x₂)), h the Branin function (paper, Appendix B)."""
    first = _branin(15 * x[..., 0] - 5, 15 * c[..., 0])
    return -np.sqrt(first * _branin(15 * c[..., 1] - 5, 15 * x[..., 1]))


HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
"""The standard weights; the paper prints a 2.0 for the second."""
HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(x: Array, c: Array) -> Array:
    """Σ_i α_i exp(-Σ_j A_ij (y_j - P_ij)²) with y = (x, c), to be maximised (paper, Appendix B)."""
    n = x.shape[-1]
    height = np.zeros(np.broadcast_shapes(x.shape[:-1], c.shape[:-1]))
    for alpha, a, p in zip(HARTMANN_ALPHA, HARTMANN_A, HARTMANN_P, strict=True):
        distance = np.sum(a[:n] * (x - p[:n]) ** 2, axis=-1) + np.sum(a[n:] * (c - p[n:]) ** 2, axis=-1)
        height += alpha * np.exp(-distance)
    return height
