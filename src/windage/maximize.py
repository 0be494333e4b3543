"""Maximising an acquisition function over the decisions: seeded, many starts, all in one batch.

Real decisions climb by projected BFGS (``windage.ascent``). Integers climb as if real and are then rounded;
integers and choices are finally improved by local search over their neighbours. Only valid decisions are
returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from windage.ascent import VALUE_TOLERANCE, Evaluate, ascend
from windage.density import sobol
from windage.space import ONE_HOT, Block

DENSE, BESIDE = 2, 8
"""Up to so many real decisions the scored points are dense enough to tell peaks; how many are neighbours."""
POLISHED, STEPS = 5, 30
"""How many of the best mixed decisions the local search starts from, and how far it goes."""
SECOND = 32
"""How many tops and how many raw points are scored when the best may not be taken."""
FINALISTS, SAME_TOP = 8, 1e-2
"""How many tops of the stand-in the function itself climbs from, and how near two of them are one."""
CLOUDS, CLOUD, ROUNDS = 3, 24, 30
"""Around how many tops a jumping function is searched, with how many points at a time, and how often."""
WIDEST, WIDER, NARROWER = 0.02, 1.2, 0.6
"""The width of the first clouds, and how it changes after a gain and after none."""
APART = 1e-3
"""Decisions closer than this in every coordinate of the unit box count as the same."""


class Acquisition(Protocol):
    """A BoTorch acquisition function on the unit box that says how many points it wants at a time."""

    chunk: int
    stand_in_is_close: bool
    """Whether the stand-in's tops lie near this function's, so that it may climb first."""

    smooth: bool
    """Whether it has no kinks, or mild ones."""
    jumps: bool
    """Whether it is discontinuous."""

    def __call__(self, X: Tensor) -> Tensor:
        """b × 1 × d → b."""
        ...

    def value_and_slope(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """b × d → values b and gradients b × d."""
        ...

    def stand_in(self) -> Acquisition:
        """Itself, or a cheaper function that ranks points much as it does."""
        ...


@dataclass(frozen=True)
class Maximum:
    """A point of the unit box and the acquisition value there."""

    point: Tensor
    value: float


def score(acquisition: Acquisition, points: Tensor) -> Tensor:
    """Values at points, n × d → n, without gradients."""
    with torch.no_grad():
        return torch.cat([acquisition(part[:, None]) for part in points.split(acquisition.chunk)])


def score_and_slope(acquisition: Acquisition, points: Tensor) -> tuple[Tensor, Tensor]:
    """Values and gradients at points, n × d → n and n × d."""
    with torch.no_grad():
        parts = [acquisition.value_and_slope(part) for part in points.split(acquisition.chunk)]
    values, slopes = zip(*parts, strict=True)
    return torch.cat(values), torch.cat(slopes)


def maximize(
    acquisition: Acquisition,
    blocks: tuple[Block, ...],
    raw_samples: int,
    restarts: int,
    seed: int,
    extra: Tensor | None = None,
    avoid: Tensor | None = None,
) -> Maximum:
    """The best valid decision found that differs from those to avoid.

    Args:
        acquisition: b × 1 × d → b.
        blocks: where each decision lies in the unit box.
        raw_samples: how many Sobol points are scored first (all decisions, where they are fewer).
        restarts: from how many of them to climb, at most.
        seed: of the Sobol points and of the choice among them.
        extra: further points worth scoring, n × d, such as decisions tried before.
        avoid: points that the result must differ from, where the space has another.
    """
    raw = every(blocks, raw_samples)
    tops_found = 0
    if raw is not None:
        values = score(acquisition, raw)
        points = raw[torch.nan_to_num(values, nan=-torch.inf).argsort(descending=True, stable=True)]
    else:
        raw = from_uniform(sobol(raw_samples, len(blocks), seed), blocks)
        raw = raw if extra is None else torch.cat([raw, extra])
        stand_in = acquisition.stand_in()
        ranks = torch.nan_to_num(score(stand_in, raw), nan=-torch.inf)
        dense = len(blocks) <= DENSE and not any(block.levels for block in blocks)
        starts = raw[_peaks(raw, ranks, restarts) if dense else _promising(ranks, restarts, seed)]
        close = acquisition.stand_in_is_close and stand_in is not acquisition
        if close and not any(block.levels for block in blocks):
            starts, stood_in = _finalists(*_climb(stand_in, starts, blocks))
            if avoid is None or not len(avoid):  # else a lower top may be what is left
                starts = _worth_a_climb(acquisition, starts, stood_in)
        climbed, tops = _climb(acquisition, starts, blocks)
        if acquisition.jumps and not any(block.levels for block in blocks):
            climbed, tops = _search(acquisition, climbed, tops, seed)
        tops = torch.nan_to_num(tops, nan=-torch.inf)
        best_first = [part.argsort(descending=True, stable=True) for part in (tops, ranks)]
        points = torch.cat([climbed[best_first[0]], raw[best_first[1]]])
        tops_found = len(climbed)
    candidates = points[:1]
    if avoid is not None and len(avoid):
        free = untaken(points, avoid)
        # the best top may be taken: then another top or a raw point near it is the best of what is left
        parts = zip(points.tensor_split([tops_found]), free.tensor_split([tops_found]), strict=True)
        spare = torch.cat([part[kept][:SECOND] for part, kept in parts])
        candidates = spare if len(spare) else candidates
    values = torch.nan_to_num(score(acquisition, candidates), nan=-torch.inf)
    best = int(values.argmax())
    return Maximum(candidates[best], float(values[best]))


def untaken(points: Tensor, avoid: Tensor) -> Tensor:
    """Which points, n × d, differ from all those to avoid, m × d."""
    if not len(avoid):
        return torch.ones(len(points), dtype=torch.bool)
    return (points[:, None, :] - avoid).abs().amax(2).amin(1) > APART


def from_uniform(u: Tensor, blocks: tuple[Block, ...]) -> Tensor:
    """Valid points of the unit box from uniform numbers, n × decisions → n × d."""
    columns = []
    for i, block in enumerate(blocks):
        if block.levels == 0:
            columns.append(u[:, i : i + 1])
            continue
        level = (u[:, i] * block.levels).floor().clamp_max(block.levels - 1)
        columns.append(_coordinates(level, block))
    return torch.cat(columns, dim=1)


def _coordinates(level: Tensor, block: Block) -> Tensor:
    """The coordinates of the level-th integer or choice, n → n × width."""
    if block.categorical:
        return ONE_HOT * torch.nn.functional.one_hot(level.long(), block.levels).to(level.dtype)
    return (level / (block.levels - 1))[:, None]


def every(blocks: tuple[Block, ...], most: int) -> Tensor | None:
    """All decisions, where there is no real one and they are at most so many; else None."""
    count = 1
    for block in blocks:
        count *= block.levels
        if count == 0 or count > most:
            return None
    axes = [_coordinates(torch.arange(b.levels, dtype=torch.double), b) for b in blocks]
    index = torch.cartesian_prod(*[torch.arange(b.levels) for b in blocks]).reshape(count, -1)
    return torch.cat([axis[index[:, i]] for i, axis in enumerate(axes)], dim=1)


def _promising(values: Tensor, restarts: int, seed: int) -> Tensor:
    """The best half of the starts outright, the others drawn with odds exp(standardised value)."""
    count = min(restarts, len(values))
    best = values.argsort(descending=True, stable=True)[: (count + 1) // 2]
    finite = values[torch.isfinite(values)]
    spread = finite.std(correction=0) if len(finite) else values.new_tensor(0.0)
    score_ = (values - finite.mean()) / spread if spread > 0 else torch.zeros_like(values)
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(len(values), generator=generator, dtype=values.dtype).clamp(1e-12, 1 - 1e-12)
    keys = score_ - (-uniform.log()).log()  # Gumbel: the largest keys are a weighted draw without repeats
    keys[best] = -torch.inf
    return torch.cat([best, keys.argsort(descending=True, stable=True)[: count - len(best)]])


def _peaks(points: Tensor, values: Tensor, restarts: int) -> Tensor:
    """The best of the points (n × d) that no neighbour is above: climbs from others mostly end at these."""
    peaks = (values >= values[_beside(points)].amax(1)).nonzero()[:, 0]
    return peaks[values[peaks].argsort(descending=True, stable=True)[:restarts]]


def _beside(points: Tensor) -> Tensor:
    """The neighbours of each point, n × few: on a line those on either side, elsewhere the nearest."""
    if points.shape[1] == 1:
        order = points[:, 0].argsort(stable=True)
        row = torch.cat([order[:1], order, order[-1:]])
        found = torch.empty(len(points), 2, dtype=torch.long)
        found[order] = torch.stack([row[:-2], row[2:]], dim=1)
        return found
    array = points.numpy()
    _, nearest = KDTree(array).query(array, min(1 + BESIDE, len(array)))  # the nearest is mostly itself
    return torch.from_numpy(np.asarray(nearest).reshape(len(array), -1))


def _finalists(points: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """The best tops that differ from each other, and their values."""
    values = torch.nan_to_num(values, nan=-torch.inf)
    order = values.argsort(descending=True, stable=True)
    chosen: list[int] = []
    for i in order.tolist():
        if all(float((points[i] - points[j]).abs().max()) > SAME_TOP for j in chosen):
            chosen.append(i)
        if len(chosen) == FINALISTS:
            break
    return points[chosen], values[chosen]


def _worth_a_climb(acquisition: Acquisition, points: Tensor, stood_in: Tensor) -> Tensor:
    """Tops of the stand-in that may lead to the best: a climb gains about what the stand-in is wrong by."""
    values = torch.nan_to_num(score(acquisition, points), nan=-torch.inf)
    wrong = (values - stood_in).abs().nan_to_num(nan=torch.inf).max()
    return points[values >= values.max() - 2 * wrong]


def _search(acquisition: Acquisition, points: Tensor, values: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """The best tops, improved without slopes: they end at a jump, where slopes lead nowhere.

    Clouds around each, drawn wider after a gain and narrower after none.
    """
    best, found = (part[:CLOUDS] for part in _finalists(points, values))
    width = torch.full_like(found, WIDEST)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(ROUNDS):
        away = torch.randn(len(best), CLOUD, best.shape[1], generator=generator, dtype=best.dtype)
        cloud = (best[:, None] + width[:, None, None] * away).clamp_(0, 1)
        scores = torch.nan_to_num(score(acquisition, cloud.flatten(0, 1)), nan=-torch.inf).view(len(best), -1)
        top, where = scores.max(1)
        gained = top > found
        best = torch.where(gained[:, None], cloud[torch.arange(len(best)), where], best)
        found = torch.where(gained, top, found)
        width = torch.where(gained, width * WIDER, width * NARROWER)
    return torch.cat([best, points]), torch.cat([found, values])


def _climb(acquisition: Acquisition, starts: Tensor, blocks: tuple[Block, ...]) -> tuple[Tensor, Tensor]:
    """Local maxima among the valid decisions."""

    def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
        return score_and_slope(acquisition, points)

    lower, upper = torch.zeros_like(starts), torch.ones_like(starts)
    for block in blocks:
        if block.categorical:
            for bound in (lower, upper):
                bound[:, block.start : block.stop] = starts[:, block.start : block.stop]
    points, values, _ = ascend(evaluate, starts, lower, upper, smooth=acquisition.smooth)
    if not any(block.levels for block in blocks):
        return points, values
    points = _round(points, blocks)
    order = score(acquisition, points).argsort(descending=True, stable=True)[:POLISHED]
    polished = [_polish(acquisition, evaluate, point, blocks) for point in points[order]]
    return torch.stack([m.point for m in polished]), torch.tensor(
        [m.value for m in polished], dtype=points.dtype
    )


def _round(points: Tensor, blocks: tuple[Block, ...]) -> Tensor:
    points = points.clone()
    for block in blocks:
        if block.levels and not block.categorical:
            steps = block.levels - 1
            points[:, block.start] = (points[:, block.start] * steps).round() / steps
    return points


def _neighbours(point: Tensor, blocks: tuple[Block, ...]) -> Tensor:
    """The decisions that differ in one integer by 1, 2, 4, …, or in one choice."""
    found = []
    for block in blocks:
        if not block.levels:
            continue
        if block.categorical:
            options = _coordinates(torch.arange(block.levels, dtype=point.dtype), block)
        else:
            here = (point[block.start] * (block.levels - 1)).round()
            steps = 2.0 ** torch.arange(max(1, (block.levels // 4).bit_length()), dtype=point.dtype)
            levels = torch.cat([here - steps, here + steps])
            options = _coordinates(levels[(levels >= 0) & (levels < block.levels)], block)
        more = point.repeat(len(options), 1)
        more[:, block.start : block.stop] = options
        found.append(more)
    return torch.cat(found)


def _polish(
    acquisition: Acquisition, evaluate: Evaluate, point: Tensor, blocks: tuple[Block, ...]
) -> Maximum:
    """Alternate between climbing the real decisions and stepping to the best neighbour of the others."""
    frozen = torch.ones(len(point), dtype=torch.bool)
    for block in blocks:
        frozen[block.start : block.stop] = block.levels > 0
    best = Maximum(point, float(score(acquisition, point[None])))
    for _ in range(STEPS):
        here = best.point[None]
        lower, upper = torch.where(frozen, here, 0.0), torch.where(frozen, here, 1.0)
        reached, top = here, best.value
        if not bool(frozen.all()):
            reached, value, _ = ascend(evaluate, here, lower, upper)
            top = float(value)
        neighbours = _neighbours(reached[0], blocks)
        scores = score(acquisition, neighbours)
        step = int(scores.argmax())
        if not float(scores[step]) > top + VALUE_TOLERANCE * max(1.0, abs(top)):
            return Maximum(reached[0], top)
        best = Maximum(neighbours[step], float(scores[step]))
    return best
