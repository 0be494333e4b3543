"""The Saturday shop and moved demand in a real browser, on a phone and on a desk."""

import random
import re

import pytest
from selenium.webdriver.support.ui import Select
from test_browser import DESK, PHONE, browser, serve  # noqa: F401
from test_known_on_the_page import KINDS, STUDY, WEEKDAY, profit, saturdays

from windage.studies.file import load
from windage.studies.store import StudyStore

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The path of a study file; and its study, to tell it something."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WINDAGE_STORAGE", raising=False)

    def begin(more):
        path = tmp_path / "shop.toml"
        path.write_text(STUDY.format(more=more))
        return path, StudyStore.open(load(path))

    return begin


def choose(screen, box, words):
    Select(screen.one(f"#{box}")).select_by_visible_text(words)


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_a_saturday(study, serve, browser, size):  # noqa: F811
    """What is known is said first; the decision is for it, and needs no second entry of it."""
    path, store = study(WEEKDAY)
    saturdays(store, 48)
    screen = browser(size, dark=size == DESK)
    screen.open(serve(path))
    screen.see("Say what is known of the day")
    for css in ("#ask-known-1", "#ask button.main"):
        assert screen.visible(css), css  # without scrolling
    screen.press("#ask button.main")
    screen.see("This is missing")
    assert screen.driver.switch_to.active_element.get_attribute("id") == "ask-known-1"
    assert screen.faults() == []
    for weekday, best in (("sat", 110), ("tue", 60)):
        choose(screen, "ask-known-1", weekday)
        screen.look(f"asking-{size[0]}")
        screen.press("#ask button.main")
        screen.see(f"For weekday {weekday}")
        assert screen.visible(".decision")
        assert screen.decision == pytest.approx(best, abs=15)
        assert not screen.all("#tell-context-1")
        screen.save_day(str(best), str(profit(screen.decision, best)))
        screen.see(f"weekday {weekday}, profit of the day")
    screen.wait(lambda: len(screen.all("svg.picture")) == 4, "four pictures", 90)
    screen.see("What matters most: ", 60)
    assert not screen.sideways()
    rows = {row.text.split()[0]: float(row.text.split()[1]) for row in screen.all(".each tbody tr")}
    assert rows["sat"] == pytest.approx(110, abs=12)
    assert rows["tue"] == pytest.approx(60, abs=12)
    assert screen.faults() == []
    screen.look(f"saturday-{size[0]}")
    assert screen.console() == []


def test_moved_demand_is_said(study, serve, browser):  # noqa: F811
    path, store = study(KINDS)
    rng = random.Random(2)
    for day in range(36):
        demand, stock = round(rng.gauss(60 if day < 24 else 110, 6), 1), round(rng.uniform(20, 150), 1)
        met = {"demand": demand, "weather": rng.choice(("sun", "rain & <b>")), "guests": rng.randint(30, 60)}
        store.add(
            {"stock": stock}, met, profit(stock, demand), time=f"2026-{1 + day // 28:02}-{1 + day % 28:02}"
        )
    screen = browser(PHONE)
    screen.open(serve(path))
    screen.see("Demand seems to have changed since ", 60)
    assert re.search(r"1\d\d kg on average, before \d\d(\.\d)? kg", screen.one("#best").text)
    screen.wait(lambda: len(screen.all("svg.picture")) == 5, "five pictures", 90)
    best = re.search(r"stock ([\d.]+) kg", screen.one("#best").text)
    assert float(best[1]) == pytest.approx(110, abs=15)
    for summary in screen.all("summary"):
        screen.driver.execute_script("arguments[0].parentElement.open = true", summary)
    screen.look("moved")
    assert screen.faults() == []
    screen.press("#today details:last-of-type button")
    screen.one("#tell")
    assert screen.console() == []
