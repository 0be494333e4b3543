"""Whatever goes wrong is one line: never a traceback."""

import json
import os
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from shops import ask, fault, run
from windage import cli
from windage.studies.storage import StorageError

MISSING = ("0" * 20, "9" * 20, "9" * 400)


def main(monkeypatch, capsys, *arguments):
    """The exit code of the console script, and what it said on the error output."""
    monkeypatch.setattr(sys, "argv", ["windage", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code, capsys.readouterr().err


def raising(monkeypatch, error):
    def app():
        raise error

    monkeypatch.setattr(cli, "app", app)


@pytest.mark.parametrize("error", [ZeroDivisionError("a\nb"), RecursionError("deep"), MemoryError()])
def test_what_was_not_foreseen_is_one_line_that_says_how_to_report_it(monkeypatch, capsys, error):
    monkeypatch.delenv("WINDAGE_DEBUG", raising=False)
    raising(monkeypatch, error)
    code, said = main(monkeypatch, capsys, "status", "my shop.toml")
    assert code == 70
    assert said.count("\n") == 1
    for words in (cli.__version__, type(error).__name__, "WINDAGE_DEBUG=1 windage status 'my shop.toml'"):
        assert words in said


def test_the_traceback_can_be_seen(monkeypatch):
    monkeypatch.setenv("WINDAGE_DEBUG", "1")
    raising(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_an_interrupt_is_quiet(monkeypatch, capsys):
    raising(monkeypatch, KeyboardInterrupt())
    assert main(monkeypatch, capsys) == (130, "")


def test_a_reader_that_has_had_enough_is_no_fault():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "windage.cli", "methods", "--json"]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert result.stderr == ""


@pytest.mark.parametrize(
    "name", ['a"b.toml', "a'b.toml", "a\\b.toml", "a b {c}.toml", "a\nb.toml", "ä#=.toml"]
)
def test_a_study_file_of_any_name_is_right(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert run("init", name).exit_code == 0
    stem = Path(name).stem
    assert tomllib.loads(Path(name).read_text())["storage"] == f"sqlite:///{stem}.db"
    shown = run("status", name)
    assert shown.exit_code == 0
    assert "%" not in shown.output


def test_a_folder_in_place_of_a_study_file_is_said_to_be_one(shop, tmp_path):
    words = fault("status", ".")
    assert words == ". is a folder: name the study file in it, such as shop.toml."
    (tmp_path / "empty").mkdir()
    assert "is a folder" in fault("ask", "empty")


@pytest.mark.parametrize("name", ["", ".", "a" * 300 + ".toml", "\udcff.toml"])
def test_a_study_file_of_no_right_name_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert "cannot be written" in fault("init", name)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_empty_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def full(path, content):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "new.toml cannot be written: No space left on device." in fault("init", "new.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_decision_that_is_not_there_names_the_next_step(shop):
    ask(shop)
    for number in ("99", *MISSING[1:]):
        for words in (("tell", "shop.toml", number, "--failed", "x"), ("renew", "shop.toml", number)):
            message = fault(*words)
            assert "there is no decision" in message
            assert "windage ask FILE" in message


@pytest.mark.parametrize("days", ["1e308", "nan", "inf", "-1", "1e400"])
def test_days_that_are_none_are_refused(shop, days):
    ask(shop)
    assert "--days" in fault("renew", "shop.toml", "0", "--days", days)


@pytest.mark.parametrize("demand", ["5e-324", "-0.0", "1e150", "1e-300"])
def test_a_context_of_any_size_can_be_told(shop, demand):
    told = ["--decision", "stock=5", "--value", "1", "--context", f"demand={demand}"]
    assert run("tell", "shop.toml", *told).exit_code == 0
    for command in ("ask", "recommend", "status"):
        result = run(command, "shop.toml")
        assert result.exit_code == 0, result.exception


def test_a_context_too_large_to_compute_with_is_refused(shop):
    told = ["--decision", "stock=5", "--value", "1", "--context", "demand=1e308"]
    assert "too large to compute with" in fault("tell", "shop.toml", *told)


def damage_random(path):
    path.write_bytes(bytes(range(256)) * 40)


def damage_cut(path):
    path.write_bytes(path.read_bytes()[:5000])


def damage_folder(path):
    path.unlink()
    path.mkdir()


def damage_other(path):
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE trials (a TEXT)")
        other.execute("CREATE TABLE studies (b TEXT)")
    other.close()


def damage_text(path):
    """Bytes that are no UTF-8 where a trial's parameter is described."""
    with sqlite3.connect(path) as there:
        there.execute("UPDATE trial_params SET distribution_json = CAST(x'7bff7d' AS TEXT)")
    there.close()


@pytest.mark.parametrize("damage", [damage_random, damage_cut, damage_folder, damage_other, damage_text])
def test_a_damaged_database_is_a_fault_of_the_storage(shop, damage):
    ask(shop)
    damage(shop.with_name("shop.db"))
    for command in (["status"], ["ask"], ["tell", "0", "--value", "1", "--context", "demand=2"]):
        assert "storage" in fault(command[0], "shop.toml", *command[1:])


RIGHT = {"number": 0, "kind": "correct", "value": 3.0, "time": 1.7e9}


def write_attribute(table, key, text):
    """An attribute as another program would write it."""
    owner = table.split("_")[0]
    with sqlite3.connect("shop.db") as there:
        there.execute(f"DELETE FROM {table}_attributes WHERE key = ?", (key,))
        there.execute(
            f"INSERT INTO {table}_attributes ({owner}_id, key, value_json) VALUES (1, ?, ?)", (key, text)
        )
    there.close()


def told_once():
    words = ["--decision", "stock=5", "--value", "1", "--context", "demand=2"]
    assert run("tell", "shop.toml", *words).exit_code == 0


COMMANDS = (
    ["status"], ["ask"], ["recommend"], ["history"], ["export", "--csv", "out.csv"], ["predict", "stock=3"],
    ["correct", "0", "--value", "3"], ["forget", "0"], ["undo", "0"],
)  # fmt: skip


def test_a_damaged_change_is_named_by_every_command(shop):
    told_once()
    write_attribute("study_system", "windage:change:00000000", json.dumps({**RIGHT, "value": "3"}))
    for command, *rest in COMMANDS:
        said = fault(command, "shop.toml", *rest)
        assert "attribute 'windage:change:00000000' is damaged" in said
        assert "\n" not in said


def test_a_change_beyond_a_gap_keeps_its_place(shop):
    """What another program deleted is gone; the next change takes the place of none."""
    told_once()
    write_attribute("study_system", "windage:change:00000007", json.dumps(RIGHT))
    assert run("correct", "shop.toml", "0", "--value", "4").exit_code == 0
    assert [c["value"] for c in json.loads(run("history", "shop.toml", "--json").stdout)] == [3.0, 4.0]


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "9" * 5000])
def test_an_attribute_that_is_no_json_is_a_fault_of_the_storage(shop, text):
    told_once()
    write_attribute("study_system", "windage:change:00000000", text)
    Path("days.csv").write_text("stock,demand,value\n5,2,1\n")
    for command, *rest in (*COMMANDS, ["tell", "--csv", "days.csv"]):
        result = run(command, "shop.toml", *rest)
        assert isinstance(result.exception, StorageError), (command, result.exception)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("trial_system", "windage:decision"),
        ("trial_system", "windage:until"),
        ("trial_user", "windage:why"),
        ("trial_user", "windage:date"),
        ("trial_user", "windage:row"),
        ("trial_user", "context"),
        ("study_system", "windage:fit"),
    ],
)
def test_other_odd_attributes_leave_the_study_readable(shop, table, key):
    ask(shop)
    for value in (1, None, [1], "2026", {"a": 1}, {"params": 1}, 10**400, {"params": {}, "until": "x"}):
        write_attribute(table, key, json.dumps(value))
        for command in (["status"], ["export", "--csv", "out.csv"]):
            result = run(command[0], "shop.toml", *command[1:])
            assert result.exit_code == 0, (command, value, result.exception)
    assert run("ask", "shop.toml", "--another").exit_code == 0
    assert run("tell", "shop.toml", "0", "--value", "1", "--context", "demand=2").exit_code == 0


