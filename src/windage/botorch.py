"""The bridge to BoTorch: windage's acquisition functions and surrogates for its users.

    >>> from botorch.optim import optimize_acqf
    >>> import windage.botorch
    >>> function = windage.botorch.acquisition_function(optimizer)
    >>> point, _ = optimize_acqf(function, windage.botorch.bounds(optimizer), 1, 10, 512)
    >>> windage.botorch.decision(optimizer, point)

All live on the unit box of the decisions (``bounds``), with outcomes standardised so that larger is better.
"""

from __future__ import annotations

from typing import Any

from windage.errors import ConfigurationError, NotEnoughDataError, missing_extra

try:
    import torch
    from botorch.acquisition import AcquisitionFunction
    from botorch.models import SingleTaskGP
    from botorch.utils.transforms import t_batch_mode_transform
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.priors import GammaPrior, LogNormalPrior
except ImportError as error:
    raise missing_extra("botorch", "botorch", "windage.botorch") from error

from windage.acquisition import Acquisition
from windage.gp import Hyperparameters, Mixtures, ProductGP, Training, kernels, priors
from windage.optimizer import Optimizer
from windage.search.maximize import score, score_and_gradient
from windage.threads import one_thread

SMOOTHNESS = {"matern": 2.5, "matern-3/2": 1.5}


def acquisition_function(optimizer: Optimizer) -> AcquisitionFunction:
    """The acquisition function that the next ``ask`` maximises, pending decisions allowed for.

    Values and gradients are windage's own. ``optimizer`` is not changed.

    Returns:
        b × 1 × d → b, for ``botorch.optim.optimize_acqf`` with ``q=1``.
    """
    method = optimizer._configuration.method
    if method.build is None:
        raise ConfigurationError(f"method {method.name!r} has no acquisition function: use another one.")
    if not len(optimizer._record.current):
        raise NotEnoughDataError("an acquisition function needs at least 1 observation: tell one first.")
    with one_thread():
        state = optimizer._state(method.uses_context)
        return _Bridge(optimizer._acquisition(state), to_botorch(state.models[0]))


def model(optimizer: Optimizer) -> SingleTaskGP:
    """The fitted GP on (x, c); the likeliest, where the method has several.

    Its inputs are decisions and contexts on their unit boxes, its outcomes standardised.
    """
    if not len(optimizer._record.current):
        raise NotEnoughDataError("a model needs at least 1 observation: tell one first.")
    with one_thread():
        found = optimizer._state(bool(optimizer.contexts)).models
        fitted = [m for m in found if m.hyperparameters.log_posterior == m.hyperparameters.log_posterior]
        return to_botorch(max(fitted, key=lambda m: m.hyperparameters.log_posterior))


def bounds(optimizer: Optimizer) -> torch.Tensor:
    """The unit box of the decisions, 2 × d, for ``optimize_acqf``."""
    width = optimizer._configuration.decisions.blocks[-1].stop
    return torch.stack([torch.zeros(width), torch.ones(width)]).double()


def decision(optimizer: Optimizer, point: torch.Tensor) -> dict[str, Any]:
    """The decision at a point of the unit box, in the user's units (the nearest, for whole numbers)."""
    return optimizer._configuration.decisions.decode(point.detach().double().reshape(-1).numpy())


class _Bridge(AcquisitionFunction):  # type: ignore[misc]
    """An acquisition function of windage as one of BoTorch's."""

    def __init__(self, acquisition: Acquisition, surrogate: SingleTaskGP) -> None:
        super().__init__(surrogate)
        self.acquisition = acquisition

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]
    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """... × 1 × d → ..."""
        points = X.reshape(-1, X.shape[-1])
        found: torch.Tensor = _Value.apply(points, self.acquisition)  # type: ignore[no-untyped-call]
        return found.reshape(X.shape[:-2])


