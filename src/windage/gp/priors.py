"""Priors of the hyper-parameters.

θ = (log ℓ_1 … log ℓ_G, log noise) is normal about the modes of BoTorch's log-normal priors (as densities of ℓ
and of the noise, not of their logarithms, as in BoTorch). In an ensemble the lengthscales of the numbers are
exchangeable: their logs have covariance (s² - u²)11ᵀ + u²I.

With ``surrogate="2023"`` there is an output scale too, θ = (log ℓ_1 … log ℓ_G, log scale, log noise), and the
priors are the Gamma distributions that BoTorch had in that year. They too are densities of the numbers
themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from windage.gp import kernels
from windage.gp.records import Training
from windage.space import Array

COMMON, OWN = 0.8, 0.25
"""s and u of exchangeable lengthscales, where there are two or more: the standard deviation of a log
lengthscale, and of its difference from the common one. Few observations crowded in one region say that some
variables do not matter there; elsewhere they may, so the lengthscales are tied (decisions/0013)."""

MAX_LENGTHSCALE, MAX_NOISE = 1e4, 1e2
LENGTHSCALE_2023, SCALE_2023, NOISE_2023 = (3.0, 6.0), (2.0, 0.15), (1.1, 0.05)
"""Shape and rate of the Gamma priors of BoTorch in 2023."""
START_2023, NOISE_START_2023 = math.log(2), 2.0
"""Where its fit began: the default of GPyTorch, softplus(0), and the mode of the noise's prior."""
RANGE_2023 = 1e-3, 1e4
"""Of lengthscales and of the output scale; BoTorch had no bounds there, and none is ever met."""


def prior_of(data: Training) -> Prior | GammaPrior:
    """That of the hyper-parameters of a GP on this data."""
    if data.surrogate == "2023":
        return GammaPrior(max(data.group_of) + 1)
    return Prior(max(data.group_of) + 1, data.exchangeable)


@dataclass(frozen=True)
class Prior:
    """The log prior of θ: G lengthscales and the noise."""

    size: int
    """G."""
    exchangeable: tuple[int, ...]

    @cached_property
    def modes(self) -> Array:
        """The modes, G + 1."""
        scale = kernels.log_normal_mode(kernels.lengthscale_loc(self.size), kernels.LENGTHSCALE_SCALE)
        noise = kernels.log_normal_mode(kernels.NOISE_LOC, kernels.NOISE_SCALE)
        return np.array([scale] * self.size + [noise])

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the largest θ, G + 1 each."""
        low = [math.log(kernels.MIN_LENGTHSCALE)] * self.size + [math.log(kernels.MIN_NOISE)]
        high = [math.log(MAX_LENGTHSCALE)] * self.size + [math.log(MAX_NOISE)]
        return np.array(low), np.array(high)

    @cached_property
    def start(self) -> Array:
        """BoTorch's starting point: the modes."""
        return np.maximum(self.modes, self.bounds[0])

    @property
    def width(self) -> float:
        """The standard deviation of a log lengthscale."""
        return COMMON if len(self.exchangeable) > 1 else kernels.LENGTHSCALE_SCALE

    @cached_property
    def deviations(self) -> Array:
        """The standard deviations of θ, G + 1."""
        return np.array([self.width] * self.size + [kernels.NOISE_SCALE])

    @cached_property
    def constant(self) -> float:
        """The log density at the modes."""
        found = -float((0.5 * self.deviations**2 + self.modes + np.log(self.deviations)).sum())
        if n := len(self.exchangeable):
            total, own = self.width**2, OWN**2
            found += 0.5 * n * math.log(total)
            found -= 0.5 * ((n - 1) * math.log(own) + math.log(own + n * (total - own)))
        return found - 0.5 * len(self.modes) * math.log(2 * math.pi)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The log density at θ, and its gradient."""
        away = theta - self.modes
        solved = away / self.deviations**2
        if self.exchangeable:
            rows = list(self.exchangeable)
            total, own = self.width**2, OWN**2
            common = (total - own) / (own + len(rows) * (total - own))
            solved[rows] = (away[rows] - common * away[rows].sum()) / own
        return self.constant - 0.5 * float(away @ solved), -solved


@dataclass(frozen=True)
class GammaPrior:
    """The log prior of θ in 2023: G lengthscales, the output scale and the noise."""

    size: int
    """G."""

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the largest θ, G + 2 each."""
        least, largest = map(math.log, RANGE_2023)
        low = [least] * (self.size + 1) + [math.log(kernels.MIN_NOISE)]
        return np.array(low), np.array([largest] * (self.size + 1) + [math.log(MAX_NOISE)])

    @cached_property
    def start(self) -> Array:
        """BoTorch's starting point, G + 2."""
        return np.log([START_2023] * (self.size + 1) + [NOISE_START_2023])

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The log density at θ, and its gradient."""
        rows = [LENGTHSCALE_2023] * self.size + [SCALE_2023, NOISE_2023]
        shape, rate = np.array(rows).T
        value = shape * np.log(rate) - gammaln(shape) + (shape - 1) * theta - rate * np.exp(theta)
        return float(value.sum()), shape - 1 - rate * np.exp(theta)
