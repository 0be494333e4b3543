"""Conditions of every kind on the page: known beforehand, forecast, not always seen, and wrong ones."""

import random
import re

import pytest
from pages import serving

from windage.studies.file import load
from windage.studies.store import StudyStore

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat")
STUDY = """
storage = "sqlite:///shop.db"
seed = 5
[value]
unit = "EUR"
description = "profit of the day"
[decisions.stock]
low = 0
high = 160
unit = "kg"
[contexts.demand]
low = 0
unit = "kg"
{more}
[settings]
raw_samples = 32
restarts = 2
members = 4
"""
WEEKDAY = """
[contexts.weekday]
choices = ["mon", "tue", "wed", "thu", "fri", "sat"]
known = true
"""
KINDS = """
[contexts.weather]
choices = ["sun", "rain & <b>"]
[contexts.guests]
low = 0
high = 200
integer = true
optional = true
"""


def profit(stock, demand):
    """Bought at 5, sold at 9, 1 for what is left: the median of the demand is best."""
    return round(9 * min(stock, demand) - 5 * stock + max(stock - demand, 0), 2)


def saturdays(store, count=48, seed=1):
    """Days of a shop with 110 on Saturdays and 60 otherwise."""
    rng = random.Random(seed)
    for day in range(count):
        weekday = DAYS[day % 6]
        demand = round(rng.gauss(110 if weekday == "sat" else 60, 6), 1)
        stock = round(rng.uniform(20, 150), 1)
        store.add({"stock": stock}, {"demand": demand, "weekday": weekday}, profit(stock, demand))


