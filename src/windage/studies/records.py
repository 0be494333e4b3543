"""What windage writes into Optuna's trials and studies, and how it reads it again. No engine here.

Of a trial:

- user attribute ``context``: the contexts met, {name: number or word}. It is told before the trial ends.
- user attributes ``windage:known`` and ``windage:forecast``: what was known before the decision, and what was
  forecast, by context.
- user attribute ``windage:error``: what a failed program said.
- user attribute ``windage:row``: the name of the table that brought it.
- user attribute ``windage:why``: what a decision is for, in words.
- user attribute ``windage:date``: when it happened, as ISO text, where somebody said so.
- system attribute ``windage:decision``: all parameters of a running trial, as soon as they are chosen, and
  the time until which they count as pending.
- system attribute ``windage:until``: that time, when it was renewed.

Of a study:

- system attribute ``windage:fit``: the last ask's fit, where the next one starts, and a digest of the space
  that it is of: with other bounds it would mean something else.
- system attributes ``windage:change:...``: changes of what was told, one each (corrections.py).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TypeGuard

from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, Trial

from windage.errors import InputError
from windage.space import Real, Value, number

CONTEXT, ERROR, ROW, DATE = "context", "windage:error", "windage:row", "windage:date"
WHY, KNOWN, FORECAST = "windage:why", "windage:known", "windage:forecast"
DECISION, UNTIL, FIT = "windage:decision", "windage:until", "windage:fit"
LONGEST = 2000
"""Of what a failed program said, so many characters at its end are kept."""


def report_context(trial: Trial, /, **context: Value | None) -> None:
    """Say which conditions a trial met: ``report_context(trial, demand=0.31)``, before the trial ends.

    A context is a number or one of its choices; None: it was not seen.
    """
    if not context:
        raise InputError(
            "report_context needs the contexts by name, such as report_context(trial, demand=3)."
        )
    trial.set_user_attr(CONTEXT, {name: _told(v, f"context {name!r}") for name, v in context.items()})


def _told(value: Value | None, label: str) -> Value | None:
    """A word or a number as it is kept; or an InputError."""
    return value if value is None or isinstance(value, str | bool) else number(value, label)


def report_known(trial: Trial, /, **known: Value) -> None:
    """Say which conditions are known before a trial's decision, before its first parameter is suggested."""
    if not known:
        raise InputError(
            "report_known needs the contexts by name, such as report_known(trial, weekday='sat')."
        )
    keep(trial, {name: _told(v, f"context {name!r}") for name, v in known.items()}, {})


def report_forecast(trial: Trial, /, **forecast: Any) -> None:
    """Say what is forecast for a trial, before its first parameter is suggested.

    Each is a mean, (mean, deviation), a sample of numbers, or a frozen distribution of ``scipy.stats``.
    """
    from windage.contexts.forecasts import Forecast

    if not forecast:
        raise InputError(
            "report_forecast needs the contexts by name, such as report_forecast(trial, demand=(80, 15))."
        )
    rows: dict[str, dict[str, Any]] = {}
    for name, given in forecast.items():
        found = Forecast.of(given, Real(), f"the forecast of {name!r}")
        rows[name] = {"mean": found.mean, "deviation": found.deviation}
        if len(found.values) > 1 and not isinstance(given, tuple):
            rows[name]["values"] = list(found.values)
    keep(trial, {}, rows)


def keep(trial: Trial, known: Mapping[str, Any], forecast: Mapping[str, Any]) -> None:
    """Keep with a trial what is known before its decision; an InputError where that is chosen already."""
    if trial.params:
        raise InputError(
            "this decision is chosen already. Report what is known, or forecast, before the first parameter "
            "is suggested."
        )
    for name, values in ((KNOWN, known), (FORECAST, forecast)):
        if values:
            trial.set_user_attr(name, dict(values))


def publish(storage: BaseStorage, trial_id: int, params: Mapping[str, Any], lease: float | None) -> None:
    """Let other workers see what this trial will do, and until when it counts."""
    until = None if lease is None else time.time() + lease
    storage.set_trial_system_attr(trial_id, DECISION, {"params": dict(params), "until": until})


