"""Conditions that are choices or whole numbers, or were not seen, in every command."""

import csv
import json
from pathlib import Path

import pytest

from shops import QUICK, ask, fault, plain, run, tell_table
from windage.studies.file import load
from windage.studies.store import StudyStore

KINDS = """
[contexts.weekday]
choices = ["mon", "fri", "sat"]
[contexts.guests]
low = 0
high = 6
integer = true
optional = true
"""
MET = ["--context", "demand=9", "--context", "weekday=Sat", "--context", "guests=4"]
TABLE = """date,stock,Demand,WEEKDAY,guests,value
2026-11-02,5,9,mon,2,20
2026-11-03,12,14,FRI,,48
2026-11-07,20,21,sat,6,80
2026-11-09,8,7,mon,0,23
2026-11-13,30,16,fri,1,-6
"""


@pytest.fixture
def cafe(shop):
    shop.write_text(shop.read_text().replace(QUICK, KINDS + QUICK))
    return shop


@pytest.fixture
def told(cafe):
    tell_table(TABLE)
    return cafe


def test_a_choice_and_a_whole_number_are_told(cafe):
    ask(cafe)
    done = json.loads(run("tell", "shop.toml", "0", "--value", "5", *MET, "--json").stdout)
    assert done["context"] == {"demand": 9.0, "weekday": "sat", "guests": 4}
    (entry,) = StudyStore.open(load(cafe)).entries()
    assert entry.context == done["context"]


def test_what_is_optional_may_be_left_out_and_the_rest_not(cafe):
    shown = run("ask", "shop.toml").stdout
    assert "--context demand=... --context weekday=... [--context guests=...]" in shown
    assert "context 'weekday' is missing" in fault("tell", "shop.toml", "0", "--value", "5", *MET[:2])
    done = json.loads(run("tell", "shop.toml", "0", "--value", "5", *MET[:4], "--json").stdout)
    assert done["context"] == {"demand": 9.0, "weekday": "sat"}
    assert plain("status")["not_seen"] == {"guests": 1}


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ("weekday=satt", "not one of ['mon', 'fri', 'sat']. Did you mean 'sat'?"),
        ("weekday=7", "not one of"),
        ("guests=2.5", "whole number"),
        ("guests=9", "outside its bounds"),
        ("guest=2", "Did you mean 'guests'?"),
    ],
)
def test_a_wrong_level_or_count_is_refused_and_nothing_changes(cafe, context, words):
    ask(cafe)
    met = [*MET[:2], *([] if context.startswith("weekday") else MET[2:4]), "--context", context]
    before = Path("shop.db").read_bytes()
    assert words in fault("tell", "shop.toml", "0", "--value", "5", *met)
    assert Path("shop.db").read_bytes() == before
    assert plain("status")["told"] == 0


def test_a_table_may_have_any_capitals_and_no_optional_column(told):
    entries = StudyStore.open(load(told)).entries()
    assert [e.context["weekday"] for e in entries] == ["mon", "fri", "sat", "mon", "fri"]
    assert [e.context.get("guests") for e in entries] == [2, None, 6, 0, 1]
    Path("more.csv").write_text("stock,demand,weekday,value\n9,9,sat,36\n")
    assert run("tell", "shop.toml", "--csv", "more.csv").exit_code == 0
    assert plain("status")["told"] == 6


def test_a_wrong_level_in_a_table_is_named_with_its_line(cafe):
    Path("days.csv").write_text(TABLE.replace("FRI", "frii").replace("6,80", "6.5,80"))
    found = fault("tell", "shop.toml", "--csv", "days.csv")
    assert "line 3: context 'weekday' is 'frii'" in found
    assert "Did you mean 'fri'?" in found
    assert "line 4: context 'guests' is 6.5, but must be a whole number" in found
    assert plain("status")["told"] == 0


def test_a_count_outside_of_its_bounds_in_a_table_is_asked_about(cafe):
    Path("days.csv").write_text(TABLE.replace("6,80", "8,80"))
    assert "Guests 8 is not within 0 to 6" in fault("tell", "shop.toml", "--csv", "days.csv").replace(
        "guests", "Guests"
    )
    assert run("tell", "shop.toml", "--csv", "days.csv", "--sure").exit_code == 0
    assert plain("status")["outside"] == [2]


