"""Weighted nodes: what every objective sees of a distribution of the context."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from windage.search import sobol
from windage.space import Array, ContextKind


class Pairs(NamedTuple):
    """All pairs of different nodes, each pair once."""

    squares: Array
    """Squared differences in each coordinate, Dc × pairs."""
    weights: Array
    """2 w_i w_j, as both orders count."""


@dataclass(frozen=True)
class Nodes:
    """Points of the context's unit box with their probabilities."""

    points: Array
    """M × Dc."""
    weights: Array
    """M, non-negative, sum 1."""

    def __len__(self) -> int:
        return len(self.weights)

    @classmethod
    def equal(cls, points: Array) -> Nodes:
        """Nodes of equal weight."""
        return cls(points, np.full(len(points), 1 / len(points)))

    @cached_property
    def pairs(self) -> Pairs:
        """What every GP of an ensemble needs of two contexts at a time."""
        i, j = np.triu_indices(len(self), 1)
        columns = self.points.T
        return Pairs((columns[:, i] - columns[:, j]) ** 2, 2 * self.weights[i] * self.weights[j])


NO_CONTEXT = Nodes.equal(np.zeros((1, 0)))
"""The one node of a study without contexts."""


def thinned(nodes: Nodes, count: int) -> Nodes:
    """About so many nodes in place of many of equal weight: means of strata, coordinate by coordinate."""
    m, dimensions = nodes.points.shape
    if m < 2 * count or not (nodes.weights == nodes.weights[0]).all():
        return nodes
    groups = [nodes.points]
    side = round(count ** (1 / dimensions))
    for d in range(dimensions):
        ordered = [group[np.argsort(group[:, d], kind="stable")] for group in groups]
        groups = [part for group in ordered for part in np.array_split(group, side)]
    weights = np.array([len(group) / m for group in groups])
    return Nodes(np.stack([group.mean(axis=0) for group in groups]), weights)


def grid(
    contexts: Array,
    size: int,
    weights: Array | None = None,
    kinds: Sequence[ContextKind] = (),
    known: Container[int] = (),
) -> Nodes:
    """The contexts seen, counted on a full grid of ceil(size^(1/Dc))^Dc points: each at its nearest.

    A choice has its levels on the grid, a whole number at most its own, what is known one value.
    """
    dimensions = contexts.shape[1]
    numbers = sum(d not in known and not (kinds and kinds[d].choice) for d in range(dimensions))
    side = 1
    while side**numbers < size and numbers:  # ceil(size^(1/Dc)) without the rounding of a float root
        side += 1
    places, nearest = [], []
    for d, column in enumerate(contexts.T):
        kind = kinds[d] if kinds else ContextKind()
        if d in known:
            places.append(column[:1])
            nearest.append(np.zeros(len(column), dtype=np.intp))
            continue
        count = kind.levels if kind.choice else min(side, kind.levels or side)
        places.append(np.arange(count) / (1 if kind.choice else count - 1))
        scaled = column if kind.choice else column * (count - 1)
        nearest.append(np.clip(np.round(scaled), 0, count - 1).astype(np.intp))
    sizes = tuple(map(len, places))
    cell = np.ravel_multi_index(tuple(nearest), sizes)
    shares = np.full(len(contexts), 1 / len(contexts)) if weights is None else weights
    points = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, dimensions)
    return Nodes(points, np.asarray(np.bincount(cell, shares, len(points)), dtype=float))


def box(
    contexts: Array,
    lower: Array,
    upper: Array,
    count: int,
    seed: int,
    weights: Array | None = None,
    kinds: Sequence[ContextKind] = (),
) -> Nodes:
    """Sobol points of [mean - std, mean + std] of the contexts seen, within the bounds (docs/methods.md).

    u·(high - low) + low: the published code has the sign wrong. Whole numbers are rounded; of a choice, each
    level that was seen is in the box.
    """
    shares = np.full(len(contexts), 1 / len(contexts)) if weights is None else weights
    mean = shares @ contexts
    deviation = np.sqrt(shares @ (contexts - mean) ** 2)
    low, high = np.maximum(mean - deviation, lower), np.minimum(mean + deviation, upper)
    uniform = sobol(count, len(low), seed)
    points = low + (high - low) * uniform
    for d, kind in enumerate(kinds):
        if kind.choice:
            levels = np.unique(contexts[shares > 0, d])
            points[:, d] = levels[np.minimum((uniform[:, d] * len(levels)).astype(int), len(levels) - 1)]
        elif kind.levels:
            points[:, d] = np.round(points[:, d] * (kind.levels - 1)) / (kind.levels - 1)
    return Nodes.equal(points)


def whole_space(count: int, seed: int, kinds: Sequence[ContextKind]) -> Array:
    """Sobol points of the whole unit box of the contexts, count × Dc."""
    points = sobol(count, len(kinds), seed)
    for d, kind in enumerate(kinds):
        if kind.levels:
            level = np.minimum((points[:, d] * kind.levels).astype(int), kind.levels - 1)
            points[:, d] = level / (1 if kind.choice else kind.levels - 1)
    return points
