"""``kill -9`` at any moment: what was said to be done is there, what was begun is so wholly or not at all."""

import csv
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import killing
from databases import until
from shops import run
from windage.studies.file import load
from windage.studies.store import StudyStore

ASKED, MANY = 40, 1500
"""Decisions that are asked for before, and operations: more than are ever reached."""


def begun(path):
    """A study with decisions under way; the stock of each."""
    store = StudyStore.open(load(path))
    asked = [store.study.ask(dict(store.file.space)).params["stock"] for _ in range(ASKED)]
    store.storage.engine.dispose()
    return asked


def seconds_of_one(path, todo):
    """How long an operation takes on this machine: some are done in this process."""
    store = StudyStore.open(load(path))
    start = time.monotonic()
    for operation in todo:
        killing.perform(store, operation)
    store.storage.engine.dispose()
    return (time.monotonic() - start) / len(todo)


def kill_often(path, moments, seed, broken=False):
    """Kill a worker at so many moments and check after each; how many were inside of an operation."""
    asked, rng = begun(path), random.Random(seed)
    todo = killing.operations(seed, MANY, asked)
    place, inside, stand = 12, 0, 0
    one = seconds_of_one(path, todo[:place])
    for _ in range(moments):
        where = killing.killed(path, todo[place:], rng.uniform(0, 5 * one), one / 2, broken)
        store = killing.reopened(path)
        said = place + where.done
        place = killing.check(store, asked, todo[: said + where.inside], where.inside)
        store.storage.engine.dispose()
        inside, stand = inside + where.inside, stand + place - said
    print(
        f"killed {moments} times: {inside} inside of an operation, of which {stand} were done all the same, "
        f"and {moments - inside} between two; {place} operations of {1000 * one:.0f} ms."
    )
    return inside


def goes_on(path):
    """Decisions, results, corrections and recommendations."""
    number = run("ask", str(path), "--another", "--json")
    assert number.exit_code == 0, number.exception
    store = StudyStore.open(load(path))
    last = store.state().pending[-1].number
    store.tell(last, {"demand": 8}, 11)
    assert store.correct(last, value=12).value == 12
    assert 0 <= store.recommend().decision["stock"] <= 40
    store.storage.engine.dispose()


def test_killed_at_a_few_moments(shop):
    kill_often(shop, 5, seed=1)
    goes_on(shop)


@pytest.mark.slow
def test_killed_at_50_moments(shop):
    assert kill_often(shop, 50, seed=2) >= 10
    goes_on(shop)


@pytest.mark.slow
@pytest.mark.xdist_group("postgresql")
def test_killed_at_50_moments_on_postgresql(postgresql_shop):
    assert kill_often(postgresql_shop, 50, seed=3) >= 10
    goes_on(postgresql_shop)


