"""The minimax approximation of the MMD ball (Tay et al. 2022).

Between the slope at radius 0 (the worst-case sensitivity S) and the chord to the worst node (T), the convex
function ε → worst expectation is approximated by the mean of its lower and its upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

JITTER = 1e-3


def minimax(values: Tensor, weights: Tensor, factor: Tensor, radius: float) -> Tensor:
    """The approximation at ``radius``, differentiable in the values by autograd.

    Args:
        values: g at the nodes, ``... × n``.
        weights: the reference law ŵ, ``n``.
        factor: A of ``windage.surrogate.kernel_factor``, ``r × n``; rows orthogonal if r < n.
        radius: ε ≥ 0.

    Returns:
        ``...``: E + ε(T+S)/2 for ε < ε', (E + εT + mn)/2 for ε' ≤ ε < ε*, mn for ε ≥ ε*.
    """
    return MinimaxBall.of(weights, factor, radius)(values)


@dataclass(frozen=True)
class MinimaxBall:
    """What of a ball does not depend on the values, computed once for many of them.

    corner: ε* = ‖A(e - ŵ)‖ for all probability on each node, n. ones: P1 times the jitter, n.
    root: r × n with gᵀPg times the jitter equal to ‖root g‖², or to ‖g‖² - ‖root g‖² where ``rest`` is set;
    P = (AᵀA + jitter·I)⁻¹.
    """

    weights: Tensor
    radius: float
    corner: Tensor
    ones: Tensor
    root: Tensor
    rest: bool

    @classmethod
    def of(cls, weights: Tensor, factor: Tensor, radius: float) -> MinimaxBall:
        """The ball of that radius around the weights."""
        n = len(weights)
        corner = (factor.mT - factor @ weights).norm(dim=1).clamp_min(1e-12)
        if len(factor) < n:
            # orthogonal rows, of squares λ: P = (I - Aᵀ diag(1/(λ + jitter)) A)/jitter
            root = factor / (factor.square().sum(1, keepdim=True) + JITTER).sqrt()
            return cls(weights, radius, corner, 1 - root.sum(1) @ root, root, rest=True)
        eye = torch.eye(n, dtype=factor.dtype)
        chol = torch.linalg.cholesky(factor.mT @ factor + JITTER * eye)
        root = JITTER**0.5 * torch.linalg.solve_triangular(chol, eye, upper=False)
        return cls(weights, radius, corner, root.sum(1) @ root, root, rest=False)

    def __call__(self, values: Tensor) -> Tensor:
        """Values ``... × n`` → ``...``."""
        mean = values @ self.weights
        lowest, where = values.min(dim=-1)
        corner = self.corner[where]
        chord = (lowest - mean) / corner
        slope = torch.minimum(-self._sensitivity(values), chord)
        # in T ≤ 0 and S ≤ T every branch is finite; where all values are equal both are 0
        turn = (lowest - mean) / torch.where(slope < 0, slope, torch.full_like(slope, -1.0))
        near = mean + self.radius * (chord + slope) / 2
        far = (mean + self.radius * chord + lowest) / 2
        inner = torch.where(self.radius < turn, near, far)
        return torch.where(self.radius < corner, inner, lowest)

    def _sensitivity(self, values: Tensor) -> Tensor:
        """sqrt(gᵀP g - (gᵀP1)²/(1ᵀP1)), all times the jitter until the end."""
        centred = values - values.mean(dim=-1, keepdim=True)  # the form ignores constants; this keeps digits
        quadratic = (centred @ self.root.mT).square().sum(-1)
        if self.rest:
            quadratic = centred.square().sum(-1) - quadratic
        quadratic = (quadratic - (centred @ self.ones).square() / self.ones.sum()) / JITTER
        root: Tensor = quadratic.clamp_min(1e-30).sqrt()
        return root
