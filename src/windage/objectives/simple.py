"""The two objectives without an ambiguity set: the mean, and the worst node."""

from __future__ import annotations

import numpy as np

from windage.search import Valued
from windage.space import Array


def expectation(values: Array, weights: Array) -> Valued:
    """Σ_m w_m g_m (the paper's SBO-KDE, Algorithm 1 line 5).

    Args:
        values: ``... × M``.
        weights: ``M``, non-negative, sum 1.

    Returns:
        The value ``...`` and the gradient ``... × M``.
    """
    return Valued(values @ weights, np.broadcast_to(weights, values.shape))


def worst_case(values: Array) -> Valued:
    """min_m g_m (StableOpt).

    Args:
        values: ``... × M``.

    Returns:
        The value ``...`` and the gradient ``... × M``: 1 at one of the least, 0 elsewhere.
    """
    where = values.argmin(axis=-1)[..., None]
    gradient = np.zeros_like(values)
    np.put_along_axis(gradient, where, 1.0, axis=-1)
    return Valued(np.take_along_axis(values, where, axis=-1)[..., 0], gradient)
