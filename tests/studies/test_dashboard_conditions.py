"""Conditions of every kind on the page for experts: its form, and its pictures."""

import pytest

from shops import QUICK, tell_table
from windage.studies import beforehand, collector, pictures
from windage.studies.collector import ResultCollector
from windage.studies.file import load
from windage.studies.store import StudyStore

KINDS = """
[contexts.weekday]
choices = ["mon", "<b>", "sat"]
known = true
[contexts.guests]
low = 0
high = 6
integer = true
optional = true
[contexts.steps]
low = 0
high = 100000
integer = true
optional = true
"""
TABLE = """stock,demand,weekday,guests,steps,value
5,9,mon,2,10,20
12,14,<b>,,2000,48
20,21,sat,6,30000,80
8,7,mon,0,,23
30,16,sat,1,10,-6
"""


@pytest.fixture
def store(shop):
    pytest.importorskip("optuna_dashboard")
    shop.write_text(shop.read_text().replace(QUICK, KINDS + QUICK))
    tell_table(TABLE)
    return StudyStore.open(load(shop), to_ask=True)


def entered(store, number, **entries):
    for name, entry in entries.items():
        key = store.storage.get_trial_id_from_study_id_trial_number(store.study._study_id, number)
        store.storage.set_trial_user_attr(key, name, entry)


def test_the_form_needs_neither_what_is_known_nor_what_is_optional(store):
    collector.register_form(store)
    asked = store.ask(given=beforehand.check(store.file, {"weekday": "sat"}, {"demand": "9±2"}))
    page = ResultCollector(store)
    entered(store, asked.number, value="12")
    assert [page.collect(), page.collect()] == [0, 0]  # demand is missing
    entered(store, asked.number, demand="9", guests="")
    assert [page.collect(), page.collect()] == [0, 1]
    last = store.entries()[-1]
    assert (last.context, last.value) == ({"demand": 9.0, "weekday": "sat"}, 12.0)
    assert last.forecast == {"demand": {"mean": 9.0, "deviation": 2.0}}


def test_a_wrong_level_in_the_form_is_explained(store):
    good = {"demand": "9", "value": "12"}
    assert collector.wrong(store.file, good) == ""
    assert "Did you mean 'sat'?" in collector.wrong(store.file, {**good, "weekday": "satt"})
    assert "whole number" in collector.wrong(store.file, {**good, "guests": "1.5"})
    assert "demand" in collector.wrong(store.file, {**good, "demand": ""})


def test_pictures_of_choices_and_whole_numbers(store):
    found = store.everything()
    engine = pictures.Engine(store.file, found.axes, found.optimizer)
    drawn = pictures.overview(engine, engine.recommend())
    shares = {name: drawn[f"windage-density-{i}"].to_dict() for i, name in enumerate(store.file.contexts)}
    weekday, guests, steps = (shares[name]["data"] for name in ("weekday", "guests", "steps"))
    assert list(weekday[0]["x"]) == ["mon", "<b>", "sat"]
    assert list(weekday[0]["y"]) == [0.4, 0.2, 0.4]
    assert sum(weekday[1]["y"]) == pytest.approx(1, abs=1e-4)
    assert list(guests[0]["x"]) == [str(k) for k in range(7)]
    assert sum(guests[1]["y"]) == pytest.approx(1, abs=1e-4)
    assert list(steps[0]["x"]) == ["10", "2000", "30000"]
