"""Acquisition functions: posterior on x × c → upper bound → functional of the context.

This is the one place that builds x × c. Every class is an ordinary BoTorch ``AcquisitionFunction`` on the
decisions' unit box and works with ``botorch.optim.optimize_acqf``; values are of the standardised outcome.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from windage import functionals
from windage.density import Nodes, thinned
from windage.surrogate import NodePosterior, ProductGP, kernel_factor
from windage.surrogate.kernels import PROFILES, scaled_squares
from windage.surrogate.low_rank import RANK_TOLERANCE

MIN_VARIANCE = 1e-12
"""Of the standardised outcome; keeps the root's derivative finite where the GP is certain."""
FEW: Mapping[int, int] = {0: 1, 1: 64, 2: 144}
"""Nodes of a stand-in that only ranks decisions, by the number of contexts; 256 for more."""
STAND_IN_TOLERANCE = 1e-5
"""Of its low-rank form."""


def _few(nodes: Tensor) -> int:
    return FEW.get(nodes.shape[1], 256)


class BoundAcquisition(AcquisitionFunction):  # type: ignore[misc]
    """A functional of the upper bounds g(x, c_m) = μ + √β·σ at context nodes."""

    stand_in_is_close = False
    smooth = False
    jumps = False

    def __init__(
        self, model: ProductGP, nodes: Nodes, sqrt_beta: float = 1.5, tolerance: float = RANK_TOLERANCE
    ) -> None:
        super().__init__(model)
        self.nodes, self.weights, self.sqrt_beta = nodes.points, nodes.weights, sqrt_beta
        # where a stand-in ranks and climbs first, few decisions are left for the function itself
        few = self.stand_in_is_close and tolerance == RANK_TOLERANCE
        self.posterior = NodePosterior(model, nodes.points, tolerance=tolerance, few=few)

    @property
    def chunk(self) -> int:
        """How many decisions it wants at a time."""
        return self.posterior.chunk

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]
    def forward(self, X: Tensor) -> Tensor:
        """X: b × 1 × Dx → b."""
        return self.functional(self.bounds(X.squeeze(-2)))

    def bounds(self, x: Tensor) -> Tensor:
        """The upper bounds at x × nodes, B × M."""
        mean, variance = self.posterior(x)
        return mean + self.sqrt_beta * deviation(variance)

    def value_and_slope(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """B × Dx → values B and gradients B × Dx, without autograd's graph."""
        mean, variance, saved = self.posterior.moments(x)
        spread = deviation(variance)
        value, share = self.functional_and_slope(mean + self.sqrt_beta * spread)
        pull = torch.where(variance > MIN_VARIANCE, (0.5 * self.sqrt_beta) * share / spread, 0.0)
        return value, self.posterior.pull_back(saved, share, pull)

    def functional_and_slope(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """B × M → the functional B and its gradient B × M."""
        with torch.enable_grad():
            values = values.detach().requires_grad_(True)
            found = self.functional(values)
            return found.detach(), torch.autograd.grad(found.sum(), values)[0]

    def stand_in(self) -> BoundAcquisition:
        """A cheaper function that ranks decisions much as this one does; itself where it is cheap."""
        return self

    @abstractmethod
    def functional(self, values: Tensor) -> Tensor:
        """B × M → B."""


class Expectation(BoundAcquisition):
    """Σ_m w_m g(x, c_m): SBO-KDE; and with no context at all, GP-UCB."""

    stand_in_is_close = True
    smooth = True

    def functional(self, values: Tensor) -> Tensor:
        """B × M → B."""
        return functionals.expectation(values, self.weights)

    def functional_and_slope(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The weights are the gradient."""
        return values @ self.weights, self.weights.expand_as(values)

    def stand_in(self) -> Expectation:
        """On few nodes."""
        nodes = thinned(Nodes(self.nodes, self.weights), _few(self.nodes))
        few = len(nodes.weights) < len(self.weights)
        return Expectation(self.model, nodes, self.sqrt_beta, STAND_IN_TOLERANCE) if few else self


class WorstCase(BoundAcquisition):
    """min_m g(x, c_m): StableOpt."""

    def functional(self, values: Tensor) -> Tensor:
        """B × M → B."""
        return functionals.worst_case(values)

    def stand_in(self) -> WorstCase:
        """On the first of the Sobol points."""
        nodes = Nodes.equal(self.nodes[: 2 * _few(self.nodes)])
        return WorstCase(self.model, nodes, self.sqrt_beta, STAND_IN_TOLERANCE)


class TotalVariation(BoundAcquisition):
    """The least expectation of g within a total-variation radius: DRBO-KDE (paper, Eq. 6).

    ``space`` are points of the whole context space over which the infimum is taken, beside the nodes.
    """

    stand_in_is_close = True
    smooth = True

    def __init__(
        self,
        model: ProductGP,
        nodes: Nodes,
        radius: float,
        space: Tensor,
        sqrt_beta: float = 1.5,
        tolerance: float = RANK_TOLERANCE,
    ) -> None:
        points = torch.cat([nodes.points, space])
        super().__init__(model, Nodes(points, nodes.weights), sqrt_beta, tolerance)
        self.radius = radius

    def functional(self, values: Tensor) -> Tensor:
        """B × (M + points of the space) → B."""
        count = len(self.weights)
        floor = values[:, count:].min(dim=1).values
        return functionals.total_variation(values[:, :count], self.weights, self.radius, floor)

    def stand_in(self) -> TotalVariation:
        """On few nodes, and the first of the space's Sobol points."""
        count, few = len(self.weights), _few(self.nodes)
        nodes = thinned(Nodes(self.nodes[:count], self.weights), few)
        space = self.nodes[count : count + few]
        return TotalVariation(self.model, nodes, self.radius, space, self.sqrt_beta, STAND_IN_TOLERANCE)


class _KernelBall(BoundAcquisition):
    """A ball in the norm of the unit-diagonal context kernel (Lemma 3 of Kirschner et al. assumes k ≤ 1)."""

    def __init__(self, model: ProductGP, nodes: Nodes, radius: float, sqrt_beta: float = 1.5) -> None:
        super().__init__(model, nodes, sqrt_beta)
        self.radius = radius
        squares = scaled_squares(nodes.points, nodes.points, model.scales[1])
        self.factor = kernel_factor(PROFILES[model.data.kernel](squares)[0])


class Mmd(_KernelBall):
    """The least expectation of g within an MMD radius of the law on a grid: DRBO-MMD."""

    def __init__(self, model: ProductGP, nodes: Nodes, radius: float, sqrt_beta: float = 1.5) -> None:
        super().__init__(model, nodes, radius, sqrt_beta)
        self.solver = functionals.MmdSolver(nodes.weights, self.factor, radius)

    def functional(self, values: Tensor) -> Tensor:
        """B × M → B, with the envelope's gradient."""
        with torch.no_grad():
            worst = self.solver(values)
        return (worst * values).sum(1)

    def stand_in(self) -> Minimax:
        """The minimax approximation: good enough to choose where to start."""
        return Minimax(self.model, Nodes(self.nodes, self.weights), self.radius, self.sqrt_beta)


class Minimax(_KernelBall):
    """The minimax approximation of the MMD ball: DRBO-MMD-MinimaxApprox.

    It jumps where another node becomes the worst, because nodes differ in their distance from the law.
    """

    jumps = True

    def __init__(self, model: ProductGP, nodes: Nodes, radius: float, sqrt_beta: float = 1.5) -> None:
        super().__init__(model, nodes, radius, sqrt_beta)
        self.ball = functionals.MinimaxBall.of(nodes.weights, self.factor, radius)

    def functional(self, values: Tensor) -> Tensor:
        """B × M → B."""
        return self.ball(values)


def deviation(variances: Tensor) -> Tensor:
    """The root of the variances, which may be 0 or by rounding below it."""
    return variances.clamp_min(MIN_VARIANCE).sqrt()
