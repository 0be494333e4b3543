"""A real browser for the page: Chromium, headless, of a given width."""

import os
import shutil
import subprocess
import tarfile
import time
from functools import cache
from pathlib import Path

import pytest

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDED = os.environ.get("WINDAGE_BROWSER") == "needed"
SCREENSHOTS = os.environ.get("WINDAGE_SCREENSHOTS")
"""A folder for pictures of the page, to look at."""
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def missing(words):
    """What is needed is not there: a fault where it must be, else no test."""
    (pytest.fail if NEEDED else pytest.skip)(words)


def start(folder, width, height=844, dark=False):
    """A browser with an empty profile."""
    if not (BROWSER and DRIVER):
        missing("the page's tests need Chromium and its driver (Debian: chromium, chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (*ARGUMENTS, f"--user-data-dir={folder}", "--window-size=1300,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    if dark:
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    return driver


class Screen:
    """Somebody at a screen."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        self.driver.get(address)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def one(self, css, seconds=30.0):
        """An element, once it is there."""
        return self.wait(lambda: next(iter(self.all(css)), None), css, seconds)

    def wait(self, ready, what="", seconds=30.0):
        from selenium.common.exceptions import StaleElementReferenceException

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := ready():
                    return found
            except StaleElementReferenceException:
                pass  # the page was just replaced
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s in vain for {what}: {self.text[:2000]}")

    @property
    def text(self):
        return self.driver.execute_script("return document.body.innerText")

    def see(self, words, seconds=30.0):
        self.wait(lambda: words in self.text, words, seconds)

    def type(self, box, words):
        """Into a box, in place of what is there."""
        found = self.one(f"#{box}")
        found.clear()
        found.send_keys(words)

    def press(self, css):
        """A button or a link, and wait until another page is there."""
        before = self.one("html")
        found = self.one(css)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()
        self.wait(lambda: self.one("html") != before, f"a page after {css}")

    def save_day(self, demand, value):
        self.one("#tell")
        self.type("tell-context-0", demand)
        self.type("tell-value", value)
        self.press("#tell button.main")

    @property
    def decision(self):
        """Today's stock."""
        return float(self.one(".decision .amount").text.split()[0])

    def visible(self, css):
        """Whether it is seen without scrolling."""
        script = (
            "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth"
        )
        return self.driver.execute_script(script, css)

    def sideways(self):
        """Whether the page is wider than the screen; innerWidth would not say so, on a phone it grows too."""
        return self.driver.execute_script(
            "const page = document.documentElement; return page.scrollWidth > page.clientWidth"
        )

    def console(self):
        """What the browser complained about. A refused form is no complaint of ours."""
        found = [row["message"] for row in self.driver.get_log("browser") if row["level"] == "SEVERE"]
        return [words for words in found if "422" not in words]

    def faults(self):
        """What axe-core finds that is serious."""
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe_core()})
        script = "const done = arguments[0]; axe.run().then((r) => done(r.violations))"
        found = self.driver.execute_async_script(script)
        return [
            (v["id"], v["impact"], [n["html"][:200] for n in v["nodes"][:3]])
            for v in found
            if v["impact"] in ("serious", "critical")
        ]

    def look(self, name):
        """A picture of the whole page, where somebody wants to look at it."""
        if SCREENSHOTS:
            import base64

            whole = {"captureBeyondViewport": True}
            shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", whole)["data"]
            Path(SCREENSHOTS, f"{name}.png").write_bytes(base64.b64decode(shot))


@cache
def axe_core():
    """The text of axe-core, from npm."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(
                ["npm", "pack", "axe-core", "--silent"],
                cwd=folder,
                check=True,
                capture_output=True,
                timeout=120,
            )
        except (OSError, subprocess.SubprocessError) as error:
            missing(f"axe-core cannot be fetched from npm: {error}")
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(packed) as archive:
            return archive.extractfile("package/axe.min.js").read().decode()
