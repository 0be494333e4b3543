"""Slow, obvious forms of everything that windage does fast. The tests compare with these.

Arrays in, arrays out. The ``torch_`` forms take and return tensors, for ``autograd``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.models.utils.gpytorch_modules import (
    get_gaussian_likelihood_with_gamma_prior,
    get_matern_kernel_with_gamma_prior,
)
from scipy.linalg import block_diag
from scipy.optimize import linprog
from scipy.stats import gaussian_kde, multivariate_normal
from torch import Tensor

from windage.botorch import to_botorch
from windage.gp import ProductGP, Training, fit, priors


class Pair(NamedTuple):
    """Mean and variance."""

    mean: np.ndarray
    variance: np.ndarray


def tensor(array: np.ndarray) -> Tensor:
    """The same numbers for torch."""
    return torch.from_numpy(np.ascontiguousarray(array, dtype=float))


def autograd(function: Callable[[Tensor], Tensor], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values of a function of points, and the gradient of their sum, by autograd: n × d → any, n × d."""
    points = tensor(x).clone().requires_grad_(True)
    value = function(points)
    (gradient,) = torch.autograd.grad(value.sum(), points)
    return value.detach().numpy(), gradient.numpy()


def differences(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float) -> np.ndarray:
    """The gradient of a function of points, n × d → n, by central differences: n × d."""
    moves = step * np.eye(x.shape[1])
    return np.stack([(function(x + move) - function(x - move)) / (2 * step) for move in moves], axis=1)


def torch_moments(gp: ProductGP, x: Tensor, nodes: np.ndarray) -> tuple[Tensor, Tensor]:
    """BoTorch's posterior on the tiled x × c, B × M each."""
    b, m = len(x), len(nodes)
    pairs = torch.cat([x[:, None, :].expand(b, m, -1), tensor(nodes)[None].expand(b, m, -1)], dim=2)
    posterior = to_botorch(gp).posterior(pairs.reshape(b * m, 1, -1))
    return posterior.mean.reshape(b, m), posterior.variance.reshape(b, m)


def tiled_moments(gp: ProductGP, x: np.ndarray, nodes: np.ndarray) -> Pair:
    """``torch_moments`` of arrays."""
    with torch.no_grad():
        return Pair(*(part.numpy() for part in torch_moments(gp, tensor(x), nodes)))


def torch_expectation(
    gp: ProductGP, x: Tensor, nodes: np.ndarray, weights: np.ndarray
) -> tuple[Tensor, Tensor]:
    """Mean and variance of Σ_m w_m f(x, c_m), B each, from BoTorch's joint covariance over the nodes."""
    model, points, w = to_botorch(gp), tensor(nodes), tensor(weights)
    means, variances = [], []
    for point in x:
        joint = model.posterior(torch.cat([point.expand(len(points), -1), points], dim=1)).distribution
        means.append(w @ joint.mean)
        variances.append(w @ joint.covariance_matrix @ w)
    return torch.stack(means), torch.stack(variances)


