"""A study file that changes: what was told before still teaches, and is flagged."""

from pathlib import Path

import pytest

from shops import QUICK, ask, fault, plain, run, tell_table
from windage.studies.file import load
from windage.studies.store import StudyStore

HEAD = "stock,demand,value\n"
ROWS = [(5, 9), (12, 14), (20, 11), (27, 16), (33, 12), (40, 15), (18, 13), (9, 10)]


@pytest.fixture
def told(shop):
    rows = [f"{s},{d},{9 * min(s, d) - 5 * s}" for s, d in ROWS]
    tell_table(HEAD + "\n".join(rows) + "\n")
    return shop


def test_a_context_that_is_added_later_keeps_the_old_rows(told):
    before = plain("recommend")
    told.write_text(told.read_text().replace(QUICK, "\n[contexts.heat]\nlow = 0\nhigh = 40\n" + QUICK))
    status = plain("status")
    assert (status["told"], status["not_seen"]) == (8, {"heat": 8})
    assert "8 rows without heat" in run("status", "shop.toml").stdout
    after = plain("recommend")
    assert after["decision"]["stock"] == pytest.approx(before["decision"]["stock"], abs=1.0)
    assert "heat" in after["note"]
    asked = ask(told)
    met = ["--context", "demand=12", "--context", "heat=20"]
    value = str(9 * min(asked["decision"]["stock"], 12) - 5 * asked["decision"]["stock"])
    assert run("tell", "shop.toml", str(asked["number"]), "--value", value, *met).exit_code == 0
    assert plain("status")["not_seen"] == {"heat": 8}
    assert plain("recommend")["decision"]["stock"] == pytest.approx(before["decision"]["stock"], abs=4.0)
    # what is found out later can be filled in
    assert run("correct", "shop.toml", "3", "--context", "heat=25").exit_code == 0
    assert plain("status")["not_seen"] == {"heat": 7}
    table = run("export", "shop.toml", "--csv", "-").stdout.splitlines()
    assert "heat was not told" in table[4]


def test_a_context_that_is_taken_away_is_left_alone(told):
    text = told.read_text()
    told.write_text(text.replace(QUICK, "\n[contexts.heat]\n" + QUICK))
    ask(told)
    run("tell", "shop.toml", "8", "--value", "3", "--context", "demand=9", "--context", "heat=3")
    told.write_text(text)
    assert plain("status")["told"] == 9
    assert plain("status")["not_seen"] == {}


def test_a_bound_that_is_narrowed_later_leaves_the_rows_outside(told):
    told.write_text(told.read_text().replace("high = 40\nunit", "high = 25\nunit"))
    status = plain("status")
    assert (status["told"], status["outside"]) == (8, [3, 4, 5])
    shown = " ".join(run("status", "shop.toml").stdout.split())
    assert "Outside of the bounds or off the step, and still teaching: 3, 4, 5." in shown
    store = StudyStore.open(load(told))
    assert len(store.everything().known.observations) == 8
    assert 0 <= plain("recommend")["decision"]["stock"] <= 25
    assert 0 <= ask(told)["decision"]["stock"] <= 25


def test_a_decision_under_way_may_be_told_after_its_bound_was_narrowed(told):
    asked = ask(told)["decision"]["stock"]
    told.write_text(told.read_text().replace("high = 40\nunit", f"high = {asked / 2}\nunit"))
    assert run("tell", "shop.toml", "8", "--value", "3", "--context", "demand=9", "--sure").exit_code == 0
    assert 8 in plain("status")["outside"]


def test_a_step_that_is_added_later_leaves_the_rows_off_it(told):
    told.write_text(told.read_text().replace("high = 40\nunit", "high = 40\nstep = 5\nunit"))
    assert plain("status")["outside"] == [1, 3, 4, 6, 7]
    assert plain("recommend")["decision"]["stock"] % 5 == 0
    assert len(StudyStore.open(load(told)).everything().known.observations) == 8


def test_history_outside_of_the_bounds_is_asked_about_and_taken_with_sure(told):
    own = ["tell", "shop.toml", "--decision", "stock=55", "--value", "-100", "--context", "demand=12"]
    assert fault(*own).startswith("Stock 55 kg is not within 0 to 40 kg.")
    assert run(*own, "--sure").exit_code == 0
    Path("more.csv").write_text(HEAD + "60,12,-150\n")
    message = fault("tell", "shop.toml", "--csv", "more.csv")
    assert message.startswith("Line 2: stock 60 kg is not within 0 to 40 kg.")
    assert run("tell", "shop.toml", "--csv", "more.csv", "--sure").exit_code == 0
    assert plain("status")["outside"] == [8, 9]
    assert plain("recommend")["decision"]["stock"] <= 40
    # and again from its own export: nothing is taken twice
    run("export", "shop.toml", "--csv", "out.csv")
    assert plain("tell", "--csv", "out.csv", "--sure")["added"] == 0


@pytest.mark.parametrize("value", ["1e200", "-1e200"])
def test_what_no_study_ever_held_is_refused(told, value):
    own = ["tell", "shop.toml", "--decision", f"stock={value}", "--value", "1", "--context", "demand=12"]
    assert "must be 0 to 40" in fault(*own, "--sure")


def test_whole_numbers_stay_whole(told):
    told.write_text(told.read_text().replace("[decisions.stock]", "[decisions.crates]\nlow = 1\nhigh = 6\n"
                                             "integer = true\n[decisions.stock]"))  # fmt: skip
    own = ["--decision", "stock=5", "--decision", "crates=7.5", "--value", "1", "--context", "demand=12"]
    assert "must be 1 to 6" in fault("tell", "shop.toml", *own, "--sure")
