"""WDRBO: the mean of the bounds, less the steepest slope in the context."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windage.acquisition.base import MIN_VARIANCE, Acquisition, Combined, by_variance, deviation
from windage.contexts import Nodes
from windage.gp import ProductGP, SlopePosterior
from windage.space import Array


class Wasserstein(Acquisition):
    """Σ_m w_m g_m - radius·max_m ‖∂g_m/∂c‖, g = μ + √β σ (Micheli et al. 2025).

    The least expectation within a Wasserstein distance is at most so far below the mean. ``space`` are
    points of the context space at which the slope is taken, beside the nodes. ``moving`` is 0 for coordinates
    that cannot vary a little: levels of a choice, time, and what is known; 1 for the others.
    """

    smooth = False

    def __init__(
        self,
        model: ProductGP,
        nodes: Nodes,
        sqrt_beta: float,
        radius: float,
        space: Array,
        moving: Array | None = None,
    ) -> None:
        self.moving = np.ones(space.shape[1]) if moving is None else moving
        self.posterior = SlopePosterior(model, np.concatenate([nodes.points, space]))
        super().__init__([self.posterior])
        self.weights, self.sqrt_beta, self.radius = nodes.weights, sqrt_beta, radius

    def value(self, x: Array) -> Array:
        """Decisions B × d → B, without the derivatives."""
        (moments,) = self._moments(x)
        parts = self._parts(moments.mean, moments.variance)
        return self._value(parts, deviation(parts.squares.max(axis=1)))

    def _parts(self, means: Array, variances: Array) -> _Parts:
        mean, mean_slope = self.posterior.slopes(means)
        variance, variance_slope = self.posterior.slopes(variances)
        spread = deviation(variance)
        slope = mean_slope + (0.5 * self.sqrt_beta) * variance_slope / spread[:, :, None]
        slope *= self.moving
        return _Parts(mean, variance, spread, variance_slope, slope, (slope**2).sum(axis=2))

    def _value(self, p: _Parts, steepest: Array) -> Array:
        count = len(self.weights)
        bounds = p.mean[:, :count] + self.sqrt_beta * p.spread[:, :count]
        return np.asarray(bounds @ self.weights - self.radius * steepest)

    def combine(self, means: Array, variances: Array) -> Combined:
        """1 × B × rows each → value and derivatives."""
        p, half, count = self._parts(means[0], variances[0]), 0.5 * self.sqrt_beta, len(self.weights)
        rows, where = np.arange(len(p.mean)), p.squares.argmax(axis=1)
        highest = p.squares[rows, where]
        steepest, top = deviation(highest), p.spread[rows, where]
        # the way back: the weights at the nodes, and the steepest slope at one point of each decision
        at = np.zeros_like(p.mean)
        at[:, :count] = self.weights
        pull = -self.radius * p.slope[rows, where] / steepest[:, None]
        pull[highest <= MIN_VARIANCE] = 0.0
        by_mean_slope, by_variance_slope = np.zeros_like(p.slope), np.zeros_like(p.slope)
        by_mean_slope[rows, where] = pull
        by_variance_slope[rows, where] = half * pull / top[:, None]
        by_spread = self.sqrt_beta * at
        by_spread[rows, where] -= half * (pull * p.variance_slope[rows, where]).sum(axis=1) / top**2
        by_mean = self.posterior.slopes_vjp(at, by_mean_slope)
        by_var = self.posterior.slopes_vjp(by_variance(by_spread, p.variance, p.spread), by_variance_slope)
        return Combined(self._value(p, steepest), by_mean[None], by_var[None])


class _Parts(NamedTuple):
    """What value and derivatives share, at the nodes and points of the space."""

    mean: Array
    """B × M, as the next two."""
    variance: Array
    spread: Array
    variance_slope: Array
    """In the context, B × M × Dc."""
    slope: Array
    """∂g/∂c, B × M × Dc."""
    squares: Array
    """‖∂g/∂c‖², B × M."""
