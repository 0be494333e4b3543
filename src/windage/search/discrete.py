"""Integers and choices as points of the unit box: enumeration, rounding, neighbours."""

from __future__ import annotations

import numpy as np

from windage.space import ONE_HOT, Array, Block

Blocks = tuple[Block, ...]


def continuous(blocks: Blocks) -> bool:
    """Whether every decision variable is real."""
    return not any(block.levels for block in blocks)


def from_uniform(u: Array, blocks: Blocks) -> Array:
    """Valid points of the unit box from uniform numbers, n × decision variables → n × d."""
    columns = []
    for i, block in enumerate(blocks):
        if block.levels == 0:
            columns.append(u[:, i : i + 1])
            continue
        level = np.minimum(np.floor(u[:, i] * block.levels), block.levels - 1)
        columns.append(_coordinates(level, block))
    return np.concatenate(columns, axis=1)


def _coordinates(level: Array, block: Block) -> Array:
    """The coordinates of the level-th integer or choice, n → n × width."""
    if block.categorical:
        return np.asarray(ONE_HOT * (level[:, None] == np.arange(block.levels)))
    return np.asarray((level / (block.levels - 1))[:, None])


def every(blocks: Blocks, most: int) -> Array | None:
    """All decisions, where no variable is real and they are at most so many; else None."""
    count = 1
    for block in blocks:
        count *= block.levels
        if count == 0 or count > most:
            return None
    axes = [_coordinates(np.arange(b.levels, dtype=float), b) for b in blocks]
    index = np.indices([b.levels for b in blocks]).reshape(len(blocks), -1)
    return np.concatenate([axis[index[i]] for i, axis in enumerate(axes)], axis=1)


def rounded(points: Array, blocks: Blocks) -> Array:
    """Points n × d with their integers rounded."""
    points = points.copy()
    for block in blocks:
        if block.levels and not block.categorical:
            steps = block.levels - 1
            points[:, block.start] = np.round(points[:, block.start] * steps) / steps
    return points


def neighbours(point: Array, blocks: Blocks) -> Array:
    """The decisions that differ from one (d) in one integer by 1, 2, 4, …, or in one choice; n × d."""
    found = []
    for block in blocks:
        if not block.levels:
            continue
        if block.categorical:
            options = _coordinates(np.arange(block.levels, dtype=float), block)
        else:
            here = np.round(point[block.start] * (block.levels - 1))
            steps = 2.0 ** np.arange(max(1, (block.levels // 4).bit_length()))
            levels = np.concatenate([here - steps, here + steps])
            options = _coordinates(levels[(levels >= 0) & (levels < block.levels)], block)
        more = np.tile(point, (len(options), 1))
        more[:, block.start : block.stop] = options
        found.append(more)
    return np.concatenate(found)
