"""Hyper-parameters of the GP by maximum a posteriori, in closed form.

Value and gradient come from one Cholesky factor and one inverse,
dL/dθ = ½ tr((ααᵀ - K⁻¹) ∂K/∂θ), with ∂K/∂θ elementwise (docs/methods.md); the constant mean is
profiled out exactly. Priors and starting point are BoTorch's, so the optimum is that of
``fit_gpytorch_mll``, for a small share of its time.

Symbols: t observations, d coordinates of z = (x, c), G lengthscales (the coordinates of one categorical
decision share one), θ = (log ℓ_1 … log ℓ_G, log noise).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from windage.ascent import ascend
from windage.space import Array
from windage.surrogate import grain, kernels
from windage.surrogate.factor import Factor
from windage.surrogate.log_scale import KNEES, LogScale

MAX_LENGTHSCALE, MAX_NOISE = 1e4, 1e2
TOLERANCE, REACH = 1e-4, 0.5
"""A fit ends when a step gains less, in log posterior; the first step is so long, in log units."""


SHAPE, RATE = 2.0, 2.0
"""Of the inverse gamma prior of a free variance: its mean is 2, its mode 2/3."""
COMMON, UNLIKE = 0.8, 0.25
"""The standard deviation of a log lengthscale where two or more are alike, BoTorch's otherwise; and of one of
these about their common one."""


def scale_of(quadratic: float, t: int) -> float:
    """A free variance after t observations with (y - m)ᵀK⁻¹(y - m) = ``quadratic``: that of Student's law."""
    return (RATE + 0.5 * quadratic) / (SHAPE + 0.5 * t)


@dataclass(frozen=True)
class Hyperparameters:
    """A fitted GP, as plain numbers: one lengthscale a coordinate of x and of c, noise variance, mean."""

    x: tuple[float, ...]
    c: tuple[float, ...]
    noise: float
    mean: float
    log_posterior: float
    curvature: tuple[tuple[float, ...], ...] = ()
    """The inverse Hessian of minus the log posterior in θ, as far as the fit has learnt it."""
    knee: float = 0.0
    """Of the logs in which it saw the outcomes (``LogScale``); 0: none."""


@dataclass(frozen=True)
class Training:
    """Points of the unit boxes, standardised outcomes, and which coordinates of x share a lengthscale."""

    x: Tensor
    c: Tensor
    y: Tensor
    groups: tuple[int, ...]
    kernel: str
    free_scale: bool = False
    """Whether the variance of the outcomes is unknown and integrated out, or 1, as of standardised ones."""
    alike: tuple[int, ...] = ()
    """Which lengthscales, by their groups, are alike a priori; each other is its own, as in BoTorch."""
    logs: LogScale | None = None
    """The scale that y is on already, if it is not the outcomes'."""
    grain: float = 0.0
    """The scale of the grain that the noise has (``windage.surrogate.grain``); 0: none."""

    @property
    def knee(self) -> float:
        """Of the logs; 0: none."""
        return 0.0 if self.logs is None else self.logs.knee

    def in_logs(self, knee: float) -> Training:
        """The same with outcomes in logs of this knee; 0: as they are."""
        if not knee:
            return self
        logs = LogScale.of(self.y, knee)
        return replace(self, y=logs.forward(self.y), logs=logs)

    @property
    def group_of(self) -> list[int]:
        """The lengthscale of each coordinate of (x, c)."""
        first = max(self.groups) + 1
        return [*self.groups, *range(first, first + self.c.shape[1])]


