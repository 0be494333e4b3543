"""Who must not use the page cannot, and what users write is text. Nothing changes, nothing runs."""

import re
import socket

import httpx
import pytest
from pages import Visitor, serving

from windage.studies.file import load
from windage.studies.store import StudyStore
from windage.web import app
from windage.web.security import FORM, UPLOAD

MARKUP = '<script>document.title="run"</script>'
FORMULA = "=1+1"


@pytest.fixture
def stranger(server):
    """Another program or page, without a cookie."""
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        yield client


def counts(path):
    state = StudyStore.open(load(path)).state()
    return len(state.entries), len(state.forgotten), state.failed


PATHS = ("/", "/state", "/pictures", "/what-if?decision-0=3", "/table.csv", "/setup", "/nothing")


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_shown_without_the_token(stranger, server, path):
    port = server.port
    for cookie in ("", f"windage-page-{port}=", f"windage-page-{port}={server.site.keys.token[:-1]}", "é;;="):
        answer = stranger.get(path, headers={"Cookie": cookie.encode()})
        assert answer.status_code == 403
        assert answer.text == "Open the address that  windage serve  printed: it has the token of this page."
    assert stranger.get(path, params={"token": "wrong"}).status_code == 403


def test_a_browser_gets_its_icon_without_the_token(stranger):
    answer = stranger.get("/favicon.ico")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert answer.text.startswith("<svg")


