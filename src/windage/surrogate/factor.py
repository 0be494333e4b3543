"""The inverse of the covariance matrix of the observations, made once and extended by new ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from windage.surrogate import grain, kernels


@dataclass(frozen=True)
class Factor:
    """K⁻¹, t × t, and log det K. The noise floor keeps the condition of K under about t·1e4."""

    inverse: Tensor
    log_determinant: float

    @classmethod
    def of(cls, covariance: Tensor, out: Tensor | None = None) -> Factor | None:
        """From K by Cholesky's factor, into ``out`` if given; None where K is not positive definite."""
        lower, failed = torch.linalg.cholesky_ex(covariance)
        if int(failed) != 0:
            return None
        log_determinant = 2 * float(lower.diagonal().log().sum())
        return cls(torch.cholesky_inverse(lower, out=out), log_determinant)

    def extended(self, cross: Tensor, corner: Tensor) -> Factor | None:
        """K⁻¹ of K bordered by ``cross`` (t × n) and ``corner`` (n × n): O(t²n) in place of O((t+n)³)."""
        shift = self.inverse @ cross
        inner = Factor.of(corner - cross.mT @ shift)  # the Schur complement
        if inner is None:
            return None
        t, n = cross.shape
        inverse = cross.new_empty(t + n, t + n)
        inverse[:t, t:] = -shift @ inner.inverse
        inverse[t:, :t] = inverse[:t, t:].mT
        inverse[t:, t:] = inner.inverse
        torch.addmm(self.inverse, inverse[:t, t:], shift.mT, alpha=-1, out=inverse[:t, :t])
        return Factor(inverse, self.log_determinant + inner.log_determinant)


@dataclass(frozen=True)
class Covariance:
    """kx·kc with known lengthscales, the variance of the noise, and the scale of its grain (0: none)."""

    kernel: str
    x_scale: Tensor
    c_scale: Tensor
    noise: float
    grain: float = 0.0

    def __call__(self, x: Tensor, c: Tensor, x2: Tensor, c2: Tensor) -> Tensor:
        """k((x, c), (x2, c2)), n × m, without noise."""
        profile = kernels.PROFILES[self.kernel]
        kx = profile(kernels.scaled_squares(x, x2, self.x_scale))[0]
        return kx * profile(kernels.scaled_squares(c, c2, self.c_scale))[0]

    def between(self, x: Tensor, c: Tensor, x2: Tensor, c2: Tensor) -> Tensor:
        """Of different observations, n × m: k, and the noise that they share."""
        covariance = self(x, c, x2, c2)
        return covariance + self.noise * grain.shared(x, x2, self.grain) if self.grain else covariance

    def noisy(self, x: Tensor, c: Tensor) -> Tensor:
        """K = k(Z, Z) + noise·I of observations at (x, c), or with the grain in place of I."""
        covariance = self.between(x, c, x, c)
        covariance.diagonal().add_(self.noise * (1 - grain.SHARE) if self.grain else self.noise)
        return covariance

    def factor(self, x: Tensor, c: Tensor, base: Factor | None = None) -> Factor:
        """K⁻¹ of observations at (x, c); ``base`` is that of the first of them, where it is known."""
        count = 0 if base is None else len(base.inverse)
        if count == len(x):
            assert base is not None
            return base
        new_x, new_c = x[count:], c[count:]
        corner = self.noisy(new_x, new_c)
        found = (
            Factor.of(corner)
            if base is None
            else base.extended(self.between(x[:count], c[:count], new_x, new_c), corner)
        )
        assert found is not None  # the noise has a floor
        return found
