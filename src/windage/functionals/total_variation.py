"""The worst expectation in a total-variation ball (the paper's Proposition 2), in closed form.

    min_q { Σ_m q_m g_m + q_0 floor :  q ≥ 0,  Σ q = 1,  Σ_m |q_m - w_m| + q_0 ≤ radius }

No solver is needed: move radius/2 of probability from the highest values to the lowest point there is, the
smaller of ``floor`` (the infimum over the whole context space) and of the values themselves.
"""

from __future__ import annotations

import torch
from torch import Tensor


def total_variation_weights(values: Tensor, weights: Tensor, radius: float) -> tuple[Tensor, float]:
    """What is left of the weights when radius/2 of probability is taken from the highest values.

    Args:
        values: ``... × M``.
        weights: ``M`` or ``... × M``, non-negative, sum 1.
        radius: the full L1 distance allowed, 0 to 2 (2 and more: everything is taken).

    Returns:
        The remaining weights, ``... × M``, and the probability taken.
    """
    moved = min(max(float(radius), 0.0), 2.0) / 2
    weights = weights.to(values)
    if moved >= 1:
        return torch.zeros_like(values), moved
    if weights.dim() == 1 and bool((weights == weights[0]).all()):
        return _equal_left(values, weights[0], moved), moved
    order = values.argsort(dim=-1, descending=True)
    ranked = weights.expand_as(values).gather(-1, order)
    # mass before each node, counted from the top; the last node taken is split
    before = ranked.cumsum(-1) - ranked
    left = ranked - (moved - before).clamp_min(0).minimum(ranked)
    return torch.zeros_like(left).scatter_(-1, order, left), moved


def _equal_left(values: Tensor, weight: Tensor, moved: float) -> Tensor:
    """The remaining weights where all were equal: a selection instead of a sort; ties share what is left."""
    count = values.shape[-1]
    taken = min(int(moved * count), count - 1)
    limit = values.kthvalue(count - taken, dim=-1, keepdim=True).values  # g_(k+1), the node that is split
    below = values < limit
    tie = values == limit
    left = 1 - moved - weight * below.sum(-1, keepdim=True)
    return torch.where(below, weight, torch.where(tie, left / tie.sum(-1, keepdim=True), 0.0))


def total_variation(
    values: Tensor, weights: Tensor, radius: float, floor: Tensor | float | None = None
) -> Tensor:
    """The least expectation over laws within ``radius`` (full L1 distance) of the weights.

    Args:
        values: g at the nodes, ``... × M``.
        weights: ``M`` or ``... × M``, non-negative, sum 1.
        radius: 0 gives the expectation; 2 and more the infimum.
        floor: inf over the context space of g, ``...`` or one number; None: the least of the values.

    Returns:
        ``...``; its gradient is the envelope's: the remaining weights on ∇g and the rest at the infimum.
    """
    lowest = values.min(dim=-1).values
    if floor is not None:
        lowest = torch.minimum(torch.as_tensor(floor, dtype=values.dtype), lowest)
    with torch.no_grad():
        left, moved = total_variation_weights(values, weights, radius)
    worst: Tensor = torch.linalg.vecdot(left, values) + moved * lowest
    return worst


def total_variation_law(values: Tensor, weights: Tensor, radius: float) -> Tensor:
    """The law that attains the least expectation, ``... × M``: what was taken lies on the lowest value."""
    law, moved = total_variation_weights(values, weights, radius)
    return law.scatter_add(-1, values.argmin(-1, keepdim=True), torch.full_like(law[..., :1], moved))
