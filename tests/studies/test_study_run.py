"""``windage run``: a program for each decision, its faults, and Ctrl-C."""

import json
import signal
import subprocess
import sys
import time

import pytest

from shops import fault, run
from windage.errors import ConfigurationError
from windage.studies import run as runs
from windage.studies.entries import Asked
from windage.studies.file import load
from windage.studies.run import Program, patiently, said
from windage.studies.storage import StorageError
from windage.studies.store import StudyStore

GOOD = """
import json, sys
stock = float(sys.argv[1])
print("some words first")
print(json.dumps({"value": min(stock, 8.0), "context": {"demand": 8.0}}))
"""


def program(tmp_path, code):
    (tmp_path / "simulate.py").write_text(code)
    return f"{sys.executable} simulate.py {{stock}}"


def test_a_program_is_run_for_each_decision(shop, tmp_path):
    command = program(tmp_path, GOOD)
    result = run("run", "shop.toml", "--command", command, "--trials", "6", "--jobs", "2", "--json")
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout) == {"told": 6, "failed": 0}
    entries = StudyStore.open(load(shop)).entries()
    assert len(entries) == 6
    assert all(e.value == pytest.approx(min(e.decision["stock"], 8)) for e in entries)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; print('the oven broke', file=sys.stderr); sys.exit(3)", "code 3. the oven broke"),
        ("print('hello')", "no JSON line"),
        ("print('{\"value\": 3}')", "demand"),
        ('print(\'{"value": "x", "context": {"demand": 1}}\')', "no number"),
        ('print(\'{"value": NaN, "context": {"demand": 1}}\')', "finite"),
        ('print(\'{"value": 1, "context": 3}\')', "must be an object"),
        ("import time; time.sleep(60)", "longer than 1 s"),
    ],
)
def test_a_program_that_brings_no_result_fails_with_its_reason(shop, tmp_path, code, words):
    command = program(tmp_path, code)
    result = run("run", "shop.toml", "--command", command, "--trials", "1", "--limit", "1")
    assert result.exit_code == 1
    trials = StudyStore.open(load(shop)).trials()
    assert [t.state.name for t in trials] == ["FAIL"]
    assert words in trials[0].user_attrs["windage:error"]


def test_a_program_is_run_again_as_often_as_said(shop, tmp_path):
    flaky = (
        "import os, sys\nfirst = not os.path.exists('mark')\nopen('mark', 'w')\nfirst and sys.exit(1)\n"
        + GOOD
    )
    command = program(tmp_path, flaky)
    assert run("run", "shop.toml", "--command", command, "--trials", "1", "--retries", "1").exit_code == 0


def test_wrong_commands_are_refused_before_anything_is_asked(shop):
    for command, words in (
        ("./x {stok}", "stok"),
        ("./x '", "cannot be read"),
        ("", "empty"),
        ("./x {}", "{}"),
    ):
        assert words in fault("run", "shop.toml", "--command", command)
    assert StudyStore.open(load(shop)).trials() == []
    outcome = Program("./no-such-program {stock}")(Asked(0, {"stock": 1.0}))
    assert "cannot be run" in outcome.error


def test_the_last_line_with_a_value_counts():
    assert said('{"value": 1}\n{"value": 2, "context": {"a": 1}}\n{"other": 3}\nbye', "").value == 2
    with pytest.raises(ConfigurationError):
        Program("x {a.b}").check({"a": 1})


def test_ctrl_c_leaves_a_clean_study(shop, tmp_path):
    slow = "import time\nopen('started', 'a').write('x')\ntime.sleep(120)"
    command = program(tmp_path, slow)
    words = [sys.executable, "-m", "windage.cli", "run", "shop.toml", "--command", command, "--jobs", "2"]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell's is ignored
    worker = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, heard)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (tmp_path / "started").exists() and len((tmp_path / "started").read_text()) == 2:
            break
        time.sleep(0.05)
    worker.send_signal(signal.SIGINT)
    _, err = worker.communicate(timeout=60)
    assert worker.returncode == 130
    assert "Interrupted" in err
    assert "Traceback" not in err
    trials = StudyStore.open(load(shop)).trials()
    assert [(t.state.name, t.user_attrs["windage:error"]) for t in trials] == [("FAIL", "interrupted")] * 2


def test_a_storage_that_comes_back_is_waited_for(monkeypatch):
    monkeypatch.setattr(runs, "FIRST_PAUSE", 0.001)
    calls = []

    def act():
        calls.append(1)
        if len(calls) < 4:
            raise StorageError("gone")
        return "back"

    assert patiently(act) == "back"
    with pytest.raises(Exception, match="gave up"):
        patiently(lambda: (_ for _ in ()).throw(StorageError("gone")), patience=0.0)


@pytest.mark.parametrize("command", ["./x {stock:d}", "./x {stock!r}"])
def test_names_in_braces_stand_alone(shop, command):
    assert "stands alone" in fault("run", "shop.toml", "--command", command)
    assert StudyStore.open(load(shop)).trials() == []


def test_a_decision_told_by_another_while_its_program_runs(shop, monkeypatch):
    """The run goes on; what the other told stays."""
    store = StudyStore.open(load(shop))
    tell = StudyStore.tell

    def second(self, number, context, value):
        if number == 0:
            tell(self, 0, {"demand": 1}, 1)
        return tell(self, number, context, value)

    monkeypatch.setattr(StudyStore, "tell", second)
    monkeypatch.setattr(Program, "__call__", lambda self, asked: runs.Outcome(3.0, {"demand": 2.0}))
    tally = runs.run(store, Program("x"), 3, jobs=2)
    assert (tally.told, tally.failed) == (2, 1)
    assert [t.state.name for t in store.trials()] == ["COMPLETE"] * 3
    assert store.entries()[0].value == 1


def test_a_tell_whose_answer_got_lost_is_told(shop, monkeypatch):
    store = StudyStore.open(load(shop))
    monkeypatch.setattr(runs, "FIRST_PAUSE", 0.01)
    tell, lost = StudyStore.tell, []

    def forgetful(self, number, context, value):
        entry = tell(self, number, context, value)
        if not lost:
            lost.append(number)
            raise StorageError("the connection broke")
        return entry

    monkeypatch.setattr(StudyStore, "tell", forgetful)
    monkeypatch.setattr(Program, "__call__", lambda self, asked: runs.Outcome(3.0, {"demand": 2.0}))
    tally = runs.run(store, Program("x"), 2)
    assert (tally.told, tally.failed) == (2, 0)


def test_a_program_started_as_the_run_is_stopped_is_ended(monkeypatch):
    program = Program("sleep 60")
    start = runs.subprocess.Popen

    def stopped_meanwhile(*arguments, **options):
        process = start(*arguments, **options)
        program.stop()
        return process

    monkeypatch.setattr(runs.subprocess, "Popen", stopped_meanwhile)
    assert program(Asked(0, {})).error == "interrupted"
