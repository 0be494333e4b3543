"""The inverse of the covariance matrix of the observations, made once and extended by new ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from windage.gp import kernels
from windage.gp.kernels import KernelName
from windage.gp.mixtures import Contexts, Mixtures, context_kernel
from windage.space import Array


@dataclass(frozen=True)
class Factor:
    """K⁻¹, t × t, and log det K. The noise floor keeps the condition of K under about t·1e4."""

    inverse: Array
    log_determinant: float

    @classmethod
    def of(cls, covariance: Array) -> Factor | None:
        """From K by Cholesky's factor; None where K is not positive definite."""
        lower, failed = dpotrf(covariance.T, lower=1, clean=0)  # symmetric: the transpose saves a copy
        if failed:
            return None
        log_determinant = 2 * float(np.log(lower.diagonal()).sum())
        half = dpotri(lower, lower=1, overwrite_c=1)[0].T
        return cls(np.where(_upper(len(half)), half, half.T), log_determinant)

    def extended(self, cross: Array, corner: Array) -> Factor | None:
        """K⁻¹ of K bordered by ``cross`` (t × n) and ``corner`` (n × n): O(t²n) in place of O((t+n)³)."""
        shift = self.inverse @ cross
        inner = Factor.of(corner - cross.T @ shift)  # the Schur complement
        if inner is None:
            return None
        t, n = cross.shape
        inverse = np.empty((t + n, t + n))
        side = -shift @ inner.inverse
        inverse[:t, t:] = side
        inverse[t:, :t] = side.T
        inverse[t:, t:] = inner.inverse
        inverse[:t, :t] = self.inverse - side @ shift.T
        return Factor(inverse, self.log_determinant + inner.log_determinant)


@lru_cache(maxsize=8)
def _upper(t: int) -> NDArray[np.bool_]:
    """Which entries lie on or above the diagonal, t × t."""
    return np.asarray(np.arange(t)[:, None] <= np.arange(t))


@dataclass(frozen=True)
class Covariance:
    """kx·kc with known lengthscales, and the variance of the noise."""

    kernel: KernelName
    x_scale: Array
    c_scale: Array
    noise: float

    def __call__(self, x: Array, c: Contexts, x2: Array, c2: Contexts) -> Array:
        """k((x, c), (x2, c2)), n × m, without noise."""
        profile = kernels.PROFILES[self.kernel]
        kx = profile(kernels.scaled_squares(x, x2, self.x_scale)).k
        return kx * context_kernel(profile, c, c2, self.c_scale).k

    def noisy(self, x: Array, c: Contexts) -> Array:
        """K = k(Z, Z) + noise·I of observations at (x, c); 1 + noise on the diagonal (``gp.mixtures``)."""
        covariance = self(x, c, x, c)
        if isinstance(c, Mixtures):
            covariance[np.diag_indices(len(x))] = 1.0
        covariance[np.diag_indices(len(x))] += self.noise
        return covariance

    def factor(self, x: Array, c: Contexts, base: Factor | None = None) -> Factor:
        """K⁻¹ of observations at (x, c); ``base`` is that of the first of them, where it is known."""
        count = 0 if base is None else len(base.inverse)
        if base is not None and count == len(x):
            return base
        new_x, new_c = x[count:], c[count:]
        corner = self.noisy(new_x, new_c)
        if base is None:
            found = Factor.of(corner)
        else:
            found = base.extended(self(x[:count], c[:count], new_x, new_c), corner)
        assert found is not None  # the noise has a floor
        return found
