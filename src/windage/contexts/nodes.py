"""Weighted nodes: what every objective sees of a distribution of the context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windage.search import sobol
from windage.space import Array


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


def grid(contexts: Array, size: int) -> Nodes:
    """The contexts seen, counted on a full grid of ceil(size^(1/Dc))^Dc points: each at its nearest."""
    dimensions = contexts.shape[1]
    side = 1
    while side**dimensions < size:  # ceil(size^(1/Dc)) without the rounding of a float root
        side += 1
    index = np.indices((side,) * dimensions).reshape(dimensions, -1).T
    nearest = np.clip(np.round(contexts * (side - 1)), 0, side - 1).astype(np.intp)
    strides = np.array([side**k for k in reversed(range(dimensions))])
    counts = np.bincount(nearest @ strides, minlength=len(index))
    return Nodes(index / (side - 1), counts / len(contexts))


def box(contexts: Array, lower: Array, upper: Array, count: int, seed: int) -> Nodes:
    """Sobol points of [mean - std, mean + std] of the contexts seen, within the bounds (docs/methods.md).

    u·(high - low) + low: the published code has the sign wrong.
    """
    mean, deviation = contexts.mean(axis=0), contexts.std(axis=0)
    low, high = np.maximum(mean - deviation, lower), np.minimum(mean + deviation, upper)
    return Nodes.equal(low + (high - low) * sobol(count, len(low), seed))
