"""The bakery by commands: a typo is noticed, taken with --sure, repaired; and what people read."""

import csv
import io
import json
import random
from datetime import datetime
from types import SimpleNamespace

import pytest

from shops import QUICK, ask, fault, run
from windage.cli import app, shared
from windage.errors import InputError
from windage.studies import reasons, sentences
from windage.studies.file import load
from windage.studies.quantities import since
from windage.studies.store import StudyStore

BAKERY = f"""direction = "maximize"
[value]
unit = "€"
[decisions.stock]
low = 0
high = 150
integer = true
unit = "loaves"
[contexts.demand]
low = 0
unit = "loaves"
{QUICK}"""


def profit(stock, demand):
    return round(2.2 * min(stock, demand) - 0.8 * stock, 2)


def one_day(index, demand):
    stock = ask("shop.toml")["decision"]["stock"]
    told = ["tell", "shop.toml", str(index), "--context", f"demand={demand}"]
    return stock, [*told, "--value", str(profit(stock, demand))]


@pytest.fixture
def bakery(shop):
    """Twelve good days."""
    shop.write_text(BAKERY)
    draw = random.Random(4)
    for index in range(12):
        _, told = one_day(index, round(draw.gauss(80, 15)))
        assert run(*told).exit_code == 0
    return shop


def best():
    return json.loads(run("recommend", "shop.toml", "--json").stdout)


def test_a_typo_is_noticed_taken_with_sure_repaired_and_the_recommendation_is_back(bakery):
    stock, told = one_day(12, 85)
    right = profit(stock, 85)
    message = fault(*told[:-1], "1200")
    assert "1200 € is" in message
    assert "times the most so far" in message
    assert message.endswith("Nothing was changed. If it is right, say it again with --sure.")
    assert len(StudyStore.open(load(bakery)).entries()) == 12
    assert run(*told[:-1], str(right)).exit_code == 0
    wanted = best()
    assert run("forget", "shop.toml", "12").exit_code == 0
    asked = ask("shop.toml")["number"]
    stock_again = ["--decision", f"stock={stock}"]
    assert run("tell", "shop.toml", str(asked), "--failed", "closed").exit_code == 0
    taken = ["tell", "shop.toml", *stock_again, "--context", "demand=85", "--value", "1200"]
    assert "nothing was changed" in fault(*taken).lower()
    assert run(*taken, "--sure").exit_code == 0
    typo = best()
    assert abs(typo["decision"]["stock"] - wanted["decision"]["stock"]) <= 0.05 * 150
    assert typo["expected"] < 150  # and not 1,049 €
    assert "Decision 14 looks mistyped" in run("status", "shop.toml").stdout.replace("\n", " ")
    assert json.loads(run("status", "shop.toml", "--json").stdout)["suspects"] == [14]
    shown = run("correct", "shop.toml", "14", "--value", str(right), "--why", "a digit too many").stdout
    assert shown == f"Decision 14 is corrected: value {right} €, told as 1200 €.\n"
    again = best()
    assert again["decision"] == wanted["decision"]
    assert again["expected"] == pytest.approx(wanted["expected"], rel=1e-9)
    assert json.loads(run("status", "shop.toml", "--json").stdout)["suspects"] == []


def test_a_person_is_asked_and_may_say_no(monkeypatch):
    terminal = type("Terminal", (io.StringIO,), {"isatty": lambda _: True})
    monkeypatch.setattr(shared, "sys", SimpleNamespace(stdin=terminal(), stdout=terminal()))
    asked, odd = [], ["value 1200 € is 8 times the most so far, 150 €."]
    monkeypatch.setattr("typer.confirm", lambda words, default: asked.append(words) or False)
    with pytest.raises(InputError, match="nothing was changed"):
        shared.ask_again(odd, as_json=False)
    assert asked == ["Value 1200 € is 8 times the most so far, 150 €. Sure?"]
    monkeypatch.setattr("typer.confirm", lambda words, default: True)
    shared.ask_again(odd, as_json=False)
    with pytest.raises(InputError, match="--sure"):  # a script reads the answer
        shared.ask_again(odd, as_json=True)


def test_an_odd_context_is_noticed_too(bakery):
    stock, told = one_day(12, 85)
    odd = ["tell", "shop.toml", "12", "--context", "demand=8500", "--value", str(profit(stock, 85))]
    assert "Demand 8500 loaves is" in fault(*odd)
    assert run(*told).exit_code == 0