class LogPosterior:
    """θ → (log posterior, gradient); the squared differences are computed once."""

    def __init__(self, data: Training) -> None:
        self.data, self.y, self.profile = data, data.y, kernels.PROFILES[data.kernel]
        self.rbf, self.free_scale = data.kernel == "rbf", data.free_scale
        self.group_of, self.dx = data.group_of, data.x.shape[1]
        self.size, self.split = max(self.group_of) + 1, max(data.groups) + 1
        mode = kernels.lengthscale_loc(self.size) - kernels.LENGTHSCALE_SCALE**2
        self.width = COMMON if len(data.alike) > 1 else kernels.LENGTHSCALE_SCALE
        self.spread = np.array([self.width] * self.size + [kernels.NOISE_SCALE])
        self.modes: Array = np.array([mode] * self.size + [kernels.NOISE_LOC - kernels.NOISE_SCALE**2])
        self.prior_constant = self._prior_constant()

    def _prior_constant(self) -> float:
        """The log density of the priors at their modes."""
        found = -float((0.5 * self.spread**2 + self.modes + np.log(self.spread)).sum())
        if n := len(self.data.alike):
            total, own = self.width**2, UNLIKE**2
            found += 0.5 * n * math.log(total)
            found -= 0.5 * ((n - 1) * math.log(own) + math.log(own + n * (total - own)))
        return found - 0.5 * len(self.modes) * math.log(2 * math.pi)

    @cached_property
    def squares(self) -> Tensor:
        """Squared differences, lengthscales × t²."""
        z = torch.cat([self.data.x, self.data.c], dim=1)
        found = z.new_zeros(self.size, len(z) ** 2)
        for d, group in enumerate(self.group_of):
            found[group] += (z[:, d, None] - z[None, :, d]).square_().reshape(-1)
        return found

    @cached_property
    def pattern(self) -> Tensor:
        """The covariance of noise of variance 1, t × t."""
        return grain.pattern(self.data.x, self.data.grain)

    @cached_property
    def buffers(self) -> tuple[Tensor, Tensor]:
        """Memory for K and its inverse, made once: fresh memory would cost more than the arithmetic."""
        t = len(self.y)
        return self.y.new_empty(t, t), self.y.new_empty(t, t)

    @cached_property
    def y_and_ones(self) -> Tensor:
        """Both right-hand sides, t × 2."""
        return torch.stack([self.y, torch.ones_like(self.y)], dim=1)

    def start(self) -> Array:
        """BoTorch's starting point: the modes of the priors."""
        start: Array = np.maximum(self.modes, np.array(self.bounds())[:, 0])
        return start

    def promise(self, theta: Array, gradient: Array, hyper: Hyperparameters) -> float:
        """What a fit would add to the log posterior: ½ gᵀHg on the coordinates free to move."""
        lower, upper = np.array(self.bounds()).T
        stuck = ((theta <= lower) & (gradient < 0)) | ((theta >= upper) & (gradient > 0))
        free = np.where(stuck, 0.0, gradient)
        return 0.5 * float(free @ np.array(hyper.curvature) @ free) if hyper.curvature else math.inf

    def bounds(self) -> list[tuple[float, float]]:
        """The bounds of θ."""
        ends = (math.log(kernels.MIN_LENGTHSCALE), math.log(MAX_LENGTHSCALE))
        return [ends] * self.size + [(math.log(kernels.MIN_NOISE), math.log(MAX_NOISE))]

    def theta(self, hyper: Hyperparameters) -> Array:
        """Hyper-parameters as θ, within the bounds."""
        scales = np.array([*hyper.x, *hyper.c])[[self.group_of.index(g) for g in range(self.size)]]
        lower, upper = np.array(self.bounds()).T
        return np.clip(np.log([*scales, hyper.noise]), lower, upper)

    def hyperparameters(self, theta: Array, curvature: Array) -> Hyperparameters:
        """θ as hyper-parameters, with the mean and the log posterior there."""
        value, _, mean = self(theta)
        scales = tuple(float(np.exp(theta[group])) for group in self.group_of)
        known = tuple(map(tuple, curvature.tolist())) if curvature.any() else ()
        noise = float(np.exp(theta[-1]))
        return Hyperparameters(
            scales[: self.dx], scales[self.dx :], noise, mean, value, known, self.data.knee
        )

    def __call__(self, theta: Array, factor: Factor | None = None) -> tuple[float, Array, float]:
        """Log posterior, its gradient, and the profiled mean at θ; ``factor`` where K is inverted already."""
        covariance, parts = self._covariance(theta)
        inverse = self.buffers[1]
        noise = math.exp(theta[-1])
        if self.data.grain:
            factor = factor or Factor.of(torch.add(covariance, self.pattern, alpha=noise), inverse)
        else:
            covariance.diagonal().add_(noise)  # where the distances are 0: the gradient does not see it
            factor = factor or Factor.of(covariance, inverse)
        if factor is None:
            return -math.inf, np.zeros_like(theta), 0.0
        # the mean is profiled out: m = 1ᵀK⁻¹y / 1ᵀK⁻¹1
        solved, ones = (factor.inverse @ self.y_and_ones).unbind(1)
        mean = float(solved.sum() / ones.sum())
        alpha = solved - mean * ones
        fit, weight = self._misfit(float((self.y - mean) @ alpha))
        value = fit - 0.5 * factor.log_determinant
        pull = torch.addr(factor.inverse, alpha, alpha, beta=-1, alpha=weight, out=inverse)  # wααᵀ - K⁻¹
        gradient = np.empty_like(theta)
        own = torch.dot(pull.view(-1), self.pattern.view(-1)) if self.data.grain else pull.trace()
        gradient[-1] = 0.5 * noise * float(own)
        if parts is None:
            shares = self.squares @ pull.mul_(covariance).view(-1)
        else:
            shares = torch.cat([squares @ (pull * slope).view(-1) for squares, slope in parts])
        gradient[: self.size] = 0.5 * np.exp(-2 * theta[: self.size]) * shares.numpy()
        prior, slope = self._prior(theta)
        return value + prior, gradient + slope, mean

    def best_noise(self, theta: Array, pattern: Tensor, steps: Sequence[float]) -> float:
        """The best log posterior at θ with noise of this pattern, its log so far from θ's; no gradients."""
        covariance, _ = self._covariance(theta)
        found = -math.inf
        for step in steps:
            there = np.append(theta[:-1], theta[-1] + step)
            lower, failed = torch.linalg.cholesky_ex(covariance + math.exp(there[-1]) * pattern)
            if int(failed) == 0:
                solved, ones = torch.cholesky_solve(self.y_and_ones, lower).unbind(1)
                mean = float(solved.sum() / ones.sum())
                fit, _ = self._misfit(float((self.y - mean) @ (solved - mean * ones)))
                value = fit - float(lower.diagonal().log().sum()) + self._prior(there)[0]
                found = max(found, value)
        return found

    def _misfit(self, quadratic: float) -> tuple[float, float]:
        """What (y - m)ᵀK⁻¹(y - m) adds to the log likelihood, and -2 times the slope in it.

        With a free variance it is Student's: log ∫ N(y; m, sK) IG(s; a, b) ds, and the slope 1/``scale_of``.
        """
        t = len(self.y)
        if not self.free_scale:
            return -0.5 * quadratic - 0.5 * t * math.log(2 * math.pi), 1.0
        shape = SHAPE + 0.5 * t
        value = math.lgamma(shape) - math.lgamma(SHAPE) - 0.5 * t * math.log(2 * math.pi * RATE)
        return value - shape * math.log1p(0.5 * quadratic / RATE), 1 / scale_of(quadratic, t)

    def _covariance(self, theta: Array) -> tuple[Tensor, list[tuple[Tensor, Tensor]] | None]:
        """k(Z, Z), and for a product of kernels the squares of each with the slope in them."""
        covariance = self.buffers[0]
        scale = torch.from_numpy(np.exp(-2 * theta[: self.size]))
        if self.rbf:
            torch.mv(self.squares.mT, -0.5 * scale, out=covariance.view(-1))
            return covariance.exp_(), None
        n, t = self.split, len(self.y)
        kx, hx = self.profile((scale[:n] @ self.squares[:n]).view(t, t))
        kc, hc = self.profile((scale[n:] @ self.squares[n:]).view(t, t))
        torch.mul(kx, kc, out=covariance)
        return covariance, [(self.squares[:n], hx * kc), (self.squares[n:], hc * kx)]

    def _prior(self, theta: Array) -> tuple[float, Array]:
        """Log-normal priors as densities of ℓ and of the noise (not of their logarithms, as in BoTorch).

        So θ is normal about the modes, with deviation s of each log ℓ_d. Those that are alike have a part
        in common: their covariance is (s² - u²)11ᵀ + u²I, with u = ``UNLIKE``.
        """
        away = theta - self.modes
        pull = away / self.spread**2
        if alike := list(self.data.alike):
            total, own = self.width**2, UNLIKE**2
            common = (total - own) / (own + len(alike) * (total - own))
            pull[alike] = (away[alike] - common * away[alike].sum()) / own
        return self.prior_constant - 0.5 * float(away @ pull), -pull


