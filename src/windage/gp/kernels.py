"""Stationary kernel profiles: k and its slope as functions of the squared scaled distance.

With s = Σ_d (a_d - b_d)² / ℓ_d², every derivative that windage needs follows from one slope,
h(s) = -2 dk/ds:

    ∂k/∂log ℓ_d = h(s) (a_d - b_d)² / ℓ_d²      (the fit)
    ∂k/∂a_d     = -h(s) (a_d - b_d) / ℓ_d²      (the acquisition's gradient)

The kernel on (x, c) is the product of one profile over the decision variables and one over the contexts
(Krause & Ong 2011). ARD-RBF factorises by itself; the others do not, so ``matern`` is a product of two
Matérns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from windage.space import Array

KernelName = Literal["rbf", "matern", "matern-3/2", "rational-quadratic"]
KERNELS: tuple[KernelName, ...] = get_args(KernelName)


class Profiled(NamedTuple):
    """A kernel and its slope, elementwise."""

    k: Array
    h: Array
    """-2 dk/ds."""


Profile = Callable[[Array], Profiled]
"""Squared scaled distances → kernel and slope, elementwise."""


def rbf(s: Array) -> Profiled:
    """k = exp(-s/2), and h = k."""
    k = np.exp(-0.5 * s)
    return Profiled(k, k)


def matern52(s: Array) -> Profiled:
    """k = (1 + √(5s) + 5s/3) e^{-√(5s)}, and h = 5/3 (1 + √(5s)) e^{-√(5s)}."""
    root = np.sqrt(5 * s)
    decay = np.exp(-root)
    h = (1 + root) * decay
    decay *= s
    decay *= 5 / 3
    decay += h
    h *= 5 / 3
    return Profiled(decay, h)


def matern32(s: Array) -> Profiled:
    """k = (1 + √(3s)) e^{-√(3s)}, and h = 3 e^{-√(3s)}."""
    root = np.sqrt(3 * s)
    decay = np.exp(-root)
    return Profiled((1 + root) * decay, 3 * decay)


def rational_quadratic(s: Array) -> Profiled:
    """k = (1 + s/2)⁻¹, and h = k²: a mixture of RBFs of many lengthscales, with α = 1."""
    k = 1 / (1 + 0.5 * s)
    return Profiled(k, k * k)


PROFILES: Mapping[KernelName, Profile] = {
    "rbf": rbf,
    "matern": matern52,
    "matern-3/2": matern32,
    "rational-quadratic": rational_quadratic,
}


def scaled_squares(a: Array, b: Array, lengthscale: Array) -> Array:
    """Σ_d (a_id - b_jd)² / ℓ_d² for all pairs, n × m, from differences: exact for far outliers too."""
    left, right = (a / lengthscale).T, (b / lengthscale).T
    total: Array | None = None
    for here, there in zip(left, right, strict=True):
        square = np.subtract.outer(here, there)
        square *= square
        total = square if total is None else np.add(total, square, out=total)
    return np.zeros((len(a), len(b))) if total is None else total


def log_normal_mode(location: float, scale: float) -> float:
    """The logarithm of a log-normal distribution's mode."""
    return location - scale**2


# BoTorch's own priors (Hvarfner et al. 2024), shared between the fit and the bridge to BoTorch.
LENGTHSCALE_SCALE = math.sqrt(3.0)
NOISE_LOC, NOISE_SCALE = -4.0, 1.0
MIN_LENGTHSCALE, MIN_NOISE = 2.5e-2, 1e-4


def lengthscale_loc(dimensions: int) -> float:
    """The location of the log-normal lengthscale prior for a GP of so many dimensions."""
    return math.sqrt(2.0) + 0.5 * math.log(dimensions)
