"""The MMD ball's worst law from a guess of its support: a few small systems instead of an interior-point run.

Few nodes carry the worst law, and given which, it is a closed form. On the support S, with M the kernel
matrix, the point of total 1 nearest to ŵ and the direction down the values are

    p = M_SS⁻¹((Mŵ)_S + ν_p 1),   q = M_SS⁻¹(-g_S + ν_q 1),   1ᵀp = 1,  1ᵀq = 0,

p - ŵ and q are orthogonal in M, so w = p + τq with τ² = (ε² - ‖p-ŵ‖²)/‖q‖² is the least on S within the
ball. If w ≥ 0 and every other node has a multiplier z = g + M(w-ŵ)/τ - ν ≥ 0, it is the least of all; its
duality gap w·z - min(z, 0) + ‖w-ŵ‖(ε - ‖w-ŵ‖)/τ is the certificate. If not, a node leaves or enters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SLOTS, ROUNDS = 16, 16
"""Most nodes that a support may have, and most changes of it; what needs more goes to the interior point."""
WIDE_RANK, WIDE_SLOTS, WIDE_ROUNDS = 32, 64, 80
"""The same where the kernel has a rank above this: there an interior-point step is dear, a change cheap."""
JITTER = 1e-12
LIGHT = 1e-2
"""Nodes of less weight do not belong to a first guess: they come back if they are missing."""


@dataclass(frozen=True)
class Supports:
    """For each problem up to so many nodes: their indices and which of them count, B × slots each."""

    index: Tensor
    valid: Tensor

    def __getitem__(self, rows: Tensor) -> Supports:
        return Supports(self.index[rows], self.valid[rows])

    def join(self, more: Supports) -> Supports:
        """Both, one after the other."""
        return Supports(torch.cat([self.index, more.index]), torch.cat([self.valid, more.valid]))

    @classmethod
    def of(cls, laws: Tensor, slots: int = SLOTS) -> Supports:
        """The heaviest nodes of laws, B × n."""
        weight, index = laws.topk(min(slots, laws.shape[1]), dim=1)
        empty = slots - index.shape[1]
        index = torch.nn.functional.pad(index, (0, empty))
        weight = torch.nn.functional.pad(weight, (0, empty))
        return cls(index, weight > LIGHT)


@dataclass(frozen=True)
class Solution:
    """Laws (B × n), whether each carries its certificate (B), and their supports."""

    laws: Tensor
    certain: Tensor
    supports: Supports


def solve_on_support(
    cost: Tensor, weights: Tensor, kernel: Tensor, radius: float, guess: Supports, gap: float
) -> Solution:
    """The worst laws for costs (B × n, scaled to [0, 1]), as far as the guesses lead to them."""
    laws = torch.zeros_like(cost)
    certain = torch.zeros(len(cost), dtype=torch.bool)
    index, valid = guess.index.clone(), guess.valid.clone()
    at_reference = kernel @ weights
    rows = torch.arange(len(cost))
    for _ in range(ROUNDS if index.shape[1] == SLOTS else WIDE_ROUNDS):
        here = Supports(index[rows], valid[rows])
        law, on_support, z, distance = _solve(cost[rows], weights, kernel, at_reference, radius, here)
        lowest, leaving = torch.where(here.valid, on_support, torch.inf).min(1)
        entering = z.argmin(1)
        good = (lowest >= -1e-12) & (distance <= gap)
        laws[rows[good]], certain[rows[good]] = law[good].clamp_min(0), True
        going = ~good & torch.isfinite(law).all(1)
        # one node leaves where a weight is negative, else one enters, if there is room
        drop = going & (lowest < 0)
        valid[rows[drop], leaving[drop]] = False
        free = (~here.valid).int().argmax(1)
        add = going & ~drop & ~here.valid.all(1)
        index[rows[add], free[add]] = entering[add]
        valid[rows[add], free[add]] = True
        rows = rows[drop | add]
        if not len(rows):
            break
    return Solution(laws, certain, Supports(index, valid))


def _solve(
    cost: Tensor, weights: Tensor, kernel: Tensor, at_reference: Tensor, radius: float, on: Supports
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The least law on each support: B × n, B × slots; the multipliers z of all nodes, B × n; the gap, B."""
    mask = on.valid.to(cost.dtype)
    block = kernel[on.index[:, :, None], on.index[:, None, :]] * mask[:, :, None] * mask[:, None, :]
    block.diagonal(dim1=1, dim2=2).add_(1 - mask + JITTER)
    g = cost.gather(1, on.index) * mask
    sides = torch.stack([at_reference[on.index] * mask, g, mask], dim=2)
    a, b, one = torch.cholesky_solve(sides, torch.linalg.cholesky_ex(block).L).unbind(2)
    total = one.sum(1, keepdim=True)
    nu_p = (1 - a.sum(1, keepdim=True)) / total
    nu_q = b.sum(1, keepdim=True) / total
    p, q = a + nu_p * one, nu_q * one - b
    # ‖p - ŵ‖² = pᵀMp - 2pᵀMŵ + ŵᵀMŵ with Mp = Mŵ + ν_p on S;  ‖q‖² = -qᵀg
    near = nu_p.view(-1) - (p * sides[:, :, 0]).sum(1) + weights @ at_reference
    down = -(q * g).sum(1)
    tau = ((radius * radius - near).clamp_min(0) / down.clamp_min(1e-300)).sqrt()[:, None]
    on_support = (p + tau * q) * mask
    law = torch.zeros_like(cost).scatter_add_(1, on.index, on_support)
    pull = law @ kernel - at_reference
    inside = near <= radius * radius
    z = cost + (pull - nu_p) / tau - nu_q
    # the duality gap of this law and these multipliers, from scratch: the systems may be ill-conditioned
    distance = ((law - weights) * pull).sum(1).clamp_min(0).sqrt()
    gap = (law * z).sum(1).abs() - z.amin(1).clamp_max(0) + (law.sum(1) - 1).abs()
    gap += distance.maximum(distance.new_tensor(radius)) * (radius - distance).abs() / tau[:, 0]
    gap = torch.where(inside, gap, torch.inf)
    # out of reach of the ball (τ = 0): the node that brings the law nearest is the one that is missing
    z = torch.where(inside[:, None], z, pull)
    return law, on_support, z, gap
