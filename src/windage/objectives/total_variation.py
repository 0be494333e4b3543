"""The worst expectation in a total-variation ball (the paper's Proposition 2), in closed form.

    min_q { Σ_m q_m g_m + q_0 floor :  q ≥ 0,  Σ q = 1,  Σ_m |q_m - w_m| + q_0 ≤ radius }

No solver is needed: move radius/2 of probability from the highest values to the lowest point there is, the
smaller of ``floor`` (the infimum over the whole context space) and of the values themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windage.search import Valued
from windage.space import Array


class Remaining(NamedTuple):
    """What is left when probability is taken from the highest values."""

    weights: Array
    """``... × M``."""
    moved: float
    """The probability taken."""


def remaining(values: Array, weights: Array, radius: float) -> Remaining:
    """What is left of the weights when radius/2 of probability is taken from the highest values.

    Args:
        values: ``... × M``.
        weights: ``M`` or ``... × M``, non-negative, sum 1.
        radius: the full L1 distance allowed, 0 to 2 (2 and more: everything is taken).
    """
    moved = min(max(float(radius), 0.0), 2.0) / 2
    if moved >= 1:
        return Remaining(np.zeros_like(values), moved)
    if weights.ndim == 1 and (weights == weights[0]).all():
        return Remaining(_equal_left(values, float(weights[0]), moved), moved)
    order = np.argsort(-values, axis=-1)
    ranked = np.take_along_axis(np.broadcast_to(weights, values.shape), order, axis=-1)
    # mass before each node, counted from the top; the last node taken is split
    before = np.cumsum(ranked, axis=-1) - ranked
    kept = ranked - np.minimum(np.maximum(moved - before, 0), ranked)
    left = np.empty_like(kept)
    np.put_along_axis(left, order, kept, axis=-1)
    return Remaining(left, moved)


def _equal_left(values: Array, weight: float, moved: float) -> Array:
    """The remaining weights where all were equal: a selection instead of a sort; ties share what is left."""
    count = values.shape[-1]
    rank = count - 1 - min(int(moved * count), count - 1)
    limit = np.partition(values, rank, axis=-1)[..., rank : rank + 1]  # the node that is split
    below, tie = values < limit, values == limit
    left = np.maximum(1 - moved - weight * below.sum(axis=-1, keepdims=True), 0)  # rounding may pass 0
    return np.where(below, weight, np.where(tie, left / tie.sum(axis=-1, keepdims=True), 0.0))


def total_variation(
    values: Array, weights: Array, radius: float, floor: Array | float | None = None
) -> Valued:
    """The least expectation over distributions within ``radius`` (full L1 distance) of the weights.

    Args:
        values: g at the nodes, ``... × M``.
        weights: ``M`` or ``... × M``, non-negative, sum 1.
        radius: 0 gives the expectation; 2 and more the infimum.
        floor: inf over the context space of g, ``...`` or one number; None: the least of the values.

    Returns:
        The value ``...`` and its gradient in the values, ``... × M``: what is left of the weights. What was
        taken is added at the lowest value, unless ``floor`` is lower: then radius/2 is the slope in it.
    """
    values, weights = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    left, moved = remaining(values, weights, radius)
    where = values.argmin(axis=-1)[..., None]
    lowest = np.take_along_axis(values, where, axis=-1)[..., 0]
    least = lowest if floor is None else np.minimum(floor, lowest)
    value = (left * values).sum(axis=-1) + moved * least
    at_lowest = np.take_along_axis(left, where, axis=-1) + moved * (lowest <= least)[..., None]
    np.put_along_axis(left, where, at_lowest, axis=-1)
    return Valued(value, left)
