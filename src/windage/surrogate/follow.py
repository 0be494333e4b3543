"""A GP that follows the evidence: fitted anew when the evidence asks for it, extended when it does not.

The hyper-parameters of the last fit stay while a fit would add next to nothing to the log posterior
(½ gᵀHg, with the gradient of all observations and the curvature that the last fit learnt); the inverse
covariance is then that of the last fit, extended by the observations since: O(t²) in place of O(t³).
Everything follows from the observations and the last fit, so a restored study continues to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from windage.surrogate.factor import Covariance, Factor
from windage.surrogate.fit import Hyperparameters, LogPosterior, Training, fit
from windage.surrogate.model import ProductGP

COLD_UNTIL, GROWTH = 30, 1.1
"""A fit also starts from the prior up to so many observations, and then each time they grew by so much."""
PROMISE = 0.01
"""In log posterior: hyper-parameters stay while a fit promises less."""
MOST_NEW = 32
"""Observations by which an inverse is extended at most."""


@dataclass(frozen=True)
class Fitted:
    """The hyper-parameters found with the first ``count`` observations, and the GP of all of them."""

    count: int
    hyperparameters: Hyperparameters
    model: ProductGP
    base: Factor | None = None


def follow(data: Training, last: tuple[int, Hyperparameters] | None, before: Fitted | None) -> Fitted:
    """The GP of the data, given the last fit (its count and result) and, to save work, the GP before."""
    t = len(data.y)
    same = last if last is not None and last[1].knee == data.knee else None  # of outcomes on the same scale
    if same is not None and same[0] == t:
        return Fitted(t, same[1], ProductGP(data, same[1]))
    cold = same is None or t <= COLD_UNTIL or _mark(same[0]) != _mark(t)
    if same is not None and not cold and 0 < t - same[0] <= MOST_NEW:
        kept = _kept(data, *same, before)
        if kept is not None:
            return kept
    hyper = fit(data, None if last is None else last[1], cold)
    return Fitted(t, hyper, ProductGP(data, hyper))


def _mark(count: int) -> int:
    return int(math.log(count) / math.log(GROWTH))


def _kept(data: Training, count: int, hyper: Hyperparameters, before: Fitted | None) -> Fitted | None:
    """The last fit's hyper-parameters on all observations; None where a fit promises more."""
    target = LogPosterior(data)
    theta = target.theta(hyper)
    scales = (data.x.new_tensor(hyper.x), data.x.new_tensor(hyper.c))
    covariance = Covariance(data.kernel, *scales, hyper.noise, data.grain)
    base = _base(data, count, hyper, before) or covariance.factor(data.x[:count], data.c[:count])
    factor = covariance.factor(data.x, data.c, base)
    value, gradient, mean = target(theta, factor)
    if target.promise(theta, gradient, hyper) > PROMISE:
        return None
    now = replace(hyper, mean=mean, log_posterior=value)
    return Fitted(count, hyper, ProductGP(data, now, factor), base)


def _base(data: Training, count: int, hyper: Hyperparameters, before: Fitted | None) -> Factor | None:
    """The factor of the first ``count`` observations, if the GP before holds it."""
    if before is None or (before.count, before.hyperparameters) != (count, hyper):
        return None
    old = before.model.data
    if old.grain != data.grain:
        return None
    same = torch.equal(old.x[:count], data.x[:count]) and torch.equal(old.c[:count], data.c[:count])
    return (before.base or before.model.factor) if same else None
