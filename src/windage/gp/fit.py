"""Hyper-parameters of the GP by maximum a posteriori.

Priors and starting point are BoTorch's, so the optimum is that of ``fit_gpytorch_mll``, for a small share of
its time. The optimiser is ``windage.search.ascend``, which takes the inverse Hessian of the last fit: a warm
start then needs few steps.
"""

from __future__ import annotations

import numpy as np

from windage.gp.likelihood import LogPosterior
from windage.gp.records import Hyperparameters, Training
from windage.search import Valued, ascend
from windage.space import Array

TOLERANCE, REACH = 1e-5, 0.5
"""A fit ends when a step gains less, in log posterior; the first step is so long, in log units."""


def fit(data: Training, last: Hyperparameters | None = None, cold: bool = True) -> Hyperparameters:
    """The best optimum found from the last fit and, if ``cold`` or there is none, from the priors' modes."""
    target = LogPosterior(data)
    starts = [] if last is None else [(target.theta(last), np.array(last.inverse_hessian))]
    if cold or last is None:
        starts.append((target.start(), np.zeros(0)))
    found = [_climb(target, start, inverse_hessian) for start, inverse_hessian in starts]
    return max(found, key=lambda hyper: hyper.log_posterior)


def _climb(target: LogPosterior, start: Array, inverse_hessian: Array) -> Hyperparameters:
    """The optimum from one start. Values are per observation, so that tolerances mean the same for all t."""
    t = len(target.y)

    def evaluate(points: Array) -> Valued:
        found = target(points[0])
        return Valued(np.array([found.value / t]), found.gradient[None] / t)

    lower, upper = (bound[None] for bound in target.bounds)
    known = t * inverse_hessian[None] if inverse_hessian.size else None
    top = ascend(evaluate, start[None], lower, upper, known, TOLERANCE / t, REACH)
    return target.hyperparameters(top.points[0], top.inverse_hessians[0] / t)
