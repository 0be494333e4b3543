"""Who may use the web page, and for what.

Every program on the machine can open a port of it. So the address has a token, known to those who see the
terminal. The first visit with it leaves a cookie, and the browser shows that from then on.
"""

from __future__ import annotations

import io
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs

HOST = "127.0.0.1"
WRITES = (
    ("POST", r"/api/trials/\d+/user-attrs"),
    ("PUT", r"/api/studies/\d+/(\d+/)?note"),
)
"""What the page may change: entries of the form, and notes. All else of optuna-dashboard is refused."""
REASONS = (
    (
        r"/api/trials/\d+/tell",
        "A result is told with its contexts: fill in the form of the trial, or say  windage tell.",
    ),
    (
        r"/api/studies(/\d+(/rename)?)?",
        "The study belongs to its file: it is made, renamed and deleted there, not here.",
    ),
)
Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Wrong = Callable[[Mapping[str, Any]], str]
LARGEST = 100_000
"""Bytes of a form."""


def new_token() -> str:
    """One that nobody guesses."""
    return secrets.token_urlsafe(24)


def guarded(application: Application, token: str, wrong: Wrong = lambda _: "") -> Application:
    """The application for those who have the token, on this machine, and for what the page is for.

    ``wrong`` says what is wrong with a form; empty where nothing is.
    """

    def answer(environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        in_address = _same(_in_address(environ), token)
        reason = _of_another(environ)
        if not reason and not in_address and not _same(_in_cookie(environ), token):
            reason = "Open the address that `windage dashboard` printed: it has the token of this page."
        reason = reason or _refused(environ)
        if reason:
            start("403 Forbidden", [("Content-Type", "application/json")])
            return [json.dumps({"reason": reason}).encode()]
        begin = _with_cookie(start, environ, token) if in_address else start
        return _with_body(application, environ, begin, wrong)

    return answer


def _with_body(
    application: Application, environ: Environ, start: Callable[..., Any], wrong: Wrong
) -> Iterable[bytes]:
    """The application's answer; one without a body says what is wrong with what was typed, or nothing.

    optuna-dashboard 0.21 answers a form that it took by 204, and its page reads JSON from that: it then said
    in red "Failed to update trial. Reason: undefined", though all was well. Red lets people submit again.
    """
    typed, said = _typed(environ), b""

    def begin(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        nonlocal said
        if not status.startswith("204"):
            return start(status, headers, *more)
        reason = wrong(typed) if typed else ""
        said = json.dumps({"reason": reason} if reason else {}).encode()
        kept = [(name, value) for name, value in headers if not name.lower().startswith("content-")]
        status = "400 Bad Request" if reason else "200 OK"
        return start(status, [*kept, ("Content-Type", "application/json")], *more)

    found = application(environ, begin)
    return [said] if said else found


def _typed(environ: Environ) -> dict[str, Any]:
    """What a form holds, for the application to read again; empty where it is no form."""
    if environ["REQUEST_METHOD"] != "POST":
        return {}
    length = str(environ.get("CONTENT_LENGTH") or "0")
    body = environ["wsgi.input"].read(min(int(length), LARGEST)) if length.isdigit() else b""
    environ["wsgi.input"] = io.BytesIO(body)
    try:
        found = json.loads(body)["user_attrs"]
    except (ValueError, KeyError, TypeError):
        return {}
    return dict(found) if isinstance(found, dict) else {}


def _of_another(environ: Environ) -> str:
    """Why it is a request of another machine or of another web page; empty where it is not."""
    host = str(environ.get("HTTP_HOST", ""))
    known = host.rsplit(":", 1)[0] in (HOST, "localhost")
    if known and environ.get("HTTP_ORIGIN") in (None, f"http://{host}"):
        return ""
    return "This page answers to its own machine only."


def _refused(environ: Environ) -> str:
    """Why the page does not do this; empty where it does."""
    method, path = environ["REQUEST_METHOD"], str(environ["PATH_INFO"]).rstrip("/")
    if method in ("GET", "HEAD"):
        return ""
    if any(method == known and re.fullmatch(form, path) for known, form in WRITES):
        return ""
    reasons = (words for form, words in REASONS if re.fullmatch(form, path))
    return next(reasons, "This page takes results and notes alone.")


def _cookie(environ: Environ) -> str:
    """The name of the cookie: of this port alone, as browsers share cookies between ports."""
    return f"windage-{environ['SERVER_PORT']}"


def _with_cookie(start: Callable[..., Any], environ: Environ, token: str) -> Callable[..., Any]:
    kept = ("Set-Cookie", f"{_cookie(environ)}={token}; Path=/; HttpOnly; SameSite=Strict")
    quiet = ("Referrer-Policy", "same-origin")  # links on the page do not take the token to other sites

    def begin(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        return start(status, [*headers, kept, quiet], *more)

    return begin


def _in_address(environ: Environ) -> str:
    return parse_qs(str(environ.get("QUERY_STRING", ""))).get("token", [""])[0]


def _in_cookie(environ: Environ) -> str:
    pairs = (pair.strip().partition("=") for pair in str(environ.get("HTTP_COOKIE", "")).split(";"))
    return next((value for name, _, value in pairs if name == _cookie(environ)), "")


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), token.encode())
