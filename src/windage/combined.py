"""Acquisition functions of several surrogates, or of the expectation itself.

Each is a function of the means and variances of posteriors at the same decisions; the posteriors know how to
pull a gradient back.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from windage import functionals
from windage.acquisition import MIN_VARIANCE, deviation
from windage.density import Nodes
from windage.surrogate import (
    ExpectationPosterior,
    NodePosterior,
    ProductGP,
    SlopePosterior,
    WorstPosterior,
    expectation,
    look,
)

LEAST_MOVED = 1e-9
"""Of σ_F² - cov: where a look tells nothing, its deviation stays above 0."""
Posterior = NodePosterior | ExpectationPosterior


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


class MeanBound(CombinedAcquisition):
    """μ_F + √β σ_F of expectations, averaged over surrogates.

    In logs the law of F is log-normal above a floor, and above that the bound is
    (μ_F - floor)·e^{√β σ_F/(μ_F - floor)}.
    """

    posteriors: Sequence[ExpectationPosterior]

    def __init__(self, posteriors: Sequence[ExpectationPosterior], sqrt_beta: float) -> None:
        super().__init__(posteriors)
        self.sqrt_beta = sqrt_beta
        logs = posteriors[0].model.data.logs
        self.floor = None if logs is None else logs.floor

    def bounds(self, means: Tensor, variances: Tensor) -> Tensor:
        """K × B each → K × B."""
        reach = self.sqrt_beta * deviation(variances)
        if self.floor is None:
            return means + reach
        above = means - self.floor
        return self.floor + above * (reach / above).exp()

    def combine(self, means: Tensor, variances: Tensor) -> Tensor:
        """K × B each → B."""
        return self.bounds(means, variances).mean(0)

    def chance(self, x: Tensor, levels: Tensor) -> Tensor:
        """P(F(x) > level), B × Dx → B, with a level for each surrogate (K), averaged over them."""
        means, spread = self._laws(x)
        ahead = means - levels[:, None]
        if self.floor is not None:
            above = means - self.floor
            ahead = above * (above / (levels[:, None] - self.floor)).log()
        found: Tensor = torch.special.ndtr(ahead / spread).mean(0)
        return found

    def _laws(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The mean (in logs the median) and the deviation of F(x), B × Dx → K × B each."""
        with torch.no_grad():
            moments = [posterior.moments(x)[:2] for posterior in self.posteriors]
        means = torch.stack([mean for mean, _ in moments])
        return means, deviation(torch.stack([variance.view(len(x), -1)[:, 0] for _, variance in moments]))


class ExpectedBound(MeanBound):
    """μ_F(x) + √β σ_F(x), the bound on the expectation itself, averaged over surrogates: BQ-KDE.

    With √β = 0 it is the posterior mean, which ``recommend`` maximises.
    """

    def __init__(self, models: Sequence[ProductGP], nodes: Nodes, sqrt_beta: float) -> None:
        super().__init__([expectation(model, nodes.points, nodes.weights) for model in models], sqrt_beta)


class ExpectedGain(MeanBound):
    """μ_F + √β σ_F + N·E[(μ_F' - μ_F(x⁺))⁺], averaged over surrogates: KG-KDE.

    μ_F' is the mean of F(x) after one more look at it, x⁺ the best decision told so far: what is found
    better serves for N decisions to come (the online knowledge gradient of Ryzhov, Powell & Frazier 2012,
    for two decisions). The look moves μ_F(x) - μ_F(x⁺) by a normal of deviation
    clarity·(σ_F² - cov)/√(σ_F² + noise). In logs it moves log(μ_F(x) - floor) - log(μ_F(x⁺) - floor) so, with
    the variance and the covariance of the logs.
    """

    def __init__(self, models: Sequence[ProductGP], nodes: Nodes, sqrt_beta: float, served: float) -> None:
        posteriors = [look(model, nodes.points, nodes.weights) for model in models]
        super().__init__(posteriors, sqrt_beta)
        self.nodes, self.served = nodes, served
        constants = [(p.best_mean, p.clarity, p.scale * p.model.hyperparameters.noise) for p in posteriors]
        self.best, self.clarity, self.noise = nodes.points.new_tensor(constants).T[:, :, None]

    def combine(self, means: Tensor, variances: Tensor) -> Tensor:
        """K × B and K × B × 2 → B."""
        variance, covariance = variances.unbind(2)
        if self.floor is None:
            gain = _expected_gain(means - self.best, self._moved(variance, covariance))
        else:
            above, best = means - self.floor, self.best - self.floor
            moved = self._moved(variance / above.square(), covariance / (above * best))
            gain = _log_normal_gain(above, best, moved)
        return (self.bounds(means, variance) + self.served * gain).mean(0)

    def worth_knowing(self, x: Tensor, levels: Tensor) -> Tensor:
        """N·E[(F(x) - level)⁺] less the cost level - F(x) of one decision, as ``chance``, B × Dx → B.

        What all would gain that can be known of x, where the acquisition counts what one look shows.
        """
        means, spread = self._laws(x)
        best = levels[:, None]
        if self.floor is None:
            gain = _expected_gain(means - best, spread)
        else:
            above = means - self.floor
            gain = _log_normal_gain(above, best - self.floor, spread / above)
        return (self.served * gain - (best - means)).mean(0)

    def _moved(self, variance: Tensor, covariance: Tensor) -> Tensor:
        """How far a look moves F(x) from F(x⁺): the deviation, of their logs where F is in logs."""
        own = (variance - covariance).clamp_min(LEAST_MOVED)
        found: Tensor = self.clarity * own / (variance + self.noise).sqrt()
        return found


class WorstBound(MeanBound):
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
        bounds = (means + self.sqrt_beta * deviation(variances)).mean(0)
        apart = deviation(means.var(0, correction=0))
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
        spread = deviation(variance)
        slope = mean_slope + (0.5 * self.sqrt_beta) * variance_slope / spread[:, :, None]
        steepest = slope.square().sum(2).max(1).values.clamp_min(MIN_VARIANCE).sqrt()
        bounds = (mean + self.sqrt_beta * spread)[:, : len(self.weights)]
        return bounds @ self.weights - self.radius * steepest


def _expected_gain(ahead: Tensor, spread: Tensor) -> Tensor:
    """E[(ahead + spread·Z)⁺] of a standard normal Z."""
    z = ahead / spread
    density = (-0.5 * z.square()).exp() / math.sqrt(2 * math.pi)
    found: Tensor = ahead * torch.special.ndtr(z) + spread * density
    return found


def _log_normal_gain(above: Tensor, best: Tensor, spread: Tensor) -> Tensor:
    """E[(above·e^{spread·Z} - best)⁺] of a standard normal Z."""
    z = (above / best).log() / spread
    mean = above * (0.5 * spread.square()).exp()
    found: Tensor = mean * torch.special.ndtr(z + spread) - best * torch.special.ndtr(z)
    return found
