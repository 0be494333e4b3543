"""Who may use the page, and how large a request may be. Every request passes here first.

- Host: the page answers to its own names alone, so that no other name can be made to point to it.
- Origin: a form or a script of another page is refused.
- Key: the token in the printed address, or the password, leaves a cookie; without it nothing is shown.
- Size: a request that is too large is refused before it is read.

A form also has a secret of its own (``forms.py``). The headers let the browser run our own scripts alone.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

UPLOAD, FORM = 10_000_000, 300_000
"""Bytes of a table, and of any other request."""
SECONDS = 3.0
"""For a request that is refused to be read to its end."""
PLAIN = re.compile(r"/[A-Za-z0-9._-]*")
"""A path of ours: no other machine's name, no header."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ICON = "/favicon.ico"
FREE = ("/static/", "/login", ICON)
"""What is shown without a key: nothing of a study."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # not "no-referrer": with it, a browser hides the origin of our own forms too
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(frozen=True)
class Keys:
    """The secrets of one server."""

    password: str = ""
    """Empty: the token in the address opens the page."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """In the address, and in the cookie."""
    form: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """In every form."""

    def opens(self, password: str) -> bool:
        """Whether this is the password."""
        return bool(self.password) and same(password, self.password)


def same(given: str, wanted: str) -> bool:
    """Compared in a time that does not depend on what is given."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


@dataclass(frozen=True)
class Gate:
    """Lets through what may pass."""

    application: Application
    keys: Keys
    host: str
    """That the server listens on."""
    port: int

    @property
    def cookie(self) -> str:
        """Its name: of this port alone, as browsers share cookies between ports."""
        return f"windage-page-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.application(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        send = _guarded(send)
        if not self._ours(headers.get("host", "")) or not _same_origin(scope, headers):
            await _drain(receive, headers)
            await _refuse(send, 403, "This page answers to its own address only, and not to other pages.")
            return
        path = scope["path"]
        if not path.startswith(FREE) and not same(_cookie(headers, self.cookie), self.keys.token):
            await _drain(receive, headers)
            await self._without_key(scope, send)
            return
        most = UPLOAD if path == "/upload" else FORM
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > most:
            await _refuse(send, 413, _too_large(most))
            return
        await self._counted(most, scope, receive, send)

    async def _counted(self, most: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, as long as no more is sent than said."""
        seen = 0

        async def counting() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(413, _too_large(most))
            return message

        await self.application(scope, counting, send)

    async def _without_key(self, scope: Scope, send: Send) -> None:
        """The token in the address becomes a cookie; else a login, or a word."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self.keys.password and same(given, self.keys.token) and scope["method"] == "GET":
            plain = PLAIN.fullmatch(scope["path"])
            await _redirect(send, scope["path"] if plain else "/", self.set_cookie())
        elif self.keys.password and scope["method"] == "GET" and scope["path"] == "/":
            await _redirect(send, "/login")
        else:
            words = (
                "Log in first: open this page's address." if self.keys.password
                else "Open the address that  windage serve  printed: it has the token of this page."
            )  # fmt: skip
            await _refuse(send, 403, words)

    def set_cookie(self) -> str:
        """The header that leaves the key in the browser."""
        return f"{self.cookie}={self.keys.token}; Path=/; HttpOnly; SameSite=Strict"

    def _ours(self, given: str) -> bool:
        """Whether a Host header names this server. A number cannot be made to point elsewhere; a name can."""
        name = given.rsplit(":", 1)[0] if not given.endswith("]") else given
        name = name.strip("[]").lower()
        if self.host in LOOPBACK:
            return name in LOOPBACK
        if name in (*LOOPBACK, self.host.lower(), socket.gethostname().lower()):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _too_large(most: int) -> str:
    return f"This is too large: at most {most // 1000:,} kB are taken."


def _same_origin(scope: Scope, headers: MutableMapping[str, str]) -> bool:
    """Whether the request comes from this page, or from an address that a person opened."""
    host = headers.get("host", "")
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return False
    site = headers.get("sec-fetch-site", "same-origin")
    if scope["method"] in ("GET", "HEAD"):
        opened = headers.get("sec-fetch-mode", "navigate") == "navigate"
        return site in ("same-origin", "none") or opened
    return site in ("same-origin", "none") and (origin is not None or "sec-fetch-site" not in headers)


def _cookie(headers: MutableMapping[str, str], name: str) -> str:
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    return next((value for key, _, value in pairs if key == name), "")


def _guarded(send: Send) -> Send:
    """Every answer has the headers of safety."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            mine = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            if b"cache-control" not in names:
                mine.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*given, *mine]}
        await send(message)

    return with_headers


async def _drain(receive: Receive, headers: MutableMapping[str, str]) -> None:
    """Read a small request to its end: a browser that still sends would not see the answer."""
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > FORM:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            while (await receive()).get("more_body"):
                pass


async def _refuse(send: Send, status: int, words: str) -> None:
    head = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": words.encode()})


async def _redirect(send: Send, where: str, cookie: str = "") -> None:
    head = [
        (b"location", where.encode("latin-1", "replace")),
        *([(b"set-cookie", cookie.encode())] if cookie else []),
    ]
    await send({"type": "http.response.start", "status": 303, "headers": head})
    await send({"type": "http.response.body", "body": b""})