def test_an_export_is_taken_by_another_study_and_not_twice_by_its_own(told):
    assert run("export", "shop.toml", "--csv", "out.csv").exit_code == 0
    with Path("out.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["weekday"] for row in rows] == ["mon", "fri", "sat", "mon", "fri"]
    assert [row["guests"] for row in rows] == ["2", "", "6", "0", "1"]
    assert json.loads(run("tell", "shop.toml", "--csv", "out.csv", "--json").stdout)["added"] == 0
    Path("other.toml").write_text(told.read_text().replace("shop.db", "other.db"))
    assert json.loads(run("tell", "other.toml", "--csv", "out.csv", "--json").stdout)["added"] == 5
    mine, others = (StudyStore.open(load(Path(p))).entries() for p in ("shop.toml", "other.toml"))
    assert [e.context for e in mine] == [e.context for e in others]
    assert run("export", "shop.toml", "--parquet", "out.parquet").exit_code == 0


def test_a_level_is_corrected_and_the_history_says_so(told):
    done = plain("correct", "1", "--context", "weekday=SAT", "--sure")
    assert (done["context"]["weekday"], done["was"]) == ("sat", {"weekday": "fri"})
    assert "Did you mean 'sat'?" in fault("correct", "shop.toml", "1", "--context", "weekday=sta")
    assert "weekday sat, was fri" in run("history", "shop.toml").stdout
    assert run("correct", "shop.toml", "1", "--context", "guests=3").exit_code == 0
    assert plain("status")["not_seen"] == {}
    assert plain("undo", "1")["context"]["weekday"] == "sat"
    Path("days.csv").write_text(TABLE.replace("FRI", "mon"))
    changed = json.loads(run("tell", "shop.toml", "--csv", "days.csv", "--json").stdout)["changed"]
    assert changed == [{"line": 3, "number": 1, "was": {"weekday": "sat"}}]


def test_the_status_shows_how_often_each_level_came(told):
    status = plain("status")
    assert status["contexts"]["weekday"] == {"times": 5, "counts": {"mon": 2, "fri": 2, "sat": 1}}
    assert status["contexts"]["guests"]["mean"] == pytest.approx(9 / 4)
    shown = run("status", "shop.toml").stdout
    assert "Estimated distribution of weekday:" in shown
    shares = [int(line.split()[-2]) for line in shown.splitlines() if line.split()[:1] in (["mon"], ["sat"])]
    assert shares[0] > shares[1] > 0
    assert "Estimated distribution of guests:" in shown


def test_decisions_follow_from_conditions_of_every_kind(told):
    assert 0 <= ask(told)["decision"]["stock"] <= 40
    assert plain("recommend")["interval"][0] < plain("recommend")["interval"][1]
    assert "expected" in plain("predict", "stock=12")


def test_an_odd_value_beside_choices_is_asked_about(told):
    ask(told)
    words = fault("tell", "shop.toml", "5", "--value", "90000", *MET)
    assert "times the most so far" in words


PROGRAM = """
import json, sys
stock, weekday = float(sys.argv[1]), sys.argv[2]
met = {"demand": 9.0, "guests": 3} if weekday == "sat" else {"demand": 4.0, "guests": None}
print(json.dumps({"value": 9 * min(stock, met["demand"]) - 5 * stock, "context": met}))
"""


def test_a_program_gets_what_is_known_and_says_the_rest(cafe):
    Path("shop.py").write_text(PROGRAM)
    import sys

    line = f"{sys.executable} shop.py {{stock}} {{weekday}}"
    assert "what is decided or known is stock" in fault("run", "shop.toml", "--command", line)
    more = ["--trials", "2", "--known", "weekday=SAT", "--json"]
    assert json.loads(run("run", "shop.toml", "--command", line, *more).stdout) == {"told": 2, "failed": 0}
    entries = StudyStore.open(load(cafe)).entries()
    assert [e.context for e in entries] == [{"demand": 9.0, "weekday": "sat", "guests": 3}] * 2
    more = ["--trials", "1", "--known", "weekday=mon", "--json"]
    assert json.loads(run("run", "shop.toml", "--command", line, *more).stdout)["told"] == 1
    assert StudyStore.open(load(cafe)).entries()[-1].context == {"demand": 4.0, "weekday": "mon"}
