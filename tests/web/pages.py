"""A visitor of the page without a browser: reads its forms as a browser would, and sends them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html.parser import HTMLParser

import httpx

from windage.web.serve import Server


class _Forms(HTMLParser):
    """Every form of a page, by its address: the fields and what they hold."""

    def __init__(self):
        super().__init__()
        self.forms, self._form, self._select = [], None, None

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self._form = (given.get("action"), {})
            self.forms.append(self._form)
        elif self._form is None:
            return
        elif tag == "input" and given.get("type") != "checkbox" and "name" in given:
            self._form[1][given["name"]] = given.get("value") or ""
        elif tag == "select":
            self._select = given["name"]
        elif tag == "option" and self._select and ("selected" in given or self._select not in self._form[1]):
            self._form[1][self._select] = given.get("value", "")
        elif tag == "button" and given.get("name") == "sure":
            self._form[1]["_sure"] = given["value"]

    def handle_endtag(self, tag):
        if tag == "form":
            self._form = None
        if tag == "select":
            self._select = None


def forms(html):
    """[(address, fields)] in the order of the page."""
    found = _Forms()
    found.feed(html)
    return found.forms


class Visitor:
    """Somebody with the page open."""

    def __init__(self, server):
        self.server, self.site = server, server.site
        self.root = f"http://127.0.0.1:{server.port}"
        self.client = httpx.Client(base_url=self.root, follow_redirects=True, timeout=30, trust_env=False)
        self.html = ""

    def open(self, path="/"):
        self.answer = self.client.get(path)
        self.html = self.answer.text
        return self.html

    def enter(self):
        return self.open(f"/?token={self.site.keys.token}")

    def until(self, words, path="/", seconds=30.0):
        """Open the page again until it has these words."""
        end = time.monotonic() + seconds
        while words not in self.open(path):
            assert time.monotonic() < end, f"{words!r} did not come: {self.html[:3000]}"
            time.sleep(0.05)
        return self.html

    def fields(self, action, which=0):
        return dict([f for a, f in forms(self.html) if a == action][which])

    def send(self, action, sure=False, which=0, **typed):
        """Fill in a form of the page that is open, and send it."""
        fields = self.fields(action, which)
        said = fields.pop("_sure", None)
        if sure:
            fields["sure"] = said
        fields.update({name.replace("_", "-"): text for name, text in typed.items()})
        self.answer = self.client.post(action, data=fields)
        self.html = self.answer.text
        return self.html

    def upload(self, content, name="past.csv", **more):
        fields = self.fields("/upload")
        fields.pop("file")
        self.answer = self.client.post("/upload", data={**fields, **more}, files={"file": (name, content)})
        self.html = self.answer.text
        return self.html


@contextmanager
def serving(path, **more):
    """A server of the page whose helpers are threads: quick to start."""
    server = Server(path, 0, make=lambda: ThreadPoolExecutor(1), **more)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()
