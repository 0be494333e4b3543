"""Several GPs in place of one: what kernel and which hyper-parameters is uncertain too.

The posterior over both is that of ``LogPosterior``: kernels weigh as their log posteriors say, and the
hyper-parameters θ of a kernel are normal about its fit, with the inverse Hessian there as covariance
(Laplace's approximation). Where the outcome is not what a stationary GP expects, the evidence of many
observations in one place makes θ look surer than it is elsewhere. So θ is as uncertain as it would be after
``MOST_SURE`` observations, however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from windage.space import Array
from windage.surrogate.factor import Covariance
from windage.surrogate.fit import Hyperparameters, LogPosterior
from windage.surrogate.model import ProductGP

MOST_SURE = 30
"""Observations after which hyper-parameters grow no surer."""
WIDEST = 1.0
"""Largest standard deviation of a direction of θ."""
STEP = 1e-3
"""In θ, for the differences of gradients that give the Hessian."""


def ensemble(fitted: Sequence[ProductGP], count: int, seed: int) -> list[ProductGP]:
    """``count`` GPs, equally likely: of each kernel its share, the fitted one first, then draws around it."""
    generator = np.random.default_rng(seed)
    weights = kernel_weights(fitted)
    # systematic sampling: each kernel appears as often as its share says, rounded up or down
    marks = (generator.random() + np.arange(count)) / count
    shares = np.bincount(np.searchsorted(weights.cumsum()[:-1], marks), minlength=len(weights))
    found = []
    for model, share in zip(fitted, shares, strict=True):
        if share:
            found += [model, *_draws(model, int(share) - 1, generator)]
    return found


def kernel_weights(fitted: Sequence[ProductGP]) -> Array:
    """How likely each kernel is, from the log posteriors of the fits."""
    found = np.array([model.hyperparameters.log_posterior for model in fitted])
    weights: Array = np.exp(found - found.max())
    weights /= weights.sum()
    return weights


def _draws(model: ProductGP, count: int, generator: np.random.Generator) -> list[ProductGP]:
    """GPs with hyper-parameters from Laplace's approximation."""
    if not count:
        return []
    target = LogPosterior(model.data)
    theta = target.theta(model.hyperparameters)
    lower, upper = np.array(target.bounds()).T
    spread = laplace(target, theta, max(1.0, math.sqrt(len(target.y) / MOST_SURE)))
    thetas = theta + generator.standard_normal((count, spread.shape[1])) @ spread.T
    return [_with(model, target, point) for point in np.clip(thetas, lower, upper)]


def laplace(target: LogPosterior, theta: Array, wider: float = 1.0) -> Array:
    """S, d × n, such that θ + S·normal(n) is Laplace's approximation, so many times as wide.

    A coordinate at a bound that it would leave stays there; a direction that the evidence says nothing of
    is as wide as ``WIDEST``.
    """
    lower, upper = np.array(target.bounds()).T
    gradient = target(theta)[1]
    stuck = ((theta <= lower) & (gradient < 0)) | ((theta >= upper) & (gradient > 0))
    free = np.flatnonzero(~stuck)
    steps = STEP * np.eye(len(theta))[free]
    rows = [(target(theta - step)[1] - target(theta + step)[1])[free] / (2 * STEP) for step in steps]
    hessian = np.array(rows).reshape(len(free), len(free))
    curvatures, directions = np.linalg.eigh((hessian + hessian.T) / 2)
    widths = np.minimum(wider / np.sqrt(np.maximum(curvatures, 1e-12)), WIDEST)
    spread = np.zeros((len(theta), len(free)))
    spread[free] = directions * widths
    return spread


def _with(model: ProductGP, target: LogPosterior, theta: Array) -> ProductGP:
    """The GP with other hyper-parameters; its mean is profiled out again."""
    data = model.data
    scales = [float(np.exp(theta[group])) for group in target.group_of]
    x, c, noise = tuple(scales[: target.dx]), tuple(scales[target.dx :]), float(np.exp(theta[-1]))
    factor = Covariance(data.kernel, data.x.new_tensor(x), data.x.new_tensor(c), noise).factor(data.x, data.c)
    ones = factor.inverse.sum(1)
    mean = float(torch.dot(ones, data.y) / ones.sum())
    return ProductGP(data, Hyperparameters(x, c, noise, mean, math.nan), factor)