def test_the_token_leaves_a_cookie_for_this_page_alone(stranger, server):
    answer = stranger.get("/", params={"token": server.site.keys.token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    kept = f"windage-page-{server.port}={server.site.keys.token}; Path=/; HttpOnly; SameSite=Strict"
    assert answer.headers["set-cookie"] == kept
    assert len(server.site.keys.token) >= 32
    with serving(server.site.path) as other:
        assert other.site.keys.token != server.site.keys.token


@pytest.mark.parametrize("action", [*app.ACTIONS, "ask"])
def test_a_form_without_a_cookie_or_its_secret_does_nothing(regular, stranger, action):
    before = counts(regular.site.live.path)
    fields = {"number": "7", "decision-0": "9", "context-0": "9", "value": "9", "shape": "x"}
    secret = regular.site.keys.form
    assert stranger.post(f"/{action}", data={**fields, "csrf": secret}).status_code == 403
    for wrong in ({}, {"csrf": ""}, {"csrf": secret[:-1]}, {"csrf": "é"}):
        answer = regular.client.post(f"/{action}", data={**fields, **wrong})
        assert answer.status_code == 403
        assert "not of this page" in answer.text
    assert counts(regular.site.live.path) == before


OTHERS = (
    {"Origin": "http://example.org"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Host": "example.org"},
    {"Host": "127.0.0.1.example.org"},
    {"Host": ""},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
)


@pytest.mark.parametrize("headers", OTHERS, ids=str)
def test_other_pages_and_other_names_are_refused_even_with_the_cookie(regular, headers):
    before = counts(regular.site.live.path)
    fields = {**regular.fields("/tell"), "context-0": "9", "value": "9"}
    for answer in (
        regular.client.get("/state", headers=headers),
        regular.client.get(f"/?token={regular.site.keys.token}", headers=headers),
        regular.client.post("/tell", data=fields, headers=headers),
        regular.client.get("/static/page.js", headers=headers),
    ):
        assert answer.status_code == 403
        assert answer.text == "This page answers to its own address only, and not to other pages."
    assert counts(regular.site.live.path) == before
    own = {"Origin": regular.root, "Sec-Fetch-Site": "same-origin"}
    assert regular.client.post("/tell", data=fields, headers=own).status_code == 200


def test_every_answer_has_the_headers_of_safety(regular, stranger):
    answers = [regular.client.get(path) for path in (*PATHS, "/static/page.css")]
    for answer in [*answers, stranger.get("/"), regular.client.post("/tell")]:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_the_page_has_no_inline_script_or_style(regular):
    html = regular.until("settled")
    assert re.findall(r"<script[^>]*>", html) == ['<script src="/static/page.js" defer>']
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html)
    assert not re.search(r"https?://(?!127)", html)


ODD = f"""
name = '{MARKUP}'
[value]
unit = '{MARKUP}'
description = '{FORMULA} {MARKUP}'
[decisions.'<script>run()</script>']
low = 0
high = 9
unit = '"><img src=x onerror=alert(1)>'
description = '{MARKUP}'
[decisions.'@sum']
choices = ['{MARKUP}', '=cmd', 'b']
[contexts.'{{{{7*7}}}} <script>run()</script>']
unit = '{MARKUP}'
description = "'><svg/onload=alert(1)>"
[settings]
raw_samples = 32
restarts = 2
members = 4
"""


def test_markup_and_formulas_are_text_wherever_they_stand(tmp_path, monkeypatch, come):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "odd.toml"
    path.write_text(ODD + "\n", encoding="utf-8")
    with serving(path) as server:
        visitor = come(server)
        visitor.until("What happened?")
        visitor.send("/tell", context_0="3", value="4")
        for i in range(3):
            visitor.open()
            visitor.send("/add", decision_0=str(i + 1), decision_1=MARKUP, context_0="2,5", value=f"{i}")
        visitor.open("/?correct=0")
        visitor.send("/correct", value="5", why=MARKUP)
        html = visitor.until("settled") + visitor.client.get("/pictures").text
        html += visitor.send("/tell", context_0=MARKUP, value="'\"><b>")
        html += visitor.open(f"/?said={MARKUP}&correct={MARKUP}&decision-0={MARKUP}")
        html += visitor.upload(f"{MARKUP},b\n{MARKUP},2\n".encode(), name=MARKUP)
        assert html.count("<script") == 4  # one on each of the four pages: our own
        assert "<img" not in html
        assert "onload=alert" in html
        assert "<svg/onload" not in html
        assert "49" not in re.sub(
            r"[0-9a-f]{8,}|\d+\.\d+|pytest-\d+", "", re.sub(r'value="[^"]*"', "", visitor.open())
        )
        answer = visitor.client.get("/table.csv")
        assert "<" not in answer.headers["content-disposition"]
        cells = answer.text.replace('"', "").replace("\r\n", ",").split(",")
        assert not [cell for cell in cells if cell[:1] in "=@+" and cell]


def test_a_large_upload_is_refused_before_it_is_read(regular):
    """200 MB are announced, and a part of them is sent: the answer does not wait for the rest."""
    cookie = f"windage-page-{regular.server.port}={regular.site.keys.token}"
    with socket.create_connection(("127.0.0.1", regular.server.port), timeout=10) as wire:
        wire.sendall(
            f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{regular.server.port}\r\nCookie: {cookie}\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 200000000\r\n\r\nbegin".encode()
        )
        answer = b"".join(iter(lambda: wire.recv(65536), b"")).decode()
    assert answer.startswith("HTTP/1.1 413")
    assert "at most 10,000 kB" in answer


@pytest.mark.parametrize(("path", "most"), [("/upload", UPLOAD), ("/tell", FORM)])
def test_what_is_sent_in_pieces_without_a_length_is_counted(regular, path, most):
    def pieces():
        yield b"--x\r\nContent-Disposition: form-data; name=file; filename=a\r\n\r\n"
        for _ in range(2 * most // 50_000 + 2):
            yield b"a" * 50_000

    try:
        answer = regular.client.post(
            path, content=pieces(), headers={"Content-Type": "multipart/form-data; boundary=x"}
        )
        assert answer.status_code in (400, 413)
    except httpx.TransportError:
        pass  # the server hung up, as it may
    assert regular.client.get("/state").status_code == 200
    assert len(StudyStore.open(load(regular.site.live.path)).entries()) == 7


@pytest.mark.parametrize("name", ["../../shop.toml", "/etc/passwd", "..\\shop.db", "a\0b", "x" * 300])
def test_a_path_in_a_file_name_is_ignored(regular, name):
    path = regular.site.live.path
    before = path.read_bytes(), sorted(p.name for p in path.parent.iterdir() if "holder" not in p.name)
    assert "1 day is added" in regular.upload(b"stock,demand,value\n9,9,29\n", name=name)
    assert before == (
        path.read_bytes(),
        sorted(p.name for p in path.parent.iterdir() if "holder" not in p.name),
    )


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"])
def test_no_other_file_is_served(regular, path):
    with socket.create_connection(("127.0.0.1", regular.server.port), timeout=10) as wire:
        host = f"Host: 127.0.0.1:{regular.server.port}\r\nConnection: close"
        wire.sendall(f"GET {path} HTTP/1.1\r\n{host}\r\n\r\n".encode())
        answer = b"".join(iter(lambda: wire.recv(65536), b""))
    assert answer.split()[1] in (b"404", b"403")
    assert b"Starlette" not in answer


def test_the_study_cannot_be_deleted_from_the_page(regular):
    for method in ("DELETE", "PUT", "PATCH"):
        for path in ("/", "/tell", "/delete", "/state"):
            assert regular.client.request(method, path).status_code in (404, 405)
    assert "delete" not in regular.html.lower()
    assert counts(regular.site.live.path)[0] == 7


def test_a_password_opens_the_page_and_nothing_else_does(shop, monkeypatch):
    monkeypatch.setattr(app, "LOGIN_SECONDS", 0.01)
    with serving(shop, password="correct horse") as server:
        assert "token" not in server.address
        visitor = Visitor(server)
        with visitor.client:
            assert "Log in" in visitor.open("/")
            assert visitor.open(f"/state?token={server.site.keys.token}").startswith("Log in first")
            for wrong in ("", "correct hors", "é"):
                visitor.open("/")
                assert "This is not the password." in visitor.send("/login", password=wrong)
                assert visitor.answer.status_code == 403
                assert not visitor.client.cookies
            assert "Today" in visitor.send("/login", password="correct horse")
            visitor.until("What happened?")


def test_another_hosts_page_answers_to_its_names_and_to_numbers(shop):
    with serving(shop, host="0.0.0.0") as server:
        assert "can read and change the study" in server.opens
        assert "not encrypted" in server.opens
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
            for host, ours in (
                (f"192.168.1.7:{server.port}", True),
                (socket.gethostname(), True),
                ("[::1]:80", True),
                ("evil.example", False),
                ("127.0.0.1.evil.example", False),
            ):
                answer = client.get("/", headers={"Host": host})
                assert ("Open the address" in answer.text) == ours, host
