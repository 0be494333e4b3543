"""The plain way: BoTorch's posterior on tiled inputs inside ``optimize_acqf``, and CVXPY for each point.

This is how the methods are written without windage; it is what windage is measured against, and its
acquisition values judge both.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from windage.acquisition import BoundAcquisition, Minimax, Mmd, TotalVariation, WorstCase
from windage.errors import missing_extra
from windage.functionals.minimax import JITTER
from windage.surrogate import Hyperparameters, ProductGP, Training


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError as error:
        raise missing_extra("cvxpy", "plain", "the plain way") from error
    return cvxpy


def fit(x: Tensor, c: Tensor, y: Tensor) -> SingleTaskGP:
    """BoTorch's default GP (RBF, standardised outcomes given), fitted by its default routine."""
    model = SingleTaskGP(torch.cat([x, c], dim=1), y[:, None], outcome_transform=None)
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


class PlainAcquisition(AcquisitionFunction):  # type: ignore[misc]
    """Upper bounds on the tiled x × c, then a functional of them, decision by decision."""

    def __init__(self, model: SingleTaskGP, nodes: Tensor, weights: Tensor, sqrt_beta: float = 1.5) -> None:
        super().__init__(model)
        self.nodes, self.weights, self.sqrt_beta = nodes, weights, sqrt_beta

    def forward(self, X: Tensor) -> Tensor:
        """X: b × 1 × Dx → b."""
        b, m = len(X), len(self.nodes)
        pairs = torch.cat([X.expand(b, m, -1), self.nodes.expand(b, m, -1)], dim=2)
        posterior = self.model.posterior(pairs.reshape(b * m, 1, -1))
        bound = posterior.mean + self.sqrt_beta * posterior.variance.clamp_min(1e-12).sqrt()
        return self.functional(bound.reshape(b, m))

    def functional(self, values: Tensor) -> Tensor:
        """b × m → b: the expectation."""
        return values @ self.weights


class PlainWorstCase(PlainAcquisition):
    """The least bound of the nodes."""

    def functional(self, values: Tensor) -> Tensor:
        """b × m → b."""
        return values.min(dim=1).values


class PlainTotalVariation(PlainAcquisition):
    """Proposition 2 by CVXPY for each decision; the last nodes are the Sobol points of the infimum."""

    def __init__(
        self, model: SingleTaskGP, nodes: Tensor, weights: Tensor, radius: float, space: Tensor
    ) -> None:
        super().__init__(model, torch.cat([nodes, space]), weights)
        cp, m = _cvxpy(), len(weights)
        self.alpha, self.beta = cp.Variable(), cp.Variable()
        self.values, self.floor = cp.Parameter(m), cp.Parameter()
        inner = weights.numpy() @ cp.minimum(self.values + self.beta, self.alpha)
        self.bound = self.alpha + self.beta >= -self.floor
        self.problem = cp.Problem(
            cp.Maximize(-self.beta - radius * self.alpha + inner), [self.alpha >= 0, self.bound]
        )

    def functional(self, values: Tensor) -> Tensor:
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

    def __init__(
        self, model: SingleTaskGP, nodes: Tensor, weights: Tensor, radius: float, factor: Tensor
    ) -> None:
        super().__init__(model, nodes, weights)
        cp = _cvxpy()
        self.law, self.values = cp.Variable(len(weights)), cp.Parameter(len(weights))
        near = cp.norm(factor.numpy() @ (self.law - weights.numpy())) <= radius
        self.problem = cp.Problem(
            cp.Minimize(self.values @ self.law), [self.law >= 0, cp.sum(self.law) == 1, near]
        )

    def functional(self, values: Tensor) -> Tensor:
        """b × m → b."""
        results = []
        for row in values:
            self.values.value = row.detach().numpy()
            self.problem.solve(solver="CLARABEL")
            law = np.clip(self.law.value, 0, None)
            results.append(row @ torch.from_numpy(law / law.sum()))
        return torch.stack(results)


class PlainMinimax(PlainAcquisition):
    """The minimax approximation of the MMD ball, with a dense inverse of the kernel (Tay et al. 2022)."""

    def __init__(
        self,
        model: SingleTaskGP,
        nodes: Tensor,
        weights: Tensor,
        radius: float,
        kernel: Tensor,
        jitter: float,
    ) -> None:
        super().__init__(model, nodes, weights)
        self.radius, self.kernel = radius, kernel
        self.inverse = torch.linalg.inv(kernel + jitter * torch.eye(len(kernel), dtype=kernel.dtype))

    def functional(self, values: Tensor) -> Tensor:
        """b × m → b."""
        mean = values @ self.weights
        lowest, where = values.min(dim=1)
        apart = torch.eye(len(self.weights), dtype=values.dtype)[where] - self.weights
        corner = ((apart @ self.kernel) * apart).sum(1).clamp_min(1e-24).sqrt()
        ones = self.inverse.sum(1)
        square = ((values @ self.inverse) * values).sum(1) - (values @ ones).square() / ones.sum()
        chord = (lowest - mean) / corner
        slope = torch.minimum(-square.clamp_min(1e-30).sqrt(), chord)
        turn = (lowest - mean) / slope
        near, far = mean + self.radius * (chord + slope) / 2, (mean + self.radius * chord + lowest) / 2
        inner = torch.where(self.radius < turn, near, far)
        return torch.where(self.radius < corner, inner, lowest)


def twin(fast: BoundAcquisition, model: SingleTaskGP) -> PlainAcquisition:
    """The plain way to the value of a windage acquisition: the same nodes, weights and radius."""
    nodes, weights = fast.nodes, fast.weights
    if isinstance(fast, TotalVariation):
        m = len(weights)
        return PlainTotalVariation(model, nodes[:m], weights, fast.radius, nodes[m:])
    if isinstance(fast, Mmd):
        return PlainMmd(model, nodes, weights, fast.radius, fast.factor)
    if isinstance(fast, Minimax):
        return PlainMinimax(model, nodes, weights, fast.radius, fast.factor.mT @ fast.factor, JITTER)
    if isinstance(fast, WorstCase):
        return PlainWorstCase(model, nodes, weights)
    return PlainAcquisition(model, nodes, weights)


def maximise(acquisition: PlainAcquisition, dx: int, raw_samples: int, restarts: int) -> tuple[Tensor, float]:
    """BoTorch's ``optimize_acqf`` with the paper's settings; the batches are bounded by memory alone."""
    box = torch.stack([torch.zeros(dx), torch.ones(dx)]).double()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        point, value = optimize_acqf(
            acquisition,
            box,
            q=1,
            num_restarts=restarts,
            raw_samples=raw_samples,
            options={"init_batch_limit": 32, "batch_limit": restarts},
        )
    return point.reshape(-1), float(value)
