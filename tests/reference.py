"""Slow, obvious forms of everything that windage does fast. The tests compare with these."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import torch
from scipy.optimize import linprog
from scipy.stats import gaussian_kde
from torch import Tensor

from windage.surrogate import ProductGP, Training, fit


def tiled_moments(model: ProductGP, x: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """BoTorch's posterior on the tiled x × c, B × M each, with autograd's gradients."""
    b, m = len(x), len(nodes)
    pairs = torch.cat([x[:, None, :].expand(b, m, -1), nodes[None].expand(b, m, -1)], dim=2)
    posterior = model.posterior(pairs.reshape(b * m, 1, -1))
    return posterior.mean.reshape(b, m), posterior.variance.reshape(b, m)


def tiled_expectation(model: ProductGP, x: Tensor, nodes: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of Σ_m w_m f(x, c_m) from BoTorch's joint covariance over the nodes."""
    means, variances = [], []
    for point in x:
        pairs = torch.cat([point.expand(len(nodes), -1), nodes], dim=1)
        joint = model.posterior(pairs).distribution
        means.append(weights @ joint.mean)
        variances.append(weights @ joint.covariance_matrix @ weights)
    return torch.stack(means), torch.stack(variances)


def expected_gain(model, x, best, nodes, weights, sqrt_beta, served) -> Tensor:
    """μ + √β σ + N·E[(μ(x) after a look - μ(best))⁺], from BoTorch's joint covariance and a quadrature.

    The look is an outcome F(x) + noise, of which the share ``clarity`` is believed. Of a GP in logs, F is
    linear about its median, and log-normal above the floor.
    """
    logs = model.data.logs
    unit = 1.0 if logs is None else logs.deviation
    step = 1e-3
    z = torch.arange(-12, 12, step, dtype=torch.double)
    density = (-0.5 * z.square()).exp() / math.sqrt(2 * math.pi)
    kernel = model.botorch.covar_module
    zero = torch.zeros(len(nodes), x.shape[1], dtype=torch.double)
    prior = kernel(torch.cat([zero, nodes], dim=1)).to_dense()  # all at one decision: kc alone
    clarity = (
        (prior @ weights).square() @ weights / (weights @ prior @ weights)
    ).sqrt() / model.variance**0.5
    found = []
    for point in x:
        pairs = [torch.cat([p.expand(len(nodes), -1), nodes], dim=1) for p in (point, best)]
        joint = model.posterior(torch.cat(pairs)).distribution
        v = [weights if logs is None else weights * logs.above(m) for m in joint.mean.chunk(2)]
        here, there = torch.cat([v[0], 0 * weights]), torch.cat([0 * weights, v[1]])
        covariance = unit**2 * joint.covariance_matrix
        variance = here @ covariance @ here
        noise = model.variance * model.hyperparameters.noise * unit**2
        if logs is None:
            mean, ahead = here @ joint.mean, (here - there) @ joint.mean
            moved = clarity * (variance - here @ covariance @ there) / (variance + noise).sqrt()
            bound, better = mean + sqrt_beta * variance.sqrt(), ahead + moved * z
        else:
            above, best_above = v[0].sum(), v[1].sum()
            own = variance / above**2
            moved = clarity * (own - here @ covariance @ there / (above * best_above)) / (own + noise).sqrt()
            bound, better = (
                logs.floor + above * (sqrt_beta * own.sqrt()).exp(),
                above * (moved * z).exp() - best_above,
            )
        gain = (better.clamp_min(0) * density).sum() * step
        found.append(bound + served * gain)
    return torch.stack(found)


def wasserstein_bound(model, x, nodes, weights, space, radius, sqrt_beta) -> Tensor:
    """E[g] - radius·max‖∂g/∂c‖ from BoTorch's posterior and autograd in the context."""
    b = len(x)
    points = torch.cat([nodes, space]).expand(b, -1, -1).clone().requires_grad_(True)
    pairs = torch.cat([x[:, None, :].expand(-1, points.shape[1], -1), points], dim=2)
    posterior = model.posterior(pairs.reshape(b * points.shape[1], 1, -1))
    bounds = (posterior.mean + sqrt_beta * posterior.variance.sqrt()).reshape(b, -1)
    (slopes,) = torch.autograd.grad(bounds.sum(), points)
    return bounds[:, : len(nodes)] @ weights - radius * slopes.norm(dim=2).max(1).values


def total_variation_primal(values, weights, radius, floor) -> float:
    """min Σ q_m g_m + q_0 floor over laws q with Σ|q_m - w_m| + q_0 ≤ radius, as a linear programme.

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
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(t, dx, generator=generator, dtype=torch.double)
    c = torch.rand(t, dc, generator=generator, dtype=torch.double)
    z = torch.cat([x, c], dim=1)
    y = torch.sin(5 * z).sum(1) + (z[:, 0] - 0.4) * z[:, -1] * 3
    y = y + noise * torch.randn(t, generator=generator, dtype=torch.double)
    y = (y - y.mean()) / (y.std() if t > 1 else 1.0)
    return Training(x, c, y, tuple(range(dx)), kernel)


def fitted(
    t: int, dx: int, dc: int, seed: int, kernel: str = "rbf", noise: float = 0.05, knee: float = 0.0
) -> ProductGP:
    """A GP fitted to ``random_training``, in logs of that knee."""
    data = random_training(t, dx, dc, seed, kernel, noise).in_logs(knee)
    return ProductGP(data, fit(data))


def value_and_slope(acquisition, x):
    """Values and gradients of any differentiable acquisition function at x (B × Dx), by autograd."""
    with torch.enable_grad():
        x = x.detach().clone().requires_grad_(True)
        value = acquisition(x[:, None])
        return value.detach(), torch.autograd.grad(value.sum(), x)[0]
