"""The page in a real browser, on a phone and on a desk: as a shop uses it."""

import random
import re
import subprocess
import sys

import browsing
import pytest
from browsing import Screen
from test_attacks import ODD

from windage.studies.file import load
from windage.studies.store import StudyStore

pytestmark = pytest.mark.xdist_group("browser")
PHONE, DESK = (390, 844), (1280, 800)
TYPO = 10


@pytest.fixture
def browser(tmp_path_factory):
    """Starts browsers, which end with the test."""
    started = []

    def start(size, dark=False):
        driver = browsing.start(tmp_path_factory.mktemp("profile"), *size, dark)
        started.append(driver)
        return Screen(driver)

    yield start
    for driver in started:
        driver.quit()


@pytest.fixture
def serve():
    """``windage serve`` as a user starts it; its address."""
    started = []

    def begin(path):
        command = [sys.executable, "-m", "windage.cli", "serve", str(path), "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        line = process.stdout.readline()
        assert "http://" in line, line
        return re.search(r"http://\S+", line)[0]

    yield begin
    for process in started:
        process.terminate()
        words = process.communicate(timeout=30)[0]
        assert "Traceback" not in words, words


def profit(stock, demand):
    return 9 * min(stock, demand) - 5 * stock


def days(count, seed=3):
    """Demands to one decimal, as a shop would count them."""
    return [round(random.Random(seed * 1000 + k).uniform(6, 18), 1) for k in range(count)]


def comma(number):
    return f"{number:.2f}".replace(".", ",")


def recommended(screen):
    """The recommended stock, when the page is up to date."""
    screen.wait(lambda: "Being brought up to date" not in screen.one("#best").text, "the recommendation")
    return float(re.search(r"stock ([\d.]+) kg", screen.one("#best").text)[1])


def without_typo(shop, entries):
    """What is recommended where the same days were told rightly at once."""
    other = shop.parent / "other"
    other.mkdir()
    (other / shop.name).write_text(shop.read_text())
    store = StudyStore.open(load(other / shop.name))
    for entry in entries:
        store.add(entry.decision, entry.context, entry.value)
    return store.recommend().decision["stock"]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_bakery(shop, serve, browser, size):
    """Twelve days, a typo noticed, taken as sure, corrected: recommended is what it would have been."""
    screen, address = browser(size), serve(shop)
    screen.open(address)
    for demand in days(12)[:-1]:
        screen.save_day(comma(demand), comma(profit(screen.decision, demand)))
        screen.see("Saved: demand")
        screen.one("#tell")
    right = round(profit(screen.decision, 11.0), 2)
    wrong = 100 * abs(right) + 1200
    screen.save_day("11", comma(wrong))
    screen.see("Sure?")
    assert screen.one("#tell-value").get_attribute("value") == comma(wrong)
    screen.look(f"sure-{size[0]}")
    screen.press("#tell .ask button")
    screen.see("Saved: demand 11 kg")
    screen.one("#tell")
    screen.press("#day-11 a.button")
    screen.type("correct-value", comma(right))
    screen.type("correct-why", "a slip of the finger")
    screen.look(f"correct-{size[0]}")
    screen.press("#correct button.main")
    screen.see("Day 11 is corrected")
    screen.see("a slip of the finger")
    after = recommended(screen)
    entries = StudyStore.open(load(shop)).entries()
    assert (len(entries), entries[-1].value) == (12, right)
    assert after == pytest.approx(without_typo(shop, entries), abs=0.2)
    screen.wait(lambda: len(screen.all("svg.picture")) == 3, "three pictures", 60)
    screen.look(f"page-{size[0]}")
    assert screen.console() == []


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_a_morning(told, shop, serve, browser, size):
    screen, address = browser(size), serve(shop)
    screen.open(address.split("?")[0])
    screen.see("Open the address that")
    screen.open(address)
    screen.one("#tell")
    # the refusal may be logged late
    assert [words for words in screen.console() if "403" not in words] == []
    assert "token" not in screen.driver.current_url
    for css in (".decision", ".why", "#tell-context-0", "#tell-value", "#tell button.main"):
        assert screen.visible(css), css  # without scrolling
    assert not screen.sideways()
    screen.save_day("eleven", "30,5")
    screen.see("which is no number")
    assert screen.one("#tell-context-0").get_attribute("value") == "eleven"
    assert screen.one("#tell-value").get_attribute("value") == "30,5"
    assert screen.driver.switch_to.active_element.get_attribute("id") == "tell-context-0"
    screen.look(f"wrong-{size[0]}")
    assert screen.faults() == []
    screen.save_day("11,5", "30,5")
    screen.see("Saved: demand 11.5 kg, profit of the day 30.5 EUR.")
    slider = screen.one("#if-decision-0")
    screen.driver.execute_script(
        "arguments[0].value = 20; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", slider
    )
    screen.wait(lambda: "stock 20 kg. On average" in screen.one("#what-if-answer").text, "what if")
    screen.wait(lambda: len(screen.all("svg.picture")) == 3, "three pictures", 60)
    for summary in screen.all("summary"):
        screen.driver.execute_script("arguments[0].parentElement.open = true", summary)
    assert screen.faults() == []
    assert screen.console() == []
    screen.look(f"open-{size[0]}")


def test_the_keyboard_is_enough(told, shop, serve, browser):
    screen = browser(DESK)
    screen.open(serve(shop))
    screen.one("#tell")
    from selenium.webdriver.common.keys import Keys

    def focused():
        return screen.driver.switch_to.active_element

    for _ in range(4):
        focused().send_keys(Keys.TAB)
        if focused().get_attribute("id") == "tell-context-0":
            break
    focused().send_keys("11,5", Keys.TAB)
    assert focused().get_attribute("id") == "tell-value"
    focused().send_keys("30", Keys.ENTER)
    screen.see("Saved: demand 11.5 kg")
    assert screen.console() == []


def test_two_browsers_at_once(told, shop, serve, browser):
    address = serve(shop)
    screens = browser(PHONE), browser(DESK)
    for screen in screens:
        screen.open(address)
        screen.one("#tell")
    assert screens[0].decision == screens[1].decision
    screens[0].save_day("11", "30")
    screens[0].see("Saved: demand 11 kg")
    screens[1].save_day("12", "31")
    screens[1].see("was told already")
    assert screens[1].one("#tell-value").get_attribute("value") == "31"
    screens[1].look("second")
    assert [e.value for e in StudyStore.open(load(shop)).entries()][-1] == 30
    assert [screen.console() for screen in screens] == [[], []]


def test_a_study_is_set_up_in_the_browser(tmp_path, monkeypatch, serve, browser):
    monkeypatch.chdir(tmp_path)
    screen = browser(PHONE)
    screen.open(serve(tmp_path / "new.toml"))
    screen.see("A new study")
    screen.press("a[href*='plant']")
    assert screen.one("#outcome").get_attribute("value") == "yield"
    screen.one("[data-more]").click()
    assert screen.one("#decision-name-2").is_displayed()
    assert screen.faults() == []
    screen.look("setup")
    screen.press("#setup button.main")
    screen.one("#tell")
    assert list(load(tmp_path / "new.toml").space) == ["temperature", "time"]
    assert screen.console() == []


def test_markup_does_not_run(tmp_path, monkeypatch, serve, browser):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "odd.toml"
    path.write_text(ODD)
    screen = browser(DESK)
    screen.open(serve(path))
    screen.one("#tell")
    screen.type("tell-context-0", "<img src=x onerror=document.title='run'>")
    screen.press("#tell button.main")
    screen.see("which is no number")
    screen.type("tell-context-0", "3")
    screen.type("tell-value", "4")
    screen.press("#tell button.main")
    screen.see("Saved")
    screen.wait(lambda: screen.all("svg.picture"), "pictures", 60)
    assert screen.driver.title != "run"
    assert not screen.all("img")
    assert screen.console() == []


def test_another_page_cannot_use_the_cookie(told, shop, serve, browser, tmp_path):
    """A page of another origin sends forms and fetches to this one, in the browser that has the cookie."""
    import http.server
    import threading

    address = serve(shop)
    screen = browser(DESK)
    screen.open(address)
    screen.one("#tell")
    fields = {box.get_attribute("name"): box.get_attribute("value") for box in screen.all("#tell input")}
    root = address.split("/?")[0]
    boxes = "".join(f'<input name="{name}" value="{value or 9}">' for name, value in fields.items())
    script = (
        f"fetch('{root}/state', {{credentials: 'include', mode: 'no-cors'}}).then((r) => r.text())"
        ".then((t) => document.title = 'read ' + t.length, () => document.title = 'failed')"
    )
    page = (
        f'<form method="post" action="{root}/tell">{boxes}<button>go</button></form><script>{script}</script>'
    )
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "index.html").write_text(page)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    def handler(*given):
        return Quiet(*given, directory=str(tmp_path / "evil"))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        screen.open(f"http://localhost:{other.server_port}/")
        screen.wait(lambda: screen.driver.title in ("read 0", "failed"), "a fetch that reads nothing")
        screen.press("button")
        screen.see("not to other pages")
        other.shutdown()
    assert len(StudyStore.open(load(shop)).entries()) == 7


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_can_be_read(told, shop, serve, browser, dark):
    screen = browser(DESK, dark)
    screen.open(serve(shop))
    screen.wait(lambda: len(screen.all("svg.picture")) == 3, "three pictures", 60)
    screen.look("dark" if dark else "light")
    assert screen.faults() == []


def test_it_prints(told, shop, serve, browser):
    import base64

    screen = browser(DESK)
    screen.open(serve(shop))
    screen.wait(lambda: len(screen.all("svg.picture")) == 3, "three pictures", 60)
    pdf = base64.b64decode(screen.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")
    screen.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not screen.one("#tell").is_displayed()
    assert screen.one(".decision").is_displayed()
    assert screen.one("#days table").is_displayed()
    screen.look("print")
