"""The two functionals without an ambiguity set: the mean, and the worst node."""

from __future__ import annotations

from torch import Tensor


def expectation(values: Tensor, weights: Tensor) -> Tensor:
    """Σ_m w_m g_m (the paper's SBO-KDE, Algorithm 1 line 5).

    Args:
        values: ``... × M``.
        weights: ``M``, non-negative, sum 1.

    Returns:
        ``...``.
    """
    return values @ weights


def worst_case(values: Tensor) -> Tensor:
    """min_m g_m (StableOpt).

    Args:
        values: ``... × M``.

    Returns:
        ``...``.
    """
    # amin would share the gradient between ties; one of them is enough, and cheaper
    return values.min(dim=-1).values
