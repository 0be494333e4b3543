"""Pictures of how a condition varies: a curve over numbers, columns for choices and whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from windage.space import Array, Categorical, Integer, Real
from windage.studies.file import StudyFile
from windage.web.labels import Figure, named, numbers, row
from windage.web.svg import Picture, Scale, across, upward

if TYPE_CHECKING:
    from windage.contexts import ContextDensity
    from windage.studies.store import Everything

CURVE = 161
"""Points of a density, which costs nothing."""
MOST_COLUMNS = 24
"""Choices and whole numbers that have a column each; more whole numbers share columns."""
PARTS = 12
"""Columns that whole numbers share."""
DRAWS = 40_000
"""From the density, for columns that are shared."""
LEGEND = "Bars are the days so far, {} what to expect. "


def varies(file: StudyFile, found: Everything, name: str, key: str) -> list[Figure]:
    """The conditions met, and how they are expected to vary; nothing where none was seen."""
    kind = file.contexts[name]
    rows = found.optimizer.observations.contexts
    seen = [one[name] for one in rows if one.get(name) is not None]  # a day may lack one
    if not seen:
        return []
    estimate = found.optimizer.density.marginal(name)
    if isinstance(kind, Real):
        return [_curve(file, name, kind, key, estimate, np.array(seen, dtype=float))]
    if isinstance(kind, Categorical):
        return [_each(file, name, key, estimate, seen, kind.choices)]
    if kind.high - kind.low < MOST_COLUMNS:
        return [_each(file, name, key, estimate, seen, range(kind.low, kind.high + 1))]
    return [_shared(file, name, kind, key, estimate, np.array(seen, dtype=float))]


def _curve(file: StudyFile, name: str, real: Real, key: str, estimate: ContextDensity, seen: Array) -> Figure:
    """Bars of the days so far, and the estimated density."""
    scaled = np.log(seen) if real.log else seen
    at, curve = _density(estimate, real, name, seen, scaled)
    counts, edges = np.histogram(scaled, bins=min(16, 4 + len(seen) // 4), density=True)
    edges = np.exp(edges) if real.log else edges
    top = 1.08 * max(float(curve.max()), float(counts.max()))
    words = _spread(file, name, seen)
    low, high = min(float(at[0]), float(edges[0])), max(float(at[-1]), float(edges[-1]))
    along = across(low, high, log=real.log, show=numbers)
    picture = _picture(file, name, words, along, top)
    picture.bars(edges.tolist(), counts.tolist())
    picture.line(at.tolist(), curve.tolist(), "curve")
    return row(key, "varies", picture, LEGEND.format("the line") + words)


def _density(
    estimate: ContextDensity, real: Real, name: str, seen: Array, scaled: Array
) -> tuple[Array, Array]:
    """Numbers, and the density at them; along a logarithmic axis, that of the logarithm."""
    reach = 0.1 * np.ptp(scaled) if real.log else 3.5 * estimate.bandwidth[name]
    reach = float(reach) or 0.5 * float(np.abs(scaled).max()) or 1.0
    ends = np.linspace(scaled.min() - reach, scaled.max() + reach, CURVE)
    at = np.exp(ends) if real.log else ends
    curve = estimate.pdf(at) * (at if real.log else 1.0)
    at, curve = at[curve > 0], curve[curve > 0]
    if not len(at):
        return np.array([seen.min(), seen.max()]), np.array([1.0, 1.0])
    return at, curve


def _each(
    file: StudyFile, name: str, key: str, estimate: ContextDensity, seen: Sequence[Any], levels: Sequence[Any]
) -> Figure:
    """A column for each choice, or for each whole number."""
    shares = [seen.count(level) / len(seen) for level in levels]
    likely = [float(estimate.pdf(level)) for level in levels]
    most = max(range(len(levels)), key=lambda k: likely[k])
    words = f"To be expected most often: {levels[most]}, in {100 * likely[most]:.0f} of 100 days."
    along = across(-0.5, len(levels) - 0.5, words=tuple(str(level) for level in levels))
    return _columns(file, name, key, words, along, [float(k) for k in range(len(levels))], shares, likely)


def _shared(
    file: StudyFile, name: str, kind: Integer, key: str, estimate: ContextDensity, seen: Array
) -> Figure:
    """Columns that a few whole numbers share."""
    draws = np.asarray(estimate.sample(DRAWS, seed=0)[:, 0], dtype=float)
    low, high = min(seen.min(), np.quantile(draws, 0.01)), max(seen.max(), np.quantile(draws, 0.99))
    edges = np.unique(np.linspace(max(low, kind.low), min(high, kind.high) + 1, PARTS + 1).round()) - 0.5
    shares = np.histogram(seen, edges)[0] / len(seen)
    likely = np.histogram(draws, edges)[0] / DRAWS
    middles = [(a + b) / 2 for a, b in pairwise(edges.tolist())]
    along = across(float(edges[0]), float(edges[-1]), show=lambda v: f"{v:g}" if v == int(v) else "")
    half = 0.42 * float(edges[-1] - edges[0]) / len(middles)
    words = _spread(file, name, seen)
    return _columns(file, name, key, words, along, middles, shares.tolist(), likely.tolist(), half)


def _columns(
    file: StudyFile,
    name: str,
    key: str,
    words: str,
    along: Scale,
    places: Sequence[float],
    shares: Sequence[float],
    likely: Sequence[float],
    half: float = 0.38,
) -> Figure:
    picture = _picture(file, name, words, along, 1.12 * max(*shares, *likely))
    picture.columns(places, half, shares)
    picture.dots(places, likely, "mean", 5)
    return row(key, "varies", picture, LEGEND.format("the dots") + words)


def _picture(file: StudyFile, name: str, words: str, along: Scale, top: float) -> Picture:
    title = f"How {named(file, name)} varies"
    return Picture(title, words, along, upward(0.0, top), named(file, name), y_numbers=False)


def _spread(file: StudyFile, name: str, seen: Array) -> str:
    """``Half of the days lie below 60 kg; seen so far: 40 to 81 kg.``"""
    quantity = file.quantities[name]
    ends = f"{quantity.figure(float(seen.min()))} to {quantity.show(float(seen.max()))}"
    return f"Half of the days lie below {quantity.show(float(np.quantile(seen, 0.5)))}; seen so far: {ends}."
