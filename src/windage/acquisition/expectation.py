"""Bounds on the expectation itself, averaged over an ensemble."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windage.acquisition.base import Acquisition, Combined, by_variance, deviation
from windage.contexts import Nodes
from windage.gp import ExpectationPosterior, Posterior, ProductGP, WorstPosterior
from windage.space import Array


class MeanBound(Acquisition):
    """μ_F + √β σ_F of the posteriors of expectations, averaged over K surrogates."""

    def __init__(self, posteriors: Sequence[Posterior], sqrt_beta: float) -> None:
        super().__init__(posteriors)
        self.sqrt_beta = sqrt_beta

    def combine(self, means: Array, variances: Array) -> Combined:
        """K × B × 1 each → value and derivatives."""
        spread, share = deviation(variances), 1 / len(means)
        value = (means + self.sqrt_beta * spread).mean(axis=0)[:, 0]
        by_mean = np.full_like(means, share)
        return Combined(value, by_mean, by_variance(self.sqrt_beta * by_mean, variances, spread))


class ExpectedBound(MeanBound):
    """μ_F(x) + √β σ_F(x), the bound on the expectation: BQ-KDE.

    With √β = 0 it is the posterior mean, which ``recommend`` maximises.
    """

    def __init__(self, models: Sequence[ProductGP], nodes: Nodes, sqrt_beta: float) -> None:
        super().__init__([ExpectationPosterior(model, nodes) for model in models], sqrt_beta)


class MixtureBound(Acquisition):
    """μ_F + √β σ_F of the mixture of K surrogates: the mean of their means, and the deviation of the whole.

    The variance of a mixture is the mean of the variances plus the variance of the means. So a decision on
    which the surrogates disagree is as unsure as one that each of them is unsure of.
    """

    def __init__(self, models: Sequence[ProductGP], nodes: Nodes, sqrt_beta: float) -> None:
        super().__init__([ExpectationPosterior(model, nodes) for model in models])
        self.sqrt_beta = sqrt_beta

    def combine(self, means: Array, variances: Array) -> Combined:
        """K × B × 1 each → value and derivatives."""
        mean, share = means.mean(axis=0), 1 / len(means)
        away = means - mean
        variance = variances.mean(axis=0) + (away**2).mean(axis=0)
        spread = deviation(variance)
        by_whole = by_variance(np.full_like(variance, self.sqrt_beta), variance, spread)  # B × 1
        value = (mean + self.sqrt_beta * spread)[:, 0]
        return Combined(
            value, share + 2 * share * away * by_whole, np.tile(share * by_whole, (len(means), 1, 1))
        )


class WorstBound(MeanBound):
    """μ_F + √β σ_F under the worst weights for the posterior mean within a total-variation radius: RBQ-KDE.

    The weights jump from decision to decision. ``space`` are points of the whole context space, beside the
    nodes.
    """

    jumps = True

    def __init__(
        self, models: Sequence[ProductGP], nodes: Nodes, sqrt_beta: float, radius: float, space: Array
    ) -> None:
        super().__init__([WorstPosterior(model, nodes, radius, space) for model in models], sqrt_beta)
