"""Optuna's study of a study file, loaded or created."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.storages import RDBStorage
from optuna.study import StudyDirection

from windage.studies import locks, reading
from windage.studies.file import StudyFile


def optuna_study(file: StudyFile, storage: RDBStorage) -> optuna.Study:
    """Optuna's study, loaded or created; the sampler that asks comes when it is needed."""
    wanted = StudyDirection[file.direction.upper()]
    keys: Any = {"study_name": file.name, "storage": storage, "sampler": optuna.samplers.RandomSampler()}
    try:
        found = optuna.load_study(**keys)
        if found.direction == wanted or _has_trials(found, storage):
            return found
        with locks.hold(storage, file.name, "asking"), locks.hold(storage, file.name, "telling"):
            found = optuna.load_study(**keys)  # another worker may have been quicker
            if found.direction == wanted or _has_trials(found, storage):
                return found
            optuna.delete_study(study_name=file.name, storage=storage)  # made anew below
    except KeyError:
        pass
    return optuna.create_study(**keys, direction=wanted, load_if_exists=True)


def _has_trials(study: optuna.Study, storage: RDBStorage) -> bool:
    return storage.get_n_trials(reading.study_id(study)) > 0
