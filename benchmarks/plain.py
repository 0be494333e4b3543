"""The plain way: BoTorch's posterior on tiled inputs inside ``optimize_acqf``, and CVXPY for each point.

This is how the methods are written without windage. It is what windage is measured against, and its
acquisition values judge both.
"""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from windage.acquisition import BoundAcquisition, Minimax, Mmd, TotalVariation, WorstCase
from windage.contexts import estimate
from windage.dataset import Dataset
from windage.gp import Hyperparameters, ProductGP, Training
from windage.methods import Settings, State, get_method
from windage.objectives.minimax import JITTER
from windage.search import Seeds
from windage.space import Array


def fit(data: Training) -> SingleTaskGP:
    """BoTorch's default GP (RBF, standardised outcomes given), fitted by its default routine."""
    inputs = torch.from_numpy(np.concatenate([data.x, data.c], axis=1))
    model = SingleTaskGP(inputs, torch.from_numpy(data.y)[:, None], outcome_transform=None)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def hyperparameters(data: Training, model: SingleTaskGP) -> Hyperparameters:
    """Those of a plain fit."""
    lengthscale = model.covar_module.lengthscale.detach().reshape(-1).tolist()
    dx = data.x.shape[1]
    return Hyperparameters(
        tuple(lengthscale[:dx]),
        tuple(lengthscale[dx:]),
        float(model.likelihood.noise.detach()),
        float(model.mean_module.constant.detach()),
        0.0,
    )


def mirrored(data: Training, model: SingleTaskGP) -> ProductGP:
    """windage's GP with the hyper-parameters of a plain fit, so that both maximise the same function."""
    return ProductGP(data, hyperparameters(data, model))


def acquisition(
    method: str, data: Dataset, model: ProductGP, seed: int, settings: Settings | None = None
) -> BoundAcquisition:
    """windage's acquisition function of a method, on a given GP."""
    chosen, settings = get_method(method), settings or Settings()
    density = estimate(data, settings.bandwidth, settings.boundary)
    sqrt_beta = chosen.sqrt_beta_at(data, settings)
    assert chosen.build is not None
    found = chosen.build(State((model,), data, density, settings, sqrt_beta, Seeds(seed)))
    assert isinstance(found, BoundAcquisition)
    return found


class PlainAcquisition(AcquisitionFunction):  # type: ignore[misc]
    """Upper bounds on the tiled x × c, then an objective of them, decision by decision.

    Here the objective is the mean.
    """

    def __init__(self, fast: BoundAcquisition, model: SingleTaskGP, space: Array | None = None) -> None:
        super().__init__(model)
        points = fast.nodes.points if space is None else np.concatenate([fast.nodes.points, space])
        self.nodes, self.weights = torch.from_numpy(points), torch.from_numpy(fast.nodes.weights)
        self.sqrt_beta = fast.sqrt_beta

    def forward(self, X: Tensor) -> Tensor:
        """X: b × 1 × Dx → b."""
        b, m = len(X), len(self.nodes)
        pairs = torch.cat([X.expand(b, m, -1), self.nodes.expand(b, m, -1)], dim=2)
        posterior = self.model.posterior(pairs.reshape(b * m, 1, -1))
        bound = posterior.mean + self.sqrt_beta * posterior.variance.clamp_min(1e-12).sqrt()
        return self.objective(bound.reshape(b, m))

    def objective(self, values: Tensor) -> Tensor:
        """b × m → b."""
        return values @ self.weights


class PlainWorstCase(PlainAcquisition):
    """The least bound of the nodes."""

    def objective(self, values: Tensor) -> Tensor:
        """b × m → b."""
        return values.min(dim=1).values


class PlainTotalVariation(PlainAcquisition):
    """Proposition 2 by CVXPY for each decision; the last nodes are the Sobol points of the infimum."""

    def __init__(self, fast: TotalVariation, model: SingleTaskGP) -> None:
        super().__init__(fast, model, fast.space)
        weights, m = fast.nodes.weights, len(fast.nodes)
        self.alpha, self.beta = cp.Variable(), cp.Variable()
        self.values, self.floor = cp.Parameter(m), cp.Parameter()
        inner = weights @ cp.minimum(self.values + self.beta, self.alpha)
        self.bound = self.alpha + self.beta >= -self.floor
        self.problem = cp.Problem(
            cp.Maximize(-self.beta - fast.radius * self.alpha + inner), [self.alpha >= 0, self.bound]
        )

    def objective(self, values: Tensor) -> Tensor:
        """b × (m + points of the space) → b."""
        m = len(self.weights)
        results = []
        for row in values:
            inner, floor = row[:m], row.min()
            self.values.value = inner.detach().numpy()
            self.floor.value = float(floor.detach())
            self.problem.solve(solver="CLARABEL")
            taken = self.values.value + self.beta.value < self.alpha.value
            # the envelope: weights of the nodes below the cut, and the multiplier of the infimum
            kept = self.weights * torch.from_numpy(taken.astype(float))
            slope = kept @ inner + float(self.bound.dual_value) * floor
            results.append(slope + (self.problem.value - slope).detach())
        return torch.stack(results)