def test_a_correction_in_two_parts_is_noticed(shop):
    """The negative control of the moments: some lie between two writes of one operation."""
    with pytest.raises(AssertionError, match=r"rows: .* is not "):
        kill_often(shop, 100, seed=4, broken=True)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A study in which some operations are done, its file, and what was asked for and done."""
    folder = tmp_path_factory.mktemp("done")
    path = folder / "shop.toml"
    assert run("init", str(path)).exit_code == 0
    asked = begun(path)
    todo = killing.operations(5, 30, asked)
    while todo[-1]["kind"] != "correct":
        todo.pop()
    seconds_of_one(path, todo)
    return path, asked, todo


ATTRIBUTE = "UPDATE study_system_attributes SET value_json"
LAST = "key = (SELECT max(key) FROM study_system_attributes WHERE key LIKE 'windage:change:%')"
ANY = "IN (SELECT trial_id FROM trials WHERE state = 'COMPLETE' LIMIT 1)"
PLANTED = {
    "half a correction": f"{ATTRIBUTE} = json_remove(value_json, '$.context') WHERE {LAST}",
    "another value": f"{ATTRIBUTE} = json_set(value_json, '$.value', 0.3) WHERE {LAST}",
    "a lost correction": f"DELETE FROM study_system_attributes WHERE {LAST}",
    "a gap": "DELETE FROM study_system_attributes WHERE key LIKE 'windage:change:%00002'",
    "a lost row": f"DELETE FROM trials WHERE trial_id {ANY}",
    "no context": f"DELETE FROM trial_user_attributes WHERE trial_id {ANY}",
    "no value": f"DELETE FROM trial_values WHERE trial_id {ANY}",
    "under way again": f"UPDATE trials SET state = 'RUNNING' WHERE trial_id {ANY}",
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_noticed(done, fault, tmp_path):
    """The negative control of the checks."""
    path, asked, todo = done
    copy = tmp_path / "shop.toml"
    copy.write_bytes(path.read_bytes())
    (tmp_path / "shop.db").write_bytes((path.parent / "shop.db").read_bytes())
    assert killing.check(StudyStore.open(load(copy)), asked, todo, begun=False) == len(todo)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        assert connection.execute(PLANTED[fault]).rowcount == 1
    connection.close()
    with pytest.raises(AssertionError, match=" is not "):
        killing.check(StudyStore.open(load(copy)), asked, todo, begun=False)


ROWS = 200


def table(path):
    """A table of rows, of which some come twice; what each says."""
    rows = [(k % 90 / 4, 3 + k % 60 / 8, float(k % 180)) for k in range(ROWS)]
    assert len(set(rows)) == ROWS - 20
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([("stock", "demand", "value"), *rows])
    return sorted(rows)


def told(path):
    """What a study says, row by row; and the number of its changes."""
    store = StudyStore.open(load(path))
    rows = sorted((e.decision["stock"], e.context["demand"], e.value) for e in store.entries())
    changes = len(store.history())
    store.storage.engine.dispose()
    return rows, changes


def tell_and_kill(path, count, target, *options):
    """``windage tell --csv``, killed when ``count`` of the study has come to a target."""
    words = [sys.executable, "-m", "windage.cli", "tell", str(path), "--csv", "days.csv", "--sure", *options]
    store = StudyStore.open(load(path))
    teller = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: count(store) >= target or teller.poll() is not None, pause=0.001)
    teller.send_signal(signal.SIGKILL)
    assert (teller.wait(), *teller.communicate()) == (-signal.SIGKILL, "", "")
    store.storage.engine.dispose()


def tell_a_table(path, targets):
    """A table told, killed and told again at each target, then to its end: all is there once."""
    wanted, so_far = table(Path("days.csv")), 0
    for target in targets:
        tell_and_kill(path, lambda store: len(store.trials()), target)
        rows, _ = told(path)
        assert so_far < len(rows) < ROWS
        so_far = len(rows)
    assert run("tell", str(path), "--csv", "days.csv", "--sure").exit_code == 0
    assert told(path) == (wanted, 0)
    again = run("tell", str(path), "--csv", "days.csv", "--sure", "--json")
    assert '"added": 0' in again.stdout
    print(f"a table of {ROWS} rows, killed beyond {', '.join(map(str, targets))}: none doubled, none lost")


def test_a_table_killed_in_the_middle(shop):
    tell_a_table(shop, [90])
    goes_on(shop)


@pytest.mark.slow
@pytest.mark.xdist_group("postgresql")
def test_a_table_killed_often_on_postgresql(postgresql_shop):
    tell_a_table(postgresql_shop, [1, 60, 120])
    goes_on(postgresql_shop)


@pytest.mark.slow
def test_a_corrected_table_killed_in_the_middle(shop):
    tell_a_table(shop, [20, 120])
    assert run("export", str(shop), "--csv", "days.csv").exit_code == 0
    with open("days.csv", newline="") as given:
        head, *rows = csv.reader(given)
    at = head.index("value")
    changed = [[*row[:at], str(float(row[at]) + 0.5), *row[at + 1 :]] for row in rows]
    with open("days.csv", "w", newline="") as out:
        csv.writer(out).writerows([head, *changed])
    wanted = sorted((s, d, v + 0.5) for s, d, v in told(shop)[0])
    tell_and_kill(shop, lambda store: len(store.history()), 70, "--replace")
    rows, changes = told(shop)
    assert 70 <= changes < ROWS
    assert len(rows) == ROWS
    assert run("tell", str(shop), "--csv", "days.csv", "--sure", "--replace").exit_code == 0
    assert told(shop) == (wanted, ROWS)
