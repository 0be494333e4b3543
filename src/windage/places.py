"""A look at a place that is hardly known, where the best one known is no better than another may be.

Outcomes with a long upper tail are of a few peaks on a plain. Once the decisions have settled on one peak,
every surrogate is sure of the plain, and so that there is no better peak. The places seen are asked instead:
the expectation F at a new place is taken to be like F at them, with an exponential upper tail.

Two decisions are of one place as far as k says, a Matérn-5/2 kernel of half the surrogate's lengthscales. The
place of the best decision x⁺ does not count, and the others count once each, however often they were seen:
with v_i ∝ (1 - k(x_i, x⁺)) / Σ_j k(x_i, x_j), mean m and deviation s of F under v, one more place gains

    E[(F - F⁺)⁺] = s·e^{-(F⁺ - m)/s - 1}

for each of the decisions to come, and costs F⁺ - m once. Where the surrogates are wrong about how much is
unknown, they are often right about where: the look goes to a place that they like. A better place is most
likely better where x⁺ has least to show, so they are asked under that half of the law, the contexts in which
x⁺ is worth least: under the whole law they like what resembles x⁺. And one look shows one context, which may
be the wrong one to tell a peak by, so a place is known after two.

Sure as they are, on a lesser peak the surrogates mostly leave such a place a chance in some hundreds of being
better than x⁺, and on the best one hardly any. With a chance, where it pays by the law above, looks follow
each other closely: what they cost is little beside what every decision on a lesser peak does. So they do
where the surrogates themselves expect more of a place than its cost, if all were known of it. Where there is
only one of the two, looks become rare, for both can be wrong: a few bad looks make the law expect nothing
more, and a place that showed itself in the wrong context leaves no chance. Such looks are for the beginning
only, and without a chance they end once the best decision is of another peak than before the first look: that
peak's own places make the law expect too much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from windage.combined import ExpectedBound, ExpectedGain
from windage.density import Nodes, sobol
from windage.maximize import from_uniform, score
from windage.space import Block
from windage.surrogate import NodePosterior, ProductGP, kernels

ENOUGH = 6
"""Observations a decision before places are looked at: until then the surrogates find the peaks."""
EARLY = 4
"""Times as many, until the surrogates or the law alone may ask for a look: late, they would be a premium."""
SETTLED, KNOWN = 10.0, 2.0
"""Observations in the place of the proposed decision, fewer are still a search; in a place that is known."""
REST, PAUSE = 2, 4
"""Decisions after a look, for what was seen is to be followed first: before one that pays and has a chance,
and, with one more for each look so far, before one of which only one is true."""
WIDEST = 0.5
"""The largest lengthscale of a place, in units of the box."""
CHOICE = 256
"""Of so many Sobol points the most promising is taken."""
CHANCE = 0.002
"""Of being better than the best known, by the surrogates: less is none."""
SAME_PEAK = 0.1
"""The least k between decisions of one peak, which is wider than a place."""


def another_place(
    acquisition: ExpectedGain, proposed: Tensor, blocks: tuple[Block, ...], served: float, seed: int
) -> Tensor | None:
    """A decision in a place hardly known, or None where the proposed one (d) is better.

    - ``REST`` decisions after the last look, if it pays by the law of the places and has a chance;
    - early so too, if the surrogates themselves find it worth knowing;
    - early, ``PAUSE`` decisions after the last look and one more for each so far, if it has a chance, or if
      it pays and no better peak was found yet.

    ``served``: how many decisions to come a better place would serve.
    """
    model = acquisition.posteriors[0].model
    told = model.data.x
    first = ENOUGH * len(blocks)
    if len(told) < first:
        return None
    near = _near(model, told, told)
    waited, looks = since_the_last(near, first)
    if waited < REST or _near(model, proposed[None], told).sum() < SETTLED:
        return None
    with torch.no_grad():
        means = torch.stack([posterior.moments(told)[0] for posterior in acquisition.posteriors])
    average = means.mean(0)
    best = int(average.argmax())
    gain, cost = worth(average, near)
    pays = served * gain > cost
    early = len(told) < EARLY * first
    if not (pays or early):
        return None
    place = most_promising(acquisition, told[best], blocks, seed)
    if place is None:
        return None
    likely = bool(acquisition.chance(place[None], means[:, best]) >= CHANCE)
    if (pays and likely) or (early and acquisition.worth_knowing(place[None], means[:, best]) > 0):
        return place
    if not early or waited < PAUSE + looks:
        return None
    return place if likely or (pays and not moved_on(average, near, first)) else None


def most_promising(
    acquisition: ExpectedGain, best: Tensor, blocks: tuple[Block, ...], seed: int
) -> Tensor | None:
    """Of the places hardly known the one with the largest bound where the best decision (d) is weak."""
    models = [posterior.model for posterior in acquisition.posteriors]
    candidates = from_uniform(sobol(CHOICE, len(blocks), seed), blocks)
    unknown = candidates[_near(models[0], candidates, models[0].data.x).sum(1) < KNOWN]
    if not len(unknown):
        return None
    weak = weaker_half(models, acquisition.nodes, best)
    return unknown[int(score(ExpectedBound(models, weak, acquisition.sqrt_beta), unknown).argmax())]


def weaker_half(models: Sequence[ProductGP], nodes: Nodes, x: Tensor) -> Nodes:
    """That half of a law under which a decision x (d) is worth least, by the surrogates' mean."""
    with torch.no_grad():
        means = torch.stack([NodePosterior(model, nodes.points)(x[None])[0][0] for model in models]).mean(0)
    order = means.argsort(stable=True)
    weights = nodes.weights[order]
    taken = (0.5 - (weights.cumsum(0) - weights)).clamp_min(0).minimum(weights)
    kept = taken > 0
    return Nodes(nodes.points[order][kept], taken[kept] / taken.sum())


def since_the_last(near: Tensor, first: int) -> tuple[int, int]:
    """How many decisions were taken since the last look, and how many looks since the first might be.

    From k between decisions in their order; a look is a decision in a place not known by then.
    """
    looks = near.tril(-1).sum(1) < KNOWN
    return len(looks) - 1 - int(looks.nonzero().max()), int(looks[first:].sum())


def moved_on(means: Tensor, near: Tensor, first: int) -> bool:
    """Whether the best decision is of another peak than the best of those before the first look."""
    return float(near[means.argmax(), means[:first].argmax()]) < SAME_PEAK


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
