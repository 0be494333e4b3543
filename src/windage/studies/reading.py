"""The trials of a study as its storage has them at this moment.

A database is read by one plain query for each of Optuna's tables (optuna_internals.py says why). A finished
trial is read once. Other storages are read as Optuna does.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from optuna import Study
from optuna.distributions import BaseDistribution, json_to_distribution
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from windage.studies.optuna_internals import INFINITE, database_of, storage_of, tables

_FINISHED: WeakKeyDictionary[RDBStorage, dict[tuple[Any, ...], FrozenTrial]] = WeakKeyDictionary()
"""Of each storage, the finished trials that were read, by their heads: they never change, but the ids of a
deleted study are given again."""
FEW = 500
"""So many ids may stand in one query."""
HEAD = ("trial_id", "number", "state", "datetime_start", "datetime_complete")


def trials(study: Study, states: Collection[TrialState] | None = None) -> list[FrozenTrial]:
    """All trials, or those in some states, in the order of their numbers; without intermediate values."""
    backend = database_of(storage_of(study))
    if backend is None:
        return study.get_trials(deepcopy=False, states=None if states is None else tuple(states))
    finished, key = _FINISHED.setdefault(backend, {}), study_id(study)
    with backend.engine.connect() as connection:
        heads = _heads(connection, key, states)
        new = _read(connection, key, [head for head in heads if tuple(head) not in finished])
    keys = {head[0]: tuple(head) for head in heads}
    finished.update((keys[i], t) for i, t in new.items() if t.state.is_finished())
    return [new[head[0]] if head[0] in new else finished[tuple(head)] for head in heads]


def trial(study: Study, number: int) -> FrozenTrial | None:
    """One trial as it is now, or None where there is no such number."""
    storage = storage_of(study)
    try:
        return (database_of(storage) or storage).get_trial(trial_id(study, number))
    except KeyError:
        return None


def study_id(study: Study) -> int:
    """The storage's key of a study."""
    return storage_of(study).get_study_id_from_name(study.study_name)


def trial_id(study: Study, number: int) -> int:
    """The storage's key of a trial; a KeyError where there is no such number."""
    storage = storage_of(study)
    backend = database_of(storage) or storage
    return backend.get_trial_id_from_study_id_trial_number(study_id(study), number)


def _heads(connection: Any, study_key: int, states: Collection[TrialState] | None) -> list[Any]:
    """Id, number, state, start and end of each trial."""
    from sqlalchemy import select

    columns = tables()["trials"].c
    query = select(*(columns[name] for name in HEAD))
    query = query.where(columns.study_id == study_key).order_by(columns.number)
    if states is not None:
        query = query.where(columns.state.in_(states))
    return list(connection.execute(query))


def _read(connection: Any, study_key: int, heads: Sequence[Any]) -> dict[int, FrozenTrial]:
    """The rest of these trials. What is read after a trial's state is at least as new as that."""
    if not heads:
        return {}
    rows = _Rows(connection, study_key, [head[0] for head in heads])
    params = rows.of("trial_params", "param_name", "param_value", "distribution_json")
    values = rows.of("trial_values", "objective", "value", "value_type")
    user = rows.of("trial_user_attributes", "key", "value_json")
    system = rows.of("trial_system_attributes", "key", "value_json")
    return {
        key: FrozenTrial(
            number=number,
            state=state,
            value=None,
            values=[INFINITE.get(kind, value) for _, value, kind in sorted(values[key])] or None,
            datetime_start=_local(start),
            datetime_complete=_local(end),
            params={name: _distribution(kind).to_external_repr(value) for name, value, kind in params[key]},
            distributions={name: _distribution(kind) for name, _, kind in params[key]},
            user_attrs={name: json.loads(text) for name, text in user[key]},
            system_attrs={name: json.loads(text) for name, text in system[key]},
            intermediate_values={},
            trial_id=key,
        )
        for key, number, state, start, end in heads
    }


class _Rows:
    """Rows of Optuna's tables that belong to some trials of a study."""

    def __init__(self, connection: Any, study_key: int, trial_keys: Sequence[int]) -> None:
        self._connection, self._study_key, self._trial_keys = connection, study_key, trial_keys
        self._tables = tables()

    def of(self, name: str, *columns: str) -> dict[int, list[Any]]:
        """The rows of a table by trial, in the order in which they were written."""
        from sqlalchemy import select

        table = self._tables[name]
        query = select(table.c.trial_id, *(table.c[column] for column in columns))
        if len(self._trial_keys) <= FEW:
            query = query.where(table.c.trial_id.in_(self._trial_keys))
        else:
            every = self._tables["trials"]
            query = query.join(every, every.c.trial_id == table.c.trial_id)
            query = query.where(every.c.study_id == self._study_key)
        found = defaultdict(list)
        for row in self._connection.execute(query.order_by(list(table.c)[0])):  # noqa: RUF015
            found[row[0]].append(row[1:])
        return found


_distribution: Callable[[str], BaseDistribution] = lru_cache(maxsize=1024)(json_to_distribution)


def _local(moment: datetime | None) -> datetime | None:
    """Optuna keeps UTC and returns local time, both without a time zone."""
    return None if moment is None else moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)
