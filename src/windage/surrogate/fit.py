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
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from windage.space import Array
from windage.surrogate import kernels

MAX_LENGTHSCALE, MAX_NOISE = 1e4, 1e2


@dataclass(frozen=True)
class Hyperparameters:
    """A fitted GP, as plain numbers: one lengthscale a coordinate of x and of c, noise variance, mean."""

    x: tuple[float, ...]
    c: tuple[float, ...]
    noise: float
    mean: float
    log_posterior: float


@dataclass(frozen=True)
class Training:
    """Points of the unit boxes, standardised outcomes, and which coordinates of x share a lengthscale."""

    x: Tensor
    c: Tensor
    y: Tensor
    groups: tuple[int, ...]
    kernel: str

    @property
    def group_of(self) -> list[int]:
        """The lengthscale of each coordinate of (x, c)."""
        first = max(self.groups) + 1
        return [*self.groups, *range(first, first + self.c.shape[1])]


class LogPosterior:
    """θ → (log posterior, gradient); the squared differences are computed once."""

    def __init__(self, data: Training) -> None:
        self.y, self.profile = data.y, kernels.PROFILES[data.kernel]
        self.rbf = data.kernel == "rbf"
        z = torch.cat([data.x, data.c], dim=1)
        group_of = data.group_of
        self.size, self.split = max(group_of) + 1, max(data.groups) + 1
        t = len(z)
        self.squares = z.new_zeros(self.size, t * t)
        for d, group in enumerate(group_of):
            self.squares[group] += (z[:, d, None] - z[None, :, d]).square_().reshape(-1)
        self.loc = kernels.lengthscale_loc(self.size)
        self.ones = torch.ones_like(self.y)

    def start(self) -> Array:
        """BoTorch's starting point: the modes of the priors."""
        lengthscale = self.loc - kernels.LENGTHSCALE_SCALE**2
        noise = kernels.NOISE_LOC - kernels.NOISE_SCALE**2
        floor = [math.log(kernels.MIN_LENGTHSCALE)] * self.size + [math.log(kernels.MIN_NOISE)]
        start: Array = np.maximum(np.array([lengthscale] * self.size + [noise]), floor)
        return start

    def bounds(self) -> list[tuple[float, float]]:
        """The bounds of θ."""
        ends = (math.log(kernels.MIN_LENGTHSCALE), math.log(MAX_LENGTHSCALE))
        return [ends] * self.size + [(math.log(kernels.MIN_NOISE), math.log(MAX_NOISE))]

    def __call__(self, theta: Array) -> tuple[float, Array, float]:
        """Log posterior, its gradient, and the profiled mean at θ."""
        t = len(self.y)
        scale = torch.from_numpy(np.exp(-2 * theta[: self.size]))
        noise = math.exp(theta[-1])
        n = self.split
        kx, hx = self.profile((scale[:n] @ self.squares[:n]).view(t, t))
        kc, hc = self.profile((scale[n:] @ self.squares[n:]).view(t, t))
        covariance = kx * kc
        noisy = covariance.clone()
        noisy.diagonal().add_(noise)
        factor, info = torch.linalg.cholesky_ex(noisy)
        if int(info) != 0:
            return -math.inf, np.zeros_like(theta), 0.0
        inverse = torch.cholesky_inverse(factor)
        # the mean is profiled out: m = 1ᵀK⁻¹y / 1ᵀK⁻¹1
        solved, ones = inverse @ self.y, inverse @ self.ones
        mean = float(solved.sum() / ones.sum())
        alpha = solved - mean * ones
        value = -0.5 * float((self.y - mean) @ alpha) - float(factor.diagonal().log().sum())
        value -= 0.5 * t * math.log(2 * math.pi)
        pull = torch.outer(alpha, alpha).sub_(inverse)  # ααᵀ - K⁻¹
        gradient = np.empty_like(theta)
        gradient[-1] = 0.5 * noise * float(pull.trace())
        if self.rbf:
            shares = self.squares @ pull.mul_(covariance).view(-1)
        else:
            shares = torch.cat(
                [
                    self.squares[:n] @ (pull * hx * kc).view(-1),
                    self.squares[n:] @ (pull * kx * hc).view(-1),
                ]
            )
        gradient[: self.size] = (0.5 * scale * shares).numpy()
        prior, slope = self._prior(theta)
        return value + prior, gradient + slope, mean

    def _prior(self, theta: Array) -> tuple[float, Array]:
        """Log-normal priors as densities of ℓ and of the noise (not of their logarithms, as in BoTorch)."""
        loc = np.array([self.loc] * self.size + [kernels.NOISE_LOC])
        scale = np.array([kernels.LENGTHSCALE_SCALE] * self.size + [kernels.NOISE_SCALE])
        distance = (theta - loc) / scale
        value = -theta - 0.5 * distance**2 - np.log(scale) - 0.5 * math.log(2 * math.pi)
        return float(value.sum()), -1 - distance / scale


def fit(data: Training, starts: Sequence[Hyperparameters] = (), cold: bool = True) -> Hyperparameters:
    """The best optimum found from ``starts`` and, if ``cold`` or there is none, from BoTorch's own start."""
    target = LogPosterior(data)
    t = len(data.y)
    group_of = data.group_of
    first = [group_of.index(group) for group in range(target.size)]

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient, _ = target(theta)
        return (-value / t, -gradient / t) if math.isfinite(value) else (1e10, np.zeros_like(theta))

    points = [
        np.log([*np.array([*h.x, *h.c])[first], h.noise])
        for h in starts
        if len(h.x) + len(h.c) == len(group_of)
    ]
    if cold or not points:
        points.append(target.start())
    lower, upper = np.array(target.bounds()).T
    best: tuple[float, Array] | None = None
    for point in points:
        result = minimize(
            objective,
            np.clip(point, lower, upper),
            jac=True,
            method="L-BFGS-B",
            bounds=target.bounds(),
            options={"maxiter": 200},
        )
        if best is None or result.fun < best[0]:
            best = (float(result.fun), np.asarray(result.x))
    assert best is not None  # there is always a start
    theta = best[1]
    value, _, mean = target(theta)
    lengthscale = [float(np.exp(theta[group])) for group in group_of]
    dx = data.x.shape[1]
    return Hyperparameters(
        x=tuple(lengthscale[:dx]),
        c=tuple(lengthscale[dx:]),
        noise=float(np.exp(theta[-1])),
        mean=mean,
        log_posterior=value,
    )
