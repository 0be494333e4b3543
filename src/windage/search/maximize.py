"""Maximising a function of the decision: seeded, from many starts, all in one batch.

1. Score Sobol points (all decisions, where they are few) by a coarse approximation of the function.
2. Choose starts among them.
3. Climb by projected BFGS (``windage.search.ascent``), on the coarse approximation first if it is close.
4. Integers climb as if real and are then rounded. A local search over the neighbours of integers and choices
   follows. A discontinuous function gets a random search around its best maxima.

Only valid decisions are returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from windage.search.ascent import VALUE_TOLERANCE, Rows, Valued, ascend
from windage.search.discrete import Blocks, continuous, every, from_uniform, neighbours, rounded
from windage.search.sobol import sobol
from windage.space import Array

DENSE, BESIDE = 2, 8
"""Up to so many real variables the scored points are dense enough to tell peaks; how many are neighbours."""
POLISHED, STEPS = 5, 30
"""How many of the best mixed decisions the local search starts from, and how far it goes."""
SECOND = 32
"""How many maxima and how many raw points are scored when the best may not be taken."""
FINALISTS, SAME = 8, 1e-2
"""How many maxima of the coarse approximation are refined, and how near two of them are one."""
EXACT, EXACT_REACH = 1e-15, 1e-4
"""The tolerance at which the best maximum is refined, and the first step there."""
CLOUDS, CLOUD, ROUNDS = 3, 24, 30
"""Random search: around how many maxima, with how many points at a time, and how often."""
WIDEST, WIDER, NARROWER = 0.02, 1.2, 0.6
"""Its first width, and how the width changes after a gain and after none."""
APART = 1e-3
"""Decisions closer than this in every coordinate of the unit box count as the same."""


class Target(Protocol):
    """A function on the unit box of the decisions."""

    coarse_is_close: bool
    """Whether the coarse approximation's maxima lie near this function's, so that it may be climbed first."""
    smooth: bool
    """Whether it has no kinks, or mild ones."""
    jumps: bool
    """Whether it is discontinuous."""

    @property
    def chunk(self) -> int:
        """How many points it wants at a time."""
        ...

    def value(self, x: Array) -> Array:
        """n × d → n."""
        ...

    def value_and_gradient(self, x: Array) -> Valued:
        """n × d → values n and gradients n × d."""
        ...

    def coarse(self) -> Target:
        """Itself, or a cheaper function that ranks points much as it does."""
        ...


@dataclass(frozen=True)
class Maximum:
    """A point of the unit box, and the function's value there."""

    point: Array
    value: float


@dataclass(frozen=True)
class _Candidates:
    """Points, best first: local maxima, then raw points."""

    maxima: Array
    raw: Array


def score(target: Target, points: Array) -> Array:
    """Values at points, n × d → n; -∞ where there is none."""
    step = target.chunk
    parts = [target.value(points[i : i + step]) for i in range(0, len(points), step)]
    values = np.concatenate(parts) if parts else np.zeros(0)
    return np.where(np.isnan(values), -np.inf, values)


def score_and_gradient(target: Target, points: Array) -> Valued:
    """Values and gradients at points, n × d → n and n × d."""
    step = target.chunk
    if len(points) <= step:
        return target.value_and_gradient(points)
    parts = [target.value_and_gradient(points[i : i + step]) for i in range(0, len(points), step)]
    values, gradients = zip(*parts, strict=True)
    return Valued(np.concatenate(values), np.concatenate(gradients))


