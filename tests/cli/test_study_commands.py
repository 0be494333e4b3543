"""The study file and the commands on it, as a person without Python uses them."""

import csv
import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

from shops import ask, fault, run
from windage.cli import studies, tables, telling
from windage.studies.file import load
from windage.studies.store import StudyStore


def test_ten_rounds_from_an_empty_folder(shop):
    shown = run("ask", "shop.toml")
    assert "Decision 0" in shown.stdout
    assert "kg   (what is bought in the morning)" in shown.stdout
    assert "windage tell shop.toml 0 --value ... --context demand=..." in shown.stdout
    for index in range(12):
        asked = {"number": 0} if index == 0 else ask(shop)
        assert asked["number"] == index
        told = run("tell", "shop.toml", str(index), "--value", str(index), "--context", f"demand={index + 3}")
        assert f"Decision {index} is told: {index} EUR." in told.stdout
    best = run("recommend", "shop.toml")
    assert "stock = " in best.stdout
    assert "On average " in best.stdout
    assert "A single day: " in best.stdout
    parsed = json.loads(run("recommend", "shop.toml", "--json").stdout)
    assert set(parsed) >= {"decision", "expected", "interval", "worst_case"}
    shown = run("status", "shop.toml").stdout
    for words in (
        "12 told, 0 under way, 0 failed",
        "stock [kg]",
        "value [EUR]",
        "Estimated distribution of demand",
        "%",
    ):
        assert words in shown
    assert run("export", "shop.toml", "--csv", "out.csv").exit_code == 0
    with open("out.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [float(row["demand"]) for row in rows] == [i + 3.0 for i in range(12)]
    assert run("export", "shop.toml", "--parquet", "out.parquet").exit_code == 0
    import pyarrow.parquet

    assert pyarrow.parquet.read_table("out.parquet").num_rows == 12


def test_the_same_trial_told_twice_is_refused(shop):
    ask(shop)
    run("tell", "shop.toml", "0", "--value", "1.5", "--context", "demand=2")
    message = fault("tell", "shop.toml", "0", "--value", "9", "--context", "demand=3")
    assert "decision 0 was told already" in message
    assert "1.5 EUR, demand 2" in message
    entry = StudyStore.open(load(shop)).entries()[0]
    assert (entry.value, entry.context) == (1.5, {"demand": 2.0})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tell", "shop.toml"), "say which decision"),
        (("tell", "shop.toml", "0", "--csv", "x.csv"), "say which decision"),
        (("tell", "shop.toml", "7", "--value", "1", "--context", "demand=2"), "no decision 7"),
        (("tell", "shop.toml", "0", "--context", "demand=2"), "value is missing"),
        (("tell", "shop.toml", "0", "--value", "nan", "--context", "demand=2"), "finite"),
        (("tell", "shop.toml", "0", "--value", "1"), "'demand'"),
        (("tell", "shop.toml", "0", "--value", "1", "--context", "demnd=2"), "Did you mean 'demand'"),
        (("tell", "shop.toml", "0", "--value", "1", "--context", "demand"), "NAME=VALUE"),
        (("tell", "shop.toml", "0", "--value", "1", "--context", "demand=much"), "no number"),
        (("tell", "shop.toml", "0", "--value", "1", "--context", "demand=-3"), "outside its bounds"),
        (("tell", "shop.toml", "0", "--value", "1", *2 * ("--context", "demand=1")), "twice"),
        (("tell", "shop.toml", "--decision", "stock=99", "--value", "1", "--context", "demand=1"), "0 to 40"),
        (
            ("tell", "shop.toml", "--decision", "stock=41", "--value", "1", "--context", "demand=1"),
            "Stock 41 kg is not within 0 to 40 kg. Nothing was changed. If it is right, say it again with",
        ),
        (
            ("tell", "shop.toml", "--decision", "20", "--value", "1", "--context", "demand=1"),
            "must be NAME=VALUE, with the name of a decision variable, such as --decision stock=20.",
        ),
        (
            ("tell", "shop.toml", "0", "--value", "8kg", "--context", "demand=1"),
            "value is '8kg', which is no number. Write the number alone, without a unit.",
        ),
        (("init", ".", "--force"), "cannot be written"),
        (("renew", "shop.toml", "0", "--days", "nan"), "--days is nan, but must be finite"),
        (("renew", "shop.toml", "0", "--days", "inf"), "--days is inf, but must be finite"),
        (("renew", "shop.toml", "0", "--days", "0"), "--days must be above 0"),
        (("renew", "shop.toml", "0", "--days", "1e6"), "at most 36500"),
        (("tell", "shop.toml", "--decision", "stok=9", "--value", "1", "--context", "demand=1"), "stock"),
        (("tell", "shop.toml", "--csv", "none.csv"), "cannot be read"),
        (("ask", "none.toml"), "windage init none.toml"),
        (("init", "shop.toml"), "--force"),
        (("init", "no/shop.toml"), "no folder"),
        (("export", "shop.toml"), "say where"),
        (("export", "shop.toml", "--csv", "no/out.csv"), "no folder"),
        (("recommend", "shop.toml"), "at least 1 observation"),
        (("renew", "shop.toml", "5"), "no decision 5"),
    ],
)  # fmt: skip
def test_faults_are_one_line_and_change_nothing(shop, arguments, words):
    ask(shop)
    assert words in fault(*arguments)
    store = StudyStore.open(load(shop))
    assert store.entries() == []
    assert [p.number for p in store.state().pending] == [0]


