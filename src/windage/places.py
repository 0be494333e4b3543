"""A look at a new place, where the best decision known is no better than a new place may be.

Outcomes with a long upper tail are of a few peaks on a plain. Once the decisions have settled on one peak,
every surrogate is sure of the plain, and so that there is no better peak. The places seen are asked instead:
the expectation F at a new place is taken to be like F at them, with an exponential upper tail.

Two decisions are of one place as far as k says, a Matérn-5/2 kernel of half the surrogate's lengthscales. The
place of the best decision x⁺ does not count, and the others count once each, however often they were seen:
with v_i ∝ (1 - k(x_i, x⁺)) / Σ_j k(x_i, x_j), mean m and deviation s of F under v, one more place gains

    E[(F - F⁺)⁺] = s·e^{-(F⁺ - m)/s - 1}

for each of the decisions to come, and costs F⁺ - m once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from windage.combined import CombinedAcquisition
from windage.density import sobol
from windage.maximize import from_uniform, score
from windage.methods import MOST_SERVED
from windage.space import Block
from windage.surrogate import ProductGP, kernels

ENOUGH = 15
"""Observations a decision before new places are looked at: until then the surrogates find the peaks."""
SETTLED, REVISITED = 10.0, 3.0
"""Observations in the places of the proposed decision and of the last one: fewer are still a search."""
WIDEST = 0.5
"""The largest lengthscale of a place, in units of the box."""
CHOICE = 16
"""Of so many Sobol points the most promising is taken."""


def another_place(
    acquisition: CombinedAcquisition, proposed: Tensor, blocks: tuple[Block, ...], seed: int
) -> Tensor | None:
    """A decision in a new place, or None where the proposed one (d) is better."""
    model = acquisition.posteriors[0].model
    told = model.data.x
    if len(told) < ENOUGH * len(blocks):
        return None
    near = _near(model, told, told)
    if _near(model, proposed[None], told).sum() < SETTLED or near[-1].sum() < REVISITED:
        return None
    with torch.no_grad():
        means = torch.stack([posterior.moments(told)[0] for posterior in acquisition.posteriors]).mean(0)
    gain, cost = worth(means, near)
    if MOST_SERVED * gain <= cost:  # as nearly always: nothing to score
        return None
    candidates = from_uniform(sobol(CHOICE, len(blocks), seed), blocks)
    gains = MOST_SERVED * gain * (1 - _near(model, candidates, told).amax(1))
    best = int((score(acquisition, candidates) + gains).argmax())
    return candidates[best] if gains[best] > cost else None


def worth(means: Tensor, near: Tensor) -> tuple[float, float]:
    """What a new place gains at each decision to come, and what it costs; from F at t decisions, and k."""
    best = int(means.argmax())
    weights = (1 - near[best]) / near.sum(1)
    total = float(weights.sum())
    if total <= 0:  # all of one place: nothing is known of others
        return 0.0, 0.0
    weights = weights / total
    mean = float(weights @ means)
    spread = math.sqrt(float(weights @ (means - mean).square()))
    cost = float(means[best]) - mean
    return (spread * math.exp(-cost / spread - 1) if spread > 0 else 0.0), cost


def _near(model: ProductGP, a: Tensor, b: Tensor) -> Tensor:
    """k between decisions, n × m."""
    scale = (0.5 * model.scales[0]).clamp_max(WIDEST)
    return kernels.matern52(kernels.scaled_squares(a, b, scale))[0]
