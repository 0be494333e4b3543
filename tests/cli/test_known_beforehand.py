"""What is known before a decision, and what is forecast, as a shop owner says it."""

import csv
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from shops import QUICK, fault, plain, run, tell_table
from windage.cli import answers
from windage.studies.file import load
from windage.studies.store import StudyStore

WEEKDAY = """
[contexts.weekday]
choices = ["mon", "fri", "sat"]
known = true
"""
TABLE = """stock,demand,weekday,demand forecast,value
5,9,mon,8±2,20
12,14,fri,"12,5±3",48
20,21,sat,20,80
8,7,mon,,23
30,16,fri,15±3,-6
"""


@pytest.fixture
def kiosk(shop):
    shop.write_text(shop.read_text().replace(QUICK, WEEKDAY + QUICK))
    return shop


@pytest.fixture
def told(kiosk):
    tell_table(TABLE)
    return kiosk


def test_what_is_known_stays_with_the_open_decision(kiosk):
    asked = plain("ask", "--known", "weekday=SAT", "--forecast", "demand=80±15")
    given = {"known": {"weekday": "sat"}, "forecast": {"demand": {"mean": 80.0, "deviation": 15.0}}}
    assert {key: asked[key] for key in given} == given
    for more in ([], ["--known", "weekday=sat"]):  # each is a process of its own in life
        again = plain("ask", *more)
        assert {**again, "open_seconds": 0} == {**asked, "open_seconds": 0, "also_open": []}
    shown = run("ask", "shop.toml").stdout
    assert "For: weekday sat, demand forecast 80±15 kg." in shown
    assert shown.rstrip().endswith("--value ... --context demand=...")
    (pending,) = plain("status")["pending"]
    assert {key: pending[key] for key in given} == given
    assert "for weekday sat" in " ".join(run("status", "shop.toml").stdout.replace("│", " ").split())
    told = plain("tell", "0", "--value", "5", "--context", "demand=75")
    assert told["context"] == {"demand": 75.0, "weekday": "sat"}
    (entry,) = StudyStore.open(load(kiosk)).entries()
    assert entry.forecast == given["forecast"]


def test_what_is_told_wins_over_what_was_known(kiosk):
    plain("ask", "--known", "weekday=sat", "--known", "demand=9")
    assert plain("tell", "0", "--value", "5", "--context", "weekday=fri")["context"] == {
        "demand": 9.0,
        "weekday": "fri",
    }


def test_an_open_decision_for_another_day_is_no_answer(kiosk):
    assert plain("ask", "--known", "weekday=fri")["number"] == 0
    assert plain("ask", "--known", "weekday=sat")["number"] == 1
    assert plain("ask", "--known", "weekday=sat")["number"] == 1
    assert plain("ask")["also_open"] == [1]
    shown = run("ask", "shop.toml", "--known", "weekday=sat", "--forecast", "demand=9").stdout
    assert "It was chosen when what was known was weekday sat; --another" in shown
    assert plain("ask", "--another", "--known", "weekday=sat")["number"] == 2


def test_a_method_that_sees_no_contexts_keeps_what_the_file_wants_and_refuses_more(kiosk):
    text = kiosk.read_text().replace('method = "auto"', 'method = "gp-ucb"')
    kiosk.write_text(text.replace("members = 4", ""))
    for number in range(3):
        assert plain("ask", "--known", "weekday=sat")["known"] == {"weekday": "sat"}
        done = plain("tell", str(number), "--value", str(number), "--context", "demand=9")
        assert done["context"]["weekday"] == "sat"
    words = "method 'gp-ucb' sees no contexts: it has no use for what is known of demand"
    assert words in fault("ask", "shop.toml", "--known", "weekday=sat", "--forecast", "demand=9")
    assert plain("status")["pending"] == []


