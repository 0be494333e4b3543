"""Corrections of a study: facts beside what was told, kept in the study's system attributes.

Optuna changes no finished trial. So every change is an attribute of its own, ``windage:change:00000003``,
written at once: there is no half correction. What counts now follows from trials and changes
(``windage.changes``).
"""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from optuna import Study
from optuna.trial import FrozenTrial, TrialState

from windage.changes import Change, Correction, Kind, check, standing
from windage.errors import ConfigurationError
from windage.studies import reading, records
from windage.studies.optuna_internals import storage_of
from windage.studies.storage import StorageError

KEY = "windage:change:"
"""Of a change; its place in the order follows, with eight digits."""
PLACES_TRIED = 5
"""Of a worker that has died PostgreSQL may still commit a change, though its lock is given up. Where two
write the same attribute, Optuna keeps the first and does not say so; the other then takes the next place."""
LATEST = 1e11
"""Seconds of the epoch, in the year 5138: when a change was made is earlier."""


def changes(study: Study) -> tuple[Change, ...]:
    """Every change of a study, in the order made."""
    return changes_in(storage_of(study).get_study_system_attrs(reading.study_id(study)))


def changes_in(attributes: Mapping[str, Any]) -> tuple[Change, ...]:
    """The same, from the study's system attributes."""
    return tuple(_change(name, attributes[name]) for name in _names(attributes))


def _names(attributes: Mapping[str, Any]) -> list[str]:
    """The attributes that are changes, in the order made."""
    found = [name for name in attributes if name.startswith(KEY)]
    for name in found:
        if not re.fullmatch("[0-9]{8}", name.removeprefix(KEY)):
            raise _damaged(name)
    return sorted(found)


def write(study: Study, change: Change, told: Collection[int]) -> None:
    """Add a change, made now; or a TrialError. ``told``: the numbers that there are. Nobody else changes."""
    storage, key = storage_of(study), reading.study_id(study)
    last = f"the last told is {max(told)}" if told else "nothing was told yet"
    row = json.loads(json.dumps(replace(change, time=time.time()).to_dict()))
    for _ in range(PLACES_TRIED):
        attributes = storage.get_study_system_attrs(key)
        check(change, told, changes_in(attributes), last, "decision")
        names = _names(attributes)
        place = 1 + int(names[-1].removeprefix(KEY)) if names else 0
        storage.set_study_system_attr(key, records.FIT, {})  # nothing learnt from the mistake stays
        storage.set_study_system_attr(key, f"{KEY}{place:08d}", row)
        if storage.get_study_system_attrs(key).get(f"{KEY}{place:08d}") == row:
            return
    raise StorageError("the change was not written: others change the study at this moment. Try again.")


def current(trials: Sequence[FrozenTrial], made: Sequence[Change]) -> list[FrozenTrial]:
    """Trials as they count now: corrected ones as corrected, forgotten ones left out."""
    stands = standing(made)
    found = (corrected(trial, stands.get(trial.number)) for trial in trials)
    return [trial for trial in found if trial is not None]


def corrected(trial: FrozenTrial, now: Correction | None) -> FrozenTrial | None:
    """One trial as it counts now; None where it is forgotten."""
    if now is None or trial.state != TrialState.COMPLETE:
        return trial
    return None if now.forgotten else with_parts(trial, now)


def with_parts(trial: FrozenTrial, now: Correction) -> FrozenTrial:
    """A finished trial that says what its correction says."""
    found = copy.copy(trial)
    found.params = {**trial.params, **now.decision}
    met = trial.user_attrs.get(records.CONTEXT)
    context = {**(met if isinstance(met, dict) else {}), **now.context}
    found.user_attrs = {**trial.user_attrs, records.CONTEXT: context}
    if now.value is not None:
        found.value = now.value
    return found


def _change(name: str, row: Any) -> Change:
    try:
        found = Change(**row)
    except TypeError:
        raise _damaged(name) from None
    number, parts = found.number, (found.decision, found.context)
    right = (
        isinstance(number, int)
        and not isinstance(number, bool)
        and found.kind in get_args(Kind)
        and all(part is None or isinstance(part, Mapping) for part in parts)
        and all(records.is_value(v) for part in parts for v in (part or {}).values())
        and (found.value is None or records.is_finite(found.value))
        and isinstance(found.why, str)
        and (found.time is None or (records.is_finite(found.time) and 0 <= found.time < LATEST))
    )
    if not right:
        raise _damaged(name)
    return found


def _damaged(name: str) -> ConfigurationError:
    return ConfigurationError(
        f"the study's attribute {name!r} is damaged: windage did not write it so. Bring back a copy of the "
        "storage, or delete this attribute there."
    )
