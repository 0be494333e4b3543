"""Run a program for each decision: ask, run, read what it says, tell.

The program prints one JSON line, {"value": 3.4, "context": {"demand": 0.31}}. One thread alone uses the
storage; the programs run beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import string
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from windage.errors import ConfigurationError, InputError, TrialError, WindageError
from windage.studies.entries import Asked
from windage.studies.storage import StorageError
from windage.studies.store import StudyStore

LEASE, RENEW_EVERY = 180.0, 45.0
"""Seconds that a decision stays pending when its worker dies, and between two renewals while it lives."""
PATIENCE, FIRST_PAUSE = 900.0, 0.5
"""Seconds for which a storage that went away is tried again, and the first pause between two tries."""
KEPT = 1500
"""Of a failed program's error output, so many characters at its end are kept."""
T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """What a program said, or why it said nothing."""

    value: Any = None
    context: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


@dataclass
class Program:
    """A command line with decision variables in braces, such as ``./simulate {stock}``."""

    command: str
    limit: float | None = None
    """Seconds for one run; None: no limit."""
    retries: int = 0
    """How often a run that failed is repeated."""
    running: set[subprocess.Popen[str]] = field(default_factory=set)
    stopped: bool = False

    def check(self, names: Mapping[str, Any]) -> None:
        """A ConfigurationError where the command names what is no decision variable."""
        try:
            parts = shlex.split(self.command)
            found = [
                field for part in parts for field in string.Formatter().parse(part) if field[1] is not None
            ]
            fields = {str(name) for _, name, _, _ in found}
            if any(spec or conversion for _, _, spec, conversion in found):
                raise ValueError("a name in braces stands alone, without ':' or '!'")
        except ValueError as error:
            raise ConfigurationError(f"--command {self.command!r} cannot be read: {error}") from error
        if not parts:
            raise ConfigurationError("--command is empty.")
        for name in fields:
            if name not in names:
                raise ConfigurationError(
                    f"--command has {{{name}}}, but the decision variables are {', '.join(names)}. "
                    "Braces that are meant as such are written twice: {{ }}."
                )

    def __call__(self, asked: Asked) -> Outcome:
        """Run it for one decision, again if it fails."""
        outcome = Outcome(error="it was not run")
        for _ in range(self.retries + 1):
            if self.stopped:
                return Outcome(error="interrupted")
            outcome = self._once(asked)
            if not outcome.error:
                break
        return outcome

    def _once(self, asked: Asked) -> Outcome:
        words = [part.format(**asked.decision) for part in shlex.split(self.command)]
        decision = json.dumps(asked.decision)
        environment = {**os.environ, "WINDAGE_NUMBER": str(asked.number), "WINDAGE_DECISION": decision}
        try:
            process = subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
                env=environment,
                start_new_session=True,  # Ctrl-C is ours to pass on
            )
        except OSError as error:
            return Outcome(error=f"{words[0]} cannot be run: {error.strerror or error}")
        self.running.add(process)
        if self.stopped:  # since the check before it was started
            end(process)
        try:
            out, err = process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            end(process)
            out, err = process.communicate()
            return Outcome(error=f"it took longer than {self.limit:g} s. {err[-KEPT:]}".strip())
        finally:
            self.running.discard(process)
        if self.stopped:
            return Outcome(error="interrupted")
        if process.returncode != 0:
            return Outcome(error=f"it ended with code {process.returncode}. {err[-KEPT:]}".strip())
        return said(out, err)

    def stop(self) -> None:
        """End all that runs."""
        self.stopped = True
        for process in list(self.running):
            end(process)


def end(process: subprocess.Popen[str]) -> None:
    """A program and whatever it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def said(out: str, err: str) -> Outcome:
    """The last line that is a JSON object with a value."""
    for line in reversed(out.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and "value" in found:
            context = found.get("context", {})
            if not isinstance(context, dict):
                return Outcome(error=f"its context must be an object of names and numbers, not {context!r}")
            return Outcome(found["value"], context)
    shown = out.strip()[-200:] or "nothing"
    wanted = '{"value": ..., "context": {...}}'
    return Outcome(error=f"it printed no JSON line {wanted}, but {shown}. {err[-KEPT:]}".strip())


@dataclass
class Tally:
    """How far a run has come."""

    told: int = 0
    failed: int = 0
    running: int = 0
    last: str = ""
    """What happened last, in words."""


def run(
    store: StudyStore,
    program: Program,
    trials: int,
    jobs: int = 1,
    report: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Run the program for so many decisions. On Ctrl-C what runs is ended and marked as failed."""
    program.check(store.file.space)
    tally = Tally()
    going: dict[Future[Outcome], Asked] = {}
    asked = 0
    renewed = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while asked < trials or going:
                while asked < trials and len(going) < jobs:
                    next_ = patiently(store.ask)
                    patiently(partial(store.renew, next_.number, LEASE))
                    going[pool.submit(program, next_)] = next_
                    asked += 1
                    tally.running = len(going)
                    report(tally)
                done, _ = wait(going, timeout=RENEW_EVERY / 3, return_when=FIRST_COMPLETED)
                for future in done:
                    _settle(store, going[future], future.result(), tally)
                    del going[future]
                    tally.running = len(going)
                    report(tally)
                if time.monotonic() - renewed > RENEW_EVERY:
                    renewed = time.monotonic()
                    for one in going.values():
                        with contextlib.suppress(TrialError):  # told by another: its program goes on
                            patiently(partial(store.renew, one.number, LEASE))
        except BaseException:
            program.stop()
            wait(going)
            for future, one in going.items():
                outcome = Outcome(error="interrupted") if future.cancelled() else future.result()
                with contextlib.suppress(WindageError):  # the others are still to be settled
                    _settle(store, one, outcome, tally)
            raise
    return tally


def _settle(store: StudyStore, asked: Asked, outcome: Outcome, tally: Tally) -> None:
    """Tell what a program said; what is no result fails with the reason."""
    error = outcome.error
    try:
        if not error:
            try:
                entry = patiently(lambda: store.tell(asked.number, outcome.context, outcome.value))
            except InputError as fault:
                error = str(fault)
            else:
                tally.told += 1
                tally.last = f"decision {asked.number}: {store.file.quantities['value'].show(entry.value)}"
                return
        patiently(lambda: store.fail(asked.number, error))
    except TrialError as fault:  # another was first; or it was told, and the answer got lost with the storage
        if _is_told(store, asked.number, outcome):
            tally.told += 1
            tally.last = f"decision {asked.number} is told"
            return
        error = str(fault)
    tally.failed += 1
    tally.last = f"decision {asked.number} failed: {error.splitlines()[0]}"


def _is_told(store: StudyStore, number: int, outcome: Outcome) -> bool:
    """Whether just this stands in the study."""
    found = patiently(lambda: [entry for entry in store.entries() if entry.number == number])
    with contextlib.suppress(InputError):
        told = (store.file.check_context(outcome.context), store.file.check_value(outcome.value))
        return [(entry.context, entry.value) for entry in found] == [told]
    return False


def patiently(act: Callable[[], T], patience: float = PATIENCE) -> T:
    """Do it; where the storage has gone away, again until it is back."""
    pause, start = FIRST_PAUSE, time.monotonic()
    while True:
        try:
            return act()
        except StorageError as error:
            if time.monotonic() - start > patience:
                raise WindageError(f"gave up after {patience / 60:.0f} minutes: {error}") from None
            time.sleep(pause)
            pause = min(2 * pause, 15.0)
