"""The distribution of the context at the moment of a decision, from all that is known then.

First the KDE of the contexts seen, old ones forgotten; then what is known of the next context, or forecast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windage.contexts import forgetting, shift, skill
from windage.contexts.conditioning import Marginal, forecast
from windage.contexts.forecasts import Forecast
from windage.contexts.kde import Bandwidth, Boundary, Kde
from windage.contexts.shift import Shift
from windage.contexts.skill import ForecastSkill, Track, Use
from windage.dataset import Dataset
from windage.errors import InputError
from windage.space import Array


@dataclass(frozen=True)
class Given:
    """What is known of the next context, checked."""

    known: Mapping[str, Any] = field(default_factory=dict)
    """Context → value."""
    forecast: Mapping[str, Forecast] = field(default_factory=dict)
    """Context → its distribution."""


NOTHING = Given()


def estimate(
    data: Dataset, bandwidth: Bandwidth | float, boundary: Boundary, forget: Any = None
) -> Kde | None:
    """The distribution of the contexts of a dataset; None where it has no context."""
    if not data.contexts.names:
        return None
    key = f"density {bandwidth} {boundary} {forget}"
    if key not in data.memo:
        scale, weights = data.scale, age_weights(data, forget)
        data.memo[key] = Kde.of(
            data.boxed_c, bandwidth, boundary, scale.lower, scale.upper, weights, scale.kinds
        )
    found: Kde = data.memo[key]
    return found


def age_weights(data: Dataset, forget: Any) -> Array | None:
    """The weights of ``boxed_c`` by age; None: they are equal."""
    rows, count = data.boxed_rows, len(data.boxed_c)
    if forget is None or count < 2:
        return None
    half = forgetting.half_life(forget)
    if half is None:
        return forgetting.learnt(data.boxed_c, data.scale.kinds)
    ages = np.arange(count, dtype=float)[::-1]
    if half[1]:
        times = [data.observations.times[row] for row in rows]
        if any(time is None for time in times):
            raise InputError(
                "forget is in days, but not every observation has a time: tell(..., time=...), or give the "
                "half-life in observations."
            )
        when = np.array(times, dtype=float)
        ages = when.max() - when
    return forgetting.by_half_life(ages, half[0])


def at_the_moment(data: Dataset, kde: Kde, given: Given, standing: Mapping[str, Forecast]) -> Kde:
    """The distribution of the next context. ``standing``: distributions that are known for good."""
    names = data.contexts.names
    known = {
        names.index(name): float(data.unit_contexts(_row(data, name, value))[0, names.index(name)])
        for name, value in given.known.items()
        if name in names
    }
    marginals: dict[int, Marginal] = {}
    for name, found in {**standing, **given.forecast}.items():
        if name not in names or name in given.known:
            continue
        d = names.index(name)
        track = past(data, name)
        use: Use = judged(data, name) if name in given.forecast else skill.AS_GIVEN
        if use != skill.NOT_USED:
            spread = float(np.sqrt(kde.shares @ (kde.centres[:, d] - kde.shares @ kde.centres[:, d]) ** 2))
            marginals[d] = skill.to_marginal(found, data.scale, d, track, use, spread or 0.25)
    if not known and not marginals:
        return kde
    return forecast(kde, known, marginals)


def _row(data: Dataset, name: str, value: Any) -> Array:
    """One context alone in numbers, 1 × Dc, the others not seen."""
    return data.contexts.numbers([{**dict.fromkeys(data.contexts.names), name: value}])


def past(data: Dataset, name: str) -> Track:
    """The past forecasts of a number beside what came."""
    d = data.contexts.names.index(name)
    unit = data.unit_contexts(data.seen)[:, d]
    rows, before = [], 0
    for value, told in zip(unit, data.observations.forecasts, strict=True):
        if np.isnan(value):
            continue
        if isinstance(told.get(name), tuple):
            rows.append((before, float(value), told[name]))
        before += 1
    return skill.track_of(rows, data.scale, d)


def judged(data: Dataset, name: str) -> Use:
    """How a forecast of this context is used now."""
    key = f"forecast {name}"
    if key not in data.memo:
        d = data.contexts.names.index(name)
        unit = data.unit_contexts(data.seen)[:, d]
        data.memo[key] = skill.judge(past(data, name), unit[~np.isnan(unit)])
    found: Use = data.memo[key]
    return found


def skills(data: Dataset) -> dict[str, ForecastSkill]:
    """Of each context that was forecast."""
    found = {}
    rows = zip(data.observations.contexts, data.observations.forecasts, strict=True)
    told = [name for context, row in rows for name in row if context.get(name) is not None]
    for name in data.contexts.names:
        if name in told:
            found[name] = ForecastSkill(name, told.count(name), judged(data, name))
    return found


def shift_of(data: Dataset) -> Shift | None:
    """Whether the distribution of a context seems to have changed, and since when."""
    if "shift" not in data.memo:
        data.memo["shift"] = _shift_of(data)
    found: Shift | None = data.memo["shift"]
    return found


def _shift_of(data: Dataset) -> Shift | None:
    seen = data.seen
    found = shift.find(seen, data.scale.kinds) if data.contexts.names else None
    if found is None:
        return None
    name, column = data.contexts.names[found.context], seen[-shift.LATEST :, found.context]
    level = None
    if found.level is not None:
        column = np.where(np.isnan(column), np.nan, column == found.level)
        level = data.scale.parameters[found.context].choices[found.level]  # type: ignore[union-attr]
    first = len(data.observations) - found.after
    return Shift(
        name,
        data.observations.numbers[first],
        data.observations.times[first],
        found.chance,
        float(np.nanmean(column[: -found.after])),
        float(np.nanmean(column[-found.after :])),
        level,
    )
