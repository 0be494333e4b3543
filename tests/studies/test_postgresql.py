"""Many workers on a real PostgreSQL, and what can go wrong: killed workers, a database that goes away."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import optuna
import psutil
import pytest
import sqlalchemy

from databases import GENEROUS, crash, start, until
from shops import ask, fault, run
from windage.errors import TrialError
from windage.studies import corrections, locks, reading, records
from windage.studies.collector import ResultCollector, register_form
from windage.studies.file import load
from windage.studies.locks import LockError
from windage.studies.plot_worker import PlotWorker
from windage.studies.store import StudyStore

pytestmark = pytest.mark.xdist_group("postgresql")
SIMULATE = """
import json, os, sys, time
stock, demand = float(sys.argv[1]), 4 + int(os.environ["WINDAGE_NUMBER"]) % 5
time.sleep(float(os.environ.get("SLOWLY", "0")))
print(json.dumps({"value": 5 * min(stock, demand) - 3 * stock, "context": {"demand": demand}}))
"""


@pytest.fixture
def study(postgresql_shop):
    """The study file on PostgreSQL, in a database of its own, and a program for it."""
    Path("simulate.py").write_text(SIMULATE)
    return postgresql_shop


COMMAND = f"{sys.executable} simulate.py {{stock}}"


def worker(trials, **environment):
    words = [sys.executable, "-m", "windage.cli", "run", "shop.toml", "--command", COMMAND]
    return subprocess.Popen(
        [*words, "--trials", str(trials), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def states(study):
    return [t.state.name for t in StudyStore.open(load(study)).trials()]


def test_four_workers_share_a_study(study):
    workers = [worker(4) for _ in range(4)]
    results = [w.communicate(timeout=GENEROUS) for w in workers]
    assert [w.returncode for w in workers] == [0] * 4, [err for _, err in results]
    assert [json.loads(out) for out, _ in results] == [{"told": 4, "failed": 0}] * 4
    entries = StudyStore.open(load(study)).entries()
    assert [e.number for e in entries] == list(range(16))  # no number twice, no result lost
    trials = StudyStore.open(load(study)).trials()
    lease = load(study).lease
    chosen = [t.system_attrs[records.DECISION]["until"] - lease for t in trials]  # when
    for a in trials:
        for b in trials:  # what was chosen while another was under way differs from it
            if a is not b and chosen[a.number] < chosen[b.number] < a.datetime_complete.timestamp():
                assert abs(a.params["stock"] - b.params["stock"]) > 1e-3
    assert all(e.context["demand"] == 4 + e.number % 5 for e in entries)  # each with its own context
    assert "16 told" in run("status", "shop.toml").stdout


def test_a_worker_killed_between_ask_and_tell(study):
    one = worker(1, SLOWLY="300")
    until(lambda: psutil.Process(one.pid).children())
    programs = psutil.Process(one.pid).children(recursive=True)
    one.send_signal(signal.SIGKILL)
    for program in programs:
        program.kill()
    one.communicate()
    assert states(study) == ["RUNNING"]
    store = StudyStore.open(load(study))
    (pending,) = store.state().pending
    assert pending.counts  # until its lease ends
    assert 0 < records.lapses(store.trials()[0]) - time.time() < 200
    store.renew(0, 1e-9)
    assert not StudyStore.open(load(study)).state().pending[0].counts
    assert ask(study)["number"] == 1  # the study goes on
    assert (
        run("tell", "shop.toml", "0", "--value", "1", "--context", "demand=3").exit_code == 0
    )  # late, and counts
    assert states(study) == ["COMPLETE", "RUNNING"]


TELLER = """
import sys
from pathlib import Path
from windage.studies.store import StudyStore
from windage.studies.file import load
store = StudyStore.open(load(Path("shop.toml")))
print("ready", flush=True)
for index in range(int(sys.argv[1]), int(sys.argv[2])):
    store.tell(index, {"demand": index}, 2.0 * index)
    print(index, flush=True)
