"""Acquisition functions: posterior on x × c → upper bound → functional of the context.

This is the one place that builds x × c. Every class is an ordinary BoTorch ``AcquisitionFunction`` on the
decisions' unit box and works with ``botorch.optim.optimize_acqf``; values are of the standardised outcome.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from windage import functionals
from windage.density import Nodes, thinned
from windage.surrogate import (
    ExpectationPosterior,
    NodePosterior,
    ProductGP,
    SlopePosterior,
    WorstPosterior,
    kernel_factor,
)
from windage.surrogate.kernels import PROFILES, scaled_squares
from windage.surrogate.low_rank import RANK_TOLERANCE

MIN_VARIANCE = 1e-12
"""Of the standardised outcome; keeps the root's derivative finite where the GP is certain."""
FEW: Mapping[int, int] = {0: 1, 1: 64, 2: 144}
"""Nodes of a stand-in that only ranks decisions, by the number of contexts; 256 for more."""
STAND_IN_TOLERANCE = 1e-5
"""Of its low-rank form."""
Posterior = NodePosterior | ExpectationPosterior


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
        return mean + self.sqrt_beta * _deviation(variance)

    def value_and_slope(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """B × Dx → values B and gradients B × Dx, without autograd's graph."""
        mean, variance, saved = self.posterior.moments(x)
        deviation = _deviation(variance)
        value, share = self.functional_and_slope(mean + self.sqrt_beta * deviation)
        pull = torch.where(variance > MIN_VARIANCE, (0.5 * self.sqrt_beta) * share / deviation, 0.0)
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


class CombinedAcquisition(AcquisitionFunction):  # type: ignore[misc]
    """A function of the means and variances of several posteriors at the same decisions."""

    stand_in_is_close = False
    smooth = True
    jumps = False

    def __init__(self, posteriors: Sequence[Posterior]) -> None:
        super().__init__(posteriors[0].model)
        self.posteriors = posteriors

    @property
    def chunk(self) -> int:
        """How many decisions it wants at a time."""
        return min(posterior.chunk for posterior in self.posteriors)

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]
    def forward(self, X: Tensor) -> Tensor:
        """X: b × 1 × Dx → b."""
        means, variances = zip(*(posterior(X.squeeze(-2)) for posterior in self.posteriors), strict=True)
        return self.combine(torch.stack(means), torch.stack(variances))

    def value_and_slope(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """B × Dx → values B and gradients B × Dx."""
        parts = [posterior.moments(x) for posterior in self.posteriors]
        with torch.enable_grad():
            means = torch.stack([mean for mean, _, _ in parts]).requires_grad_(True)
            variances = torch.stack([variance for _, variance, _ in parts]).requires_grad_(True)
            found = self.combine(means, variances)
            grads = torch.autograd.grad(found.sum(), (means, variances))
        slopes = [
            posterior.pull_back(saved, grad_mean, grad_variance)
            for posterior, (_, _, saved), grad_mean, grad_variance in zip(
                self.posteriors, parts, *grads, strict=True
            )
        ]
        return found.detach(), torch.stack(slopes).sum(0)

    def stand_in(self) -> CombinedAcquisition:
        """Itself."""
        return self

    @abstractmethod
    def combine(self, means: Tensor, variances: Tensor) -> Tensor:
        """K × B or K × B × M each → B."""


class _MeanBound(CombinedAcquisition):
    """μ_F + √β σ_F of expectations, averaged over surrogates."""

    def __init__(self, posteriors: Sequence[ExpectationPosterior], sqrt_beta: float) -> None:
        super().__init__(posteriors)
        self.sqrt_beta = sqrt_beta

    def combine(self, means: Tensor, variances: Tensor) -> Tensor:
        """K × B each → B."""
        return (means + self.sqrt_beta * _deviation(variances)).mean(0)


class ExpectedBound(_MeanBound):
    """μ_F(x) + √β σ_F(x), the bound on the expectation itself, averaged over surrogates: BQ-KDE.

    With √β = 0 it is the posterior mean, which ``recommend`` maximises.
    """

    def __init__(self, models: Sequence[ProductGP], nodes: Nodes, sqrt_beta: float) -> None:
        posteriors = [ExpectationPosterior(model, nodes.points, nodes.weights) for model in models]
        super().__init__(posteriors, sqrt_beta)


class WorstBound(_MeanBound):
    """The bound on the expectation under the law worst for the mean, averaged over surrogates: RBQ-KDE.

    The law is of those within a total-variation radius of the nodes' and is each decision's own. It changes
    in steps, and with it σ_F. ``space`` are points of the whole context space, beside the nodes.
    """

    jumps = True

    def __init__(
        self, models: Sequence[ProductGP], nodes: Nodes, sqrt_beta: float, radius: float, space: Tensor
    ) -> None:
        weights = torch.cat([nodes.weights, nodes.weights.new_zeros(len(space))])
        points = torch.cat([nodes.points, space])
        worst = partial(functionals.total_variation_law, weights=weights, radius=radius)
        super().__init__([WorstPosterior(model, points, worst) for model in models], sqrt_beta)


class Disagreement(CombinedAcquisition):
    """Σ_m w_m (mean_k(μ_k + √β σ_k) - λ·std_k(μ_k)) over K surrogates: LEDRBO."""

    def __init__(self, models: Sequence[ProductGP], nodes: Nodes, sqrt_beta: float, aversion: float) -> None:
        super().__init__([NodePosterior(model, nodes.points) for model in models])
        self.weights, self.sqrt_beta, self.aversion = nodes.weights, sqrt_beta, aversion

    def combine(self, means: Tensor, variances: Tensor) -> Tensor:
        """K × B × M each → B."""
        bounds = (means + self.sqrt_beta * _deviation(variances)).mean(0)
        apart = _deviation(means.var(0, correction=0))
        return (bounds - self.aversion * apart) @ self.weights


class Wasserstein(CombinedAcquisition):
    """Σ_m w_m g_m - radius·max_m ‖∂g_m/∂c‖, g = μ + √β σ: WDRBO (Micheli et al. 2025).

    The least expectation within a Wasserstein distance is at most so far below the mean. ``space`` are
    points of the context space at which the slope is looked at, beside the nodes.
    """

    smooth = False

    def __init__(
        self, model: ProductGP, nodes: Nodes, sqrt_beta: float, radius: float, space: Tensor
    ) -> None:
        posterior = SlopePosterior(model, torch.cat([nodes.points, space]))
        super().__init__([posterior])
        self.slopes = posterior.slopes
        self.weights, self.sqrt_beta, self.radius = nodes.weights, sqrt_beta, radius

    def combine(self, means: Tensor, variances: Tensor) -> Tensor:
        """1 × B × rows each → B."""
        mean, mean_slope = self.slopes(means[0])
        variance, variance_slope = self.slopes(variances[0])
        deviation = _deviation(variance)
        slope = mean_slope + (0.5 * self.sqrt_beta) * variance_slope / deviation[:, :, None]
        steepest = slope.square().sum(2).max(1).values.clamp_min(MIN_VARIANCE).sqrt()
        bounds = (mean + self.sqrt_beta * deviation)[:, : len(self.weights)]
        return bounds @ self.weights - self.radius * steepest


def _deviation(variances: Tensor) -> Tensor:
    return variances.clamp_min(MIN_VARIANCE).sqrt()
