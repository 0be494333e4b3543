"""LEDRBO: the mean of the bounds of several surrogates, less their disagreement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windage.acquisition.base import MIN_VARIANCE, Acquisition, Combined, by_variance, deviation
from windage.acquisition.bounds import COARSE_TOLERANCE, coarse_count
from windage.contexts import Nodes, thinned
from windage.gp import NodePosterior, ProductGP
from windage.gp.low_rank import RANK_TOLERANCE
from windage.gp.posterior import MANY
from windage.space import Array


class Disagreement(Acquisition):
    """Σ_m w_m (mean_k(μ_k + √β σ_k) - λ·std_k(μ_k)) over K surrogates."""

    coarse_is_close = True

    def __init__(
        self,
        models: Sequence[ProductGP],
        nodes: Nodes,
        sqrt_beta: float,
        aversion: float,
        tolerance: float = RANK_TOLERANCE,
        decisions: int = MANY,
    ) -> None:
        points = nodes.points
        super().__init__([NodePosterior(model, points, None, tolerance, decisions) for model in models])
        self.models, self.nodes, self.weights = models, nodes, nodes.weights
        self.sqrt_beta, self.aversion = sqrt_beta, aversion

    def coarse(self) -> Disagreement:
        """On few nodes, and with coarse posteriors."""
        few = thinned(self.nodes, coarse_count(self.nodes.points))
        return Disagreement(self.models, few, self.sqrt_beta, self.aversion, COARSE_TOLERANCE)

    def combine(self, means: Array, variances: Array) -> Combined:
        """K × B × M each → value and derivatives."""
        count, spread = len(means), deviation(variances)
        away = means - means.mean(axis=0)
        apart = (away**2).mean(axis=0)  # variance between the surrogates, B × M
        std = deviation(apart)
        value = ((means + self.sqrt_beta * spread).mean(axis=0) - self.aversion * std) @ self.weights
        share = np.broadcast_to(self.weights / count, means.shape)
        by_std = np.where(apart > MIN_VARIANCE, away / std, 0.0)
        by_mean = share * (1 - self.aversion * by_std)
        return Combined(value, by_mean, by_variance(self.sqrt_beta * share, variances, spread))