def test_in_a_script_what_must_be_known_is_named_with_its_option(kiosk):
    for more in (["--json"], [], ["--another"]):
        assert "--known weekday=mon" in fault("ask", "shop.toml", *more)
    assert "--known weekday=mon" in fault("run", "shop.toml", "--command", "true {stock}")
    assert "windage ask FILE --known" in fault("dashboard", "shop.toml", "--ask")
    assert plain("status")["pending"] == []


def test_in_a_terminal_what_must_be_known_is_asked_for_by_name(kiosk, monkeypatch):
    monkeypatch.setattr(answers, "in_terminal", lambda: True)
    from typer.testing import CliRunner

    from windage import cli

    result = CliRunner().invoke(cli.app, ["ask", "shop.toml"], input="satt\nSat\n")
    assert result.exit_code == 0, result.exception
    assert result.stdout.count("What is weekday? (mon, fri, sat)") == 2
    assert "Did you mean 'sat'?" in result.stdout
    assert "For: weekday sat." in result.stdout
    again = CliRunner().invoke(cli.app, ["ask", "shop.toml"])  # the open one: nothing is asked
    assert again.exit_code == 0
    assert "What is weekday" not in again.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--known", "weekday=satt"], "Did you mean 'sat'?"),
        (["--known", "wekday=sat"], "Did you mean 'weekday'?"),
        (["--known", "demand=-1"], "outside its bounds"),
        (["--known", "weekday"], "such as --known weekday=sat"),
        (["--forecast", "demand"], "such as --forecast demand=80±15"),
        (["--forecast", "demnd=80"], "Did you mean 'demand'?"),
        (["--forecast", "demand=nan"], "finite"),
        (["--forecast", "demand=80±nan"], "finite"),
        (["--forecast", "demand=80±0"], "above 0"),
        (["--forecast", "demand=-80±5"], "lies outside its bounds"),
        (["--forecast", "weekday=sat"], "only numbers are forecast"),
        (["--known", "demand=9", "--forecast", "demand=9"], "both known and forecast"),
        (["--known", "weekday=sat", "--known", "weekday=mon"], "given twice"),
    ],
)
@pytest.mark.parametrize("command", [["ask"], ["recommend"], ["predict", "stock=9"]])
def test_what_is_said_wrong_is_one_line_and_changes_nothing(told, command, options, words):
    before = Path("shop.db").read_bytes()
    found = fault(command[0], "shop.toml", *command[1:], *options)
    assert words in found
    assert "\n" not in found
    assert Path("shop.db").read_bytes() == before


def test_a_table_has_past_forecasts_and_an_export_writes_them(told):
    entries = StudyStore.open(load(told)).entries()
    found = [e.forecast.get("demand") for e in entries]
    assert found == [
        {"mean": 8.0, "deviation": 2.0},
        {"mean": 12.5, "deviation": 3.0},
        {"mean": 20.0, "deviation": None},
        None,
        {"mean": 15.0, "deviation": 3.0},
    ]
    assert run("export", "shop.toml", "--csv", "out.csv").exit_code == 0
    with Path("out.csv").open(newline="") as lines:
        cells = [row["demand forecast"] for row in csv.DictReader(lines)]
    assert cells == ["8±2", "12.5±3", "20", "", "15±3"]
    Path("other.toml").write_text(told.read_text().replace("shop.db", "other.db"))
    assert run("tell", "other.toml", "--csv", "out.csv").exit_code == 0
    assert [e.forecast for e in StudyStore.open(load(Path("other.toml"))).entries()] == [
        e.forecast for e in entries
    ]
    Path("bad.csv").write_text(TABLE.replace("8±2", "8±x"))
    assert "line 2: the forecast of 'demand'" in fault("tell", "other.toml", "--csv", "bad.csv")


