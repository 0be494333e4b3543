"""Acquisition functions: posterior on x × c → upper bound → functional of the context.

This is the one place that builds x × c. Every class is an ordinary BoTorch ``AcquisitionFunction`` on the
decisions' unit box and works with ``botorch.optim.optimize_acqf``; values are of the standardised outcome.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from windage import functionals
from windage.density import Nodes
from windage.surrogate import ExpectationPosterior, NodePosterior, ProductGP, kernel_factor
from windage.surrogate.kernels import PROFILES, scaled_squares

MIN_VARIANCE = 1e-12
"""Of the standardised outcome; keeps the root's derivative finite where the GP is certain."""


class BoundAcquisition(AcquisitionFunction):  # type: ignore[misc]
    """A functional of the upper bounds g(x, c_m) = μ + √β·σ at context nodes."""

    def __init__(self, model: ProductGP, nodes: Nodes, sqrt_beta: float = 1.5) -> None:
        super().__init__(model)
        self.nodes, self.weights, self.sqrt_beta = nodes.points, nodes.weights, sqrt_beta
        self.posterior = NodePosterior(model, nodes.points)
        self.chunk = self.posterior.chunk

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]
    def forward(self, X: Tensor) -> Tensor:
        """X: b × 1 × Dx → b."""
        return self.functional(self.bounds(X.squeeze(-2)))

    def bounds(self, x: Tensor) -> Tensor:
        """The upper bounds at x × nodes, B × M."""
        mean, variance = self.posterior(x)
        return mean + self.sqrt_beta * variance.clamp_min(MIN_VARIANCE).sqrt()

    def rough(self, x: Tensor) -> Tensor:
        """A cheaper stand-in that ranks decisions, B × Dx → B; the function itself where it is cheap."""
        return self.functional(self.bounds(x))

    @abstractmethod
    def functional(self, values: Tensor) -> Tensor:
        """B × M → B."""


class Expectation(BoundAcquisition):
    """Σ_m w_m g(x, c_m): SBO-KDE; and with no context at all, GP-UCB."""

    def functional(self, values: Tensor) -> Tensor:
        """B × M → B."""
        return functionals.expectation(values, self.weights)


class WorstCase(BoundAcquisition):
    """min_m g(x, c_m): StableOpt."""

    def functional(self, values: Tensor) -> Tensor:
        """B × M → B."""
        return functionals.worst_case(values)


class TotalVariation(BoundAcquisition):
    """The least expectation of g within a total-variation radius: DRBO-KDE (paper, Eq. 6).

    ``space`` are points of the whole context space over which the infimum is taken, beside the nodes.
    """

    def __init__(
        self, model: ProductGP, nodes: Nodes, radius: float, space: Tensor, sqrt_beta: float = 1.5
    ) -> None:
        super().__init__(model, Nodes(torch.cat([nodes.points, space]), nodes.weights), sqrt_beta)
        self.radius = radius

    def functional(self, values: Tensor) -> Tensor:
        """B × (M + points of the space) → B."""
        count = len(self.weights)
        floor = values[:, count:].min(dim=1).values
        return functionals.total_variation(values[:, :count], self.weights, self.radius, floor)


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

    def rough(self, x: Tensor) -> Tensor:
        """The minimax approximation: good enough to choose where to start."""
        return functionals.minimax(self.bounds(x), self.weights, self.factor, self.radius)


class Minimax(_KernelBall):
    """The minimax approximation of the MMD ball: DRBO-MMD-MinimaxApprox."""

    def functional(self, values: Tensor) -> Tensor:
        """B × M → B."""
        return functionals.minimax(values, self.weights, self.factor, self.radius)


class ExpectedMean(AcquisitionFunction):  # type: ignore[misc]
    """μ_F(x), the posterior mean of the expectation itself: what ``recommend`` maximises."""

    chunk = 2**14

    def __init__(self, model: ProductGP, nodes: Nodes) -> None:
        super().__init__(model)
        self.posterior = ExpectationPosterior(model, nodes.points, nodes.weights)

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]
    def forward(self, X: Tensor) -> Tensor:
        """X: b × 1 × Dx → b."""
        return self.rough(X.squeeze(-2))

    def rough(self, x: Tensor) -> Tensor:
        """μ_F itself, B × Dx → B."""
        return self.posterior(x)[0]