def test_all_kinds_of_decisions(shop):
    kinds = """
[decisions.size]
low = 1
high = 64
integer = true
log = true
[decisions.dose]
low = 0
high = 1
step = 0.25
[decisions.paint]
choices = ["red", "blue", 3]
"""
    shop.write_text(shop.read_text().replace("# What you meet", kinds + "# What you meet"))
    for index in range(13):
        decision = ask(shop)["decision"]
        assert decision["paint"] in ("red", "blue", 3)
        assert decision["dose"] in (0, 0.25, 0.5, 0.75, 1)
        assert isinstance(decision["size"], int)
        run("tell", "shop.toml", str(index), "--value", str(decision["size"]), "--context", "demand=2")
    own = ["--decision", "paint=3", "--decision", "dose=0.5", "--decision", "size=8", "--decision", "stock=1"]
    assert run("tell", "shop.toml", *own, "--value", "2", "--context", "demand=1").exit_code == 0
    assert StudyStore.open(load(shop)).entries()[-1].decision["paint"] == 3
    assert json.loads(run("recommend", "shop.toml", "--json").stdout)["decision"]["size"] > 1
    wrong = [*own[:3], "dose=0.3", *own[4:]]
    assert "steps of 0.25" in fault("tell", "shop.toml", *wrong, "--value", "2", "--context", "demand=1")


def test_a_decision_that_was_never_told_lapses_and_can_be_told_late(shop):
    ask(shop)
    assert "less than a minute ago" in run("status", "shop.toml").stdout
    store = StudyStore.open(load(shop))
    store.renew(0, 1e-9)
    assert "no longer counted" in run("status", "shop.toml").stdout
    assert json.loads(run("status", "shop.toml", "--json").stdout)["pending"][0]["counts"] is False
    assert run("renew", "shop.toml", "0", "--days", "2").exit_code == 0
    assert json.loads(run("status", "shop.toml", "--json").stdout)["pending"][0]["counts"] is True
    store.renew(0, 1e-9)
    assert (
        "Decision 0 is told" in run("tell", "shop.toml", "0", "--value", "1", "--context", "demand=2").stdout
    )


def test_a_failed_decision_is_refused_afterwards(shop):
    ask(shop)
    assert run("tell", "shop.toml", "0", "--failed", "the oven broke").exit_code == 0
    assert "0 told, 0 under way, 1 failed" in run("status", "shop.toml").stdout
    assert "--decision" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=2")


