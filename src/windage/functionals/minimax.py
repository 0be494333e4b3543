"""The minimax approximation of the MMD ball (Tay et al. 2022).

Between the slope at radius 0 (the worst-case sensitivity S) and the chord to the worst node (T), the convex
function ε → worst expectation is approximated by the mean of its lower and its upper bound.
"""

from __future__ import annotations

import torch
from torch import Tensor

JITTER = 1e-3


def minimax(values: Tensor, weights: Tensor, factor: Tensor, radius: float) -> Tensor:
    """The approximation at ``radius``, differentiable in the values by autograd.

    Args:
        values: g at the nodes, ``... × n``.
        weights: the reference law ŵ, ``n``.
        factor: A of ``windage.surrogate.kernel_factor``, ``r × n``, rows orthogonal.
        radius: ε ≥ 0.

    Returns:
        ``...``: E + ε(T+S)/2 for ε < ε', (E + εT + mn)/2 for ε' ≤ ε < ε*, mn for ε ≥ ε*.
    """
    mean = values @ weights
    lowest, where = values.min(dim=-1)
    # ε* = ‖A(e - ŵ)‖, the distance to all probability on the worst node
    corner = (factor.mT - factor @ weights).norm(dim=1)[where].clamp_min(1e-12)
    chord = (lowest - mean) / corner
    slope = torch.minimum(-_sensitivity(values, factor), chord)
    # in T ≤ 0 and S ≤ T every branch is finite; where all values are equal both are 0
    turn = (lowest - mean) / torch.where(slope < 0, slope, torch.full_like(slope, -1.0))
    near = mean + radius * (chord + slope) / 2
    far = (mean + radius * chord + lowest) / 2
    inner = torch.where(radius < turn, near, far)
    return torch.where(radius < corner, inner, lowest)


def _sensitivity(values: Tensor, factor: Tensor) -> Tensor:
    """sqrt(gᵀP g - (gᵀP1)²/(1ᵀP1)) with P = (AᵀA + jitter·I)⁻¹.

    The rows of A are orthogonal, of squares λ: P = (I - Aᵀ diag(1/(λ + jitter)) A)/jitter, without a solver.
    """
    share = factor / (factor.square().sum(1, keepdim=True) + JITTER).sqrt()
    centred = values - values.mean(dim=-1, keepdim=True)  # the form ignores constants; this keeps digits
    ones = 1 - share.sum(1) @ share  # P1, times the jitter like all that follows
    quadratic = centred.square().sum(-1) - (centred @ share.mT).square().sum(-1)
    quadratic = (quadratic - (centred @ ones).square() / ones.sum()) / JITTER
    root: Tensor = quadratic.clamp_min(1e-30).sqrt()
    return root
