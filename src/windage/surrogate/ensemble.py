"""Several GPs in place of one: what kernel and which hyper-parameters is uncertain too.

The posterior over both is that of ``LogPosterior``: kernels weigh as their log posteriors say, and the
hyper-parameters θ of a kernel are normal about its fit (Laplace's approximation), with the inverse Hessian
that the fit has learnt on its way as covariance: rough, and free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from windage.space import Array
from windage.surrogate import grain
from windage.surrogate.factor import Covariance
from windage.surrogate.fit import Hyperparameters, LogPosterior, Training
from windage.surrogate.model import ProductGP

UNKNOWN, WIDEST = 0.1, 1.0
"""The variance of θ in every direction where a fit learnt no curvature, and the largest in any."""
DOUBT, RECENT = 2.0, 200
"""How much likelier noise without a grain must be, in logs, and by how many of the observations at most:
without close decisions there is no evidence, and without a grain no reason to take close decisions."""
NOISES = (-0.6, 0.0, 0.6)
"""Each kind of noise is tried with its own variance, by so many logs from the fit's, which is of one kind."""


def ensemble(fitted: Sequence[ProductGP], count: int, seed: int) -> list[ProductGP]:
    """``count`` GPs, equally likely: of each kernel its share, the fitted one first, then draws around it.

    Shares are rounded, and draws come in opposite pairs: what is random is the members' spread, hardly
    their mean, so that decisions do not tremble from ask to ask.
    """
    generator = np.random.default_rng(seed)
    weights = kernel_weights(fitted)
    marks = (0.5 + np.arange(count)) / count
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


def likeliest(
    kernels: Sequence[str], joint: bool, fits: Mapping[tuple[bool, str], tuple[int, Hyperparameters]]
) -> tuple[str, ...]:
    """The kernel whose last fit was the likeliest, by observation; all of them where one was never fitted."""
    found = {k: fits[joint, k] for k in kernels if (joint, k) in fits}
    if len(found) < len(kernels):
        return tuple(kernels)
    return (max(found, key=lambda k: found[k][1].log_posterior / found[k][0]),)


def likeliest_grain(data: Training, hyper: Hyperparameters) -> float:
    """The lengthscale of the noise's grain, or 0 where the outcomes speak against one, given a fit."""
    recent = replace(data, x=data.x[-RECENT:], c=data.c[-RECENT:], y=data.y[-RECENT:])
    target = LogPosterior(recent)
    patterns = grain.pattern(recent.x, grain.SCALE), torch.eye(len(recent.x), dtype=recent.x.dtype)
    own, ordinary = (target.best_noise(target.theta(hyper), pattern, NOISES) for pattern in patterns)
    return grain.SCALE if own > ordinary - DOUBT else 0.0


def _draws(model: ProductGP, count: int, generator: np.random.Generator) -> list[ProductGP]:
    """GPs with hyper-parameters from Laplace's approximation, within their bounds."""
    if not count:
        return []
    target = LogPosterior(model.data)
    theta = target.theta(model.hyperparameters)
    lower, upper = np.array(target.bounds()).T
    spread = laplace(model.hyperparameters, len(theta))
    normal = generator.standard_normal(((count + 1) // 2, len(theta))) @ spread.T
    thetas = theta + np.stack([normal, -normal], axis=1).reshape(-1, len(theta))[:count]
    return [_with(model, target, point) for point in np.clip(thetas, lower, upper)]


def laplace(hyper: Hyperparameters, size: int) -> Array:
    """S such that θ + S·normal is Laplace's approximation of the posterior about a fit of so many θ."""
    covariance = np.array(hyper.curvature) if hyper.curvature else UNKNOWN * np.eye(size)
    variances, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    spread: Array = directions * np.sqrt(np.clip(variances, 0, WIDEST))
    return spread


def _with(model: ProductGP, target: LogPosterior, theta: Array) -> ProductGP:
    """The GP with other hyper-parameters; its mean is profiled out again."""
    data = model.data
    scales = [float(np.exp(theta[group])) for group in target.group_of]
    x, c, noise = tuple(scales[: target.dx]), tuple(scales[target.dx :]), float(np.exp(theta[-1]))
    of = Covariance(data.kernel, data.x.new_tensor(x), data.x.new_tensor(c), noise, data.grain)
    factor = of.factor(data.x, data.c)
    ones = factor.inverse.sum(1)
    mean = float(torch.dot(ones, data.y) / ones.sum())
    return ProductGP(data, Hyperparameters(x, c, noise, mean, math.nan), factor)