class PlainMmd(PlainAcquisition):
    """The MMD ball by CVXPY for each decision."""

    def __init__(self, fast: Mmd, model: SingleTaskGP) -> None:
        super().__init__(fast, model)
        self.worst, self.values = cp.Variable(len(fast.nodes)), cp.Parameter(len(fast.nodes))
        near = cp.norm(fast.factor @ (self.worst - fast.nodes.weights)) <= fast.radius
        self.problem = cp.Problem(
            cp.Minimize(self.values @ self.worst), [self.worst >= 0, cp.sum(self.worst) == 1, near]
        )

    def objective(self, values: Tensor) -> Tensor:
        """b × m → b."""
        results = []
        for row in values:
            self.values.value = row.detach().numpy()
            self.problem.solve(solver="CLARABEL")
            worst = np.clip(self.worst.value, 0, None)
            results.append(row @ torch.from_numpy(worst / worst.sum()))
        return torch.stack(results)


class PlainMinimax(PlainAcquisition):
    """The minimax approximation of the MMD ball, with a dense inverse of the kernel (Tay et al. 2022)."""

    def __init__(self, fast: Minimax, model: SingleTaskGP) -> None:
        super().__init__(fast, model)
        self.radius, self.kernel = fast.radius, torch.from_numpy(fast.factor.T @ fast.factor)
        self.inverse = torch.linalg.inv(self.kernel + JITTER * torch.eye(len(self.kernel)).double())

    def objective(self, values: Tensor) -> Tensor:
        """b × m → b."""
        mean = values @ self.weights
        lowest, where = values.min(dim=1)
        apart = torch.eye(len(self.weights), dtype=values.dtype)[where] - self.weights
        corner = ((apart @ self.kernel) * apart).sum(1).clamp_min(1e-24).sqrt()
        ones = self.inverse.sum(1)
        square = ((values @ self.inverse) * values).sum(1) - (values @ ones).square() / ones.sum()
        chord = (lowest - mean) / corner
        slope = torch.minimum(-square.clamp_min(1e-30).sqrt(), chord)
        reached = (lowest - mean) / slope
        near, far = mean + self.radius * (chord + slope) / 2, (mean + self.radius * chord + lowest) / 2
        inner = torch.where(self.radius < reached, near, far)
        return torch.where(self.radius < corner, inner, lowest)


def twin(fast: BoundAcquisition, model: SingleTaskGP) -> PlainAcquisition:
    """The plain way to the value of a windage acquisition: the same nodes, weights and radius."""
    if isinstance(fast, TotalVariation):
        return PlainTotalVariation(fast, model)
    if isinstance(fast, Mmd):
        return PlainMmd(fast, model)
    if isinstance(fast, Minimax):
        return PlainMinimax(fast, model)
    return PlainWorstCase(fast, model) if isinstance(fast, WorstCase) else PlainAcquisition(fast, model)


def value(slow: PlainAcquisition, points: Array) -> Array:
    """Of the plain acquisition at decisions, n × d → n."""
    with torch.no_grad():
        found: Array = slow(torch.from_numpy(points)[:, None]).numpy()
    return found


def maximise(slow: PlainAcquisition, dx: int, raw_samples: int, restarts: int) -> Array:
    """The decision that BoTorch's ``optimize_acqf`` finds, d; batches are bounded by memory alone."""
    box = torch.stack([torch.zeros(dx), torch.ones(dx)]).double()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        point, _ = optimize_acqf(
            slow,
            box,
            q=1,
            num_restarts=restarts,
            raw_samples=raw_samples,
            options={"init_batch_limit": 32, "batch_limit": restarts},
        )
    return np.asarray(point.reshape(-1).numpy())