def test_the_first_four_results_are_never_odd(shop):
    shop.write_text(BAKERY)
    for index, value in enumerate((1, 2, 1000, 3)):
        ask("shop.toml")
        told = ["tell", "shop.toml", str(index), "--context", f"demand={50 + index}"]
        assert run(*told, "--value", str(value)).exit_code == 0


def test_nothing_is_erased_and_everything_can_be_undone(bakery):
    store = StudyStore.open(load(bakery))
    before = store.entries()
    assert run("correct", "shop.toml", "3", "--context", "demand=70", "--why", "misread").exit_code == 0
    assert run("forget", "shop.toml", "4", "--why", "the till was broken").exit_code == 0
    lines = run("history", "shop.toml").stdout.splitlines()
    assert "decision 3 corrected: demand 70 loaves, was " in lines[0]
    assert lines[0].endswith(" loaves (misread)")
    assert lines[1].endswith("decision 4 forgotten (the till was broken)")
    assert lines[0].startswith(f"{datetime.now():%Y-}")
    status = run("status", "shop.toml").stdout
    assert "11 told" in status
    assert "1 corrected, 1 forgotten" in status
    rows = list(csv.DictReader(io.StringIO(run("export", "shop.toml", "--csv", "-").stdout)))
    assert len(rows) == 12
    assert rows[3]["change"].startswith("corrected: demand was ")
    assert rows[3]["change"].endswith("(misread)")
    assert rows[4]["change"] == "forgotten (the till was broken)"
    assert rows[5]["change"] == ""
    assert "is undone" in run("undo", "shop.toml", "3").stdout
    assert "is undone" in run("undo", "shop.toml", "4").stdout
    assert [(e.decision, e.context, e.value) for e in store.entries()] == [
        (e.decision, e.context, e.value) for e in before
    ]
    assert len(json.loads(run("history", "shop.toml", "--json").stdout)) == 4


def test_a_correction_of_what_was_forgotten_says_that_it_counts_again(bakery):
    run("forget", "shop.toml", "3", "--why", "closed")
    assert "It counts again." in run("correct", "shop.toml", "3", "--value", "60").stdout
    assert "counts again" not in run("correct", "shop.toml", "3", "--value", "61").stdout
    assert any(e.number == 3 for e in StudyStore.open(load(bakery)).entries())


def test_an_export_with_changes_told_to_a_new_study_is_what_counts(bakery, tmp_path):
    run("correct", "shop.toml", "3", "--value", "77")
    run("forget", "shop.toml", "4")
    run("export", "shop.toml", "--csv", "out.csv")
    (tmp_path / "new.toml").write_text(BAKERY)
    words = run("tell", "new.toml", "--csv", "out.csv").stdout
    assert "11 rows are added" in words
    assert "Forgotten, and not taken: line 6." in words
    told = StudyStore.open(load(tmp_path / "new.toml")).entries()
    now = StudyStore.open(load(bakery)).entries()
    assert [(e.decision, e.context, e.value) for e in told] == [(e.decision, e.context, e.value) for e in now]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("correct", "shop.toml", "3"), "say what is right"),
        (("correct", "shop.toml", "3", "--value", "x"), "no number"),
        (("correct", "shop.toml", "3", "--value", "nan"), "value"),
        (("correct", "shop.toml", "3", "--context", "demnd=3"), "Did you mean 'demand'?"),
        (("correct", "shop.toml", "3", "--context", "demand=-3"), "is not within 0 loaves or more"),
        (("correct", "shop.toml", "3", "--decision", "stock=900"), "is not within 0 to 150 loaves"),
        (("correct", "shop.toml", "99", "--value", "3"), "there is no decision 99: the last told is 11"),
        (("forget", "shop.toml", "99"), "there is no decision 99"),
        (("undo", "shop.toml", "3"), "nothing to undo"),
        (("predict", "shop.toml", "stok=3"), "Did you mean 'stock'?"),
        (("predict", "shop.toml", "stock"), "NAME=VALUE"),
        (("predict", "shop.toml", "stock=900"), "must be 0 to 150"),
        (("tell", "shop.toml", "11", "--value", "3", "--replace", "--context", "demand=3"), "--replace goes"),
        (("tell", "shop.toml", "3", "--value", "3", "--context", "demand=3"), "windage correct FILE 3"),
    ],
)
def test_wrong_repairs_are_refused_and_change_nothing(bakery, arguments, words):
    before = StudyStore.open(load(bakery)).state()
    assert words in fault(*arguments)
    after = StudyStore.open(load(bakery))
    assert (after.state().entries, after.history()) == (before.entries, ())


