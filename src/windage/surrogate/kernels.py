"""Stationary kernel profiles: k and its slope as functions of the squared scaled distance.

With s = Σ_d (a_d - b_d)² / ℓ_d², every derivative that windage needs follows from one slope,
h(s) = -2 dk/ds:

    ∂k/∂log ℓ_d = h(s) (a_d - b_d)² / ℓ_d²      (the fit)
    ∂k/∂a_d     = -h(s) (a_d - b_d) / ℓ_d²      (the acquisition's gradient)

The kernel on (x, c) is the product of one profile over the decisions and one over the contexts (Krause &
Ong 2011). ARD-RBF factorises by itself; the others do not, so ``matern`` is a product of two Matérns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from torch import Tensor

Profile = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Squared scaled distances → (k, h), elementwise."""


def rbf(s: Tensor) -> tuple[Tensor, Tensor]:
    """k = exp(-s/2), and h = k."""
    k = (s * -0.5).exp()
    return k, k


def matern52(s: Tensor) -> tuple[Tensor, Tensor]:
    """k = (1 + √(5s) + 5s/3) e^{-√(5s)}, and h = 5/3 (1 + √(5s)) e^{-√(5s)}."""
    root = (5 * s).sqrt()
    decay = (-root).exp()
    h = (1 + root) * decay
    return h + (5 / 3) * s * decay, (5 / 3) * h


def matern32(s: Tensor) -> tuple[Tensor, Tensor]:
    """k = (1 + √(3s)) e^{-√(3s)}, and h = 3 e^{-√(3s)}."""
    root = (3 * s).sqrt()
    decay = (-root).exp()
    return (1 + root) * decay, 3 * decay


def rational_quadratic(s: Tensor) -> tuple[Tensor, Tensor]:
    """k = (1 + s/2)⁻¹, and h = k²: a mixture of RBFs of many lengthscales, with α = 1."""
    k = 1 / (1 + 0.5 * s)
    return k, k * k


PROFILES: Mapping[str, Profile] = {
    "rbf": rbf,
    "matern": matern52,
    "matern-3/2": matern32,
    "rational-quadratic": rational_quadratic,
}

# BoTorch's own priors (Hvarfner et al. 2024), shared between the fit and the BoTorch model.
LENGTHSCALE_SCALE = math.sqrt(3.0)
NOISE_LOC, NOISE_SCALE = -4.0, 1.0
MIN_LENGTHSCALE, MIN_NOISE = 2.5e-2, 1e-4


def lengthscale_loc(dimensions: int) -> float:
    """The location of the log-normal lengthscale prior for a GP of so many dimensions."""
    return math.sqrt(2.0) + 0.5 * math.log(dimensions)


def scaled_squares(a: Tensor, b: Tensor, lengthscale: Tensor) -> Tensor:
    """Σ_d (a_id - b_jd)² / ℓ_d² for all pairs, n × m, from differences: exact for far outliers too."""
    total = a.new_zeros(a.shape[0], b.shape[0])
    for d in range(a.shape[1]):
        total += ((a[:, d, None] - b[None, :, d]) / lengthscale[d]).square_()
    return total
