"""Entering days on the page: taken, explained, asked again, corrected, forgotten; nothing typed is lost."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from pages import forms

from windage.studies.file import load
from windage.studies.store import StudyStore
from windage.web import security


def entries(visitor):
    return StudyStore.open(load(visitor.site.live.path)).entries()


def test_a_day_is_entered_with_a_decimal_comma_and_the_next_decision_comes(visitor):
    assert re.search(r'class="amount">[\d.]+ kg<', visitor.html)
    assert "Why: to begin with" in visitor.html
    html = visitor.send("/tell", context_0="8,5", value="12,25 EUR")
    assert "Saved: demand 8.5 kg, profit of the day 12.25 EUR." in html
    (entry,) = entries(visitor)
    assert (entry.number, entry.context, entry.value) == (0, {"demand": 8.5}, 12.25)
    assert visitor.answer.history[0].status_code == 303
    visitor.until('name="number" value="1"')


@pytest.mark.parametrize(
    ("demand", "value", "words"),
    [
        ("much", "3", "Demand is &#39;much&#39;, which is no number."),
        ("-1", "3", "-1, but must be 0 or more. Correct it, or widen the bounds in the study file."),
        ("24,5,3", "3", "such as 12.5"),  # there is no letter in it
        ("", "3", "This is missing"),
        ("8", "", "This is missing"),
        ("8", "nan", "Profit of the day is nan, which is no number to count with."),
        ("1,200", "3", "which could be 1200 or 1.200"),
        ("8", "12 apples", "Profit of the day is &#39;12 apples&#39;"),
        ("<b>8</b>", "3", "&lt;b&gt;8&lt;/b&gt;"),
    ],
)
def test_a_wrong_entry_is_explained_beside_its_box_and_stays(visitor, demand, value, words):
    html = visitor.send("/tell", context_0=demand, value=value)
    assert visitor.answer.status_code == 422
    assert words in html
    (fault,) = re.findall(r'role="alert">([^<]*)</span>', html)
    assert words in fault
    assert visitor.fields("/tell")["context-0"] == demand
    assert visitor.fields("/tell")["value"] == value
    assert 'aria-invalid="true"' in html
    assert entries(visitor) == []


def test_what_looks_mistyped_is_asked_again_and_taken_when_sure(regular):
    html = regular.send("/tell", context_0="11", value="1200")
    assert "Profit of the day 1200 EUR is 20 times the most so far, 60 EUR." in html
    assert "Yes, it is right" in html
    assert regular.fields("/tell")["value"] == "1200"
    assert len(entries(regular)) == 7
    html = regular.send("/tell", sure=True, value="1300")
    assert "1300 EUR is 22 times" in html  # it was sure of another number
    html = regular.send("/tell", sure=True)
    assert "Saved: demand 11 kg, profit of the day 1300 EUR." in html
    assert entries(regular)[-1].value == 1300
    regular.until("Day 7 looks mistyped, and its result does not count: profit of the day 1300 EUR.")
    regular.open("/?correct=7")
    assert "Day 7 stays as it is, and counts." in regular.send("/correct")
    wait = time.monotonic() + 30
    while "looks mistyped" in regular.open():
        assert time.monotonic() < wait
        time.sleep(0.05)


def test_a_second_entry_for_the_same_decision_is_refused_and_keeps_what_was_typed(regular, come):
    other = come(regular.server)
    other.until("What happened?")
    regular.send("/tell", context_0="11", value="30")
    html = other.send("/tell", context_0="12", value="31")
    assert re.search(r"Decision 7 was told already on [\d: -]+: value 30 EUR, demand 11 kg\.", html)
    assert "correct it in the table of days" in html
    assert "Go on to the next decision" in html
    assert "windage correct" not in html
    assert (other.fields("/tell")["context-0"], other.fields("/tell")["value"]) == ("12", "31")
    assert entries(regular)[-1].value == 30


def test_a_button_pressed_twice_counts_once(regular):
    fields = {**regular.fields("/tell"), "context-0": "11", "value": "30"}
    regular.client.post("/tell", data=fields)
    assert "saved already, with the same numbers" in regular.client.post("/tell", data=fields).text
    regular.open()
    own = {**regular.fields("/add"), "decision-0": "9", "context-0": "9", "value": "29"}
    assert "A day is added: stock 9 kg, demand 9 kg, profit of the day 29 EUR." in (
        regular.client.post("/add", data=own).text
    )
    assert "This day is saved already." in regular.client.post("/add", data=own).text
    assert len(entries(regular)) == 9


def test_a_day_whose_saving_failed_can_be_sent_again(regular, monkeypatch):
    own = {**regular.fields("/add"), "decision-0": "9", "context-0": "9", "value": "29"}
    with monkeypatch.context() as broken:
        broken.setattr(StudyStore, "add", lambda *_, **__: 1 / 0)
        assert "a fault of windage" in regular.client.post("/add", data=own).text
    assert "A day is added" in regular.client.post("/add", data=own).text
    assert len(entries(regular)) == 8


def test_a_day_of_ones_own_is_checked_too(regular):
    html = regular.send("/add", decision_0="fifty", context_0="9", value="x")
    assert "Stock is &#39;fifty&#39;, which is no number." in html
    assert regular.fields("/add")["decision-0"] == "fifty"
    assert "Stock 50 kg is not within 0 to 40 kg." in regular.send("/add", decision_0="50", value="29")
    assert len(entries(regular)) == 7
    html = regular.send("/add", decision_0="9", value="900")
    assert "15 times the most so far" in html
    assert "A day is added" in regular.send("/add", sure=True)


def test_a_row_is_corrected_forgotten_and_brought_back(regular):
    regular.open("/?correct=2")
    assert regular.fields("/correct") == {
        "csrf": regular.site.keys.form,
        "number": "2",
        "shape": regular.fields("/correct")["shape"],
        "seen": regular.fields("/correct")["seen"],
        "decision-0": "20",
        "context-0": "14",
        "value": "26",
        "why": "",
    }
    html = regular.send("/correct", value="2,6", why="<i>a digit</i> too many")
    assert "Day 2 is corrected" in html
    assert "was 26 EUR" in html
    assert "&lt;i&gt;a digit&lt;/i&gt; too many" in html
    assert entries(regular)[2].value == 2.6
    row = [f["number"] for a, f in forms(regular.html) if a == "/forget"].index("2")
    assert "Day 2 no longer counts" in regular.send("/forget", which=row)
    assert [e.number for e in entries(regular)] == [0, 1, 3, 4, 5, 6]
    assert "undone" in regular.send("/undo")
    assert entries(regular)[2].value == 2.6
    assert "undone" in regular.send("/undo")
    assert entries(regular)[2].value == 26
    regular.open("/?correct=2")
    assert "Day 2 stays as it is, and counts." in regular.send("/correct")
    assert entries(regular)[2].value == 26


def test_a_decision_is_shown_as_it_was_done_and_stays_as_it_was(regular):
    store = StudyStore.open(load(regular.site.path))
    number = store.add({"stock": 17.123456789012}, {"demand": 14.0}, 26.0)
    regular.open(f"/?correct={number}")
    assert regular.fields("/correct")["decision-0"] == "17.1"
    assert "is corrected" in regular.send("/correct", value="27")
    assert (entries(regular)[-1].decision["stock"], entries(regular)[-1].value) == (17.123456789012, 27)
    regular.open(f"/?correct={number}")
    assert "is corrected" in regular.send("/correct", decision_0="17")
    assert entries(regular)[-1].decision["stock"] == 17


def test_a_value_is_corrected_to_nothing_at_all(regular):
    regular.open("/?correct=2")
    assert "Day 2 is corrected: demand 14 kg, profit of the day 0 EUR." in regular.send("/correct", value="0")
    assert entries(regular)[2].value == 0


def test_a_wrong_correction_is_explained_and_stays(regular):
    regular.open("/?correct=3")
    html = regular.send("/correct", value="thirty", why="late")
    assert "which is no number" in html
    assert (regular.fields("/correct")["value"], regular.fields("/correct")["why"]) == ("thirty", "late")
    regular.open("/?correct=3")
    assert "Sure?" in regular.send("/correct", value="3000")
    assert "Day 3 is corrected" in regular.send("/correct", sure=True)


def test_a_decision_without_a_result_makes_room_for_the_next(regular):
    html = regular.send("/fail", why="the oven was cold")
    assert "Decision 7 is closed without a result." in html
    regular.until('name="number" value="8"')
    assert regular.site.live.store().state().failed == 1


def test_the_recommendation_the_pictures_and_what_if_are_in_sentences(regular):
    html = regular.until("settled")
    assert re.search(r"<strong>stock [\d.]+ kg</strong>", html)
    assert "On average" in html
    assert "A single day:" in html
    assert html.count("<svg") == 3
    for words in ("Expected profit of the day (EUR) over stock (kg)", "How demand (kg) varies", "settled"):
        assert words in html
    found = regular.client.get("/what-if", params={"decision-0": "12,5"}).json()
    assert found["shown"] == {"stock": "12.5 kg"}
    assert found["lines"][0].startswith("On average")
    assert "must be 0 to 40" in regular.client.get("/what-if", params={"decision-0": "99"}).json()["fault"]
    assert "<strong>stock 12 kg.</strong> On average" in regular.open("/?decision-0=12")


def test_the_state_says_what_is_new(regular):
    regular.until("settled")
    state = regular.client.get("/state").json()
    assert state["open"] == [7]
    assert state["drawn"] > 0
    assert "<svg" in regular.client.get("/pictures").text


def test_only_the_newest_days_are_listed_unless_all_are_wanted(visitor):
    store = visitor.site.live.store()
    for i in range(40):
        store.add({"stock": 10 + i / 10}, {"demand": 9 + i / 10}, 20 + i)
    assert visitor.open().count('<tr id="day-') == 30
    assert "Show the 10 earlier days too" in visitor.html
    assert visitor.open("/?days=all").count('<tr id="day-') == 40


def test_words_of_experts_stay_away(regular):
    html = regular.until("settled")
    for word in ("trial", "attribute", "hyperparameter", "Traceback"):
        assert word not in html.lower(), word


def test_the_study_stands_there_in_words(regular):
    for words in (
        "as much as possible: profit of the day, in EUR",
        "stock in kg (what is bought in the morning): 0 to 40",
        "demand in kg (what customers want) from 0",
        str(regular.site.live.path),
    ):
        assert words in regular.html


def test_a_form_sent_ten_times_at_once_is_one_day_and_other_numbers_are_another(regular):
    form = {**regular.fields("/add"), "decision-0": "11", "context-0": "12", "value": "9"}
    before = len(entries(regular))
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: regular.client.post("/add", data=form).status_code, range(10)))
    assert answers == [200] * 10
    assert len(entries(regular)) == before + 1
    assert "A day is added" in regular.client.post("/add", data={**form, "value": "10"}).text
    assert len(entries(regular)) == before + 2


def test_a_correction_of_a_day_that_another_changed_meanwhile_is_refused_and_kept(regular):
    regular.open("/?correct=2")
    StudyStore.open(load(regular.site.live.path)).correct(2, value=25.0)
    html = regular.send("/correct", context_0="13.5")
    assert "Day 2 was changed meanwhile" in html
    assert 'value="13.5"' in html
    assert entries(regular)[2].value == 25.0
    assert "Day 2 is corrected" in regular.send("/correct", value="25")
    assert (entries(regular)[2].value, entries(regular)[2].context) == (25.0, {"demand": 13.5})


def test_what_was_not_told_may_stay_empty_in_a_correction(regular):
    path = regular.site.live.path
    path.write_text(path.read_text().replace("[settings]", "[contexts.heat]\n[settings]"))
    regular.until("heat", "/?correct=2")
    assert "Day 2 is corrected" in regular.send("/correct", value="24")
    assert entries(regular)[2].context == {"demand": 14.0}


def test_odd_addresses_are_no_fault(visitor):
    assert visitor.client.get("/?correct=%C2%B2").status_code == 200
    token = visitor.site.keys.token
    with httpx.Client(base_url=visitor.root, follow_redirects=False, trust_env=False) as bare:
        assert bare.get(f"/%0d%0aX-A:%20b?token={token}").headers["location"] == "/"


def test_only_paths_of_ours_are_gone_to():
    assert security.PLAIN.fullmatch("/setup")
    assert not any(map(security.PLAIN.fullmatch, ("//evil.example/", "/a\r\nX: b", "/a/../b", "evil")))


def test_a_unit_that_changes_under_an_open_page_is_noticed(regular):
    path = regular.site.live.path
    path.write_text(path.read_text().replace('unit = "kg"', 'unit = "t"'))
    assert "The study file has changed" in regular.send("/add", decision_0="9", context_0="9", value="9")
