"""The trials of a study as its storage has them at this moment.

Optuna reads a database through an object mapper; the same rows by one plain query for each of its tables come
more than twice as fast (tests/test_year_of_use.py), which is what ``status`` of a long study waits for. A
finished trial is read once. Other storages are read as Optuna does.
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

_FINISHED: WeakKeyDictionary[RDBStorage, dict[tuple[Any, ...], FrozenTrial]] = WeakKeyDictionary()
"""Of each storage, the finished trials that were read, by their heads: they never change, but the ids of a
deleted study are given again."""
FEW = 500
"""So many ids may stand in one query."""


def trials(study: Study, states: Collection[TrialState] | None = None) -> list[FrozenTrial]:
    """All trials, or those in some states, in the order of their numbers; without intermediate values."""
    backend = getattr(study._storage, "_backend", study._storage)
    if not isinstance(backend, RDBStorage):
        return study._get_trials(deepcopy=False, states=states, use_cache=False)
    finished = _FINISHED.setdefault(backend, {})
    with backend.engine.connect() as connection:
        heads = _heads(connection, study._study_id, states)
        new = _read(connection, study._study_id, [head for head in heads if tuple(head) not in finished])
    keys = {head[0]: tuple(head) for head in heads}
    finished.update((keys[i], t) for i, t in new.items() if t.state.is_finished())
    return [new[head[0]] if head[0] in new else finished[tuple(head)] for head in heads]


def trial(study: Study, number: int) -> FrozenTrial | None:
    """One trial, or None where there is no such number."""
    storage: Any = getattr(study._storage, "_backend", study._storage)
    try:
        trial_id = storage.get_trial_id_from_study_id_trial_number(study._study_id, number)
    except KeyError:
        return None
    found: FrozenTrial = storage.get_trial(trial_id)
    return found


def _heads(connection: Any, study_id: int, states: Collection[TrialState] | None) -> list[Any]:
    """Id, number, state, start and end of each trial."""
    from optuna.storages._rdb.models import TrialModel
    from sqlalchemy import select

    columns = TrialModel.__table__.c
    query = select(
        *(columns[n] for n in ("trial_id", "number", "state", "datetime_start", "datetime_complete"))
    )
    query = query.where(columns.study_id == study_id).order_by(columns.number)
    if states is not None:
        query = query.where(columns.state.in_(states))
    return list(connection.execute(query))


def _read(connection: Any, study_id: int, heads: Sequence[Any]) -> dict[int, FrozenTrial]:
    """The rest of these trials. What is read after a trial's state is at least as new as that."""
    from optuna.storages._rdb import models
    from sqlalchemy import select

    if not heads:
        return {}

    def gathered(model: Any, *columns: str) -> dict[int, list[Any]]:
        """The rows of a table by trial, in the order in which they were written."""
        table = model.__table__
        query = select(table.c.trial_id, *(table.c[name] for name in columns))
        if len(heads) <= FEW:
            query = query.where(table.c.trial_id.in_([head[0] for head in heads]))
        else:
            every = models.TrialModel.__table__
            query = query.join(every, every.c.trial_id == table.c.trial_id).where(
                every.c.study_id == study_id
            )
        found = defaultdict(list)
        for row in connection.execute(query.order_by(*table.primary_key.columns)):
            found[row[0]].append(row[1:])
        return found

    params = gathered(models.TrialParamModel, "param_name", "param_value", "distribution_json")
    values = gathered(models.TrialValueModel, "objective", "value", "value_type")
    user = gathered(models.TrialUserAttributeModel, "key", "value_json")
    system = gathered(models.TrialSystemAttributeModel, "key", "value_json")
    plain: Callable[..., float] = models.TrialValueModel.stored_repr_to_value
    return {
        key: FrozenTrial(
            number=number,
            state=state,
            value=None,
            values=[plain(*row[1:]) for row in sorted(values[key])] or None,
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


_distribution: Callable[[str], BaseDistribution] = lru_cache(maxsize=1024)(json_to_distribution)


def _local(moment: datetime | None) -> datetime | None:
    """Optuna keeps UTC and speaks of local time, both without saying so."""
    return None if moment is None else moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)
