"""What windage uses of Optuna and its dashboard beyond their public names. All of it is here.

Each item says why it is needed. tests/studies/test_optuna_internals.py fails where one is gone or changed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import optuna
from optuna import Study
from optuna.storages import BaseStorage, RDBStorage

PLOT_DATA = "dashboard:plot_data:"
"""Prefix of the study attributes that optuna-dashboard shows as figures.

Why: its ``save_plotly_graph_object`` cuts a figure into many attributes, written one after the other. A page
read in between gets pieces of two figures and breaks. One attribute cannot be torn.
"""

TESTED = "5.0.0"
"""The Optuna whose ``RDBStorage`` is built by ``quick_storage``. Any other version is built by itself."""


def storage_of(study: Study) -> BaseStorage:
    """The storage of a study.

    Why: a sampler is handed the study alone, and publishes its decision in the storage, as Optuna's own do.
    """
    return study._storage


def database_of(storage: BaseStorage) -> RDBStorage | None:
    """The database behind a storage, or None where it is kept elsewhere.

    Why: Optuna wraps a database in a cache, which has neither its connections nor its newest rows.
    """
    backend = getattr(storage, "_backend", storage)
    return backend if isinstance(backend, RDBStorage) else None


def quick_storage(url: str, engine: Any, engine_kwargs: dict[str, Any]) -> RDBStorage:
    """An ``RDBStorage`` on tables that are known to be complete, without importing Alembic.

    Why: its constructor imports Alembic each time to find that nothing is to do. That is a tenth of a second,
    an eighth of a ``windage tell``.
    """
    from sqlalchemy.orm import scoped_session, sessionmaker

    storage = RDBStorage.__new__(RDBStorage)
    storage.__dict__.update(
        url=url,
        engine=engine,
        engine_kwargs=engine_kwargs,
        scoped_session=scoped_session(sessionmaker(bind=engine)),
        skip_compatibility_check=True,
        heartbeat_interval=None,
        grace_period=None,
        heartbeat_stale_trial_callback=None,
        failed_trial_callback=None,
        _version_manager=None,
    )
    return storage


def made_by_this_optuna(engine: Any) -> bool:
    """Whether the Optuna that runs made the tables of a database, and finished."""
    from sqlalchemy import text
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with engine.connect() as connection:
            made_by = connection.execute(text("SELECT library_version FROM version_info")).scalar()
            stamp = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    except SQLAlchemyError:  # no such table; or no database, of which Optuna's own query will tell
        return False
    return made_by == optuna.__version__ == TESTED and stamp is not None


_ATTRIBUTES = {"trial_id": "Integer", "key": "String", "value_json": "String"}
COLUMNS: dict[str, dict[str, str]] = {
    "trials": {
        "trial_id": "Integer",
        "study_id": "Integer",
        "number": "Integer",
        "state": "Enum",
        "datetime_start": "DateTime",
        "datetime_complete": "DateTime",
    },
    "trial_params": {
        "param_id": "Integer",
        "trial_id": "Integer",
        "param_name": "String",
        "param_value": "Float",
        "distribution_json": "String",
    },
    "trial_values": {
        "trial_value_id": "Integer",
        "trial_id": "Integer",
        "objective": "Integer",
        "value": "Float",
        "value_type": "String",
    },
    "trial_user_attributes": {"trial_user_attribute_id": "Integer", **_ATTRIBUTES},
    "trial_system_attributes": {"trial_system_attribute_id": "Integer", **_ATTRIBUTES},
}
"""Optuna's tables of trials: the key first, then the columns that windage reads, each with its SQL type.

Why: Optuna reads trials through an object mapper; plain queries are more than twice as fast.
"""


@lru_cache
def tables() -> dict[str, Any]:
    """The tables of ``COLUMNS`` by name, for queries."""
    import sqlalchemy
    from optuna.trial import TrialState

    def kind(name: str) -> Any:
        return sqlalchemy.Enum(TrialState) if name == "Enum" else getattr(sqlalchemy, name)

    return {
        name: sqlalchemy.table(name, *(sqlalchemy.column(key, kind(of)) for key, of in columns.items()))
        for name, columns in COLUMNS.items()
    }


INFINITE = {"INF_POS": float("inf"), "INF_NEG": float("-inf")}
"""How ``trial_values.value_type`` says that a value is not finite."""
