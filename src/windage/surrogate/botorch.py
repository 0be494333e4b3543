"""windage's GP as an ordinary BoTorch model: with the same kernel, priors and bounds, fitted or not."""

from __future__ import annotations

import torch
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel
from gpytorch.priors import LogNormalPrior

from windage.surrogate import grain, kernels
from windage.surrogate.fit import Hyperparameters, Training

SMOOTHNESS = {"matern": 2.5, "matern-3/2": 1.5}


def botorch_model(
    data: Training, hyperparameters: Hyperparameters | None = None, variance: float = 1.0
) -> SingleTaskGP:
    """The BoTorch model of a GP on (x, c), at its priors' modes where no hyper-parameters are given."""
    dx, dc = data.x.shape[1], data.c.shape[1]
    factors = [_kernel(data.kernel, 0, dx, dx + dc)]
    if dc:
        factors.append(_kernel(data.kernel, dx, dx + dc, dx + dc))
    covariance = factors[0] * factors[1] if dc else factors[0]
    if variance != 1:
        covariance = ScaleKernel(covariance)
        covariance.outputscale = variance
    noise = 1.0 if hyperparameters is None else variance * hyperparameters.noise
    if data.grain:  # the decisions' own noise is a part of what the model predicts
        own = ScaleKernel(MaternKernel(nu=2.5, active_dims=tuple(range(dx))))
        own.base_kernel.lengthscale, own.outputscale = data.grain, grain.SHARE * noise
        covariance, noise = covariance + own, (1 - grain.SHARE) * noise
    model = SingleTaskGP(
        train_X=torch.cat([data.x, data.c], dim=1),
        train_Y=data.y[:, None],
        covar_module=covariance,
        outcome_transform=None,
    )
    if hyperparameters is not None:
        for factor, lengthscale in zip(factors, (hyperparameters.x, hyperparameters.c), strict=False):
            factor.lengthscale = torch.tensor([lengthscale], dtype=torch.double)
        model.likelihood.noise = torch.tensor([noise], dtype=torch.double)
        model.mean_module.constant = torch.tensor(hyperparameters.mean, dtype=torch.double)
    model.eval()
    return model


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
