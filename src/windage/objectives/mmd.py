"""The worst expectation in an MMD ball (Kirschner et al. 2020, Eq. 8), in one batch.

    min_w { Σ_m w_m g_m :  w ≥ 0,  Σ w = 1,  ‖A(w - ŵ)‖ ≤ ε },     kernel matrix = AᵀA, A of r × n

1. Guess the nodes that carry the worst weights and solve on them in closed form, with a certificate
   (``mmd_support``).
2. What has no certificate goes through an interior-point method (``mmd_interior``), whose iterate is a better
   guess for step 1.
"""

from __future__ import annotations

import numpy as np

from windage.objectives.mmd_interior import GAP, TINY, interior_point
from windage.objectives.mmd_support import SLOTS, WIDE_RANK, WIDE_SLOTS, Supports, solve_on_support
from windage.search import Valued
from windage.space import Array

CROSSOVER = 1e-5
"""The gap at which the support is clear enough to try the closed form on it."""


def mmd(values: Array, weights: Array, factor: Array, radius: float) -> Valued:
    """The least expectation over distributions on the nodes within MMD ``radius`` of the weights.

    Args:
        values: g at the nodes, ``... × n``.
        weights: the reference distribution ŵ, ``n``.
        factor: A of ``windage.gp.kernel_factor``, ``r × n``.
        radius: ε ≥ 0.

    Returns:
        The value ``...`` and its gradient ``... × n``: the worst weights w*.
    """
    rows = values.reshape(-1, values.shape[-1])
    worst = MmdSolver(weights, factor, radius, remember=False)(rows).reshape(values.shape)
    return Valued((worst * values).sum(axis=-1), worst)


class MmdSolver:
    """Solves the same ball for many values, as a climb asks for, and remembers the supports of its solutions.

    The memory only saves time: weights found from a remembered support carry a certificate of the same gap
    that the interior-point method stops at.
    """

    def __init__(self, weights: Array, factor: Array, radius: float, remember: bool = True) -> None:
        self.weights, self.factor, self.radius = weights, factor, radius
        self.kernel, self.remember = factor.T @ factor, remember
        self.wide = len(factor) > WIDE_RANK
        self.slots = WIDE_SLOTS if self.wide else SLOTS
        self.costs = np.zeros((0, factor.shape[1]))
        self.supports = Supports.of(self.costs, self.slots)

    @np.errstate(all="ignore")
    def __call__(self, values: Array) -> Array:
        """The worst weights for each row of values, B × n → B × n."""
        low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
        worst = np.tile(self.weights, (len(values), 1))
        # without a radius, or where all values are equal, the reference itself is a worst one
        rows = np.flatnonzero(high > low) if self.radius > 0 else np.arange(0)
        cost = ((values - low) / np.maximum(high - low, TINY))[rows]
        for guess in (self._nearest, self._at_reference):
            supports = guess(cost) if len(rows) else None
            if supports is None:
                continue
            known = solve_on_support(cost, self.weights, self.kernel, self.radius, supports, GAP)
            worst[rows[known.certain]] = known.weights[known.certain]
            self._remember(cost[known.certain], known.supports[known.certain])
            rows, cost = rows[~known.certain], cost[~known.certain]
        if len(rows):
            worst[rows] = worst_weights(cost, self.weights, self.factor, self.kernel, self.radius)
            self._remember(cost, Supports.of(worst[rows], self.slots))
        return np.asarray(worst / worst.sum(axis=1, keepdims=True))

    def _nearest(self, cost: Array) -> Supports | None:
        """The supports of the nearest costs solved before."""
        if not len(self.costs):
            return None
        distances = (self.costs**2).sum(axis=1) - 2 * cost @ self.costs.T
        return self.supports[distances.argmin(axis=1)]

    def _at_reference(self, cost: Array) -> Supports | None:
        """The reference's own support and the lowest node; tried where the rank is high."""
        if not self.wide:
            return None
        mixed = np.tile(0.5 * self.weights, (len(cost), 1))
        mixed[np.arange(len(cost)), cost.argmin(axis=1)] += 0.5
        return Supports.of(mixed, self.slots)

    def _remember(self, cost: Array, supports: Supports) -> None:
        if self.remember and len(cost):
            self.costs = np.concatenate([self.costs, cost])
            self.supports = self.supports.join(supports)


def worst_weights(cost: Array, weights: Array, factor: Array, kernel: Array, radius: float) -> Array:
    """The worst weights for costs scaled to [0, 1], B × n → B × n; kernel = AᵀA.

    The interior-point method finds the supports, the closed form on them the weights; where that fails, the
    interior-point method goes on as far as precision allows.
    """
    worst = interior_point(cost, weights, factor, radius, CROSSOVER)
    found = solve_on_support(cost, weights, kernel, radius, Supports.of(worst), GAP)
    worst = np.where(found.certain[:, None], found.weights, worst)
    rest = np.flatnonzero(~found.certain)
    if len(rest):
        worst[rest] = interior_point(cost[rest], weights, factor, radius, GAP)
        again = solve_on_support(cost[rest], weights, kernel, radius, Supports.of(worst[rest]), GAP)
        worst[rest[again.certain]] = again.weights[again.certain]
    # weights may lie a rounding outside of the ball: back along the line to the reference
    away = np.linalg.norm((worst - weights) @ factor.T, axis=1, keepdims=True)
    return np.asarray(weights + (worst - weights) * (radius / np.maximum(away, radius)))