def tiled_expectation(gp: ProductGP, x: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> Pair:
    """``torch_expectation`` of arrays."""
    with torch.no_grad():
        return Pair(*(part.numpy() for part in torch_expectation(gp, tensor(x), nodes, weights)))


def torch_wasserstein_bound(gp, x: Tensor, nodes, weights, space, radius, sqrt_beta) -> Tensor:
    """E[g] - radius·max‖∂g/∂c‖, B, from BoTorch's posterior and autograd in the context."""
    b = len(x)
    points = tensor(np.concatenate([nodes, space])).expand(b, -1, -1).clone().requires_grad_(True)
    pairs = torch.cat([x[:, None, :].expand(-1, points.shape[1], -1), points], dim=2)
    posterior = to_botorch(gp).posterior(pairs.reshape(b * points.shape[1], 1, -1))
    bounds = (posterior.mean + sqrt_beta * posterior.variance.sqrt()).reshape(b, -1)
    (slopes,) = torch.autograd.grad(bounds.sum(), points, create_graph=x.requires_grad)
    return bounds[:, : len(nodes)] @ tensor(weights) - radius * slopes.norm(dim=2).max(1).values


def wasserstein_bound(gp, x: np.ndarray, nodes, weights, space, radius, sqrt_beta) -> np.ndarray:
    """``torch_wasserstein_bound`` of arrays."""
    found = torch_wasserstein_bound(gp, tensor(x), nodes, weights, space, radius, sqrt_beta)
    return found.detach().numpy()


def total_variation_primal(values, weights, radius, floor) -> float:
    """min Σ q_m g_m + q_0 floor over distributions q with Σ|q_m - w_m| + q_0 ≤ radius, as a linear programme.

    Variables: q (M), q_0, and the absolute differences a (M).
    """
    m = len(values)
    eye = np.eye(m)
    zero = np.zeros((m, 1))
    above = np.hstack([eye, zero, -eye])  # q - w ≤ a
    below = np.hstack([-eye, zero, -eye])  # w - q ≤ a
    budget = np.concatenate([np.zeros(m), [1.0], np.ones(m)])
    result = linprog(
        np.concatenate([values, [floor], np.zeros(m)]),
        A_ub=np.vstack([above, below, budget]),
        b_ub=np.concatenate([weights, -weights, [radius]]),
        A_eq=np.concatenate([np.ones(m + 1), np.zeros(m)])[None],
        b_eq=[1.0],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.success, result.message
    return float(result.fun)


def total_variation_dual(values, weights, radius, floor) -> float:
    """The paper's Proposition 2: max over (α, β) of E[-β - δα + min(g + β, α)], α ≥ 0, α + β ≥ -inf g."""
    alpha, beta = cp.Variable(), cp.Variable()
    inner = cp.sum(cp.multiply(weights, cp.minimum(values + beta, alpha)))
    problem = cp.Problem(cp.Maximize(-beta - radius * alpha + inner), [alpha >= 0, alpha + beta >= -floor])
    problem.solve(
        solver=cp.HIGHS, primal_feasibility_tolerance=1e-10, dual_feasibility_tolerance=1e-10
    )  # a linear programme: the simplex method is exact
    return float(problem.value)


def worst_weights(values, weights, radius) -> np.ndarray:
    """The worst distribution on M nodes and S further points in the order of their values, M + S, greedily.

    Probability radius/2 is taken from the highest nodes, one after the other, and put on the lowest point.
    """
    worst = np.concatenate([weights, np.zeros(len(values) - len(weights))])
    moved = left = min(radius / 2, 1.0)
    for m in np.argsort(-values[: len(weights)]):
        taken = min(left, worst[m])
        worst[m] -= taken
        left -= taken
    worst[values.argmin()] += moved
    return worst


def mmd_ball(values, weights, factor, radius) -> float:
    """min w·g over the simplex with ‖A(w - ŵ)‖ ≤ ε."""
    w = cp.Variable(len(values))
    problem = cp.Problem(
        cp.Minimize(values @ w), [w >= 0, cp.sum(w) == 1, cp.norm(factor @ (w - weights)) <= radius]
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(problem.value)


def minimax_formula(values, weights, kernel, radius, jitter=1e-3) -> float:
    """Tay et al. (2022) for one decision, from the n × n kernel matrix and its inverse."""
    n = len(values)
    mean, lowest, where = weights @ values, values.min(), values.argmin()
    corner = np.eye(n)[where] - weights
    epsilon_star = np.sqrt(corner @ kernel @ corner)
    inverse = np.linalg.inv(kernel + jitter * np.eye(n))
    one = np.ones(n)
    chord = (lowest - mean) / epsilon_star
    slope = -np.sqrt(values @ inverse @ values - (values @ inverse @ one) ** 2 / (one @ inverse @ one))
    slope = min(slope, chord)
    turn = (lowest - mean) / slope
    if radius < turn:
        return float(mean + radius * (chord + slope) / 2)
    if radius < epsilon_star:
        return float((mean + radius * chord + lowest) / 2)
    return float(lowest)


def scipy_kde(contexts: np.ndarray, bandwidth: float) -> gaussian_kde:
    """scipy's one-dimensional KDE with a given bandwidth (it wants it as a multiple of the deviation)."""
    return gaussian_kde(contexts, bw_method=bandwidth / contexts.std(ddof=1))


def random_training(
    t: int, dx: int, dc: int, seed: int, kernel: str = "rbf", noise: float = 0.05
) -> Training:
    """Standardised data from a smooth function with noise."""
    generator = np.random.default_rng(seed)
    x, c = generator.random((t, dx)), generator.random((t, dc))
    z = np.concatenate([x, c], axis=1)
    y = np.sin(5 * z).sum(axis=1) + (z[:, 0] - 0.4) * z[:, -1] * 3
    y = y + noise * generator.standard_normal(t)
    y = (y - y.mean()) / (y.std(ddof=1) if t > 1 else 1.0)
    return Training(x, c, y, tuple(range(dx)), kernel)


@lru_cache(maxsize=64)
def fitted(t: int, dx: int, dc: int, seed: int, kernel: str = "rbf", noise: float = 0.05) -> ProductGP:
    """A GP fitted to ``random_training``."""
    data = random_training(t, dx, dc, seed, kernel, noise)
    return ProductGP(data, fit(data))


class Averaged(NamedTuple):
    """Posteriors at decisions: of the expectation, B each, and at nodes, B × M each."""

    expectation: Pair
    nodes: Pair


def _average_rows(gp: ProductGP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All (x_i, c_m) of rows whose context is a mixture; A (t × points), which averages them; K of outcomes.

    Each row is an observation of its average of f, with noise and what the context added: 1 - v0_i.
    """
    rows = [gp.data.c[[i]] for i in range(len(gp.data.y))]
    z = np.array([[*gp.data.x[i], *c] for i, row in enumerate(rows) for c in row.points])
    averages = block_diag(*(row.weights for row in rows))
    f = averages @ _dense(gp, z, z) @ averages.T
    return z, averages, f + np.diag(gp.hyperparameters.noise + 1 - f.diagonal())


def _dense(gp: ProductGP, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """k of points (x, c), n × d and m × d."""
    dx, k = gp.data.x.shape[1], gp.covariance
    return k(a[:, :dx], a[:, dx:], b[:, :dx], b[:, dx:])


def averaged(gp: ProductGP, x: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> Averaged:
    """Exact conditioning on the averages of f that rows with mixtures of contexts observe."""
    z, matrix, outcomes = _average_rows(gp)
    rest = np.linalg.solve(outcomes, gp.data.y - gp.mean)
    found = []
    for point in x:
        at = np.array([[*point, *c] for c in nodes])
        cross = _dense(gp, at, z) @ matrix.T
        mean = gp.mean + cross @ rest
        covariance = _dense(gp, at, at) - cross @ np.linalg.solve(outcomes, cross.T)
        found.append((weights @ mean, weights @ covariance @ weights, mean, covariance.diagonal()))
    mean, variance, means, variances = (np.array(part) for part in zip(*found, strict=True))
    return Averaged(Pair(mean, variance), Pair(means, variances))


def averaged_likelihood(gp: ProductGP, mean: float) -> float:
    """The log likelihood of the outcomes, given a constant mean."""
    outcomes = _average_rows(gp)[2]
    return float(multivariate_normal(np.full(len(outcomes), mean), outcomes).logpdf(gp.data.y))


class JointMatern:
    """The surrogate of the paper's runs: one Matérn-5/2 over (x, c) jointly, dense; θ as in ``LogPosterior``.

    ``surrogate="2023"`` is the near form of it: a product of two.
    """

    def __init__(self, data: Training) -> None:
        self.z, self.y = np.concatenate([data.x, data.c], axis=1), data.y
        self.prior = priors.GammaPrior(self.z.shape[1])

    def start(self) -> np.ndarray:
        """BoTorch's starting point."""
        return self.prior.start

    def natural(self, theta: np.ndarray) -> tuple[np.ndarray, float, float, float]:
        """Lengthscales, output scale, noise, and the mean that is best there."""
        *scales, scale, noise = np.exp(theta)
        inverse = np.linalg.inv(self._noisy(theta))
        return np.array(scales), scale, noise, float((inverse @ self.y).sum() / inverse.sum())

    def kernel(self, theta: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """k(a, b), n × m."""
        away = (a[:, None, :] - b[None]) / np.exp(theta[:-2])
        root = np.sqrt(5 * (away**2).sum(axis=2))
        return np.exp(theta[-2]) * (1 + root + root**2 / 3) * np.exp(-root)

    def _noisy(self, theta: np.ndarray) -> np.ndarray:
        return self.kernel(theta, self.z, self.z) + np.exp(theta[-1]) * np.eye(len(self.y))

    def __call__(self, theta: np.ndarray) -> float:
        """The log posterior."""
        law = multivariate_normal(np.full(len(self.y), self.natural(theta)[3]), self._noisy(theta))
        return float(law.logpdf(self.y)) + self.prior(theta)[0]

    def posterior(self, theta: np.ndarray, z: np.ndarray) -> Pair:
        """At points (x, c), n × d → n each."""
        mean, cross = self.natural(theta)[3], self.kernel(theta, z, self.z)
        solved = np.linalg.solve(self._noisy(theta), cross.T)
        variance = np.exp(theta[-2]) - (cross * solved.T).sum(axis=1)
        return Pair(mean + solved.T @ (self.y - mean), variance)


def botorch_2023(data: Training, lengthscales, scale, noise, mean) -> SingleTaskGP:
    """BoTorch's own model with the kernel and the priors that it had in 2023."""
    z = torch.cat([tensor(data.x), tensor(data.c)], dim=1)
    torch.set_default_dtype(torch.double)  # the priors keep the digits that they are made with
    try:
        kernel = get_matern_kernel_with_gamma_prior(z.shape[1])
        likelihood = get_gaussian_likelihood_with_gamma_prior()
    finally:
        torch.set_default_dtype(torch.float)
    model = SingleTaskGP(
        z, tensor(data.y)[:, None], likelihood=likelihood, covar_module=kernel, outcome_transform=None
    )
    kernel.base_kernel.lengthscale = tensor(lengthscales)[None]
    kernel.outputscale = torch.tensor(scale, dtype=torch.double)
    likelihood.noise = torch.tensor([noise], dtype=torch.double)
    model.mean_module.constant = torch.tensor(mean, dtype=torch.double)
    return model
