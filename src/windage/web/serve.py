"""The server of the page: its port, its address, and its end."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

import uvicorn

from windage.errors import InputError, WindageError
from windage.web.app import application
from windage.web.background import new_process
from windage.web.security import LOOPBACK, Keys
from windage.web.site import Site

SHORTEST = 8
"""Letters of a password."""
PATIENCE = 3
"""Seconds that an end waits for answers under way."""
MOST_CONNECTIONS, BACKLOG = 200, 32
"""At a time; more are refused: whoever opens many and says nothing must not use up all files."""


def password_of(path: Path) -> str:
    """The password in a file: its first line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the password file {path} cannot be read: {error}") from error
    found = lines[0].strip() if lines else ""
    if len(found) < SHORTEST:
        raise InputError(
            f"the password in {path} is too short: its first line needs {SHORTEST} letters or more."
        )
    return found


class Server:
    """The page of one study. ``serve`` lasts until ``close`` or an interrupt."""

    def __init__(
        self,
        path: Path,
        port: int,
        host: str = "127.0.0.1",
        password: str = "",
        make: Callable[[], Executor] = new_process,
    ) -> None:
        self.host = host
        self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.site = Site(path.resolve(), Keys(password), make)
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                application(self.site, host, self.port),
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                lifespan="off",
                timeout_graceful_shutdown=PATIENCE,
                limit_concurrency=MOST_CONNECTIONS,
            )
        )

    @property
    def address(self) -> str:
        """Where the page is, with the token that opens it; without one where a password does."""
        name = self.host
        if self.host in ("0.0.0.0", "::", ""):
            name = socket.gethostname()
        shown = f"[{name}]" if ":" in name else name
        token = "" if self.site.keys.password else f"?token={self.site.keys.token}"
        return f"http://{shown}:{self.port}/{token}"

    @property
    def opens(self) -> str:
        """What the address opens, where others can reach it; else empty."""
        if self.host in LOOPBACK:
            return ""
        key = "the password" if self.site.keys.password else "this address with its token"
        return (
            f"Everybody who reaches this machine's port {self.port} and has {key} can read and change the "
            "study. "
            "What is sent is not encrypted: use it only in a network that you trust."
        )

    def serve(self) -> None:
        """Serve until ``close``."""
        self.site.background.start()
        try:
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self.site.background.close()
            self._socket.close()

    def close(self) -> None:
        """End ``serve`` from another thread."""
        self._uvicorn.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    """A socket on the port, or a WindageError that says what to do."""
    try:
        kind, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(kind, socket.SOCK_STREAM)
    except OSError as error:
        raise WindageError(
            f"{host} is no name or number of this machine: {error.strerror or error}"
        ) from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        words = error.strerror or str(error)
        raise WindageError(
            f"port {port} of {host} cannot be used ({words}): choose another with --port, or --port 0."
        ) from error
    return found
