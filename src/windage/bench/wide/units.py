"""Natural units for the contexts of the wide suite."""

from __future__ import annotations

from windage.bench.wide.contexts import ContextDistribution, Quantiles
from windage.space import Array


def stretched(distribution: ContextDistribution, *ends: tuple[float, float]) -> ContextDistribution:
    """A distribution about the unit box, moved to the box of these ends, one pair a coordinate."""
    quantiles = tuple(
        _stretch(quantile, low, high)
        for quantile, (low, high) in zip(distribution.quantiles, ends, strict=True)
    )
    return ContextDistribution(
        quantiles, distribution.correlation, None if distribution.bounds is None else ends
    )


def _stretch(quantile: Quantiles, low: float, high: float) -> Quantiles:
    def moved(uniform: Array) -> Array:
        return low + (high - low) * quantile(uniform)

    return moved
