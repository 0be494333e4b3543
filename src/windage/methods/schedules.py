"""How √β and radii follow from the numbers of observations t, decision variables Dx and contexts Dc."""

from __future__ import annotations

import math


def theorem_sqrt_beta(t: int, dx: int, lipschitz: float = 1.0) -> float:
    """sqrt(β_t), β_t = 2 log(t²/√(2π)) + 2Dx log(t² Dx a b r √π/2) (Theorems 1 and 2), at least 0."""
    beta = 2 * math.log(t**2 / math.sqrt(2 * math.pi))
    beta += 2 * dx * math.log(t**2 * dx * lipschitz * math.sqrt(math.pi) / 2)
    return math.sqrt(max(beta, 0.0))


def total_variation_radius(t: float, dc: int) -> float:
    """δ_t = t^(-2/(4+Dc)) (paper, Section 4.1), a full L1 distance."""
    return float(t ** (-2 / (4 + dc)))


def mmd_radius(t: float, gamma: float = 0.1) -> float:
    """ε_t = (2 + sqrt(2 log(1/γ)))/√t (Lemma 3 of Kirschner et al. 2020)."""
    return (2 + math.sqrt(2 * math.log(1 / gamma))) / math.sqrt(t)


def wasserstein_radius(t: float) -> float:
    """ε_t = 0.3/√t (Micheli et al. 2025)."""
    return 0.3 / math.sqrt(t)


def paper_sqrt_beta(dx: int) -> float:
    """√β = 1.5, the paper's, however many decision variables there are."""
    return 1.5


def root_sqrt_beta(dx: int) -> float:
    """√β = √Dx/2: β grows with the number of decision variables, as it does in Theorems 1 and 2."""
    return 0.5 * math.sqrt(dx)
