"""The web page: its result collector and plot worker by hand, and the whole in a real browser."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import optuna_dashboard
import plotly.graph_objects
import pytest
import sqlalchemy.exc
from optuna.trial import Trial, TrialState

import windage
from shops import ask, fault, run
from windage.studies import history, page, pictures, reading
from windage.studies.collector import ResultCollector
from windage.studies.file import load
from windage.studies.page import Page
from windage.studies.plot_worker import PlotWorker
from windage.studies.storage import StorageError
from windage.studies.store import StudyStore

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDED = os.environ.get("WINDAGE_BROWSER") == "needed"
SCREENSHOTS = os.environ.get("WINDAGE_SCREENSHOTS")
"""A folder for pictures of the page, to look at."""
HISTORY = "stock,demand,value\n5,9,5\n10,12,10\n20,14,8\n12,10,8\n30,11,-8\n15,16,15\n"
MIXED = """
direction = "minimize"
[value]
unit = "EUR"
[decisions.heat]
low = 10
high = 1000
log = true
[decisions.rounds]
low = 1
high = 9
integer = true
[decisions.colour]
choices = ["red", "green"]
[decisions.share]
low = 0
high = 1
step = 0.25
[contexts.wind]
unit = "m/s"
[contexts.price]
low = 0.1
high = 10
log = true
[settings]
raw_samples = 32
restarts = 2
members = 4
"""


@pytest.fixture
def told(shop):
    """A shop with a history, and one decision under way."""
    Path("past.csv").write_text(HISTORY)
    run("tell", "shop.toml", "--csv", "past.csv")
    assert ask("shop.toml")["number"] == 6
    return shop


def type_in(store, number, **entries):
    """As the page's form does."""
    trial = Trial(store.study, store.trials()[number]._trial_id)
    for name, text in entries.items():
        trial.set_user_attr(name, text)


def note_of(store, number):
    return optuna_dashboard.get_note(Trial(store.study, store.trials()[number]._trial_id))


def figures(store):
    """The page's pictures, as the page gets them."""
    from optuna_dashboard._custom_plot_data import get_plotly_graph_objects

    found = get_plotly_graph_objects(store.study._storage.get_study_system_attrs(store.study._study_id))
    return {key: plotly.graph_objects.Figure(json.loads(text)) for key, text in found.items()}


def test_a_complete_form_is_told(told):
    store = StudyStore.open(load(told))
    collector = ResultCollector(store)
    assert collector.collect() == 0
    type_in(store, 6, demand="8.5")
    for _ in range(3):
        assert collector.collect() == 0  # the value is not there yet
    type_in(store, 6, value=" 12.5 ")
    assert collector.collect() == 0  # it may be half of what is being written
    assert collector.collect() == 1
    assert collector.collect() == 0
    entry = store.entries()[-1]
    assert (entry.number, entry.context, entry.value) == (6, {"demand": 8.5}, 12.5)
    assert note_of(store, 6) == ""


@pytest.mark.parametrize(
    ("demand", "value", "words"),
    [
        ("1,200", "3", "could be 1200 or 1.200"),
        ("much", "3", "'much', which is no number"),
        ("-1", "3", "demand"),
        ("8", "nan", "finite"),
        ("8", "", "no number"),
    ],
)
def test_a_wrong_entry_is_a_note_until_it_is_corrected(told, demand, value, words):
    store, said = StudyStore.open(load(told)), []
    collector = ResultCollector(store, say=said.append)
    optuna_dashboard.save_note(Trial(store.study, store.trials()[6]._trial_id), "rainy day")
    type_in(store, 6, demand=demand, value=value)
    for _ in range(3):
        assert collector.collect() == 0
    assert words in note_of(store, 6)
    assert note_of(store, 6).endswith("\nrainy day")
    assert len(said) == 1  # once, not at every collection
    assert store.trials()[6].state == TrialState.RUNNING
    type_in(store, 6, demand="8")
    assert collector.collect() == 0  # between the two halves of a correction
    type_in(store, 6, value="4")
    assert [collector.collect(), collector.collect()] == [0, 1]
    assert note_of(store, 6) == "**windage:** told: demand 8 kg, value 4 EUR.\nrainy day"


def test_who_types_after_another_told_is_refused(told):
    store = StudyStore.open(load(told))
    type_in(store, 6, demand="8", value="3")
    store.tell(6, {"demand": 9}, 4)
    collector = ResultCollector(store)
    assert [collector.collect(), collector.collect()] == [0, 0]
    assert "told before: demand 9 kg, value 4 EUR" in note_of(store, 6)
    assert store.entries()[-1].value == 4


