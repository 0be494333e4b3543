"""What windage uses of Optuna beyond its public names is still there, and is what it was."""

import inspect
import re
from pathlib import Path

import optuna
import optuna_dashboard
import plotly.graph_objects
import pytest
from optuna.storages import RDBStorage
from sqlalchemy import create_engine
from sqlalchemy import inspect as inspect_database

import windage.studies
from windage.studies import optuna_internals
from windage.studies.optuna_internals import PLOT_DATA, TESTED, database_of, quick_storage, storage_of, tables

SOURCE = Path(windage.studies.__file__).parent


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def test_the_storage_of_a_study_and_the_database_behind_it(url):
    database = RDBStorage(url)
    study = optuna.create_study(storage=database)
    assert isinstance(storage_of(study), optuna.storages.BaseStorage)
    assert database_of(storage_of(study)) is database
    assert database_of(database) is database
    assert database_of(storage_of(optuna.create_study())) is None
    database.engine.dispose()


def test_a_quick_storage_is_like_one_that_optuna_built(url):
    whole = RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
    assert optuna.__version__ == TESTED, "compare the constructors of RDBStorage, then change TESTED"
    engine = create_engine(url, pool_pre_ping=True)
    assert optuna_internals.made_by_this_optuna(engine)
    quick = quick_storage(url, engine, {"pool_pre_ping": True})
    assert vars(quick).keys() == vars(whole).keys()
    own = ("engine", "scoped_session", "_version_manager", "skip_compatibility_check")
    for name in vars(whole).keys() - set(own):
        assert getattr(quick, name) == getattr(whole, name), name
    study = optuna.create_study(storage=quick)
    trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    study.tell(trial, 1.0)
    assert optuna.load_study(study_name=study.study_name, storage=whole).trials == study.trials
    for storage in (quick, whole):
        storage.engine.dispose()


def test_tables_of_another_optuna_are_left_to_optuna(url):
    whole = RDBStorage(url)
    with whole.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE version_info SET library_version = '4.0.0'")
    assert not optuna_internals.made_by_this_optuna(whole.engine)
    whole.engine.dispose()
    empty = create_engine("sqlite://")
    assert not optuna_internals.made_by_this_optuna(empty)
    empty.dispose()


def test_the_tables_are_those_of_the_database(url):
    whole = RDBStorage(url)
    database = inspect_database(whole.engine)
    for table in tables().values():
        columns = [column["name"] for column in database.get_columns(table.name)]
        assert {column.name for column in table.c} <= set(columns), table.name
        assert database.get_pk_constraint(table.name)["constrained_columns"] == [next(iter(table.c)).name]
    whole.engine.dispose()


def test_optuna_dashboard_keeps_figures_where_windage_writes_them():
    study = optuna.create_study()
    optuna_dashboard.save_plotly_graph_object(study, plotly.graph_objects.Figure(), graph_object_id="one")
    storage = storage_of(study)
    attributes = storage.get_study_system_attrs(storage.get_study_id_from_name(study.study_name))
    assert f"{PLOT_DATA}one:0" in attributes


def test_the_storages_methods_take_what_windage_gives_them():
    for name, arguments in {
        "get_study_id_from_name": ["study_name"],
        "get_trial_id_from_study_id_trial_number": ["study_id", "trial_number"],
        "get_study_system_attrs": ["study_id"],
        "set_study_system_attr": ["study_id", "key", "value"],
        "set_trial_system_attr": ["trial_id", "key", "value"],
        "set_trial_user_attr": ["trial_id", "key", "value"],
        "set_trial_state_values": ["trial_id", "state", "values"],
    }.items():
        method = getattr(optuna.storages.BaseStorage, name)
        assert list(inspect.signature(method).parameters)[1:] == arguments, name


def test_private_names_of_optuna_are_used_in_one_module_alone():
    private = re.compile(r"(?<!self)(?<!cls)\._[a-z]\w*|optuna[\w.]*\._|import _")
    for path in SOURCE.glob("*.py"):
        if path.stem != "optuna_internals":
            found = [line for line in path.read_text().splitlines() if private.search(line)]
            assert found == [], path.name