def maximize(
    target: Target,
    blocks: Blocks,
    raw_samples: int,
    restarts: int,
    seed: int,
    extra: Array | None = None,
    avoid: Array | None = None,
) -> Maximum:
    """The best valid decision found that differs from those to avoid.

    Args:
        target: the function.
        blocks: where each decision variable lies in the unit box.
        raw_samples: how many Sobol points are scored first (all decisions, where they are fewer).
        restarts: from how many of them to climb, at most.
        seed: of the Sobol points, and of everything else that is random here.
        extra: further points worth scoring, n × d, such as decisions tried before.
        avoid: points that the result must differ from, where the space has another.
    """
    avoid = np.zeros((0, blocks[-1].stop)) if avoid is None else avoid
    raw = every(blocks, raw_samples)
    if raw is not None:
        found = _Candidates(raw[:0], raw[_best_first(score(target, raw))])
    else:
        raw = from_uniform(sobol(raw_samples, len(blocks), seed), blocks)
        raw = raw if extra is None else np.concatenate([raw, extra])
        found = _multi_start(target, blocks, raw, restarts, seed, avoiding=len(avoid) > 0)
    if not len(avoid):
        best = np.concatenate([found.maxima, found.raw])[:1]
        return _refined(target, best, blocks) if len(found.maxima) else _scored(target, best)
    # the best may be taken: then another maximum, or a raw point near it, is the best of what is left
    spare = [part[untaken(part, avoid)][:SECOND] for part in (found.maxima, found.raw)]
    candidates = np.concatenate(spare if any(map(len, spare)) else [found.maxima, found.raw[:1]])
    return _scored(target, candidates)


def _scored(target: Target, points: Array) -> Maximum:
    """The best of some points, n × d."""
    values = score(target, points)
    best = int(values.argmax())
    return Maximum(points[best], float(values[best]))


def _refined(target: Target, point: Array, blocks: Blocks) -> Maximum:
    """A local maximum (1 × d) to the last digits; integers and choices stay."""
    if target.jumps:
        return _scored(target, point)
    box, evaluate = _box(point, blocks, integers=True), partial(score_and_gradient, target)
    top = ascend(evaluate, point, *box, None, EXACT, EXACT_REACH, target.smooth)
    return _scored(target, np.concatenate([top.points, point]))


def _multi_start(
    target: Target, blocks: Blocks, raw: Array, restarts: int, seed: int, avoiding: bool
) -> _Candidates:
    """Local maxima from the most promising of the raw points."""
    coarse = target.coarse()
    ranks = score(coarse, raw)
    dense = len(blocks) <= DENSE and continuous(blocks)
    starts = raw[_peaks(raw, ranks, restarts) if dense else _promising(ranks, restarts, seed)]
    if target.coarse_is_close and coarse is not target and continuous(blocks):
        points, values = _distinct(*_climb(coarse, starts, blocks), FINALISTS)
        # where decisions are to be avoided, a lower maximum may be what is left
        starts = points if avoiding else _worth_a_climb(target, points, values)
    maxima, values = _climb(target, starts, blocks)
    if target.jumps and continuous(blocks):
        maxima, values = _random_search(target, maxima, values, seed)
    values = np.where(np.isnan(values), -np.inf, values)
    return _Candidates(maxima[_best_first(values)], raw[_best_first(ranks)])


def untaken(points: Array, avoid: Array) -> NDArray[np.bool_]:
    """Which points, n × d, differ from all those to avoid, m × d."""
    if not len(avoid) or not len(points):
        return np.ones(len(points), dtype=bool)
    return np.asarray(np.abs(points[:, None, :] - avoid).max(axis=2).min(axis=1) > APART)


def _best_first(values: Array) -> Rows:
    return np.argsort(-values, kind="stable")


