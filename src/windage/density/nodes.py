"""Weighted nodes: what every functional sees of a law of the context."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine


@dataclass(frozen=True)
class Nodes:
    """Points of the context's unit box, M × Dc, and their probabilities, M, which sum to 1."""

    points: Tensor
    weights: Tensor

    @classmethod
    def equal(cls, points: Tensor) -> Nodes:
        """Nodes of equal weight."""
        return cls(points, torch.full((len(points),), 1 / len(points), dtype=points.dtype))


def thinned(nodes: Nodes, count: int) -> Nodes:
    """About so many nodes in place of many of equal weight: means of strata, coordinate by coordinate."""
    m, dimensions = nodes.points.shape
    if m < 2 * count or not torch.equal(nodes.weights, nodes.weights[:1].expand(m)):
        return nodes
    groups = [nodes.points]
    side = round(count ** (1 / dimensions))
    for d in range(dimensions):
        groups = [part for g in groups for part in g[g[:, d].argsort(stable=True)].tensor_split(side)]
    weights = torch.tensor([len(g) / m for g in groups], dtype=nodes.weights.dtype)
    return Nodes(torch.stack([g.mean(0) for g in groups]), weights)


def sobol(count: int, dimensions: int, seed: int, skip: int = 0) -> Tensor:
    """Points of a scrambled Sobol sequence in the unit box after the first ``skip``, count × dimensions."""
    if dimensions == 0:
        return torch.zeros(count, 0, dtype=torch.double)
    engine = SobolEngine(dimensions, scramble=True, seed=seed).fast_forward(skip)
    points: Tensor = engine.draw(count, dtype=torch.double)
    return points


def sobol_box(low: Tensor, high: Tensor, count: int, seed: int) -> Nodes:
    """Sobol points of the box [low, high]: u·(high - low) + low (the published code has the sign wrong)."""
    return Nodes.equal(low + (high - low) * sobol(count, len(low), seed))


def empirical(contexts: Tensor) -> Nodes:
    """The contexts seen, each with the same weight."""
    return Nodes.equal(contexts)


def grid(contexts: Tensor, size: int) -> Nodes:
    """The empirical law on a full grid of ceil(size^(1/Dc))^Dc points: each context at its nearest point."""
    dimensions = contexts.shape[1]
    side = 1
    while side**dimensions < size:  # ceil(size^(1/Dc)) without the rounding of a float root
        side += 1
    axis = torch.linspace(0, 1, side, dtype=contexts.dtype)
    points = torch.cartesian_prod(*[axis] * dimensions).reshape(-1, dimensions)
    nearest = (contexts * (side - 1)).round().long().clamp(0, side - 1)
    strides = torch.tensor([side**k for k in reversed(range(dimensions))])
    weights = empirical(contexts).weights
    return Nodes(points, torch.bincount(nearest @ strides, weights, minlength=len(points)))


def box(contexts: Tensor, lower: Tensor, upper: Tensor, count: int, seed: int) -> Nodes:
    """Sobol points of [mean - std, mean + std] of the contexts seen, within the bounds (docs/methods.md)."""
    mean, deviation = contexts.mean(0), contexts.std(0, correction=0)
    low = torch.maximum(mean - deviation, lower)
    high = torch.minimum(mean + deviation, upper)
    return sobol_box(low, high, count, seed)