"""


def test_a_worker_killed_while_it_tells(study):
    store = StudyStore.open(load(study))
    count = 24
    for _ in range(count):
        store.study.ask(dict(store.file.space))  # at random: quick
    done, pause = 0, 0.15
    while done < count:
        teller = subprocess.Popen(
            [sys.executable, "-c", TELLER, str(done), str(count)], stdout=subprocess.PIPE, text=True
        )
        assert teller.stdout.readline() == "ready\n"
        time.sleep(pause)
        pause *= 1.2  # on a slow machine, until something is told
        teller.send_signal(signal.SIGKILL)
        told = [int(line) for line in teller.communicate()[0].split()]
        trials = StudyStore.open(load(study)).trials()  # readable
        finished = [t for t in trials if t.state.name == "COMPLETE"]
        for trial in finished:
            assert (trial.value, trial.user_attrs["context"]["demand"]) == (2.0 * trial.number, trial.number)
        assert set(told) <= {t.number for t in finished}  # what was acknowledged is there
        done = len(finished)


def test_the_database_goes_away_and_comes_back(study, server):
    one = worker(5, SLOWLY="1")
    until(lambda: "COMPLETE" in states(study) or one.poll() is not None)
    assert one.poll() is None, one.communicate()
    crash(server, signal.SIGQUIT)  # PostgreSQL's immediate shutdown
    assert "storage failed" in fault("status", "shop.toml")
    assert any("It is tried again" in line for line in one.stderr)  # the worker has noticed, and waits
    start(server)
    out, err = one.communicate(timeout=GENEROUS)
    assert json.loads(out) == {"told": 5, "failed": 0}, err
    assert "The storage is back." in err
    entries = StudyStore.open(load(study)).entries()
    assert sorted(e.context["demand"] for e in entries) == sorted(4.0 + e.number % 5 for e in entries)
    assert len(entries) == 5
    left = [t for t in StudyStore.open(load(study)).trials() if t.state.name == "RUNNING"]
    assert all(
        records.published(t) == {} for t in left
    )  # at most an ask that was cut off, which counts for nothing


def test_two_people_tell_the_same_trial(study):
    ask(study)
    first, second = StudyStore.open(load(study)), StudyStore.open(load(study))
    first.tell(0, {"demand": 1}, 1)
    with pytest.raises(TrialError, match="told already"):
        second.tell(0, {"demand": 2}, 2)
    assert StudyStore.open(load(study)).entries()[0].context == {"demand": 1.0}


def test_the_password_is_nowhere(study, server):
    url = (
        server.get_uri(driver="psycopg")
        .replace("postgres:@", "postgres:geheim@")
        .replace("//postgres@", "//postgres:geheim@")
    )
    assert "geheim" in url
    study.write_text(study.read_text().replace(study.read_text().split('storage = "')[1].split('"')[0], url))
    shown = run("status", "shop.toml")
    assert shown.exit_code == 0, shown.exception
    assert "geheim" not in shown.output
    ask(study)
    dump = server.psql(
        "".join(
            f"SELECT value_json FROM {of}_{kind}_attributes;"
            for of in ("study", "trial")
            for kind in ("user", "system")
        )
    )
    assert "geheim" not in dump


def test_trials_are_read_as_optuna_reads_them(study):
    store = StudyStore.open(load(study))
    for i in range(8):
        trial = store.study.ask(dict(store.file.space))
        trial.set_user_attr("context", {"demand": i / 3})
        if i < 4:
            store.study.tell(trial, float("inf") if i == 2 else i / 7)
    for few in (500, 3):  # ids in the query; and a join, as for many
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reading, "FEW", few)
            fresh = StudyStore.open(load(study))
            assert reading.trials(fresh.study) == fresh.study.get_trials()


def test_asks_and_tells_at_one_moment(study):
    """From the command line, four at a time: no decision twice, none the same, one tell of each."""
    script = "import sys; from windage.cli import main; main()"

    def start(*arguments):
        command = [sys.executable, "-c", script, *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    asks = [start("ask", "shop.toml", "--another", "--json") for _ in range(4)]
    found = [json.loads(one.communicate(timeout=GENEROUS)[0]) for one in asks]
    assert sorted(one["number"] for one in found) == [0, 1, 2, 3]
    assert len({one["decision"]["stock"] for one in found}) == 4
    tells = [start("tell", "shop.toml", "0", "--value", str(i), "--context", f"demand={i}") for i in range(4)]
    said = [one.communicate(timeout=GENEROUS) for one in tells]
    assert sorted(one.returncode for one in tells) == [0, 2, 2, 2]
    assert sum("told already" in err for _, err in said) == 3


def test_a_password_from_a_passfile(study, server, tmp_path, monkeypatch):
    """Whether the server asks for it or not: the file is read, and the study says nothing of it."""
    passfile = tmp_path / "passfile"
    passfile.write_text("*:*:*:*:geheim\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    shown = run("status", "shop.toml")
    assert shown.exit_code == 0, shown.exception
    engine = sqlalchemy.create_engine(load(study).storage, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        found = connection.connection.dbapi_connection.info.password
    assert found == "geheim"


def test_the_page_on_postgresql(study):
    """What the page's result collector tells and its plot worker draws; the rest knows no database."""
    store = StudyStore.open(load(study))
    register_form(store)
    index = store.ask().number
    trial = optuna.trial.Trial(store.study, store.trials()[index]._trial_id)
    for name, entry in (("demand", "7"), ("value", "12")):
        trial.set_user_attr(name, entry)
    collector = ResultCollector(store, keep_asking=True)
    assert [collector.collect(), collector.collect()] == [0, 1]
    assert PlotWorker(store).update()
    assert [t.state.name for t in store.trials()] == ["COMPLETE", "RUNNING"]
    attributes = store.study._storage.get_study_system_attrs(store.study._study_id)
    assert any(key.startswith("dashboard:plot_data:windage-expected-0") for key in attributes)


