"""The log posterior of the hyper-parameters, with its gradient in closed form.

Value and gradient come from one Cholesky factor and one inverse, dL/dθ = ½ tr((ααᵀ - K⁻¹) ∂K/∂θ), with ∂K/∂θ
elementwise (docs/methods.md); the constant mean is profiled out exactly.

Symbols: t observations, d coordinates of z = (x, c), G lengthscales (the coordinates of one categorical
variable share one), θ = (log ℓ_1 … log ℓ_G, log noise).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from windage.gp import kernels, priors
from windage.gp.factor import Factor
from windage.gp.records import Hyperparameters, Training
from windage.space import Array

MAX_LENGTHSCALE, MAX_NOISE = 1e4, 1e2


class Evaluation(NamedTuple):
    """The log posterior at some θ."""

    value: float
    gradient: Array
    mean: float
    """The constant mean that is best there."""


class _Slopes(NamedTuple):
    """∂K/∂log ℓ of some lengthscales, before the scale: squares (G × t²) times slope (t × t)."""

    squares: Array
    slope: Array


class LogPosterior:
    """θ → log posterior and gradient; the squared differences are computed once."""

    def __init__(self, data: Training) -> None:
        self.data, self.y = data, data.y
        self.group_of, self.dx = data.group_of, data.x.shape[1]
        self.size, self.split = max(self.group_of) + 1, max(data.groups) + 1
        self.prior = priors.Prior.of(data)

    @cached_property
    def squares(self) -> Array:
        """Squared differences, lengthscales × t²."""
        z = np.concatenate([self.data.x, self.data.c], axis=1)
        found = np.zeros((self.size, len(z) ** 2))
        for d, group in enumerate(self.group_of):
            difference = z[:, d, None] - z[None, :, d]
            difference *= difference
            found[group] += difference.reshape(-1)
        return found

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the largest θ, G + 1 each."""
        low = [math.log(kernels.MIN_LENGTHSCALE)] * self.size + [math.log(kernels.MIN_NOISE)]
        high = [math.log(MAX_LENGTHSCALE)] * self.size + [math.log(MAX_NOISE)]
        return np.array(low), np.array(high)

    def start(self) -> Array:
        """BoTorch's starting point: the modes of the priors."""
        return np.maximum(self.prior.modes, self.bounds[0])

    def theta(self, hyper: Hyperparameters) -> Array:
        """Hyper-parameters as θ, within the bounds."""
        scales = np.array([*hyper.x, *hyper.c])[[self.group_of.index(g) for g in range(self.size)]]
        return np.clip(np.log([*scales, hyper.noise]), *self.bounds)

    def hyperparameters(self, theta: Array, inverse_hessian: Array) -> Hyperparameters:
        """θ as hyper-parameters, with the mean and the log posterior there."""
        found = self(theta)
        scales = tuple(float(np.exp(theta[group])) for group in self.group_of)
        known = tuple(map(tuple, inverse_hessian.tolist())) if inverse_hessian.any() else ()
        noise = float(np.exp(theta[-1]))
        return Hyperparameters(scales[: self.dx], scales[self.dx :], noise, found.mean, found.value, known)

    def newton_gain(self, theta: Array, gradient: Array, hyper: Hyperparameters) -> float:
        """What a fit would add to the log posterior: ½ gᵀHg on the free coordinates."""
        if not hyper.inverse_hessian:
            return math.inf
        lower, upper = self.bounds
        stuck = ((theta <= lower) & (gradient < 0)) | ((theta >= upper) & (gradient > 0))
        free = np.where(stuck, 0.0, gradient)
        return 0.5 * float(free @ np.array(hyper.inverse_hessian) @ free)

    def __call__(self, theta: Array, factor: Factor | None = None) -> Evaluation:
        """At θ; ``factor`` where K is inverted already."""
        covariance, slopes = self._covariance(theta)
        noise = math.exp(theta[-1])
        covariance.reshape(-1)[:: len(self.y) + 1] += noise  # there the distances are 0: no gradient sees it
        factor = factor or Factor.of(covariance)
        if factor is None:
            return Evaluation(-math.inf, np.zeros_like(theta), 0.0)
        # the mean is profiled out: m = 1ᵀK⁻¹y / 1ᵀK⁻¹1
        solved, ones = factor.inverse @ self.y, factor.inverse.sum(axis=1)
        mean = float(solved.sum() / ones.sum())
        alpha = solved - mean * ones
        value, weight = self._misfit(float((self.y - mean) @ alpha))
        by_k = np.multiply.outer(weight * alpha, alpha)
        by_k -= factor.inverse  # wααᵀ - K⁻¹
        gradient = np.empty_like(theta)
        gradient[-1] = 0.5 * noise * float(by_k.trace())
        shares = [part.squares @ (by_k * part.slope).reshape(-1) for part in slopes]
        gradient[: self.size] = 0.5 * np.exp(-2 * theta[: self.size]) * np.concatenate(shares)
        prior, slope = self.prior(theta)
        return Evaluation(value - 0.5 * factor.log_determinant + prior, gradient + slope, mean)

    def _misfit(self, quadratic: float) -> tuple[float, float]:
        """What (y - m)ᵀK⁻¹(y - m) adds to the log likelihood, and -2 times the slope in it."""
        t = len(self.y)
        if self.data.free_scale:
            return priors.student(quadratic, t), 1 / priors.prior_variance(quadratic, t)
        return priors.normal(quadratic, t), 1.0

    def _covariance(self, theta: Array) -> tuple[Array, list[_Slopes]]:
        """k(Z, Z), t × t, and its slopes."""
        t, scale = len(self.y), np.exp(-2 * theta[: self.size])
        if self.data.kernel == "rbf":
            covariance = ((-0.5 * scale) @ self.squares).reshape(t, t)
            np.exp(covariance, out=covariance)
            return covariance, [_Slopes(self.squares, covariance)]
        profile, n = kernels.PROFILES[self.data.kernel], self.split
        kx, hx = profile((scale[:n] @ self.squares[:n]).reshape(t, t))
        if n == self.size:  # no context: kc = 1
            return kx.copy(), [_Slopes(self.squares, hx)]
        kc, hc = profile((scale[n:] @ self.squares[n:]).reshape(t, t))
        hx *= kc
        return kx * kc, [_Slopes(self.squares[:n], hx), _Slopes(self.squares[n:], hc * kx)]
