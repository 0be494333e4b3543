"""Objectives of the upper bounds g(x, c_m) = μ + √β·σ of one surrogate at context nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from windage import objectives
from windage.acquisition.base import Acquisition, Combined, by_variance, deviation
from windage.contexts import Nodes, thinned
from windage.gp import NodePosterior, ProductGP, kernel_factor
from windage.gp.low_rank import RANK_TOLERANCE
from windage.gp.posterior import MANY
from windage.search import Valued
from windage.space import Array

COARSE: Mapping[int, int] = {0: 1, 1: 64, 2: 144}
"""Nodes of a coarse approximation, by the number of contexts; 256 for more."""
COARSE_TOLERANCE = 1e-5
"""Of its low-rank form."""


def coarse_count(points: Array) -> int:
    """How many nodes a coarse approximation has in place of points, M × Dc."""
    return COARSE.get(points.shape[1], 256)


class BoundAcquisition(Acquisition):
    """An objective of the upper bounds at context nodes.

    Args:
        model: the surrogate.
        nodes: of the distribution of the context.
        sqrt_beta: √β.
        tolerance: relative error of a low-rank posterior.
        decisions: about how many decisions it will be asked for.
    """

    smooth = False

    def __init__(
        self,
        model: ProductGP,
        nodes: Nodes,
        sqrt_beta: float = 1.5,
        tolerance: float = RANK_TOLERANCE,
        decisions: int = MANY,
    ) -> None:
        self.model, self.nodes, self.sqrt_beta = model, nodes, sqrt_beta
        super().__init__([NodePosterior(model, self._points(), None, tolerance, decisions)])

    def _points(self) -> Array:
        """Where the bounds are taken."""
        return self.nodes.points

    @abstractmethod
    def objective(self, bounds: Array) -> Valued:
        """Bounds B × M → value B and gradient B × M."""

    def objective_value(self, bounds: Array) -> Array:
        """The value alone, where that is cheaper."""
        return self.objective(bounds).value

    def value(self, x: Array) -> Array:
        """Decisions B × d → B."""
        (moments,) = self._moments(x)
        spread = deviation(moments.variance)
        spread *= self.sqrt_beta
        spread += moments.mean
        return self.objective_value(spread)

    def combine(self, means: Array, variances: Array) -> Combined:
        """1 × B × M each → value and derivatives."""
        spread = deviation(variances)
        found = self.objective((means + self.sqrt_beta * spread)[0])
        by_bound = found.gradient[None]
        return Combined(found.value, by_bound, by_variance(self.sqrt_beta * by_bound, variances, spread))


class Expectation(BoundAcquisition):
    """Σ_m w_m g(x, c_m): SBO-KDE; and with no context at all, GP-UCB."""

    coarse_is_close = True
    smooth = True

    def objective(self, bounds: Array) -> Valued:
        """B × M → B and B × M."""
        return objectives.expectation(bounds, self.nodes.weights)

    def coarse(self) -> Expectation:
        """On few nodes, and with a coarse posterior; itself where there is no context."""
        if not self.nodes.points.shape[1]:
            return self
        few = thinned(self.nodes, coarse_count(self.nodes.points))
        return Expectation(self.model, few, self.sqrt_beta, COARSE_TOLERANCE)


class WorstCase(BoundAcquisition):
    """min_m g(x, c_m): StableOpt."""

    def objective(self, bounds: Array) -> Valued:
        """B × M → B and B × M."""
        return objectives.worst_case(bounds)

    def objective_value(self, bounds: Array) -> Array:
        """B × M → B."""
        return np.asarray(bounds.min(axis=1))

    def coarse(self) -> WorstCase:
        """On the first of the Sobol points."""
        few = Nodes.equal(self.nodes.points[: 2 * coarse_count(self.nodes.points)])
        return WorstCase(self.model, few, self.sqrt_beta, COARSE_TOLERANCE)


class TotalVariation(BoundAcquisition):
    """The least expectation of g within a total-variation radius: DRBO-KDE (paper, Eq. 6).

    ``space`` are points of the whole context space over which the infimum is taken, beside the nodes.
    """

    coarse_is_close = True
    smooth = True

    def __init__(
        self,
        model: ProductGP,
        nodes: Nodes,
        radius: float,
        space: Array,
        sqrt_beta: float = 1.5,
        tolerance: float = RANK_TOLERANCE,
        decisions: int = MANY,
    ) -> None:
        self.radius, self.space = radius, space
        super().__init__(model, nodes, sqrt_beta, tolerance, decisions)

    def _points(self) -> Array:
        return np.concatenate([self.nodes.points, self.space])

    def objective(self, bounds: Array) -> Valued:
        """B × (M + points of the space) → B and the same."""
        count, rows = len(self.nodes), np.arange(len(bounds))
        left, moved = objectives.remaining(bounds[:, :count], self.nodes.weights, self.radius)
        lowest = bounds.argmin(axis=1)
        gradient = np.zeros_like(bounds)
        gradient[:, :count] = left
        gradient[rows, lowest] += moved
        value = np.einsum("bm,bm->b", left, bounds[:, :count]) + moved * bounds[rows, lowest]
        return Valued(value, gradient)

    def coarse(self) -> TotalVariation:
        """On few nodes, and the first of the space's Sobol points."""
        few = coarse_count(self.nodes.points)
        nodes, space = thinned(self.nodes, few), self.space[:few]
        return type(self)(self.model, nodes, self.radius, space, self.sqrt_beta, COARSE_TOLERANCE)


class KernelBall(BoundAcquisition):
    """A ball in the norm of the unit-diagonal context kernel (Lemma 3 of Kirschner et al. assumes k ≤ 1)."""

    def __init__(
        self,
        model: ProductGP,
        nodes: Nodes,
        radius: float,
        sqrt_beta: float = 1.5,
        tolerance: float = RANK_TOLERANCE,
    ) -> None:
        super().__init__(model, nodes, sqrt_beta, tolerance)
        self.radius = radius
        self.factor = kernel_factor(model.context_kernel(nodes.points, nodes.points).k)


class Mmd(KernelBall):
    """The least expectation of g within an MMD radius of the distribution on a grid: DRBO-MMD."""

    @cached_property
    def solver(self) -> objectives.MmdSolver:
        """Of this ball; it remembers what it solved."""
        return objectives.MmdSolver(self.nodes.weights, self.factor, self.radius)

    def objective(self, bounds: Array) -> Valued:
        """B × M → B and B × M."""
        worst = self.solver(bounds)
        return Valued(np.einsum("bm,bm->b", worst, bounds), worst)

    def coarse(self) -> Minimax:
        """The minimax approximation: good enough to choose where to start."""
        return Minimax(self.model, self.nodes, self.radius, self.sqrt_beta, COARSE_TOLERANCE)


class Minimax(KernelBall):
    """The minimax approximation of the MMD ball: DRBO-MMD-MinimaxApprox.

    It jumps where another node becomes the worst: nodes differ in their distance from the reference.
    """

    jumps = True

    @cached_property
    def ball(self) -> objectives.MinimaxBall:
        """What of it does not depend on the bounds."""
        return objectives.MinimaxBall.of(self.nodes.weights, self.factor, self.radius)

    def objective(self, bounds: Array) -> Valued:
        """B × M → B and B × M."""
        return self.ball(bounds)

    def objective_value(self, bounds: Array) -> Array:
        """B × M → B."""
        return self.ball.value(bounds)
