"""The GP on (x, c): an ordinary BoTorch model with a product kernel and known hyper-parameters."""

from __future__ import annotations

from functools import cached_property

import torch
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel
from gpytorch.priors import LogNormalPrior
from torch import Tensor

from windage.surrogate import kernels
from windage.surrogate.factor import Covariance, Factor
from windage.surrogate.fit import Hyperparameters, Training

SMOOTHNESS = {"matern": 2.5, "matern-3/2": 1.5}


def _kernel(name: str, first: int, stop: int, dimensions: int) -> Kernel:
    prior = LogNormalPrior(kernels.lengthscale_loc(dimensions), kernels.LENGTHSCALE_SCALE)
    constraint = GreaterThan(kernels.MIN_LENGTHSCALE, transform=None, initial_value=prior.mode)
    options = {
        "ard_num_dims": stop - first,
        "active_dims": tuple(range(first, stop)),
        "lengthscale_prior": prior,
        "lengthscale_constraint": constraint,
    }
    if name == "rational-quadratic":
        kernel = RQKernel(**options)
        kernel.alpha = torch.ones(1, dtype=torch.double)
        return kernel
    return RBFKernel(**options) if name == "rbf" else MaternKernel(nu=SMOOTHNESS[name], **options)


class ProductGP(SingleTaskGP):  # type: ignore[misc]
    """A BoTorch GP on (x, c) with kernel kx(x, x')·kc(c, c') on standardised outcomes.

    ``posterior`` is BoTorch's. ``precision`` and ``alpha`` feed the fast product posterior
    (``windage.surrogate.posterior``), which gives the same moments on x × c without building x × c.
    """

    def __init__(
        self, data: Training, hyperparameters: Hyperparameters | None = None, base: Factor | None = None
    ) -> None:
        """``base``: the factor of the first observations, where it is known for these hyper-parameters."""
        dx, dc = data.x.shape[1], data.c.shape[1]
        covariance = _kernel(data.kernel, 0, dx, dx + dc)
        if dc:
            covariance = covariance * _kernel(data.kernel, dx, dx + dc, dx + dc)
        super().__init__(
            train_X=torch.cat([data.x, data.c], dim=1),
            train_Y=data.y[:, None],
            covar_module=covariance,
            outcome_transform=None,
        )
        self.data = data
        self.hyperparameters = hyperparameters
        self._base = base
        if hyperparameters is not None:
            self._set(hyperparameters)
        self.eval()

    def _set(self, hyper: Hyperparameters) -> None:
        factors = self.covar_module.kernels if hyper.c else [self.covar_module]
        for factor, lengthscale in zip(factors, (hyper.x, hyper.c), strict=False):
            factor.lengthscale = torch.tensor([lengthscale], dtype=torch.double)
        self.likelihood.noise = torch.tensor([hyper.noise], dtype=torch.double)
        self.mean_module.constant = torch.tensor(hyper.mean, dtype=torch.double)

    @cached_property
    def scales(self) -> tuple[Tensor, Tensor]:
        """The lengthscales of x and of c."""
        factors = self.covar_module.kernels if self.data.c.shape[1] else [self.covar_module]
        found = [factor.lengthscale.detach().reshape(-1) for factor in factors]
        return found[0], found[1] if len(found) > 1 else found[0][:0]

    @property
    def mean(self) -> float:
        """The constant prior mean."""
        return float(self.mean_module.constant.detach())

    @cached_property
    def covariance(self) -> Covariance:
        """Its kernel and noise as plain numbers."""
        return Covariance(self.data.kernel, *self.scales, float(self.likelihood.noise.detach()))

    @cached_property
    def factor(self) -> Factor:
        """K⁻¹ and log det K of K = k(Z, Z) + noise·I, t × t."""
        return self.covariance.factor(self.data.x, self.data.c, self._base)

    @property
    def precision(self) -> Tensor:
        """K⁻¹, t × t."""
        return self.factor.inverse

    @cached_property
    def alpha(self) -> Tensor:
        """K⁻¹(y - m), t."""
        return self.precision @ (self.data.y - self.mean)

    def extended(self, x: Tensor, c: Tensor) -> ProductGP:
        """The same GP after pretended observations at (x, c) that equal its posterior mean there.

        The mean stays, the variance shrinks: how a decision allows for others still on their way.
        """
        assert self.hyperparameters is not None
        y = self.mean_at(x, c)
        data = self.data
        more = Training(
            torch.cat([data.x, x]), torch.cat([data.c, c]), torch.cat([data.y, y]), data.groups, data.kernel
        )
        return ProductGP(more, self.hyperparameters, self.factor)

    def mean_at(self, x: Tensor, c: Tensor) -> Tensor:
        """The posterior mean at paired points (x_i, c_i), n."""
        return self.mean + self.covariance(x, c, self.data.x, self.data.c) @ self.alpha
