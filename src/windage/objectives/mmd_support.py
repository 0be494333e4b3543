"""The MMD ball's worst weights from a guess of their support: a few small systems, no interior-point run.

Few nodes carry the worst weights, and given which, they are a closed form. On the support S, with M the
kernel matrix, the point of total 1 nearest to ŵ and the direction down the values are

    p = M_SS⁻¹((Mŵ)_S + ν_p 1),   q = M_SS⁻¹(-g_S + ν_q 1),   1ᵀp = 1,  1ᵀq = 0,

p - ŵ and q are orthogonal in M, so w = p + τq with τ² = (ε² - ‖p-ŵ‖²)/‖q‖² is the least on S within the
ball. If w ≥ 0 and every other node has a multiplier z = g + M(w-ŵ)/τ - ν ≥ 0, it is the least of all; its
duality gap w·z - min(z, 0) + ‖w-ŵ‖(ε - ‖w-ŵ‖)/τ is the certificate. If not, a node leaves or enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windage.space import Array

SLOTS, ROUNDS = 16, 16
"""Most nodes that a support may have, and most changes of it; what needs more goes to the interior point."""
WIDE_RANK, WIDE_SLOTS, WIDE_ROUNDS = 32, 64, 80
"""The same where the kernel has a rank above this: there an interior-point step is dear, a change cheap."""
JITTER = 1e-12
LIGHT = 1e-2
"""Nodes of less weight do not belong to a first guess: they come back if they are missing."""


@dataclass(frozen=True)
class Supports:
    """For each problem up to so many nodes."""

    index: NDArray[np.intp]
    """Their indices, B × slots."""
    valid: NDArray[np.bool_]
    """Which of them count, B × slots."""

    def __getitem__(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Supports:
        return Supports(self.index[rows], self.valid[rows])

    def join(self, more: Supports) -> Supports:
        """Both, one after the other."""
        return Supports(np.concatenate([self.index, more.index]), np.concatenate([self.valid, more.valid]))

    @classmethod
    def of(cls, weights: Array, slots: int = SLOTS) -> Supports:
        """The heaviest nodes of weights, B × n."""
        count = min(slots, weights.shape[1])
        index = np.zeros((len(weights), slots), dtype=np.intp)
        valid = np.zeros((len(weights), slots), dtype=bool)
        index[:, :count] = np.argsort(-weights, axis=1, kind="stable")[:, :count]
        valid[:, :count] = np.take_along_axis(weights, index[:, :count], axis=1) > LIGHT
        return cls(index, valid)


@dataclass(frozen=True)
class Solution:
    """Weights as far as found."""

    weights: Array
    """B × n."""
    certain: NDArray[np.bool_]
    """Whether each carries its certificate, B."""
    supports: Supports


@np.errstate(all="ignore")
def solve_on_support(
    cost: Array, weights: Array, kernel: Array, radius: float, guess: Supports, gap: float
) -> Solution:
    """The worst weights for costs (B × n, scaled to [0, 1]), as far as the guesses lead to them."""
    worst = np.zeros_like(cost)
    certain = np.zeros(len(cost), dtype=bool)
    index, valid = guess.index.copy(), guess.valid.copy()
    at_reference = kernel @ weights
    rows = np.arange(len(cost))
    for _ in range(ROUNDS if index.shape[1] == SLOTS else WIDE_ROUNDS):
        here = Supports(index[rows], valid[rows])
        found = _solve(cost[rows], weights, kernel, at_reference, radius, here)
        on_support = np.where(here.valid, found.on_support, np.inf)
        leaving, entering = on_support.argmin(axis=1), found.z.argmin(axis=1)
        lowest = on_support[np.arange(len(rows)), leaving]
        good = (lowest >= -1e-12) & (found.gap <= gap)
        worst[rows[good]], certain[rows[good]] = np.maximum(found.weights[good], 0), True
        going = ~good & np.isfinite(found.weights).all(axis=1)
        # one node leaves where a weight is negative, else one enters, if there is room
        drop = going & (lowest < 0)
        valid[rows[drop], leaving[drop]] = False
        free = (~here.valid).argmax(axis=1)
        add = going & ~drop & ~here.valid.all(axis=1)
        index[rows[add], free[add]] = entering[add]
        valid[rows[add], free[add]] = True
        rows = rows[drop | add]
        if not len(rows):
            break
    return Solution(worst, certain, Supports(index, valid))


class _Solved(NamedTuple):
    """The least weights on each support."""

    weights: Array
    """B × n."""
    on_support: Array
    """B × slots."""
    z: Array
    """The multipliers of all nodes, B × n."""
    gap: Array
    """B."""


def _solve(
    cost: Array, weights: Array, kernel: Array, at_reference: Array, radius: float, on: Supports
) -> _Solved:
    mask = on.valid.astype(float)
    slots = mask.shape[1]
    block = kernel[on.index[:, :, None], on.index[:, None, :]]
    block *= mask[:, :, None] * mask[:, None, :]
    block.reshape(len(block), -1)[:, :: slots + 1] += 1 - mask + JITTER
    g = np.take_along_axis(cost, on.index, axis=1) * mask
    sides = np.stack([at_reference[on.index] * mask, g, mask], axis=2)
    a, b, one = np.moveaxis(solve(block, sides), 2, 0)
    total = one.sum(axis=1, keepdims=True)
    nu_p = (1 - a.sum(axis=1, keepdims=True)) / total
    nu_q = b.sum(axis=1, keepdims=True) / total
    p, q = a + nu_p * one, nu_q * one - b
    # ‖p - ŵ‖² = pᵀMp - 2pᵀMŵ + ŵᵀMŵ with Mp = Mŵ + ν_p on S;  ‖q‖² = -qᵀg
    near = nu_p[:, 0] - (p * sides[:, :, 0]).sum(axis=1) + weights @ at_reference
    down = -(q * g).sum(axis=1)
    tau = np.sqrt(np.maximum(radius * radius - near, 0) / np.maximum(down, 1e-300))[:, None]
    on_support = (p + tau * q) * mask
    flat = np.arange(len(cost))[:, None] * cost.shape[1] + on.index
    counted: Array = np.bincount(flat.reshape(-1), on_support.reshape(-1), cost.size).astype(float)
    found = counted.reshape(cost.shape)
    pull = found @ kernel - at_reference
    inside = near <= radius * radius
    z = cost + (pull - nu_p) / tau - nu_q
    # the duality gap of these weights and multipliers, from scratch: the systems may be ill-conditioned
    distance = np.sqrt(np.maximum(((found - weights) * pull).sum(axis=1), 0))
    gap = np.abs((found * z).sum(axis=1)) - np.minimum(z.min(axis=1), 0) + np.abs(found.sum(axis=1) - 1)
    gap += np.maximum(distance, radius) * np.abs(radius - distance) / tau[:, 0]
    gap = np.where(inside, gap, np.inf)
    # out of reach of the ball (τ = 0): the node that brings the weights nearest is the one that is missing
    z = np.where(inside[:, None], z, pull)
    return _Solved(found, on_support, z, gap)


def solve(matrices: Array, sides: Array) -> Array:
    """M⁻¹ b for each of a batch, B × n × n and B × n × k; nan where a matrix is singular."""
    try:
        return np.asarray(np.linalg.solve(matrices, sides))
    except np.linalg.LinAlgError:
        found = np.full_like(sides, np.nan)
        for i in range(len(matrices)):
            try:
                found[i] = np.linalg.solve(matrices[i], sides[i])
            except np.linalg.LinAlgError:
                continue
        return found
