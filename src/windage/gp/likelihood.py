"""The log posterior of the hyper-parameters, with its gradient in closed form.

Value and gradient come from one Cholesky factor and one inverse, dL/dθ = ½ tr((ααᵀ - K⁻¹) ∂K/∂θ), with ∂K/∂θ
elementwise (docs/methods.md); the constant mean is profiled out exactly.

Symbols: t observations, d coordinates of z = (x, c), G lengthscales (the coordinates of one categorical
variable share one), θ = (log ℓ_1 … log ℓ_G, log noise). With ``surrogate="2023"`` an output scale s stands
before the noise, and the covariance is s·K: K keeps its unit prior variance, its noise is a share of s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from windage.gp import kernels, priors
from windage.gp.factor import Factor
from windage.gp.mixtures import Mixtures
from windage.gp.records import Hyperparameters, Training
from windage.space import Array


class Evaluation(NamedTuple):
    """The log posterior at some θ."""

    value: float
    gradient: Array
    mean: float
    """The constant mean that is best there."""


@dataclass(frozen=True)
class _Slopes:
    """∂K/∂log ℓ of some lengthscales, before the scale: squares (G × t²) times slope (t × t)."""

    squares: Array
    slope: Array

    def __call__(self, by_k: Array) -> Array:
        """∂/∂log ℓ, G, from ∂/∂K, t × t."""
        return np.asarray(self.squares @ (by_k * self.slope).reshape(-1))


@dataclass(frozen=True)
class _AveragedSlopes(_Slopes):
    """The same of contexts of which some were not seen: squares (Dc × p²) and slope (p × p) of points."""

    contexts: Mixtures
    kx: Array
    """t × t, 0 on the diagonal: K does not vary there."""

    def __call__(self, by_k: Array) -> Array:
        """∂/∂log ℓ, Dc, from ∂/∂K, t × t."""
        return super().__call__(self.contexts.spread(by_k * self.kx))


class LogPosterior:
    """θ → log posterior and gradient; the squared differences are computed once."""

    def __init__(self, data: Training) -> None:
        self.data, self.y = data, data.y
        self.group_of, self.dx = data.group_of, data.x.shape[1]
        self.size, self.split = max(self.group_of) + 1, max(data.groups) + 1
        self.prior = priors.prior_of(data)

    @cached_property
    def squares(self) -> Array:
        """Squared differences, lengthscales × t²."""
        if isinstance(self.data.c, Mixtures):
            return _squares(self.data.x, self.data.groups)
        return _squares(np.concatenate([self.data.x, self.data.c], axis=1), self.group_of)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the largest θ."""
        return self.prior.bounds

    def start(self) -> Array:
        """BoTorch's starting point."""
        return self.prior.start

    def theta(self, hyper: Hyperparameters) -> Array:
        """Hyper-parameters as θ, within the bounds."""
        scales = np.array([*hyper.x, *hyper.c])[[self.group_of.index(g) for g in range(self.size)]]
        rest = [hyper.noise] if self.data.surrogate is None else [hyper.scale, hyper.scale * hyper.noise]
        return np.clip(np.log([*scales, *rest]), *self.bounds)

    def at(self, theta: Array) -> Hyperparameters:
        """θ as hyper-parameters; mean and log posterior are not computed."""
        scales = tuple(float(np.exp(theta[group])) for group in self.group_of)
        scale = math.exp(self._log_scale(theta))
        noise = float(np.exp(theta[-1])) / scale
        return Hyperparameters(scales[: self.dx], scales[self.dx :], noise, math.nan, math.nan, scale=scale)

    def _log_scale(self, theta: Array) -> float:
        return 0.0 if self.data.surrogate is None else float(theta[-2])

    def hyperparameters(self, theta: Array, inverse_hessian: Array) -> Hyperparameters:
        """θ as hyper-parameters, with the mean and the log posterior there."""
        found = self(theta)
        known = tuple(map(tuple, inverse_hessian.tolist())) if inverse_hessian.any() else ()
        return replace(self.at(theta), mean=found.mean, log_posterior=found.value, inverse_hessian=known)

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
        log_scale = self._log_scale(theta)
        noise, scale, t = math.exp(theta[-1] - log_scale), math.exp(log_scale), len(self.y)
        covariance.reshape(-1)[:: t + 1] += noise  # there the distances are 0: no gradient sees it
        factor = factor or Factor.of(covariance)
        if factor is None:
            return Evaluation(-math.inf, np.zeros_like(theta), 0.0)
        # the mean is profiled out: m = 1ᵀK⁻¹y / 1ᵀK⁻¹1
        solved, ones = factor.inverse @ self.y, factor.inverse.sum(axis=1)
        mean = float(solved.sum() / ones.sum())
        alpha = solved - mean * ones
        quadratic = float((self.y - mean) @ alpha) / scale
        value = -0.5 * quadratic - 0.5 * t * (math.log(2 * math.pi) + log_scale)
        by_k = np.multiply.outer(alpha, alpha / scale)
        by_k -= factor.inverse  # ααᵀ/s - K⁻¹
        gradient = np.empty_like(theta)
        gradient[-1] = 0.5 * noise * float(by_k.trace())
        if self.data.surrogate is not None:  # s·K = s·k + noise·I: what s·K gains and the noise does not
            gradient[-2] = 0.5 * (quadratic - t) - gradient[-1]
        shares = [part(by_k) for part in slopes]
        gradient[: self.size] = 0.5 * np.exp(-2 * theta[: self.size]) * np.concatenate(shares)
        prior, slope = self.prior(theta)
        return Evaluation(value - 0.5 * factor.log_determinant + prior, gradient + slope, mean)

    def _covariance(self, theta: Array) -> tuple[Array, list[_Slopes]]:
        """k(Z, Z), t × t, and its slopes."""
        t, scale = len(self.y), np.exp(-2 * theta[: self.size])
        if isinstance(self.data.c, Mixtures):
            return self._averaged(self.data.c, theta)
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

    @cached_property
    def point_squares(self) -> Array:
        """Squared differences of the points of mixtures, lengthscales of c × p²."""
        assert isinstance(self.data.c, Mixtures)
        return _squares(self.data.c.points, [group - self.split for group in self.group_of[self.dx :]])

    def _averaged(self, contexts: Mixtures, theta: Array) -> tuple[Array, list[_Slopes]]:
        """``_covariance`` where some contexts were not seen: 1 on the diagonal (``windage.gp.mixtures``)."""
        t, scale = len(self.y), np.exp(-2 * theta[: self.size])
        profile, n, p = kernels.PROFILES[self.data.kernel], self.split, len(contexts.points)
        kx, hx = profile((scale[:n] @ self.squares).reshape(t, t))
        points, h = profile((scale[n:] @ self.point_squares).reshape(p, p))
        kc = contexts.columns(contexts.columns(points).T)
        covariance, apart = kx * kc, kx * (1 - np.eye(t))
        np.fill_diagonal(covariance, 1.0)
        slopes = [_Slopes(self.squares, hx * kc), _AveragedSlopes(self.point_squares, h, contexts, apart)]
        return covariance, slopes


def _squares(z: Array, groups: Sequence[int]) -> Array:
    """Squared differences of points, n × d, added up by group: groups × n²."""
    found = np.zeros((max(groups) + 1, len(z) ** 2))
    for d, group in enumerate(groups):
        difference = z[:, d, None] - z[None, :, d]
        difference *= difference
        found[group] += difference.reshape(-1)
    return found
