"""Priors of the hyper-parameters, and the prior variance that is integrated out.

θ = (log ℓ_1 … log ℓ_G, log noise) is normal about the modes of BoTorch's log-normal priors (as densities of ℓ
and of the noise, not of their logarithms, as in BoTorch). In an ensemble the lengthscales of the numbers are
exchangeable: their logs have covariance (s² - u²)11ᵀ + u²I.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windage.gp import kernels
from windage.gp.records import Training
from windage.space import Array

COMMON, OWN = 0.8, 0.25
"""s and u of exchangeable lengthscales, where there are two or more: the standard deviation of a log
lengthscale, and of its difference from the common one. Few observations crowded in one region say that some
variables do not matter there; elsewhere they may, so the lengthscales are tied (decisions/0013)."""
SHAPE, RATE = 2.0, 2.0
"""Of the inverse gamma prior of a free prior variance: the weakest integer shape with a mean; it is 2, about
that of standardised outcomes, and its mode 2/3."""


def prior_variance(quadratic: float, t: int) -> float:
    """The scale of Student's distribution after t outcomes with (y - m)ᵀK⁻¹(y - m) = ``quadratic``."""
    return (RATE + 0.5 * quadratic) / (SHAPE + 0.5 * t)


def student(quadratic: float, t: int) -> float:
    """log ∫ N(y; m, sK) IG(s) ds, without -½ log det K."""
    shape = SHAPE + 0.5 * t
    constant = math.lgamma(shape) - math.lgamma(SHAPE) - 0.5 * t * math.log(2 * math.pi * RATE)
    return constant - shape * math.log1p(0.5 * quadratic / RATE)


def normal(quadratic: float, t: int) -> float:
    """log N(y; m, K), without -½ log det K."""
    return -0.5 * quadratic - 0.5 * t * math.log(2 * math.pi)


@dataclass(frozen=True)
class Prior:
    """The log prior of θ: G lengthscales and the noise."""

    size: int
    """G."""
    exchangeable: tuple[int, ...]

    @classmethod
    def of(cls, data: Training) -> Prior:
        """That of a GP on this data."""
        return cls(max(data.group_of) + 1, data.exchangeable)

    @cached_property
    def modes(self) -> Array:
        """The modes, G + 1."""
        scale = kernels.log_normal_mode(kernels.lengthscale_loc(self.size), kernels.LENGTHSCALE_SCALE)
        noise = kernels.log_normal_mode(kernels.NOISE_LOC, kernels.NOISE_SCALE)
        return np.array([scale] * self.size + [noise])

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