def fit(data: Training, last: Hyperparameters | None = None, cold: bool = True) -> Hyperparameters:
    """The best optimum found from the last fit and, if ``cold`` or there is none, from BoTorch's own start.

    The cold start climbs by BoTorch's own L-BFGS-B, to end in the hill that BoTorch would. A warm one needs
    few steps if it knows the curvature from before, which L-BFGS-B cannot take: it has our BFGS.
    """
    target = LogPosterior(data)
    found = [] if last is None else [_warm(target, last)]
    if cold or last is None:
        found.append(_cold(target))
    return max(found, key=lambda hyper: hyper.log_posterior)


def fit_in_logs(data: Training, last: Hyperparameters | None = None, doubt: float = 0.0) -> Hyperparameters:
    """The best fit of all scales, outcomes as they are and in logs of each knee, by their log posterior.

    ``doubt``: by how much logs may be less likely and are taken still.
    """
    best, found = -math.inf, None
    for knee in (0.0, *KNEES):
        seen = data.in_logs(knee)
        hyper = fit(seen, last)
        value = hyper.log_posterior + (seen.logs.log_slope(data.y) + doubt if seen.logs else 0.0)
        if found is None or value > best:
            best, found = value, hyper
    assert found is not None
    return found


def _warm(target: LogPosterior, last: Hyperparameters) -> Hyperparameters:
    t = len(target.y)

    def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
        value, gradient, _ = target(points[0].numpy())
        return torch.tensor([value / t], dtype=torch.double), torch.from_numpy(gradient / t)[None]

    lower, upper = torch.tensor(target.bounds(), dtype=torch.double).T.split(1)
    start = torch.from_numpy(target.theta(last))[None]
    known = None if not last.curvature else t * np.array([last.curvature])
    top = ascend(evaluate, start, lower, upper, known, TOLERANCE / t, REACH)
    return target.hyperparameters(top.points[0].numpy(), top.curvatures[0] / t)


def _cold(target: LogPosterior) -> Hyperparameters:
    t = len(target.y)

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient, _ = target(theta)
        return (-value / t, -gradient / t) if math.isfinite(value) else (1e10, np.zeros_like(theta))

    options = {"maxiter": 200, "ftol": TOLERANCE / t}
    bounds = target.bounds()
    top = minimize(objective, target.start(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return target.hyperparameters(np.asarray(top.x), top.hess_inv.todense() / t)
