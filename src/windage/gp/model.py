"""The GP on (x, c) with known hyper-parameters: its numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from windage.gp.factor import Covariance, Factor
from windage.gp.kernels import PROFILES, Profiled
from windage.gp.mixtures import Contexts, context_kernel, stacked
from windage.gp.records import Hyperparameters, Training
from windage.space import Array


class ProductGP:
    """A GP on (x, c) with kernel kx(x, x')·kc(c, c') and known hyper-parameters, on standardised outcomes.

    Covariances are shares of the output scale, as the noise is: then ``scale`` matters to variances alone.

    ``precision`` and ``alpha`` feed the fast product posterior (``windage.gp.posterior``). All are computed
    when first needed.

    Args:
        data: what it has seen.
        hyperparameters: of the kernel, the noise and the mean.
        base: the factor of the first observations, where it is known for these hyper-parameters.
    """

    def __init__(
        self,
        data: Training,
        hyperparameters: Hyperparameters,
        base: Factor | None = None,
    ) -> None:
        self.data, self.hyperparameters = data, hyperparameters
        self.mean, self.scale = hyperparameters.mean, hyperparameters.scale
        scales = np.array(hyperparameters.x), np.array(hyperparameters.c)
        self.covariance = Covariance(data.kernel, *scales, hyperparameters.noise)
        self._base = base

    @cached_property
    def factor(self) -> Factor:
        """K⁻¹ and log det K of K = k(Z, Z) + noise·I, t × t."""
        return self.covariance.factor(self.data.x, self.data.c, self._base)

    @property
    def precision(self) -> Array:
        """K⁻¹, t × t."""
        return self.factor.inverse

    @cached_property
    def alpha(self) -> Array:
        """K⁻¹(y - m), t."""
        return self.precision @ (self.data.y - self.mean)

    def extended(self, x: Array, c: Array) -> ProductGP:
        """The same GP after pretended observations at (x, c) that equal its posterior mean there.

        The mean stays, the variance shrinks: how a decision allows for pending ones.
        """
        data, y = self.data, self.mean_at(x, c)
        x, y = np.concatenate([data.x, x]), np.concatenate([data.y, y])
        more = replace(data, x=x, c=stacked(data.c, c), y=y)
        return ProductGP(more, self.hyperparameters, self.factor)

    def mean_at(self, x: Array, c: Contexts) -> Array:
        """The posterior mean of an outcome at paired points (x_i, c_i), n."""
        return self.mean + self.covariance(x, c, self.data.x, self.data.c) @ self.alpha

    def context_kernel(self, a: Array, b: Contexts) -> Profiled:
        """kc(a, b) and its slope, n × m."""
        return context_kernel(PROFILES[self.data.kernel], a, b, self.covariance.c_scale)