def test_a_decision_waits_at_any_time(told):
    store, said = StudyStore.open(load(told)), []
    collector = ResultCollector(store, keep_asking=True, say=said.append)
    collector.collect()
    assert len(store.trials()) == 7
    type_in(store, 6, demand="8", value="3")
    assert [collector.collect(), collector.collect()] == [0, 1]
    assert [t.state for t in store.trials()[6:]] == [TrialState.COMPLETE, TrialState.RUNNING]
    collector.collect()
    assert len(store.trials()) == 8
    assert said[1].startswith("decision 7 waits: stock ")


def test_pictures_show_what_is_known_and_are_kept_fresh(told):
    store = StudyStore.open(load(told))
    plot_worker = PlotWorker(store)
    assert plot_worker.update()
    assert not plot_worker.update()  # nothing new
    drawn = figures(store)
    assert sorted(drawn) == [
        "windage-density-0",
        "windage-expected-0",
        "windage-history",
        "windage-history-0",
        "windage-worst-case-0",
    ]
    assert drawn["windage-expected-0"].layout.title.text == "Expected profit of the day [EUR] over stock [kg]"
    best = store.recommend()
    traces = {trace.name: trace for trace in drawn["windage-expected-0"].data}
    assert traces["recommended"].x == pytest.approx([best.decision["stock"]], rel=1e-5)
    assert traces["recommended"].y == pytest.approx([best.expected], rel=1e-5)
    assert list(traces["single results"].x) == [5, 10, 20, 12, 30, 15]
    band = [trace.y for trace in drawn["windage-expected-0"].data[:2]]
    assert all(
        low < middle < high for low, middle, high in zip(band[0], traces["expected"].y, band[1], strict=True)
    )
    worst = {trace.name: trace for trace in drawn["windage-worst-case-0"].data}
    assert all(w <= e for w, e in zip(worst[pictures.WORST].y, worst["as estimated"].y, strict=True))
    density = {trace.name: trace for trace in drawn["windage-density-0"].data}
    assert sorted(density["each time"].x) == [9, 10, 11, 12, 14, 16]
    step = density["estimated"].x[1] - density["estimated"].x[0]
    assert sum(density["estimated"].y) * step == pytest.approx(1, abs=0.1)
    assert list(drawn["windage-history"].data[1].x) == [1, 2, 3, 4, 5, 6]
    assert drawn["windage-history-0"].data[0].y[-1] == pytest.approx(best.decision["stock"], rel=1e-5)
    run("tell", "shop.toml", "6", "--value", "12", "--context", "demand=13")
    assert plot_worker.update()
    assert list(figures(store)["windage-history"].data[1].x) == [1, 2, 3, 4, 5, 6, 7]
    assert store.study.user_attrs["windage: known"].startswith("7 observations")
    assert store.study.user_attrs["windage: recommended"].startswith("stock ")


