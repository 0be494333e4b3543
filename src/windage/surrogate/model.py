"""The GP on (x, c): its numbers, and the same as an ordinary BoTorch model for whoever wants one."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from windage.surrogate.factor import Covariance, Factor
from windage.surrogate.fit import Hyperparameters, Training, scale_of

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP


class ProductGP:
    """A GP on (x, c) with kernel kx(x, x')·kc(c, c') and known hyper-parameters, on standardised outcomes.

    ``precision`` and ``alpha`` feed the fast product posterior (``windage.surrogate.posterior``). BoTorch's
    model of the same GP is made when it is asked for.
    """

    def __init__(
        self,
        data: Training,
        hyperparameters: Hyperparameters,
        base: Factor | None = None,
        variance: float | None = None,
    ) -> None:
        """``base``: the factor of the first observations, where it is known for these hyper-parameters;
        ``variance``: the prior variance, where it is not to be found from the data.
        """
        self.data, self.hyperparameters = data, hyperparameters
        self.mean = hyperparameters.mean
        self.scales = (data.x.new_tensor(hyperparameters.x), data.x.new_tensor(hyperparameters.c))
        self.covariance = Covariance(data.kernel, *self.scales, hyperparameters.noise, data.grain)
        self._base, self._variance = base, variance

    @cached_property
    def factor(self) -> Factor:
        """K⁻¹ and log det K of K = k(Z, Z) + noise·I, or with a grain in place of I, t × t."""
        return self.covariance.factor(self.data.x, self.data.c, self._base)

    @property
    def precision(self) -> Tensor:
        """K⁻¹, t × t."""
        return self.factor.inverse

    @cached_property
    def alpha(self) -> Tensor:
        """K⁻¹(y - m), t."""
        return self.precision @ (self.data.y - self.mean)

    @cached_property
    def variance(self) -> float:
        """The prior variance, by which every variance is multiplied; the means do not depend on it."""
        if self._variance is not None:
            return self._variance
        if not self.data.free_scale:
            return 1.0
        return scale_of(float((self.data.y - self.mean) @ self.alpha), len(self.alpha))

    def extended(self, x: Tensor, c: Tensor) -> ProductGP:
        """The same GP after pretended observations at (x, c) that equal its posterior mean there.

        The mean stays, the variance shrinks: how a decision allows for others still on their way.
        """
        data, y = self.data, self.mean_at(x, c)
        more = replace(data, x=torch.cat([data.x, x]), c=torch.cat([data.c, c]), y=torch.cat([data.y, y]))
        return ProductGP(more, self.hyperparameters, self.factor, self.variance)

    def mean_at(self, x: Tensor, c: Tensor) -> Tensor:
        """The posterior mean of an outcome at paired points (x_i, c_i), n."""
        return self.mean + self.covariance.between(x, c, self.data.x, self.data.c) @ self.alpha

    @cached_property
    def botorch(self) -> SingleTaskGP:
        """The same GP as a BoTorch model."""
        from windage.surrogate.botorch import botorch_model

        return botorch_model(self.data, self.hyperparameters, self.variance)

    def posterior(self, z: Tensor, **options: Any) -> Any:
        """BoTorch's posterior at z = (x, c)."""
        return self.botorch.posterior(z, **options)
