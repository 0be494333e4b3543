"""An ice-cream stand in a real browser, on a phone and on a desk: wide tables, and letters of its own."""

import pytest
from test_browser import DESK, PHONE, browser, serve  # noqa: F401

from windage.studies.file import load
from windage.studies.store import StudyStore

pytestmark = pytest.mark.xdist_group("browser")
STAND = """
direction = "maximize"
storage = "sqlite:///stand.db"
[value]
unit = "€"
description = "Gewinn des Tages"
[decisions.Kugeln]
low = 50
high = 600
integer = true
unit = "Kügelchen"
[decisions.Preis]
low = 1
high = 3
unit = "€/Kugel"
[contexts.Temperatur]
unit = "°C"
[contexts.Besucher]
low = 0
unit = "Köpfe"
[settings]
raw_samples = 32
restarts = 2
members = 4
"""
DAYS = ((200, 2.5, 20, 180, 210), (250, 2.0, 25, 300, 330), (150, 3.0, 14, 90, -12.4))


@pytest.fixture
def stand(tmp_path, monkeypatch):
    monkeypatch.delenv("WINDAGE_STORAGE", raising=False)
    path = tmp_path / "Eisdiele am Fluß.toml"
    path.write_text(STAND)
    store = StudyStore.open(load(path))
    for scoops, price, warm, guests, gain in DAYS:
        store.add({"Kugeln": scoops, "Preis": price}, {"Temperatur": warm, "Besucher": guests}, gain)
    return path


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_a_wide_table_scrolls_alone_and_the_page_does_not(stand, serve, browser, size):  # noqa: F811
    screen = browser(size)
    screen.open(serve(stand))
    screen.one("#tell")
    assert not screen.sideways()
    screen.look(f"stand-{size[0]}")
    middles = screen.driver.execute_script(
        "return [...document.querySelectorAll('#day-2 td.number, #day-2 .acts > div')].map((one) => {"
        "const box = one.getBoundingClientRect(); return box.top + box.height / 2; })"
    )
    assert max(middles) - min(middles) < 2  # numbers and buttons of a day stand in one line


def test_rows_of_the_set_up_come_one_by_one_until_there_are_no_more(tmp_path, serve, browser):  # noqa: F811
    screen = browser(DESK)
    screen.open(serve(tmp_path / "new.toml"))
    more = screen.all("[data-more]")[0]
    for _ in range(5):
        assert more.is_displayed()
        more.click()
    assert screen.one("#decision-name-5").is_displayed()
    assert not more.is_displayed()
    assert screen.console() == []