def test_pictures_of_every_kind_of_decision(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mixed.toml").write_text(MIXED)
    rows = ["heat,rounds,colour,share,wind,price,value"]
    rows += [
        f"{20 * i},{i},{('red', 'green')[i % 2]},{i % 5 / 4},{i - 4},{i / 2},{i * i - 6 * i}"
        for i in range(1, 9)
    ]
    Path("past.csv").write_text("\n".join(rows))
    assert run("tell", "mixed.toml", "--csv", "past.csv").exit_code == 0
    store = StudyStore.open(load(Path("mixed.toml")))
    assert PlotWorker(store).update()
    drawn = figures(store)
    assert len(drawn) == 2 + 2 * 4 + 1 + 4
    lines = [
        next(trace for trace in drawn[f"windage-expected-{i}"].data if "expected" in trace.name).x
        for i in range(4)
    ]
    assert (lines[0][0], lines[0][-1]) == (10, 1000)
    assert list(lines[1]) == list(range(1, 10))
    assert list(lines[2]) == ["red", "green"]
    assert list(lines[3]) == [0, 0.25, 0.5, 0.75, 1]
    worst = {trace.name: trace for trace in drawn["windage-worst-case-0"].data}
    assert all(
        w >= e for w, e in zip(worst[pictures.WORST].y, worst["as estimated"].y, strict=True)
    )  # minimise


def test_a_study_without_contexts_or_observations_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plain.toml").write_text('method = "gp-ucb"\n[decisions.a]\nlow = 0\nhigh = 1\n')
    store = StudyStore.open(load(Path("plain.toml")))
    assert not PlotWorker(store).update()
    store.add({"a": 0.25}, {}, 3)
    assert PlotWorker(store).update()
    assert sorted(figures(store)) == ["windage-expected-0", "windage-history", "windage-history-0"]
    number = store.ask().number
    type_in(store, number, value="4")
    collector = ResultCollector(store)
    assert [collector.collect(), collector.collect()] == [0, 1]


def test_the_history_is_computed_once_and_grows_sparse(told):
    assert history.marks(0) == []
    assert history.marks(3) == [1, 2, 3]
    assert history.marks(40) == [*range(1, 13), 14, 16, 18, 20, 23, 26, 29, 32, 36, 40]
    assert len(history.marks(2000)) < 70
    store = StudyStore.open(load(told))
    axes, known = store.sampler().everything(store.study)
    computed = history.History()
    assert list(computed.missing(store.sampler(), store.file, axes, known)) == [5, 4, 3, 2, 1, 0]
    assert list(computed.missing(store.sampler(), store.file, axes, known)) == []
    assert list(computed.points(known)) == [1, 2, 3, 4, 5, 6]
    assert computed.points(known)[6].decision == pytest.approx(store.recommend().decision, abs=0.2)


@pytest.fixture
def served(told):
    store = StudyStore.open(load(told))
    found = Page(store, 0, False, lambda _: None)
    thread = threading.Thread(target=found.serve)
    thread.start()
    yield found
    found.close()
    thread.join()


def parts_of(address):
    """The root of a page's server, the number of the study, and its token."""
    root, rest = address.split("/dashboard/studies/")
    number, token = rest.split("?token=")
    return root, number, token


def fetch(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
        return answer.read().decode()


def refusal(url, method="GET", data=None, **headers):
    """The reason of a 403."""
    request = urllib.request.Request(url, headers=headers, method=method, data=data)
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(request, timeout=20)
    reason = json.loads(refused.value.read())["reason"]
    refused.value.close()
    return reason


def cookie_of(address):
    """What the first visit leaves in a browser."""
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.headers["Set-Cookie"]


def test_the_server_answers_to_its_own_machine_only(served):
    root, _, token = parts_of(served.address)
    cookie = {"Cookie": cookie_of(served.address).split(";")[0]}
    assert root.startswith("http://127.0.0.1:")
    assert '"shop"' in fetch(f"{root}/api/studies", **cookie)
    for headers in ({"Host": "example.org"}, {"Origin": "http://example.org"}, {"Host": ""}):
        assert "its own machine" in refusal(f"{root}/api/studies?token={token}", **headers, **cookie)
    assert fetch(f"{root}/api/studies", Origin=root, **cookie)
    port = root.rsplit(":", 1)[1]
    words = fault("dashboard", "shop.toml", "--port", port)
    assert f"port {port} cannot be used" in words
    assert "--port" in words


def test_nobody_sees_the_page_without_its_token(served):
    root, _, token = parts_of(served.address)
    port = root.rsplit(":", 1)[1]
    assert len(token) >= 32
    for path in ("/", "/dashboard", "/api/studies", "/csv/1", "/static/bundle.js"):
        assert "windage dashboard" in refusal(root + path)
        assert "windage dashboard" in refusal(f"{root}{path}?token=", Cookie=f"windage-{port}=")
        assert "windage dashboard" in refusal(f"{root}{path}?token={token[:-1]}", Cookie="windage-1=é;;=")
    assert cookie_of(served.address) == f"windage-{port}={token}; Path=/; HttpOnly; SameSite=Strict"
    assert '"shop"' in fetch(f"{root}/api/studies", Cookie=f"other=1; windage-{port}={token}")
    assert '"shop"' in fetch(f"{root}/api/studies?token={token}")


def test_each_page_has_a_token_of_its_own(told):
    store = StudyStore.open(load(told))
    pages = [Page(store, 0, False, lambda _: None) for _ in range(2)]
    assert len({parts_of(found.address)[2] for found in pages}) == 2
    for found in pages:
        found._server.server_close()


@pytest.mark.parametrize("fault", [windage.WindageError("away."), ValueError("odd.")])
def test_a_fault_is_said_once_and_waited_out(told, monkeypatch, fault):
    monkeypatch.setattr(page, "POLL_SECONDS", 0.001)
    said, calls = [], []
    found = Page(StudyStore.open(load(told)), 0, False, said.append)

    def work():
        calls.append(1)
        if len(calls) < 20:
            raise fault
        found._stop.set()

    found._repeat(work)
    found._server.server_close()
    assert said == [
        ("" if isinstance(fault, windage.WindageError) else "ValueError: ") + f"{fault} Trying again."
    ]
    assert len(calls) == 20


def test_what_was_typed_while_the_storage_was_away_is_told_when_it_is_back(told, monkeypatch):
    store = StudyStore.open(load(told))
    collector, plot_worker = ResultCollector(store), PlotWorker(store)
    type_in(store, 6, demand="8", value="3")
    collector.collect()

    def away(*_, **__):
        raise sqlalchemy.exc.OperationalError("select", {}, Exception("database is locked"))

    with monkeypatch.context() as patch:
        patch.setattr(type(store.storage), "set_trial_user_attr", away)
        with pytest.raises(StorageError, match="locked"):
            collector.collect()
    with monkeypatch.context() as patch:
        patch.setattr(reading, "_heads", away)
        for work in (collector.collect, plot_worker.update):
            with pytest.raises(StorageError, match="locked"):
                work()
    with monkeypatch.context() as patch:
        patch.setattr(type(store.storage), "set_study_system_attr", away)
        with pytest.raises(StorageError, match="locked"):
            plot_worker.update()
    assert store.trials()[6].state == TrialState.RUNNING
    assert collector.collect() == 1
    assert plot_worker.update()
    assert "windage-history" in figures(store)


def test_half_of_a_correction_is_never_told(told):
    store = StudyStore.open(load(told))
    collector = ResultCollector(store)
    type_in(store, 6, demand="-1", value="12.5")
    assert [collector.collect() for _ in range(3)] == [0, 0, 0]
    type_in(store, 6, demand="8")  # the page writes one after the other, at times slowly
    assert [collector.collect() for _ in range(3)] == [0, 0, 0]
    type_in(store, 6, value="13")
    assert [collector.collect() for _ in range(3)] == [0, 1, 0]
    assert store.entries()[-1].value == 13


def test_told_by_another_between_collecting_and_telling(told, monkeypatch):
    store = StudyStore.open(load(told))
    collector = ResultCollector(store)
    type_in(store, 6, demand="8", value="3")
    collector.collect()
    tell = StudyStore.tell

    def second(self, number, context, value):
        tell(self, number, {"demand": 9}, 4)
        return tell(self, number, context, value)

    monkeypatch.setattr(StudyStore, "tell", second)
    assert [collector.collect() for _ in range(3)] == [0, 0, 0]
    assert "told before: demand 9 kg, value 4 EUR" in note_of(store, 6)


def test_the_study_is_neither_made_nor_renamed_nor_deleted_on_the_page(served):
    root, number, token = parts_of(served.address)
    for method, path in (
        ("DELETE", f"/api/studies/{number}"),
        ("POST", f"/api/studies/{number}/rename"),
        ("POST", f"/api/studies/{number}/rename/"),
        ("POST", "/api/studies"),
    ):
        assert "belongs to its file" in refusal(f"{root}{path}?token={token}", method, b"{}")


def test_a_result_without_contexts_is_refused(served):
    """optuna-dashboard's own form of a running trial knows no contexts."""
    root, number, token = parts_of(served.address)
    told = b'{"state": "Complete", "values": [3]}'
    key = reading.trial_id(served.store.study, 6)
    words = refusal(f"{root}/api/trials/{key}/tell?token={token}", "POST", told)
    assert words.startswith("A result is told with its contexts: fill in the form")
    assert served.store.trials()[6].state == TrialState.RUNNING
    for method, path in (
        ("POST", f"/api/studies/{number}/{key}/skip"),
        ("POST", "/incompatible-rdb-schema"),
        ("PATCH", f"/api/trials/{key}/user-attrs"),
    ):
        assert "results and notes alone" in refusal(f"{root}{path}?token={token}", method, b"{}")


def test_entries_of_the_form_and_notes_are_taken(served):
    root, number, token = parts_of(served.address)
    key = reading.trial_id(served.store.study, 6)
    for method, path, body in (
        ("POST", f"/api/trials/{key}/user-attrs", {"user_attrs": {"demand": "8", "value": "3"}}),
        ("PUT", f"/api/studies/{number}/{key}/note", {"body": "rain", "version": 1}),
        ("PUT", f"/api/studies/{number}/note", {"body": "sun", "version": 1}),
    ):
        request = urllib.request.Request(
            f"{root}{path}?token={token}",
            data=json.dumps(body).encode(),
            method=method,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.status == 200
            json.loads(answer.read())  # the page reads it, and says in red that it failed where there is none
    assert served.store.trials()[6].user_attrs["demand"] == "8"
    assert note_of(served.store, 6) == "rain"


def test_a_late_tell_is_the_historys_last_point(told):
    store = StudyStore.open(load(told))
    store.add({"stock": 9}, {"demand": 9}, 9)  # number 7, before 6 is told
    store.tell(6, {"demand": 8}, 3)
    _, known = store.sampler().everything(store.study)
    assert [row["value"] for row in known.observations][-2:] == [9, 3]


@pytest.fixture
def browser(tmp_path):
    if not (BROWSER and DRIVER):
        words = (
            "the page's test needs Chromium and its driver (Debian: apt-get install chromium chromium-driver)"
        )
        (pytest.fail if NEEDED else pytest.skip)(words)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--window-size=1400,2400",
        f"--user-data-dir={tmp_path / 'browser'}",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def command(told):
    """``windage dashboard`` as a user starts it; its address."""
    started = [sys.executable, "-m", "windage.cli", "dashboard", "shop.toml", "--port", "0"]
    process = subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = process.stdout.readline()
        assert "http://" in line, line
        yield re.search(r"http://\S+", line)[0]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def wait(ready, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = ready()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"waited {seconds} s in vain")


def test_the_page_in_a_browser(command, browser):
    from selenium.common.exceptions import StaleElementReferenceException

    def text():
        try:
            return browser.find_element("tag name", "body").text
        except StaleElementReferenceException:
            return ""

    def look(name):
        if SCREENSHOTS:
            browser.save_screenshot(str(Path(SCREENSHOTS) / f"{name}.png"))

    browser.get(command.split("/dashboard")[0])
    assert "it has the token of this page" in text()
    browser.get(command)
    command = command.split("?")[0]  # the browser has the cookie now
    browser.get(command.split("/studies")[0])
    wait(lambda: "shop" in text())  # the study stands in the list
    look("list")
    browser.get(command)
    for title in (
        "Expected profit of the day [EUR] over stock [kg]",
        "Worst case of profit of the day [EUR] over stock [kg]",
        "Estimated distribution of demand [kg]",
        "Recommended stock [kg]",
    ):
        wait(lambda title=title: title in text())
    look("study")

    def submit(**entries):
        """Fill in the form of the trial shown."""
        boxes = wait(lambda: browser.find_elements("css selector", "form input, input[type=text]"))
        labels = [box.find_element("xpath", "./ancestor::*[.//label][1]").text for box in boxes]
        for name, entry in entries.items():
            (box,) = [b for b, label in zip(boxes, labels, strict=True) if label.startswith(name)]
            box.send_keys("\ue009a\ue000", entry)  # in place of what is there
        time.sleep(1.5)  # the form takes what was typed a moment later
        button = browser.find_element("xpath", "//button[normalize-space()='Submit']")
        wait(button.is_enabled)
        button.click()

    browser.get(f"{command}/trials?numbers=6")
    wait(lambda: "Trial 6" in text() and "in kg: what customers want" in text())
    look("form")
    submit(demand="-1", value="12.5")
    wait(lambda: "not taken" in text())
    assert "'demand'" in text()
    assert "Reason: context 'demand'" in text()  # red, and true
    look("refused")
    assert json.loads(run("status", "shop.toml", "--json").stdout)["told"] == 6
    submit(demand="8.5", value="12.5")
    wait(lambda: json.loads(run("status", "shop.toml", "--json").stdout)["told"] == 7)
    wait(lambda: "told: demand 8.5 kg, value 12.5 EUR" in text())
    assert "Failed to update trial" not in text()
    look("taken")
    shown = run("status", "shop.toml").stdout
    assert re.search(r"6 +│ [\d.]+ +│ 8\.5 +│ 12\.5", shown), shown
    browser.get(command)
    wait(lambda: "7 observations" in text())  # drawn anew
    look("after")


def test_an_odd_value_is_taken_and_a_note_says_so(told):
    store = StudyStore.open(load(told))
    collector = ResultCollector(store)
    type_in(store, 6, demand="8.5", value="98765")
    collector.collect()
    assert collector.collect() == 1
    assert store.entries()[-1].value == 98765
    assert "value 98765 EUR is" in note_of(store, 6)
    assert "windage correct" in note_of(store, 6)
