"""The methods as the paper's published code has them, where that is not what the paper says.

For the benchmark alone: it shows which part of the printed figures comes from these deviations
(docs/reproduction.md).

- **DRBO-KDE**: the Sobol points of the infimum are u·(low - high) + low, so they lie in [-1, 0] instead of
  [0, 1]; the infimum is over them alone, and carries no gradient.
- **StableOpt**: the same formula, so the box is [mean - 3 std, mean - std]; it is not cut at the bounds.
- **DRBO-MMD and its minimax approximation**: with two and more contexts the grid is only its diagonal. The
  kernel of the distance has the GP's output scale, where the radius assumes 1.
- **The minimax approximation**: the mean has equal weights instead of the counts'. The sensitivity has the
  wrong sign, so its first case never comes. The worst node stands under an ``else``: where any decision
  of the batch is in the second case, those of the third get 0.
- **GP-UCB**: 1.5 is given for β, where all others take it for √β.
- **The search** begins at raw samples alone, and not at the best decisions told as well (``proposal``).

Two more are not here. The code draws its Sobol points anew at each evaluation. Its GP and its KDE see
contexts as they were drawn, where f sees them clipped (benchmarks/raw_contexts.py).
"""

from __future__ import annotations

import math

import numpy as np

from windage import objectives
from windage.acquisition import Acquisition, BoundAcquisition, Expectation, Mmd, TotalVariation, WorstCase
from windage.contexts import NO_CONTEXT, Nodes
from windage.gp import ProductGP
from windage.methods.method import State
from windage.methods.schedules import mmd_radius, total_variation_radius
from windage.search import Valued, sobol
from windage.space import Array


def drbo_kde(state: State) -> Acquisition:
    """With the infimum over [-1, 0]."""
    radius = state.radius(total_variation_radius(state.contexts_seen, state.dc))
    nodes, space = state.kde_nodes(), -state.space()
    model, expected = state.models[0], state.evaluations
    return MisplacedInfimum(model, nodes, radius, space, state.sqrt_beta, decisions=expected)


def stableopt(state: State) -> Acquisition:
    """With the box on the wrong side of its lower end."""
    nodes = misplaced_box(state.data.boxed_c, state.settings.space_points, state.seeds("context space"))
    return WorstCase(state.models[0], nodes, state.sqrt_beta)


def drbo_mmd(state: State, size: int) -> Acquisition:
    """On the diagonal, with a kernel that is not of unit variance."""
    nodes = diagonal_grid(state.data.boxed_c, state.settings.grid or size)
    return Mmd(state.models[0], nodes, _scaled_radius(state), state.sqrt_beta)


def drbo_mmd_minimax(state: State, size: int) -> Acquisition:
    """The approximation with its three faults."""
    nodes = diagonal_grid(state.data.boxed_c, state.settings.grid or size)
    return UnweightedMinimax(state.models[0], nodes, _scaled_radius(state), state.sqrt_beta)


def gp_ucb(state: State) -> Acquisition:
    """With √β given for β."""
    return Expectation(state.models[0], NO_CONTEXT, math.sqrt(state.sqrt_beta))


def _scaled_radius(state: State) -> float:
    """ε for the unit-diagonal kernel where the code's kernel is that one times the output scale."""
    radius = state.radius(mmd_radius(state.contexts_seen, state.settings.gamma))
    return radius / math.sqrt(state.models[0].scale)


def misplaced_box(contexts: Array, count: int, seed: int) -> Nodes:
    """Points of [mean - 3 std, mean - std] of the contexts seen (n × Dc): u·(low - high) + low."""
    mean = contexts.mean(axis=0)
    deviation = contexts.std(axis=0, ddof=1) if len(contexts) > 1 else np.zeros_like(mean)
    low, high = mean - deviation, mean + deviation
    return Nodes.equal(low + (low - high) * sobol(count, len(low), seed))


def diagonal_grid(contexts: Array, size: int) -> Nodes:
    """The contexts seen, counted at the nearest of ceil(size^(1/Dc)) points of the diagonal."""
    dimensions = contexts.shape[1]
    side = 1
    while side**dimensions < size:
        side += 1
    nearest = np.round(contexts.mean(axis=1) * (side - 1)).astype(np.intp)
    counts = np.bincount(nearest, minlength=side)
    points = np.repeat(np.arange(side)[:, None] / (side - 1), dimensions, axis=1)
    return Nodes(points, counts / len(contexts))


class MisplacedInfimum(TotalVariation):
    """Proposition 2 with an infimum that may lie above bounds at the nodes.

    Its two-dimensional dual is then max_{u ≥ inf} E[min(g, u)] - δ/2 (u - inf): probability is taken from
    the highest bounds as before, but only from those above the infimum.
    """

    def objective(self, bounds: Array) -> Valued:
        """B × (M + points of the space) → B and the same; the gradient is of the nodes alone."""
        inside, lowest = bounds[:, : len(self.nodes)], bounds[:, len(self.nodes) :].min(axis=1)
        weights = self.nodes.weights
        left, _ = objectives.remaining(inside, weights, self.radius)
        left = np.where(inside > lowest[:, None], left, weights)
        moved = np.maximum(1 - left.sum(axis=1), 0)
        gradient = np.zeros_like(bounds)
        gradient[:, : len(self.nodes)] = left
        return Valued(np.einsum("bm,bm->b", left, inside) + moved * lowest, gradient)


class UnweightedMinimax(BoundAcquisition):
    """(E + εT + mn)/2 for ε ≤ ε*, with E of equal weights; else mn, or 0 beside a decision of the first."""

    jumps = True

    def __init__(self, model: ProductGP, nodes: Nodes, radius: float, sqrt_beta: float = 1.5) -> None:
        super().__init__(model, nodes, sqrt_beta)
        kernel, weights = model.context_kernel(nodes.points, nodes.points).k, nodes.weights
        squares = kernel.diagonal() - 2 * kernel @ weights + weights @ kernel @ weights
        self.radius, self.corner = radius, np.sqrt(np.maximum(squares, 1e-24))  # ε* of each node

    def objective(self, bounds: Array) -> Valued:
        """B × M → B and B × M."""
        where, n = bounds.argmin(axis=1), bounds.shape[1]
        mean, lowest, corner = bounds.mean(axis=1), bounds.min(axis=1), self.corner[where]
        at_lowest = np.zeros_like(bounds)
        at_lowest[np.arange(len(bounds)), where] = 1.0
        share = (self.radius / corner)[:, None]
        near = self.radius <= corner
        beyond = 0.0 if near.any() else 1.0
        value = np.where(near, (mean + share[:, 0] * (lowest - mean) + lowest) / 2, beyond * lowest)
        gradient = ((1 - share) / n + (1 + share) * at_lowest) / 2
        return Valued(value, np.where(near[:, None], gradient, beyond * at_lowest))