class _Value(torch.autograd.Function):
    """Value and hand-written gradient for autograd."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, acquisition: Acquisition) -> torch.Tensor:
        """b × d → b."""
        points = x.detach().double().numpy()
        with one_thread():
            if not ctx.needs_input_grad[0]:
                return torch.from_numpy(score(acquisition, points)).to(x)
            value, gradient = score_and_gradient(acquisition, points)
        ctx.save_for_backward(torch.from_numpy(gradient).to(x))
        return torch.from_numpy(value).to(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *by_value: torch.Tensor) -> tuple[torch.Tensor, None]:
        """b → b × d."""
        (gradient,) = ctx.saved_tensors
        return by_value[0][:, None] * gradient, None


def to_botorch(gp: ProductGP) -> SingleTaskGP:
    """The same GP as a BoTorch model."""
    return botorch_model(gp.data, gp.hyperparameters)


def botorch_model(data: Training, hyperparameters: Hyperparameters | None = None) -> SingleTaskGP:
    """The BoTorch model of a GP on (x, c), at its priors' modes where no hyper-parameters are given."""
    if isinstance(data.c, Mixtures):
        raise ConfigurationError(
            "a GP of BoTorch has no place for contexts that were not seen: use ask(), or forget those rows."
        )
    dx, dc = data.x.shape[1], data.c.shape[1]
    old, kernel = data.surrogate is not None, _kernel if data.surrogate is None else _kernel_2023
    factors = [kernel(data.kernel, 0, dx, dx + dc)]
    if dc:
        factors.append(kernel(data.kernel, dx, dx + dc, dx + dc))
    covariance = factors[0] * factors[1] if dc else factors[0]
    if old:
        covariance = ScaleKernel(covariance, outputscale_prior=_gamma(priors.SCALE_2023)).double()
    found = SingleTaskGP(
        train_X=torch.cat([torch.from_numpy(data.x), torch.from_numpy(data.c)], dim=1),
        train_Y=torch.from_numpy(data.y)[:, None],
        likelihood=_likelihood_2023() if old else None,
        covar_module=covariance,
        outcome_transform=None,
    )
    if hyperparameters is not None:
        for factor, lengthscale in zip(factors, (hyperparameters.x, hyperparameters.c), strict=False):
            factor.lengthscale = torch.tensor([lengthscale], dtype=torch.double)
        if old:
            covariance.outputscale = torch.tensor(hyperparameters.scale, dtype=torch.double)
        noise = hyperparameters.scale * hyperparameters.noise
        found.likelihood.noise = torch.tensor([noise], dtype=torch.double)
        found.mean_module.constant = torch.tensor(hyperparameters.mean, dtype=torch.double)
    found.eval()
    return found


def _gamma(shape_and_rate: tuple[float, float]) -> GammaPrior:
    return GammaPrior(*(torch.tensor(number, dtype=torch.double) for number in shape_and_rate))


def _likelihood_2023() -> GaussianLikelihood:
    limit = GreaterThan(kernels.MIN_NOISE, transform=None, initial_value=priors.NOISE_START_2023)
    return GaussianLikelihood(_gamma(priors.NOISE_2023), noise_constraint=limit).double()


def _kernel_2023(name: str, first: int, stop: int, dimensions: int) -> Kernel:
    prior, active = _gamma(priors.LENGTHSCALE_2023), tuple(range(first, stop))
    return MaternKernel(
        nu=SMOOTHNESS[name], ard_num_dims=stop - first, active_dims=active, lengthscale_prior=prior
    ).double()


def _kernel(name: str, first: int, stop: int, dimensions: int) -> Kernel:
    prior = LogNormalPrior(kernels.lengthscale_loc(dimensions), kernels.LENGTHSCALE_SCALE)
    options = {
        "ard_num_dims": stop - first,
        "active_dims": tuple(range(first, stop)),
        "lengthscale_prior": prior,
        "lengthscale_constraint": GreaterThan(
            kernels.MIN_LENGTHSCALE, transform=None, initial_value=prior.mode
        ),
    }
    if name == "rational-quadratic":
        kernel = RQKernel(**options).double()  # in single precision α would be 1 to eight digits only
        kernel.alpha = torch.ones(1, dtype=torch.double)
        return kernel
    return RBFKernel(**options) if name == "rbf" else MaternKernel(nu=SMOOTHNESS[name], **options)