def test_a_lock_that_is_not_given_names_its_holder(study, monkeypatch):
    """Each store has connections of its own, as two machines have; nothing is changed."""
    first, second = StudyStore.open(load(study)), StudyStore.open(load(study))
    monkeypatch.setattr(locks, "PATIENCE", 0.3)
    taken, done = threading.Event(), threading.Event()

    def other():
        with locks._advisory(first.storage.engine, first.file.name, "asking"):
            taken.set()
            done.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    taken.wait(30)
    with pytest.raises(LockError, match=r"a worker at .* \(user postgres, process \d+ of the database\)"):
        second.ask()
    done.set()
    thread.join()
    assert second.trials() == []
    assert second.ask().number == 0


def test_a_change_that_is_committed_late_takes_no_other_ones_place(study):
    """Of a worker that was killed: its lock is given up, and the database commits what it wrote only now."""
    store = StudyStore.open(load(study))
    store.add({"stock": 5}, {"demand": 3}, 1)
    store.add({"stock": 6}, {"demand": 4}, 2)
    late = '{"number": 1, "kind": "forget"}'
    insert = sqlalchemy.text(
        "INSERT INTO study_system_attributes (study_id, key, value_json) VALUES (:study, :key, :late)"
    )
    engine = sqlalchemy.create_engine(load(study).storage, poolclass=sqlalchemy.NullPool)
    with engine.connect() as other:
        row = {"study": reading.study_id(store.study), "key": f"{corrections.KEY}00000000", "late": late}
        other.execute(insert, row)
        found = []
        thread = threading.Thread(target=lambda: found.append(store.correct(0, value=9)))
        thread.start()
        until(lambda: _waiting(engine))
        other.commit()
        thread.join()
    assert [entry.value for entry in found] == [9.0]
    assert [(c.number, c.kind) for c in StudyStore.open(load(study)).history()] == [
        (1, "forget"),
        (0, "correct"),
    ]


def _waiting(engine):
    """Whether somebody waits for another's commit."""
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with engine.connect() as connection:
        return connection.execute(sqlalchemy.text(query)).scalar() == 1
