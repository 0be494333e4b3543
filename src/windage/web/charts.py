"""The pictures of the page: what to expect, how conditions vary, how the recommendation settled.

Each is a row ``{"key", "group", "title", "words", "svg"}``; ``words`` says the same in a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import CategoricalDistribution

from windage.studies.entries import Entry
from windage.studies.file import StudyFile
from windage.studies.pictures import values_of
from windage.studies.quantities import counted
from windage.web import varying
from windage.web.labels import Figure, named, numbers, row
from windage.web.svg import Picture, Scale, across, upward

if TYPE_CHECKING:
    from windage import Prediction, Recommendation
    from windage.studies.store import Everything

POINTS = 33
"""Of a curve over a decision variable: each takes some hundredths of a second with hundreds of days."""
MOST = 6
"""So many variables, and so many conditions, have pictures."""
ROOM = 0.06
"""Of the values' range, left free at either end of an axis."""


def known(
    file: StudyFile, found: Everything, best: Mapping[str, Any], entries: Sequence[Entry]
) -> list[Figure]:
    """Pictures of what is known now; ``best`` is the recommended decision."""
    drawn = [_expected(file, found, best, entries, name, i) for i, name in enumerate([*file.space][:MOST])]
    for i, name in enumerate([*file.contexts][:MOST]):
        drawn += varying.varies(file, found, name, f"v{i}")
    return drawn


def settled(file: StudyFile, points: Mapping[int, Recommendation]) -> list[Figure]:
    """How the recommendation settled, one picture for each decision variable."""
    return [_settled(file, points, name, i) for i, name in enumerate([*file.space][:MOST])]


def _place(kind: Any, value: Any) -> float:
    """Where a value stands along its axis: words by their place in the list."""
    if isinstance(kind, CategoricalDistribution):
        return float(kind.choices.index(value)) if value in kind.choices else -1.0
    return float(value)


def _across(file: StudyFile, name: str) -> Scale:
    kind: Any = file.space[name]
    if isinstance(kind, CategoricalDistribution):
        words = tuple(str(choice) for choice in kind.choices)
        return across(-0.5, len(words) - 0.5, words=words)
    return across(kind.low, kind.high, log=kind.log, show=numbers)


def _reach(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis that holds all values."""
    low, high = min(values), max(values)
    more = ROOM * (high - low) or 0.5 * abs(high) or 1.0
    return low - more, high + more


def _expected(
    file: StudyFile, found: Everything, best: Mapping[str, Any], entries: Sequence[Entry], name: str, i: int
) -> Figure:
    """The expected outcome over one decision variable, with its band and single results."""
    kind: Any = file.space[name]
    values = values_of(kind, POINTS)
    rows = [found.axes.to_windage({**best, name: value}) for value in values]
    at = found.optimizer.predict(rows)
    xs, middle = [_place(kind, v) for v in values], [p.expected for p in at]
    low, high = [p.interval[0] for p in at], [p.interval[1] for p in at]
    told = [e for e in entries if name in e.decision]
    seen = [e.value for e in told]
    picture = Picture(
        f"Expected {named(file, 'value')} over {named(file, name)}",
        _peak(file, name, values, at, best),
        _across(file, name),
        upward(*_span([*middle, *_likely(found, told)], low, high), show=numbers),
        named(file, name),
    )
    if isinstance(kind, CategoricalDistribution):
        picture.uprights(xs, low, high, "range")
        picture.dots(xs, middle, "mean", 6)
    else:
        picture.band(xs, low, high)
        picture.line(xs, middle, "curve")
    picture.dots([_place(kind, e.decision[name]) for e in told], seen, "seen")
    mine = float(np.interp(_place(kind, best[name]), xs, middle))
    picture.dots([_place(kind, best[name])], [mine], "best", 7)
    words = "The line is what to expect on average, the band how sure that is, each dot one day. "
    others = "The other decisions are as recommended. " if len(file.space) > 1 else ""
    return row(f"e{i}", "expected", picture, (words + others).strip())


def _likely(found: Everything, told: Sequence[Entry]) -> list[float]:
    """Results that do not look mistyped: the others would flatten the picture."""
    rows = found.known.observations
    odd = {rows[index]["number"] for index in found.optimizer.suspects}
    return [e.value for e in told if e.number not in odd]


def _span(values: Sequence[float], low: Sequence[float], high: Sequence[float]) -> tuple[float, float]:
    """Ends that hold the values and as much of the band as does not flatten them."""
    bottom, top = _reach(values)
    room = 0.5 * (top - bottom)
    return max(min(*low, bottom), bottom - room), min(max(*high, top), top + room)


def _peak(
    file: StudyFile, name: str, values: Sequence[Any], at: Sequence[Prediction], best: Mapping[str, Any]
) -> str:
    value, mine = file.quantities["value"], file.quantities[name]
    ends = [f"{value.show(at[k].expected)} at {mine.show(values[k])}" for k in (0, -1)]
    return f"Recommended: {mine.show(best[name])}. Expected at the ends: {ends[0]}, {ends[1]}."


def _settled(file: StudyFile, points: Mapping[int, Recommendation], name: str, i: int) -> Figure:
    """What was recommended after so many days."""
    kind: Any = file.space[name]
    counts = sorted(points)
    places = [_place(kind, points[n].decision[name]) for n in counts]
    quantity = file.quantities[name]
    ends = [counts[0], counts[-1]] if len(counts) > 1 else [counts[0]]
    parts = [f"{quantity.show(points[n].decision[name])} after {counted(n, 'day')}" for n in ends]
    words = f"Recommended: {', '.join(parts)}."
    picture = Picture(
        f"How the recommended {named(file, name)} settled",
        words,
        across(min(counts) - 0.5, max(counts) + 0.5, show=lambda v: f"{v:g}" if v == int(v) else ""),
        _up_variable(file, name),
        "days told",
    )
    picture.line(counts, places, "curve")
    picture.dots(counts, places, "mean", 4)
    return row(f"s{i}", "settled", picture, words)


def _up_variable(file: StudyFile, name: str) -> Scale:
    """The whole range of a decision variable, upwards."""
    kind: Any = file.space[name]
    if isinstance(kind, CategoricalDistribution):
        words = tuple(str(choice) for choice in kind.choices)
        return upward(-0.5, len(words) - 0.5, words=words)
    return upward(kind.low, kind.high, log=kind.log, show=numbers)
