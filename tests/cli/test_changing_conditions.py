"""The Saturday shop, and demand that moves: what a shop owner is told to do, by commands."""

import random
from datetime import date, timedelta
from pathlib import Path

import pytest

from shops import fault, plain, run, tell_table

STUDY = """
direction = "maximize"
storage = "sqlite:///shop.db"
seed = 5
[value]
unit = "EUR"
[decisions.stock]
low = 0
high = 160
unit = "kg"
{weekday}
[contexts.demand]
low = 0
unit = "kg"
[settings]
raw_samples = 64
restarts = 4
members = 4
"""
WEEKDAY = '[contexts.weekday]\nchoices = ["mon", "tue", "wed", "thu", "fri", "sat"]\nknown = true'
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat")


def profit(stock, demand):
    """Bought at 5, sold at 9, 1 for what is left: the median of the demand is best."""
    return 9 * min(stock, demand) - 5 * stock + max(stock - demand, 0)


def told_table(rows, head):
    lines = [",".join(map(str, row)) for row in rows]
    tell_table("\n".join([head, *lines]) + "\n", "--sure")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WINDAGE_STORAGE", raising=False)
    return tmp_path


def test_the_saturday_shop_is_advised_by_the_day(folder):
    Path("shop.toml").write_text(STUDY.format(weekday=WEEKDAY))
    rng, rows = random.Random(1), []
    for day in range(48):
        weekday = DAYS[day % 6]
        demand = round(rng.gauss(110 if weekday == "sat" else 60, 6), 1)
        stock = round(rng.uniform(20, 150), 1)
        rows.append((stock, weekday, demand, profit(stock, demand)))
    told_table(rows, "stock,weekday,demand,value")
    saturday, tuesday = (plain("recommend", "--known", f"weekday={d}") for d in ("sat", "tue"))
    assert saturday["decision"]["stock"] == pytest.approx(110, abs=10)
    assert tuesday["decision"]["stock"] == pytest.approx(60, abs=10)
    assert (
        saturday["expected"]
        > tuesday["expected"]
        > plain("predict", "stock=110", "--known", "weekday=tue")["expected"]
    )
    table = {
        r["weekday"]: r["decision"]["stock"] for r in plain("recommend", "--for-each", "weekday")["levels"]
    }
    assert table["sat"] == pytest.approx(110, abs=10)
    assert all(table[d] == pytest.approx(60, abs=12) for d in DAYS[:5])
    asked = plain("ask", "--known", "weekday=sat")
    assert asked["decision"]["stock"] > 85
    done = plain("tell", str(asked["number"]), "--value", "400", "--context", "demand=108", "--sure")
    assert done["context"] == {"demand": 108.0, "weekday": "sat"}
    matters = plain("status")["importance"]
    assert set(matters) == {"stock", "demand", "weekday"}
    shown = " ".join(run("status", "shop.toml").stdout.split())
    assert "What matters: " in shown


def test_demand_that_moved_is_followed_within_ten_days_and_said(folder):
    Path("shop.toml").write_text(STUDY.format(weekday=""))
    rng, rows, first = random.Random(2), [], date(2026, 3, 1)
    for day in range(40):
        demand, stock = round(rng.gauss(60, 6), 1), round(rng.uniform(20, 150), 1)
        rows.append((first + timedelta(days=day), stock, demand, profit(stock, demand)))
    told_table(rows, "date,stock,demand,value")
    assert plain("recommend")["decision"]["stock"] == pytest.approx(60, abs=10)
    assert plain("status")["shift"] is None
    for day in range(40, 50):
        asked, demand = plain("ask"), round(rng.gauss(110, 6), 1)
        met = ["--context", f"demand={demand}", "--time", str(first + timedelta(days=day))]
        value = profit(asked["decision"]["stock"], demand)
        plain("tell", str(asked["number"]), "--value", str(value), *met, "--sure")
    best = plain("recommend")
    assert best["decision"]["stock"] == pytest.approx(110, abs=15)
    assert "demand seems to have changed" in best["note"]
    shift = plain("status")["shift"]
    assert (shift["name"], shift["date"][:7]) == ("demand", "2026-04")
    assert shift["after"] == pytest.approx(110, abs=8)
    shown = " ".join(run("status", "shop.toml").stdout.split())
    assert "demand seems to have changed since " in shown
    assert " April 2026 (decision " in shown
    assert "demand seems to have changed" in run("recommend", "shop.toml").stdout


def test_a_forecast_that_does_not_help_is_not_used_and_status_says_so(folder):
    Path("shop.toml").write_text(STUDY.format(weekday=""))
    rng, rows = random.Random(3), []
    for _ in range(30):
        demand, stock = round(rng.gauss(60, 8), 1), round(rng.uniform(20, 150), 1)
        rows.append((stock, demand, f"{rng.gauss(60, 30):.1f}±2", profit(stock, demand)))
    told_table(rows, "stock,demand,demand forecast,value")
    assert plain("status")["forecasts"] == {"demand": {"count": 30, "used": "not used"}}
    assert "it is not used" in " ".join(run("status", "shop.toml").stdout.split())
    with_it = plain("recommend", "--forecast", "demand=120±2")["decision"]["stock"]
    assert with_it == pytest.approx(plain("recommend")["decision"]["stock"], abs=1)


def test_a_half_life_of_nothing_is_refused_and_others_are_taken(folder):
    path = Path("shop.toml")
    path.write_text("forget = 0\n" + STUDY.format(weekday=""))
    assert "half-life must be above 0" in fault("ask", "shop.toml")
    assert not Path("shop.db").exists()
    for line in ('forget = "30 days"', "forget = 12", 'forget = "never"', "drift = true"):
        path.write_text(f"{line}\n" + STUDY.format(weekday=""))
        asked = plain("ask", "--another")
        plain("tell", str(asked["number"]), "--value", "3", "--context", "demand=9", "--sure")