def _promising(values: Array, restarts: int, seed: int) -> Rows:
    """The best half of the starts outright, the others drawn with odds exp(standardised value)."""
    count = min(restarts, len(values))
    best = _best_first(values)[: (count + 1) // 2]
    finite = values[np.isfinite(values)]
    spread = float(finite.std()) if len(finite) else 0.0
    standardised = (values - finite.mean()) / spread if spread > 0 else np.zeros_like(values)
    gumbel = np.random.default_rng([seed, 1]).gumbel(size=len(values))
    keys = standardised + gumbel  # the largest keys are a weighted draw without repeats
    keys[best] = -np.inf
    return np.concatenate([best, _best_first(keys)[: count - len(best)]])


def _peaks(points: Array, values: Array, restarts: int) -> Rows:
    """The best of the points (n × d) that no neighbour is above: climbs from others mostly end at these."""
    peaks = np.flatnonzero(values >= values[_beside(points)].max(axis=1))
    return peaks[_best_first(values[peaks])[:restarts]]


def _beside(points: Array) -> Rows:
    """The neighbours of each point, n × few: on a line those on either side, elsewhere the nearest."""
    if points.shape[1] == 1:
        order = np.argsort(points[:, 0], kind="stable")
        row = np.concatenate([order[:1], order, order[-1:]])
        found = np.empty((len(points), 2), dtype=np.intp)
        found[order] = np.stack([row[:-2], row[2:]], axis=1)
        return found
    from scipy.spatial import KDTree  # only planes need it, and its import takes a while

    _, nearest = KDTree(points).query(points, min(1 + BESIDE, len(points)))  # the nearest is mostly itself
    return np.asarray(nearest, dtype=np.intp).reshape(len(points), -1)


def _distinct(points: Array, values: Array, most: int) -> tuple[Array, Array]:
    """The best maxima that differ from each other, and their values."""
    values = np.where(np.isnan(values), -np.inf, values)
    chosen: list[int] = []
    for i in _best_first(values).tolist():
        if all(float(np.abs(points[i] - points[j]).max()) > SAME for j in chosen):
            chosen.append(i)
        if len(chosen) == most:
            break
    return points[chosen], values[chosen]


def _worth_a_climb(target: Target, points: Array, coarse_values: Array) -> Array:
    """Coarse maxima that may lead to the best: a climb gains about as much as the approximation errs."""
    values = score(target, points)
    error = np.nan_to_num(np.abs(values - coarse_values), nan=np.inf).max()
    return np.asarray(points[values >= values.max() - 2 * error])


def _random_search(target: Target, points: Array, values: Array, seed: int) -> tuple[Array, Array]:
    """The best maxima, improved without gradients: they end at a jump, where gradients lead nowhere.

    Random points around each, drawn wider after a gain and narrower after none.
    """
    best, found = _distinct(points, values, CLOUDS)
    width = np.full_like(found, WIDEST)
    generator = np.random.default_rng([seed, 2])
    rows = np.arange(len(best))
    for _ in range(ROUNDS):
        away = generator.standard_normal((len(best), CLOUD, best.shape[1]))
        cloud = np.clip(best[:, None] + width[:, None, None] * away, 0, 1)
        scores = score(target, cloud.reshape(-1, best.shape[1])).reshape(len(best), -1)
        where = scores.argmax(axis=1)
        gained = scores[rows, where] > found
        best = np.where(gained[:, None], cloud[rows, where], best)
        found = np.where(gained, scores[rows, where], found)
        width = np.where(gained, width * WIDER, width * NARROWER)
    return np.concatenate([best, points]), np.concatenate([found, values])


def _climb(target: Target, starts: Array, blocks: Blocks) -> tuple[Array, Array]:
    """Local maxima among the valid decisions, and their values."""
    box, evaluate = _box(starts, blocks), partial(score_and_gradient, target)
    top = ascend(evaluate, starts, *box, smooth=target.smooth)
    if continuous(blocks):
        return top.points, top.values
    points = rounded(top.points, blocks)
    order = _best_first(score(target, points))[:POLISHED]
    polished = [_polish(target, point, blocks) for point in points[order]]
    return np.stack([m.point for m in polished]), np.array([m.value for m in polished])


def _box(points: Array, blocks: Blocks, integers: bool = False) -> tuple[Array, Array]:
    """The bounds of a climb from points, n × d each: choices stay, and integers if asked."""
    lower, upper = np.zeros_like(points), np.ones_like(points)
    for block in blocks:
        if block.categorical or (integers and block.levels):
            at = slice(block.start, block.stop)
            lower[:, at], upper[:, at] = points[:, at], points[:, at]
    return lower, upper


def _polish(target: Target, point: Array, blocks: Blocks) -> Maximum:
    """Alternate between climbing the real variables and stepping to the best neighbour of the others."""
    best = _scored(target, point[None])
    for _ in range(STEPS):
        here = best.point[None]
        reached, value = here, best.value
        box = _box(here, blocks, integers=True)
        if (box[0] < box[1]).any():
            top = ascend(partial(score_and_gradient, target), here, *box)
            reached, value = top.points, float(top.values[0])
        others = neighbours(reached[0], blocks)
        scores = score(target, others)
        step = int(scores.argmax())
        if not float(scores[step]) > value + VALUE_TOLERANCE * max(1.0, abs(value)):
            return Maximum(reached[0], value)
        best = Maximum(others[step], float(scores[step]))
    return best
