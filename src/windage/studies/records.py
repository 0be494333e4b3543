"""What windage writes into Optuna's trials and studies, and how it reads it again. No engine here.

Of a trial:

- user attribute ``context``: the contexts met, {name: number}. It is told before the trial ends.
- user attribute ``windage:error``: what a failed program said.
- user attribute ``windage:row``: which row of a table it was.
- system attribute ``windage:decision``: all parameters of a running trial, as soon as they are chosen, and
  the time until which they count as pending.
- system attribute ``windage:until``: that time, when it was renewed.

Of a study:

- system attribute ``windage:fit``: the last ask's fit, where the next one starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, Trial

from windage.errors import InputError
from windage.space import number

CONTEXT, ERROR, ROW = "context", "windage:error", "windage:row"
DECISION, UNTIL, FIT = "windage:decision", "windage:until", "windage:fit"
LONGEST = 2000
"""Of what a failed program said, so many characters at its end are kept."""


def report_context(trial: Trial, /, **context: float) -> None:
    """Say which conditions a trial met: ``report_context(trial, demand=0.31)``, before the trial ends."""
    if not context:
        raise InputError(
            "report_context needs the contexts by name, such as report_context(trial, demand=3)."
        )
    trial.set_user_attr(CONTEXT, {name: number(v, f"context {name!r}") for name, v in context.items()})


def publish(storage: BaseStorage, trial_id: int, params: Mapping[str, Any], lease: float | None) -> None:
    """Let other workers see what this trial will do, and until when it counts."""
    until = None if lease is None else time.time() + lease
    storage.set_trial_system_attr(trial_id, DECISION, {"params": dict(params), "until": until})


def renew(storage: BaseStorage, trial_id: int, lease: float) -> None:
    """A running trial counts as pending for so many seconds from now."""
    storage.set_trial_system_attr(trial_id, UNTIL, time.time() + lease)


def published(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters of a trial: those suggested, and those chosen for it before its ask was cut off."""
    record = trial.system_attrs.get(DECISION)
    return {**record["params"], **trial.params} if record else dict(trial.params)


def lapses(trial: FrozenTrial, lease: float | None = None) -> float | None:
    """When a running trial no longer counts as pending, in seconds of the epoch; None: never.

    ``lease`` is for trials without one of their own: their ask was cut off, or was not windage's.
    """
    renewed = trial.system_attrs.get(UNTIL)
    if renewed is not None:
        return float(renewed)
    record = trial.system_attrs.get(DECISION)
    if record is not None:
        until: float | None = record["until"]
        return until
    if lease is None or trial.datetime_start is None:
        return None
    return trial.datetime_start.timestamp() + lease


def has_lapsed(trial: FrozenTrial, lease: float | None = None) -> bool:
    """Whether the trial was asked for so long ago that it no longer counts as pending."""
    until = lapses(trial, lease)
    return until is not None and until < time.time()


def context_of(trial: FrozenTrial) -> dict[str, float]:
    """The contexts told, as far as they are numbers; whoever wrote them."""
    told = trial.user_attrs.get(CONTEXT)
    if not isinstance(told, Mapping):
        return {}
    numbers = {k: v for k, v in told.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return {name: float(value) for name, value in numbers.items() if math.isfinite(value)}