def test_a_table_of_a_name_that_is_too_long(shop):
    for name in ("a" * 300, "a" * 300 + "/out.csv"):
        assert "cannot be written: File name too long" in fault("export", "shop.toml", "--csv", name)


def test_a_folder_that_cannot_be_written_to(shop, monkeypatch):
    """As root every folder can be: the fault of the system is made."""

    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", forbidden)
    assert "new.toml cannot be written: Permission denied." in fault("init", "new.toml")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("budget = 1" + "0" * 30, "budget"),
        ("budget = 1" + "0" * 5000, "not right"),
        ("seed = 1" + "0" * 30, "seed"),
        ("a = " + "[" * 5000, "not right: too many brackets"),
        ("a = " + "{a=" * 5000, "not right: too many brackets"),
    ],
)
def test_a_study_file_with_odd_lines_is_refused(shop, line, words):
    shop.write_text(line + "\n" + shop.read_text())
    assert words in fault("ask", "shop.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[decisions.a]\nlow = 0\nhigh = 1" + "0" * 30 + "\ninteger = true\n", "2^53"),
        ("[decisions.a]\nlow = 0\nhigh = 1" + "0" * 400 + "\n", "high"),
        ("[decisions.a]\nchoices = [1" + "0" * 400 + ", 2]\n", "a choice is inf, but must be finite"),
        ("[decisions.a]\nchoices = [nan, 2]\n", "a choice is nan"),
        ("raw_samples = 10000000\n", "raw_samples must be at most 65536"),
    ],
)
def test_numbers_too_large_for_a_study_are_refused(shop, text, words):
    shop.write_text(shop.read_text().replace("raw_samples = 32\n", "") + text)
    message = fault("ask", "shop.toml")
    assert "shop.toml: " in message
    assert words in message
