"""A program that is run for a decision: its command line, what it says, and its end.

The program prints one JSON line, {"value": 3.4, "context": {"demand": 0.31}}.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from windage.errors import ConfigurationError
from windage.studies.entries import Asked
from windage.studies.url import STORAGE

KEPT = 1500
"""Of a failed program's error output, so many characters at its end are kept."""
HEARD = 1 << 20
"""Of each output, so many bytes at its end are kept: a program may print without end."""
POLL, GRACE = 0.1, 1.0
"""Seconds between two checks whether a program has ended, and for its last words once it has: a child that it
left behind may hold its output open for ever."""
HOPELESS = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.ELOOP)
"""Faults of a start that the next decision would meet too."""
BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True)
class Outcome:
    """What a program said, or why it said nothing."""

    value: Any = None
    context: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    hopeless: bool = False
    """Whether the next decision would fail alike, because the program cannot be started at all."""


@dataclass
class Program:
    """A command line with decision variables, and what is known, in braces: ``./simulate {stock}``."""

    command: str
    limit: float | None = None
    """Seconds for one run; None: no limit."""
    retries: int = 0
    """How often a run that failed is repeated."""
    running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    stopped: bool = False

    def check(self, names: Iterable[str]) -> None:
        """A ConfigurationError where the command has another name in braces, or names no program."""
        try:
            parts = shlex.split(self.command)
        except ValueError as error:
            raise ConfigurationError(f"--command {self.command!r} cannot be read: {error}") from error
        if not parts:
            raise ConfigurationError("--command is empty.")
        known = dict.fromkeys(names, "")
        for part in parts:
            filled(part, known)
        if not BRACES.search(parts[0]) and shutil.which(parts[0]) is None:
            raise ConfigurationError(
                f"--command: {parts[0]!r} is no program that can be run. Correct its name or its path, "
                "and see that it is executable."
            )

    def __call__(self, asked: Asked) -> Outcome:
        """Run it for one decision, again if it fails."""
        outcome = Outcome(error="it was not run")
        for _ in range(self.retries + 1):
            if self.stopped:
                return Outcome(error="interrupted")
            outcome = self._once(asked)
            if not outcome.error or outcome.hopeless:
                break
        return outcome

    def _once(self, asked: Asked) -> Outcome:
        first, *_ = parts = shlex.split(self.command)
        words = [filled(part, {**asked.decision, **asked.beforehand.known}) for part in parts]
        try:
            process = subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                env=environment(asked),
                start_new_session=True,  # Ctrl-C is ours to pass on
            )
        except OSError as error:
            hopeless = error.errno in HOPELESS and not BRACES.search(first)
            return Outcome(error=f"{words[0]} cannot be run: {error.strerror or error}", hopeless=hopeless)
        except ValueError as error:  # NUL, or half of a character
            return Outcome(error=f"the decision cannot stand in a command line: {error}")
        self.running.add(process)
        if self.stopped:  # since the check before it was started
            end(process)
        try:
            out, err, late = listen(process, self.limit)
        finally:
            self.running.discard(process)
        if self.stopped:
            return Outcome(error="interrupted")
        if late:
            return Outcome(error=f"it took longer than {self.limit:g} s. {err[-KEPT:]}".strip())
        if process.returncode != 0:
            return Outcome(error=f"it ended with code {process.returncode}. {err[-KEPT:]}".strip())
        return said(out, err)

    def stop(self) -> None:
        """End all that runs."""
        self.stopped = True
        for process in list(self.running):
            end(process)


def filled(text: str, values: Mapping[str, Any]) -> str:
    """The text with ``{name}`` replaced by its value; ``{{`` and ``}}`` are braces.

    Names are taken as they are. A ConfigurationError where one is unknown, or a brace stands alone.
    """

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if found[0] in ("{{", "}}"):
            return found[0][0]
        if name in values:
            return str(values[name])
        twice = "Braces that are meant as such are written twice: {{ }}."
        if name is None:
            raise ConfigurationError(f"--command cannot be read: a brace stands alone in {text!r}. {twice}")
        hint = ""
        if re.split("[:!.[]", name)[0] in values:
            hint = " A name in braces stands alone, without more after it."
        known = ", ".join(values)
        raise ConfigurationError(
            f"--command has {{{name}}}, but what is decided or known is {known}.{hint} {twice}"
        )

    return BRACES.sub(value, text)


def environment(asked: Asked) -> dict[str, str]:
    """What a program finds in its environment: not the storage, whose URL may have a password."""
    others = {name: value for name, value in os.environ.items() if name != STORAGE}
    given = {f"WINDAGE_{key.upper()}": json.dumps(rows) for key, rows in asked.beforehand.to_dict().items()}
    own = {"WINDAGE_NUMBER": str(asked.number), "WINDAGE_DECISION": json.dumps(asked.decision)}
    return {**others, **own, **given}


def listen(process: subprocess.Popen[bytes], limit: float | None) -> tuple[str, str, bool]:
    """The end of both outputs, and whether the program was ended because it took longer than the limit."""
    until = float("inf") if limit is None else time.monotonic() + limit
    closing = False
    heard = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe}
    with selectors.DefaultSelector() as pipes, contextlib.ExitStack() as closed:
        for pipe in heard:
            pipes.register(closed.enter_context(pipe), selectors.EVENT_READ)
        while pipes.get_map() and time.monotonic() < until:
            if not closing and process.poll() is not None:
                closing, until = True, time.monotonic() + GRACE
            for key, _ in pipes.select(min(POLL, max(until - time.monotonic(), 0))):
                piece = os.read(key.fd, 1 << 16)
                if not piece:
                    pipes.unregister(key.fileobj)
                kept = heard[key.fileobj]  # type: ignore[index]
                kept += piece
                del kept[:-HEARD]
        late = _outlasts(process, until)
    out, err = (bytes(kept).decode(errors="replace") for kept in heard.values())
    return out, err, late


def _outlasts(process: subprocess.Popen[bytes], until: float) -> bool:
    """Whether the program runs at that time still; then it is ended."""
    left = until - time.monotonic()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(None if left == float("inf") else max(left, 0))
        return False
    end(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    return True


def end(process: subprocess.Popen[bytes]) -> None:
    """A program and whatever it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def said(out: str, err: str) -> Outcome:
    """The last line that is a JSON object with a value."""
    for line in reversed(out.splitlines()):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):  # no JSON; or brackets in brackets without end
            continue
        if isinstance(found, dict) and "value" in found:
            context = found.get("context", {})
            if not isinstance(context, dict):
                return Outcome(
                    error=f"its context must be an object of names and numbers, not {repr(context)[:200]}"
                )
            return Outcome(found["value"], context)
    shown = out.strip()[-200:] or "nothing"
    wanted = '{"value": ..., "context": {...}}'
    return Outcome(error=f"it printed no JSON line {wanted}, but {shown}. {err[-KEPT:]}".strip())
