"""Widths of whole numbers and choices in a KDE, by the likelihood of each context given the others.

With the other coordinates' kernels fixed, the estimate that leaves out context i is linear in λ,

    p̂_-i(c_i) ∝ (1 - λ) S_i + λ/(L - 1) D_i,

S_i and D_i being the sums of the other coordinates' kernels over contexts of the same level and of other
ones. So the log likelihood is concave in λ (Hall, Racine & Li 2004 choose all widths so). The width of a
whole number is a share of the rule's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windage.contexts.axes import Axis, ChoiceAxis, IntegerAxis
from windage.space import Array, ContextKind

START = 0.5
"""λ before the first round, by the largest."""
SHARES = (1.0, 0.5, 0.25, 0.1)
"""Of the rule's width, for whole numbers."""
ROUNDS = 2
LATEST = 256
"""Contexts that are held out, one at a time: the latest."""
LEAST = 1e-12
HALVINGS = 40


def widths(
    axes: Sequence[Axis], contexts: Array, shares: Array, start: Array, kinds: Sequence[ContextKind]
) -> Array:
    """The widths of all coordinates, Dc; those of real numbers stay as they are."""
    contexts, shares = contexts[-LATEST:], shares[-LATEST:]
    found, own = start.copy(), list(axes)
    if len(contexts) < 2:
        return found
    kernels = [axis.kernels(c, c) for axis, c in zip(own, contexts.T, strict=True)]
    for _ in range(ROUNDS):
        for d, kind in enumerate(kinds):
            if not isinstance(own[d], ChoiceAxis | IntegerAxis):
                continue
            others = np.tile(shares, (len(shares), 1))
            np.fill_diagonal(others, 0.0)
            for e, kernel in enumerate(kernels):
                if e != d:
                    others *= kernel
            column = contexts[:, d]
            if kind.choice:
                found[d] = _level_width(column, others, shares, kind.levels)
                own[d] = ChoiceAxis(float(found[d]), kind.levels)
            else:
                tried = [IntegerAxis(share * float(start[d]), kind.levels) for share in SHARES]
                logs = [
                    _log_likelihood((a.kernels(column, column) * others).sum(axis=1), shares) for a in tried
                ]
                own[d] = tried[int(np.argmax(logs))]
                found[d] = tried[int(np.argmax(logs))].width
            kernels[d] = own[d].kernels(column, column)
    return found


def _log_likelihood(densities: Array, shares: Array) -> float:
    return float(np.log(np.maximum(densities, LEAST)) @ shares)


def _level_width(column: Array, others: Array, shares: Array, levels: int) -> float:
    """λ of the largest likelihood: where its slope, which falls, is 0."""
    same = np.where(column[:, None] == column, others, 0.0).sum(axis=1)
    apart = (others.sum(axis=1) - same) / (levels - 1)
    low, high = 0.0, (levels - 1) / levels

    def slope(width: float) -> float:
        return float(((apart - same) / np.maximum((1 - width) * same + width * apart, LEAST)) @ shares)

    if slope(high) >= 0:
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2
