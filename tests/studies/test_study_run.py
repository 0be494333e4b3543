"""``windage run``: a program for each decision, its faults, and Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shops import fault, run
from windage.errors import ConfigurationError, WindageError
from windage.studies import program as programs
from windage.studies import run as runs
from windage.studies.entries import Asked
from windage.studies.file import load
from windage.studies.program import Outcome, Program, filled, said
from windage.studies.run import Patience
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
    calls, words = [], []

    def act():
        calls.append(1)
        if len(calls) < 4:
            raise StorageError("the storage is gone.")
        return "back"

    assert Patience(words.append)(act) == "back"
    assert words == [
        "the storage is gone. It is tried again, for 15 minutes at most.",
        "The storage is back.",
    ]
    with pytest.raises(WindageError, match="gave up after 0 seconds: gone"):
        Patience(seconds=0.0)(lambda: (_ for _ in ()).throw(StorageError("gone")))


def test_a_run_says_on_the_terminal_that_the_storage_is_away(shop, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "FIRST_PAUSE", 0.001)
    asks, first = StudyStore.ask, []

    def away_once(self, *given):
        if not first:
            first.append(1)
            raise StorageError("the study's storage failed: no route.")
        return asks(self, *given)

    monkeypatch.setattr(StudyStore, "ask", away_once)
    result = run("run", "shop.toml", "--command", program(tmp_path, GOOD), "--trials", "1")
    assert result.exit_code == 0
    assert "storage failed: no route. It is tried again, for 15 minutes at most." in result.stderr
    assert "The storage is back." in result.stderr


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
    monkeypatch.setattr(Program, "__call__", lambda self, asked: Outcome(3.0, {"demand": 2.0}))
    tally = runs.run(store, Program("true"), 3, jobs=2)
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
    monkeypatch.setattr(Program, "__call__", lambda self, asked: Outcome(3.0, {"demand": 2.0}))
    tally = runs.run(store, Program("true"), 2)
    assert (tally.told, tally.failed) == (2, 0)


def test_a_program_started_as_the_run_is_stopped_is_ended(monkeypatch):
    program = Program("sleep 60")
    start = programs.subprocess.Popen

    def stopped_meanwhile(*arguments, **options):
        process = start(*arguments, **options)
        program.stop()
        return process

    monkeypatch.setattr(programs.subprocess, "Popen", stopped_meanwhile)
    assert program(Asked(0, {})).error == "interrupted"


def test_a_program_that_leaves_a_child_behind_ends_soon_after_its_limit():
    """The child has a session of its own, and holds the output open."""
    start = time.monotonic()
    outcome = Program("sh -c 'setsid sleep 20 & sleep 20'", limit=0.3)(Asked(0, {}))
    assert outcome.error == "it took longer than 0.3 s."
    assert time.monotonic() - start < 10


def test_what_a_program_said_counts_though_its_child_goes_on():
    start = time.monotonic()
    outcome = Program("""sh -c 'setsid sleep 20 & echo "{{\\"value\\": 3}}"'""")(Asked(0, {}))
    assert (outcome.value, outcome.error) == (3, "")
    assert time.monotonic() - start < 10


def test_brackets_in_brackets_without_end_are_no_result(shop, tmp_path):
    for code in ("print('[' * 200_000)", "print('{\"value\": ' + '[' * 900 + ']' * 900 + '}')"):
        result = run("run", "shop.toml", "--command", program(tmp_path, code), "--trials", "1")
        assert result.exit_code == 1, result.exception
    assert [t.state.name for t in StudyStore.open(load(shop)).trials()] == ["FAIL", "FAIL"]


def test_of_much_output_only_the_end_is_kept(monkeypatch):
    monkeypatch.setattr(programs, "HEARD", 1000)
    code = (
        "import sys; print('x' * 10**6); print('y' * 10**6, file=sys.stderr); print('{{\\\"value\\\": 4}}')"
    )
    heard = []
    monkeypatch.setattr(programs, "said", lambda out, err: heard.append((out, err)) or said(out, err))
    assert Program(f'{sys.executable} -c "{code}"')(Asked(0, {})).value == 4
    assert [len(text) for text in heard[0]] == [1000, 1000]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{a.b}", "7"),
        ("{a[0]}", "8"),
        ("{a:b}", "9"),
        ("{a}", "1"),
        ("{{a}}", "{a}"),
        ("{{{a}}}", "{1}"),
        ("x{a}y{a.b}", "x1y7"),
    ],
)
def test_names_in_braces_are_taken_as_they_are(text, words):
    assert filled(text, {"a": 1, "a.b": 7, "a[0]": 8, "a:b": 9}) == words


@pytest.mark.parametrize("text", ["{a.__class__}", "{a", "a}", "{}", "{0}"])
def test_braces_that_name_nothing_are_refused(text):
    with pytest.raises(ConfigurationError, match="written twice"):
        filled(text, {"a": 1})


def test_a_choice_that_cannot_stand_in_a_command_line_fails_its_decision(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    choices = r'["\u0000", "\u0000b"]'
    Path("odd.toml").write_text(f'method = "random"\n[decisions."a.b"]\nchoices = {choices}\n[contexts.c]\n')
    result = run("run", "odd.toml", "--command", "echo {a.b}", "--trials", "1")
    assert result.exit_code == 1, result.exception
    trials = StudyStore.open(load(Path("odd.toml"))).trials()
    assert "cannot stand in a command line" in trials[0].user_attrs["windage:error"]


@pytest.mark.parametrize("broken", ["program", "tell"])
def test_a_fault_of_one_program_leaves_the_results_of_the_others(shop, monkeypatch, broken):
    def act(self, asked):
        if broken == "program" and asked.number == 0:
            raise RuntimeError("odd")
        return Outcome(3.0, {"demand": 2.0})

    def tell(self, number, context, value, tell=StudyStore.tell):
        if broken == "tell" and number == 0:
            raise RuntimeError("odd")
        return tell(self, number, context, value)

    monkeypatch.setattr(Program, "__call__", act)
    monkeypatch.setattr(StudyStore, "tell", tell)
    store = StudyStore.open(load(shop))
    tally = runs.run(store, Program("true"), 3, jobs=3)
    assert (tally.told, tally.failed) == (2, 1)
    assert [t.state.name for t in store.trials()] == ["FAIL", "COMPLETE", "COMPLETE"]
    assert store.trials()[0].user_attrs["windage:error"] == "RuntimeError: odd"


def test_what_is_finished_is_told_though_the_run_ends_by_a_fault(shop, monkeypatch):
    """The first decision cannot even be marked as failed; the second has its result by then."""

    def fail(self, number, why):
        raise RuntimeError("odd")

    def act(self, asked):
        return Outcome(error="it broke") if asked.number == 0 else Outcome(3.0, {"demand": 2.0})

    monkeypatch.setattr(Program, "__call__", act)
    monkeypatch.setattr(StudyStore, "fail", fail)
    store = StudyStore.open(load(shop))
    with pytest.raises(RuntimeError, match="odd"):
        runs.run(store, Program("true"), 2, jobs=2)
    assert [entry.number for entry in store.entries()] == [1]


def test_a_program_that_is_not_there_is_refused_before_anything_is_asked(shop):
    for command in ("./no-such-program {stock}", "no-such-program", "./shop.toml"):
        assert "no program that can be run" in fault("run", "shop.toml", "--command", command)
    assert StudyStore.open(load(shop)).trials() == []


def test_a_program_that_cannot_be_started_ends_the_run_at_once(shop, tmp_path):
    (tmp_path / "simulate").write_text("#!/no/such/interpreter\n")
    (tmp_path / "simulate").chmod(0o755)
    words = fault("run", "shop.toml", "--command", "./simulate {stock}", "--retries", "3")
    assert "./simulate cannot be run: No such file or directory" in words
    assert [t.state.name for t in StudyStore.open(load(shop)).trials()] == ["FAIL"]


def test_a_program_does_not_see_the_storage(monkeypatch):
    monkeypatch.setenv("WINDAGE_STORAGE", "postgresql+psycopg://me:geheim@host/db")
    found = programs.environment(Asked(3, {"stock": 1.0}))
    assert "WINDAGE_STORAGE" not in found
    assert "geheim" not in "".join(found.values())
    assert (found["WINDAGE_NUMBER"], found["WINDAGE_DECISION"]) == ("3", '{"stock": 1.0}')


def test_a_decision_is_settled_though_its_first_renewal_fails(shop, tmp_path, monkeypatch):
    store = StudyStore.open(load(shop))
    command = program(tmp_path, GOOD)
    monkeypatch.setattr(store, "renew", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        runs.run(store, Program(command), 3)
    state = store.state()
    assert (state.pending, len(state.entries) + state.failed) == ([], 1)