def test_a_decision_of_ones_own_has_a_forecast_and_one_asked_for_has_its_own(told):
    own = ["--decision", "stock=9", "--context", "demand=9", "--context", "weekday=mon", "--value", "36"]
    assert run("tell", "shop.toml", *own, "--forecast", "demand=10±2").exit_code == 0
    assert StudyStore.open(load(told)).entries()[-1].forecast == {"demand": {"mean": 10, "deviation": 2}}
    plain("ask", "--known", "weekday=sat")
    met = ["--value", "36", "--context", "demand=9", "--forecast", "demand=10"]
    assert "the forecast of its ask" in fault("tell", "shop.toml", "6", *met)


def test_when_it_happened(told):
    plain("ask", "--known", "weekday=sat")
    met = ["--value", "36", "--context", "demand=9"]
    assert "no date" in fault("tell", "shop.toml", "5", *met, "--time", "soon")
    assert "goes with one result" in fault("tell", "shop.toml", "--csv", "days.csv", "--time", "2026-01-01")
    tomorrow = f"{datetime.now() + timedelta(days=2):%Y-%m-%d}"
    assert "is in the future" in fault("tell", "shop.toml", "5", *met, "--time", tomorrow)
    early = fault("tell", "shop.toml", "5", *met, "--time", "2024-05-03")
    assert "The time 2024-05-03 is before the last one told" in early
    assert "--sure" in early
    assert plain("status")["told"] == 5
    assert run("tell", "shop.toml", "5", *met, "--time", "3.5.2024", "--sure").exit_code == 0
    assert StudyStore.open(load(told)).entries()[-1].date == "2024-05-03"
    known = StudyStore.open(load(told)).known()[1]
    assert known.observations[0]["number"] == 5  # it counts as the first
    times = [row["time"] for row in known.observations]
    assert times == sorted(times)
    assert times[0] == 19846.0
    plain("ask", "--known", "weekday=sat")
    assert run("tell", "shop.toml", "6", *met).exit_code == 0
    assert StudyStore.open(load(told)).entries()[-1].date == ""


def test_recommend_and_predict_for_a_day(told):
    for command in (["recommend"], ["predict", "stock=9"]):
        day = plain(command[0], *command[1:], "--known", "weekday=sat", "--forecast", "demand=20±2")
        assert day["known"] == {"weekday": "sat"}
        assert day["expected"] != plain(*command)["expected"]
        shown = run(command[0], "shop.toml", *command[1:], "--known", "weekday=sat").stdout
        assert shown.startswith("For: weekday sat.\n")


def test_recommend_for_each_day(told):
    found = plain("recommend", "--for-each", "weekday")
    assert found["for_each"] == "weekday"
    assert [row["weekday"] for row in found["levels"]] == ["mon", "fri", "sat"]
    one = plain("recommend", "--known", "weekday=sat")
    assert found["levels"][2]["decision"] == one["decision"]
    shown = run("recommend", "shop.toml", "--for-each", "weekday").stdout
    assert all(word in shown for word in ("weekday", "stock", "on average", "mon", "fri", "sat", "kg", "EUR"))
    assert "Did you mean 'weekday'?" in fault("recommend", "shop.toml", "--for-each", "wekday")
    assert "--known demand=..." in fault("recommend", "shop.toml", "--for-each", "demand")


def test_a_second_worker_sees_what_is_known_of_open_decisions(told):
    plain("ask", "--known", "weekday=sat", "--forecast", "demand=20±2")
    found = StudyStore.open(load(told)).everything()
    (trial,) = found.optimizer.pending
    assert trial.known == {"weekday": "sat"}
    assert trial.forecast["demand"].mean == 20
    assert found.optimizer.observations.forecasts[1] == {"demand": (12.5, 3.0)}


@pytest.mark.filterwarnings("ignore:trial 2 is left out")
def test_a_level_that_is_gone_from_the_file_is_no_longer_known(told):
    plain("ask", "--known", "weekday=sat")
    told.write_text(told.read_text().replace('"fri", "sat"', '"fri", "sun"'))
    (pending,) = plain("status")["pending"]
    assert "known" not in pending
    assert plain("ask", "--another", "--known", "weekday=sun")["number"] == 6