def test_another_direction_is_refused(shop):
    ask(shop)
    shop.write_text(shop.read_text().replace('"maximize"', '"minimize"', 1))
    assert "was begun with direction" in fault("status", "shop.toml")


def test_a_study_without_any_trial_takes_the_direction_of_the_file(shop):
    assert "tell one first" in fault("recommend", "shop.toml")
    text = shop.read_text()
    shop.write_text(text.replace('"maximize"', '"minimize"', 1))
    assert "minimize value" in run("status", "shop.toml").stdout
    assert ask(shop)["number"] == 0
    shop.write_text(text)
    assert "was begun with direction" in fault("status", "shop.toml")


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "shop.toml"),
        ("tell", "shop.toml", "0", "--value", "1", "--context", "demand=2"),
        ("tell", "shop.toml", "0", "--failed", "rain"),
        ("tell", "shop.toml", "--csv", "days.csv"),
        ("export", "shop.toml", "--csv", "out.csv"),
    ],
)
def test_commands_that_may_take_long_say_what_they_do(shop, monkeypatch, arguments):
    said = []

    @contextmanager
    def working(words, quiet=False):
        said.append(words)
        yield said.append

    for room in (studies, tables, telling):
        monkeypatch.setattr(room, "working", working)
    (shop.parent / "days.csv").write_text("stock,demand,value\n5,9,5\n")
    ask(shop)
    said.clear()
    assert run(*arguments).exit_code == 0
    assert said[0] == "opening the study"
    assert len(said) == (3 if arguments[0] == "tell" else 2)


def test_asks_from_several_processes_at_once_differ(shop):
    for index in range(4):
        ask(shop)
        run("tell", "shop.toml", str(index), "--value", "1.5", "--context", f"demand={index}")
    shop.write_text(shop.read_text() + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "windage.cli", "ask", "shop.toml", "--another", "--json"]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    asked = [json.loads(worker.communicate()[0]) for worker in workers]
    assert sorted(a["number"] for a in asked) == [4, 5, 6]
    assert len({a["decision"]["stock"] for a in asked}) == 3


def test_people_who_ask_at_once_get_the_same_open_decision(shop):
    command = [sys.executable, "-m", "windage.cli", "ask", "shop.toml", "--json"]
    people = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    asked = [json.loads(one.communicate()[0]) for one in people]
    assert [a["number"] for a in asked] == [0, 0, 0]
    assert len({a["decision"]["stock"] for a in asked}) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("tell", "shop.toml", "0", "--failed", "no", "--value", "3"),
        ("tell", "shop.toml", "0", "--failed", "no", "--context", "demand=3"),
        ("tell", "shop.toml", "--csv", "x.csv", "--value", "3"),
        ("tell", "shop.toml", "--csv", "x.csv", "--failed", "no"),
        ("tell", "shop.toml", "--decision", "stock=3", "--failed", "no"),
    ],
)
def test_options_that_do_not_belong_together(shop, arguments):
    ask("shop.toml")
    assert "do not belong together" in fault(*arguments)
    assert [t.state.name for t in StudyStore.open(load(shop)).trials()] == ["RUNNING"]


def test_a_robust_method_says_by_what_its_recommendation_is_the_best(shop):
    text = shop.read_text().replace('method = "auto"', 'method = "drbo-kde"')
    shop.write_text(text.replace("members = 4\n", ""))  # which is a setting of ensembles
    for stock, demand in ((5, 9), (20, 14), (33, 11)):
        told = ("--decision", f"stock={stock}", "--value", str(2 * min(stock, demand) - stock))
        assert run("tell", "shop.toml", *told, "--context", f"demand={demand}").exit_code == 0
    lines = run("recommend", "shop.toml").stdout
    assert "On average " in lines
    assert "best of that worse case, as the method 'drbo-kde' says" in lines
    assert json.loads(run("recommend", "shop.toml", "--json").stdout)["criterion"] == "worst_case"