def test_a_decision_under_way_is_told_and_not_corrected(bakery):
    number = ask("shop.toml")["number"]
    message = fault("correct", "shop.toml", str(number), "--value", "3")
    assert f"decision {number} is not told yet" in message
    run("forget", "shop.toml", "2")
    assert "forgotten already" in fault("forget", "shop.toml", "2")


def test_an_open_decision_comes_again_until_it_is_told(bakery):
    first = run("ask", "shop.toml").stdout
    assert first.startswith("Decision 12\n")
    again = run("ask", "shop.toml").stdout
    assert "Decision 12, stock" in again
    assert "is still open since" in again
    assert "--another for a second one" in again
    plain = ask("shop.toml")
    assert (plain["number"], plain["also_open"]) == (12, [])
    other = json.loads(run("ask", "shop.toml", "--another", "--json").stdout)
    assert other["number"] == 13
    assert ask("shop.toml")["also_open"] == [13]
    stock = plain["decision"]["stock"]
    run("tell", "shop.toml", "12", "--context", "demand=80", "--value", str(profit(stock, 80)))
    assert ask("shop.toml")["number"] == 13


def test_asking_says_why(shop):
    shop.write_text(BAKERY)
    asked = ask(shop)
    assert asked["why"] == reasons.FIRST
    run("tell", "shop.toml", "0", "--context", "demand=80", "--value", "50")
    seen = set()
    for index in range(1, 14):
        _, told = one_day(index, 80 + index % 3)
        seen.add(ask("shop.toml")["why"])
        run(*told)
    assert reasons.FIRST in seen
    assert reasons.BEST in seen
    assert any(why.startswith("to learn more about ") for why in seen), seen


def test_what_to_expect_is_said_of_the_average_and_of_a_single_day(bakery):
    lines = run("recommend", "shop.toml").stdout.splitlines()
    assert lines[1].startswith("On average ")
    assert lines[2].startswith("A single day: ")
    assert lines[3].startswith("If conditions turn out worse than seen: ")
    shown = run("predict", "shop.toml", "stock=60", "--threshold", "100").stdout
    assert shown.startswith("stock = 60 loaves\n")
    assert "below 100 € in " in shown
    assert " of 100 days." in shown
    plain = json.loads(run("predict", "shop.toml", "stock=60", "--threshold", "100", "--json").stdout)
    quantiles = plain["outcome"]["quantiles"]
    assert plain["decision"] == {"stock": 60}
    assert quantiles["0.025"] < plain["interval"][0] < plain["interval"][1]
    assert 0.5 < plain["outcome"]["below"] <= 1


def test_variables_that_are_left_out_of_a_prediction_are_as_recommended(shop):
    shop.write_text(
        BAKERY.replace("[contexts.demand]", "[decisions.price]\nlow = 1\nhigh = 3\n[contexts.demand]")
    )
    for i in range(6):
        own = ["--decision", f"stock={20 * i}", "--decision", f"price={1 + i / 3}"]
        told = run("tell", "shop.toml", *own, "--context", f"demand={60 + i}", "--value", str(50 + i))
        assert told.exit_code == 0
    wanted = best()["decision"]["price"]
    found = json.loads(run("predict", "shop.toml", "stock=60", "--json").stdout)["decision"]
    assert found == {"stock": 60, "price": wanted}


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0 of 100 days"),
        (0.001, "less than 1 of 100 days"),
        (0.034, "3 of 100 days"),
        (0.999, "more than 99 of 100 days"),
        (1.0, "100 of 100 days"),
    ],
)
def test_how_often(share, words):
    assert sentences.often(share) == words


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (3600, "11:00"),
        (2 * 86400, "Monday"),
        (30 * 86400, "19 October"),
        (400 * 86400, "14 October 2025"),
    ],
)
def test_since_when(age, words):
    assert since(age, datetime(2026, 11, 18, 12, 0)) == words


def test_every_command_of_a_person_has_its_help():
    from typer.testing import CliRunner

    for command in ("correct", "forget", "undo", "history", "predict"):
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