def renew(storage: BaseStorage, trial_id: int, lease: float) -> None:
    """A running trial counts as pending for so many seconds from now."""
    storage.set_trial_system_attr(trial_id, UNTIL, time.time() + lease)


def published(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters of a trial: those suggested, and those chosen for it before its ask was cut off."""
    return {**_record(trial).get("params", {}), **trial.params}


def _record(trial: FrozenTrial) -> Mapping[str, Any]:
    """What ``publish`` wrote; empty where it wrote nothing, or another wrote something else."""
    found = trial.system_attrs.get(DECISION)
    return found if isinstance(found, Mapping) and isinstance(found.get("params"), Mapping) else {}


def lapses(trial: FrozenTrial, lease: float | None = None) -> float | None:
    """When a running trial no longer counts as pending, in seconds of the epoch; None: never.

    ``lease`` is for trials without one of their own: their ask was cut off, or was not windage's.
    """
    renewed = trial.system_attrs.get(UNTIL)
    if is_finite(renewed):
        return float(renewed)
    record = _record(trial)
    if record:
        until = record.get("until")
        return float(until) if is_finite(until) else None
    if lease is None or trial.datetime_start is None:
        return None
    return trial.datetime_start.timestamp() + lease


def has_lapsed(trial: FrozenTrial, lease: float | None = None) -> bool:
    """Whether the trial was asked for so long ago that it no longer counts as pending."""
    until = lapses(trial, lease)
    return until is not None and until < time.time()


def context_of(trial: FrozenTrial) -> dict[str, Any]:
    """The contexts told, as far as they are numbers or words; whoever wrote them."""
    told = trial.user_attrs.get(CONTEXT)
    if not isinstance(told, Mapping):
        return {}
    return {name: value for name, value in told.items() if is_value(value)}


def known_of(trial: FrozenTrial) -> dict[str, Any]:
    """The contexts that were known before the decision; whoever wrote them."""
    known = trial.user_attrs.get(KNOWN)
    return {n: v for n, v in known.items() if is_value(v)} if isinstance(known, Mapping) else {}


def forecast_of(trial: FrozenTrial) -> dict[str, dict[str, Any]]:
    """What was forecast before the decision, by context; whoever wrote it."""
    rows = trial.user_attrs.get(FORECAST)
    if not isinstance(rows, Mapping):
        return {}
    return {name: dict(row) for name, row in rows.items() if _is_forecast(row)}


def _is_forecast(row: Any) -> bool:
    """Whether it has a mean, a deviation above 0 or none, and values that are numbers or none."""
    if not isinstance(row, Mapping) or not is_finite(row.get("mean")):
        return False
    deviation, values = row.get("deviation", 0), row.get("values", [1])
    sampled = isinstance(values, list) and bool(values) and all(map(is_finite, values))
    return sampled and (deviation is None or (is_finite(deviation) and deviation > 0))


def is_value(value: Any) -> TypeGuard[Value]:
    """Whether it is a number that a float can hold, or a word."""
    return isinstance(value, str | bool) or is_finite(value)


def is_finite(value: Any) -> TypeGuard[float]:
    """Whether it is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def date_of(trial: FrozenTrial) -> str:
    """When it happened, as ISO text; empty where nobody said so."""
    date = trial.user_attrs.get(DATE)
    return date if isinstance(date, str) else ""


def why_of(trial: FrozenTrial) -> str:
    """What a decision is for; empty where nobody said so."""
    why = trial.user_attrs.get(WHY)
    return why if isinstance(why, str) else ""


def fits_in(attributes: Mapping[str, Any], space: str) -> dict[str, Any]:
    """The fit of the last ask, from the study's system attributes; empty where it is of another space."""
    kept = attributes.get(FIT)
    if not isinstance(kept, dict) or kept.get("space") != space:
        return {}
    fits = kept.get("fits")
    return fits if isinstance(fits, dict) else {}