@pytest.fixture
def open_shop(tmp_path, monkeypatch, come):
    """Somebody with the page of a study open; and the study."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WINDAGE_STORAGE", raising=False)
    path = tmp_path / "shop.toml"
    servers = []

    def begin(more, before=lambda _: None):
        path.write_text(STUDY.format(more=more))
        before(StudyStore.open(load(path)))
        servers.append(serving(path))
        return come(servers[-1].__enter__())

    yield begin
    for server in servers:
        server.__exit__(None, None, None)


def study(visitor):
    return StudyStore.open(load(visitor.site.live.path))


def amount(html):
    return float(re.search(r'class="amount">([\d.]+) kg<', html)[1])


def test_every_kind_has_its_box_and_is_taken(open_shop):
    visitor = open_shop(KINDS)
    html = visitor.until("What happened?")
    assert ">rain &amp; &lt;b&gt;</option>" in html
    assert "a whole number, 0 to 200, may stay empty" in html
    assert 'inputmode="numeric"' in html
    html = visitor.send("/tell", context_0="60,5", context_1="rain & <b>", context_2="", value="12")
    assert "Saved: demand 60.5 kg, weather rain &amp; &lt;b&gt;, profit of the day 12 EUR." in html
    visitor.until('name="number" value="1"')
    visitor.send("/tell", sure=True, context_0="70", context_1="sun", context_2="40", value="13")
    entries = study(visitor).entries()
    assert [e.context for e in entries] == [
        {"demand": 60.5, "weather": "rain & <b>"},
        {"demand": 70.0, "weather": "sun", "guests": 40},
    ]
    html = visitor.until("How guests varies")
    assert "How weather varies" in html
    assert "You meet</dt><dd>weather: sun, rain &amp; &lt;b&gt;" in html
    visitor.open("/?correct=1")
    assert visitor.fields("/correct")["context-1"] == "sun"
    html = visitor.send("/correct", context_1="rain & <b>", context_2="41")
    assert "Day 1 is corrected" in html
    assert study(visitor).entries()[1].context == {"demand": 70.0, "weather": "rain & <b>", "guests": 41}
    visitor.open()
    html = visitor.send("/add", decision_0="9", context_0="9", context_1="sun", context_2="", value="29")
    assert "A day is added: stock 9 kg, demand 9 kg, weather sun" in html


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        ("context-1", "snow", "Weather is &#39;snow&#39;"),
        ("context-1", "Sunn", "Did you mean"),
        ("context-1", "", "This is missing"),
        ("context-2", "3.5", "Guests"),
        ("context-2", "300", "Guests"),
        ("context-2", "many", "which is no number"),
    ],
)
def test_a_wrong_kind_is_explained_and_stays(open_shop, field, text, words):
    visitor = open_shop(KINDS)
    visitor.until("What happened?")
    fields = {"context_0": "60", "context_1": "sun", "context_2": "5", "value": "12"}
    html = visitor.send("/tell", **{**fields, field.replace("-", "_"): text})
    assert visitor.answer.status_code == 422
    (fault,) = re.findall(r'role="alert">([^<]*)</span>', html)
    assert words in fault
    assert visitor.fields("/tell")[field] == text
    assert study(visitor).entries() == []


def test_the_saturday_shop(open_shop):
    visitor = open_shop(WEEKDAY, saturdays)
    html = visitor.until("Say what is known of the day")
    assert "What happened?" not in html
    assert study(visitor).state().open == []
    html = visitor.send("/ask", known_1="sat")
    assert "For weekday sat" in html
    assert amount(html) == pytest.approx(110, abs=15)
    assert "context-1" not in visitor.fields("/tell")
    html = visitor.send("/tell", context_0="108", value=str(profit(amount(html), 108)))
    assert "Saved: demand 108 kg, weekday sat, profit of the day" in html
    html = visitor.send("/ask", known_1="tue")
    assert amount(html) == pytest.approx(60, abs=15)
    (waiting,) = study(visitor).state().open
    assert waiting.beforehand.known == {"weekday": "tue"}
    visitor.until("What matters most: ")
    visitor.until('role="status"></p>')  # all of it is of now
    rows = dict(re.findall(r'<th scope="row">(\w+)</th><td class="number">([\d.]+)<', visitor.html))
    assert list(rows) == list(DAYS)
    assert float(rows["sat"]) == pytest.approx(110, abs=12)
    assert all(float(rows[day]) == pytest.approx(60, abs=12) for day in DAYS[:5])
    answer = visitor.client.get("/what-if", params={"decision-0": "100", "known-1": "sat"}).json()
    other = visitor.client.get("/what-if", params={"decision-0": "100", "known-1": ""}).json()
    assert answer["shown"] == {"weekday": "sat", "stock": "100 kg"}
    assert other["shown"] == {"stock": "100 kg"}
    assert answer["lines"] != other["lines"]
    html = visitor.open("/?decision-0=100&known-1=sat")
    assert "weekday sat, stock 100 kg." in html


def test_a_known_number_and_an_odd_result(open_shop):
    """What is known is a part of what is judged, and a number is known as a choice is."""

    def warm(store):
        rng = random.Random(4)
        for _ in range(12):
            heat, stock = rng.randint(5, 30), round(rng.uniform(20, 150), 1)
            store.add({"stock": stock}, {"demand": 4.0 * heat, "heat": heat}, profit(stock, 4 * heat))

    visitor = open_shop("[contexts.heat]\nlow = -20\nhigh = 45\ninteger = true\nknown = true\n", warm)
    html = visitor.until("a whole number, -20 to 45")
    assert "Heat is 60" in visitor.send("/ask", known_1="60")
    assert "For heat 28" in visitor.send("/ask", known_1="28")
    html = visitor.send("/tell", context_0="112", value="99999")
    assert "Sure?" in html
    assert "is not told" not in html
    assert "Saved: demand 112 kg, heat 28" in visitor.send("/tell", sure=True)
    assert "Table of what is best" not in visitor.until("What matters most: ")
    assert visitor.client.get("/what-if", params={"decision-0": "9", "known-1": "warm"}).json() == {
        "fault": "Heat is 'warm', which is no number. Write the number alone, such as 12.5."
    }


def test_another_day_is_asked_for_beside_the_open_one(open_shop):
    visitor = open_shop(WEEKDAY)
    visitor.until("Say what is known of the day")
    visitor.send("/ask", known_1="fri")
    visitor.send("/ask", known_1="sat")
    assert "For weekday sat" in visitor.html
    assert "(for weekday fri, decision 0)" in visitor.html
    visitor.send("/ask", known_1="sat")
    assert [p.number for p in study(visitor).state().open] == [0, 1]
    visitor.open("/?decision=0")
    assert "For weekday fri" in visitor.html
    assert "Saved: demand 9 kg, weekday fri" in visitor.send("/tell", context_0="9", value="3")
    again = visitor.client.post(
        "/tell", data={**visitor.fields("/tell"), "number": "0", "context-0": "9", "value": "4"}
    )
    assert "was told already" in again.text


def test_a_forecast_goes_with_the_decision(open_shop):
    visitor = open_shop(WEEKDAY)
    visitor.until("Say what is known of the day")
    html = visitor.send("/ask", known_1="sat", forecast_0="80,5", spread_0="15 kg")
    assert "For weekday sat, demand forecast 80.5±15 kg" in html
    html = visitor.send("/ask", known_1="sat", forecast_0="90", spread_0="")
    assert "For weekday sat, demand forecast 90 kg" in html
    assert [p.number for p in study(visitor).state().open] == [1]  # it took the place of the first
    visitor.send("/tell", context_0="88", value="12")
    (entry,) = study(visitor).entries()
    assert entry.forecast == {"demand": {"mean": 90.0, "deviation": None}}


def test_a_forecast_where_nothing_is_known(open_shop):
    visitor = open_shop("")
    visitor.until("What happened?")
    html = visitor.send("/ask", forecast_0="80±15")
    assert "For demand forecast 80±15 kg" in html
    (waiting,) = study(visitor).state().open
    assert waiting.beforehand.forecast == {"demand": {"mean": 80.0, "deviation": 15.0}}
    visitor.send("/ask")
    assert [p.number for p in study(visitor).state().open] == [waiting.number]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"known-1": ""}, "This is missing: say what it is"),
        ({"known-1": "sunday"}, "Weekday is &#39;sunday&#39;"),
        ({"known-1": "<b>"}, "&lt;b&gt;"),
        ({"forecast-0": "much"}, "The forecast of demand is &#39;much&#39;, which is no number"),
        ({"forecast-0": "nan"}, "no number to count with"),
        ({"forecast-0": "80", "spread-0": "0"}, "must be above 0"),
        ({"forecast-0": "80", "spread-0": "wide"}, "which is no number"),
        ({"forecast-0": "", "spread-0": "5"}, "Say the forecast itself"),
        ({"forecast-0": "-80±15"}, "lies outside its bounds"),
        ({"forecast-0": "-80", "spread-0": "15"}, "lies outside its bounds"),
        ({"forecast-0": "80±15±3"}, "write it as 80±15"),
    ],
)
def test_what_is_wrong_beforehand_is_explained_and_stays(open_shop, typed, words):
    visitor = open_shop(WEEKDAY)
    visitor.until("Say what is known of the day")
    given = {"known-1": "sat", **typed}
    html = visitor.send("/ask", **{k.replace("-", "_"): v for k, v in given.items()})
    assert visitor.answer.status_code == 422
    (fault,) = re.findall(r'role="alert">([^<]*)</span>', html)
    assert words in fault
    assert {key: visitor.fields("/ask")[key] for key in given} == given
    assert study(visitor).count() == 0


def test_a_file_that_changes_keeps_what_was_typed(open_shop):
    visitor = open_shop(WEEKDAY)
    visitor.until("Say what is known of the day")
    path = visitor.site.live.path
    path.write_text(path.read_text().replace('"sat"]', '"sat", "sun"]'))
    html = visitor.send("/ask", known_1="sat", forecast_0="80")
    assert "The study file has changed" in html
    assert visitor.fields("/ask")["forecast-0"] == "80"
    path.write_text(path.read_text().replace("low = 0\nhigh = 160", "low = 0"))
    html = visitor.send("/ask", known_1="sat", forecast_0="81")
    assert visitor.answer.status_code == 422
    assert "high is missing" in html
    assert visitor.fields("/ask")["forecast-0"] == "81"


def test_demand_that_moved_is_said(open_shop):
    def moved(store):
        rng = random.Random(2)
        for day in range(36):
            demand, stock = round(rng.gauss(60 if day < 24 else 110, 6), 1), round(rng.uniform(20, 150), 1)
            store.add(
                {"stock": stock},
                {"demand": demand},
                profit(stock, demand),
                time=f"2025-{1 + day // 28:02}-{1 + day % 28:02}",
            )

    html = open_shop("", moved).until("Demand seems to have changed since ")
    assert re.search(
        r"since 2\d January 2025 \(day 2\d\): 1\d\d kg on average, before \d\d(\.\d)? kg\.", html
    )
    assert html.count("seems to have changed") == 1


def test_a_forecast_that_has_not_helped_is_said(open_shop):
    def useless(store):
        rng = random.Random(3)
        for _ in range(30):
            demand, stock = round(rng.gauss(60, 8), 1), round(rng.uniform(20, 150), 1)
            forecast = {"demand": {"mean": rng.gauss(60, 30), "deviation": 2.0}}
            store.add({"stock": stock}, {"demand": demand}, profit(stock, demand), forecast=forecast)

    open_shop("", useless).until("The forecast of demand has not helped in 30 forecasts: it is not used.")
