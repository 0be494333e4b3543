"""What goes on behind the page: a decision is kept waiting, the recommendation and the pictures fresh.

Two helper processes compute, one for answers and one for pictures. A thread gives them work when a study has
changed and somebody looks at the page.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import Any

from windage.errors import WindageError
from windage.studies.entries import State
from windage.studies.store import StudyStore
from windage.web import jobs
from windage.web.labels import Figure
from windage.web.live import LiveStudy, version

POLL = 1.0
"""Seconds between two looks at the study, for what others tell."""
ATTENDED = 90.0
"""So long after the last request somebody looks at the page."""
PATIENCE = 120.0
"""Seconds for one job."""


def new_process() -> Executor:
    """One helper process."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=jobs.begin)


class Helper:
    """Does one job after the other, in a process of its own; a process that died is replaced."""

    def __init__(self, make: Callable[[], Executor] = new_process) -> None:
        self._make, self._lock = make, threading.Lock()
        self._executor: Executor | None = None
        self._ended = False

    def submit(self, job: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """The job's result, some time."""
        with self._lock:
            if self._ended:
                raise WindageError("the page is ending.")
            if self._executor is None:
                self._executor = self._make()
            try:
                return self._executor.submit(job, *arguments)
            except BrokenProcessPool:
                self._executor = self._make()
                return self._executor.submit(job, *arguments)

    def do(self, job: Callable[..., Any], *arguments: Any, seconds: float = PATIENCE) -> Any:
        """The job's result; a WindageError where it takes too long, or where its process dies twice."""
        for _ in range(2):
            future = self.submit(job, *arguments)
            try:
                return future.result(seconds)
            except BrokenProcessPool:
                continue
            except TimeoutError as error:
                future.cancel()  # where it has not begun: nobody waits for it any more
                raise WindageError("this takes longer than expected: try again in a moment.") from error
        raise WindageError("what computes has ended twice: there may be too little memory. Try again.")

    def close(self) -> None:
        """End the process, whatever it does: it writes nothing but decisions, which then count as cut off."""
        with self._lock:
            self._ended, executor, self._executor = True, self._executor, None
        if executor is not None:
            processes = list((getattr(executor, "_processes", None) or {}).values())
            executor.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()


@dataclass(frozen=True)
class Known:
    """What was computed of a study so far."""

    best: dict[str, Any] | None = None
    """The recommendation in words."""
    figures: dict[str, Figure] = field(default_factory=dict)
    version: str = ""
    """Of the study that it is about."""
    drawn: int = 0
    """Grows with every picture."""
    fault: str = ""
    """Why there is nothing newer."""


class Background:
    """Keeps what the page shows up to date."""

    def __init__(self, live: LiveStudy, make: Callable[[], Executor] = new_process) -> None:
        self.live = live
        self.answers, self.pictures = Helper(make), Helper(make)
        self.known = Known()
        self.busy = False
        """Whether something newer is under work."""
        self._attended = 0.0
        self._wake, self._asked = threading.Event(), threading.Event()
        self._stop = threading.Event()
        self._settled = ""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin, without waiting."""
        for helper in (self.answers, self.pictures):
            helper.submit(jobs.warm)
        threading.Thread(target=jobs.warm, daemon=True).start()  # for the second look at what is told
        self._thread.start()

    def attend(self) -> None:
        """Somebody looks at the page, or has changed something."""
        self._attended = time.monotonic()
        self._wake.set()

    def wait_for_decision(self, seconds: float) -> None:
        """Give the next decision a moment."""
        self._asked.clear()
        self.attend()
        self._asked.wait(seconds)

    def close(self) -> None:
        """End."""
        self._stop.set()
        self._wake.set()
        for helper in (self.answers, self.pictures):
            helper.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(POLL)
            self._wake.clear()
            if time.monotonic() - self._attended > ATTENDED:
                continue
            try:
                self._round()
            except Exception as error:  # whatever it is: the page goes on, and so does this
                words = str(error) if isinstance(error, WindageError) else f"{type(error).__name__}: {error}"
                self.known = replace(self.known, fault=words)
                self._asked.set()
                self._stop.wait(POLL)
            self.busy = False

    def _round(self) -> None:
        """One look at the study, and what follows from it."""
        if not self.live.path.exists() and self.live.file is None:
            return  # it is still to be set up
        path, store = str(self.live.path), self.live.store()
        state = store.state()
        if _waits(store, state):
            self.busy = True
            self.answers.do(jobs.ask, path)
            state = store.state()
        self._asked.set()
        if self.known.fault:
            self.known = replace(self.known, fault="")
        now = version(store, state)
        if self.known.version == now and self._settled == now:
            return
        self.busy = True
        if self.known.version != now:
            best = self.answers.do(jobs.best, path)
            if best and self.known.best:  # until there is newer
                best |= {key: self.known.best[key] for key in jobs.UNKNOWN}
            self.known = replace(self.known, best=best, version=now, drawn=self.known.drawn + 1)
            if best is None:
                self.known, self._settled = replace(self.known, figures={}), now
                return
            self._show(self.pictures.do(jobs.draw, path, best["decision"])["figures"], anew=True)
            best = {**best, **self.pictures.do(jobs.learn, path)}
            self.known = replace(self.known, best=best, drawn=self.known.drawn + 1)
        self._settle(path, now)

    def _settle(self, path: str, now: str) -> None:
        """How the recommendation settled, point after point; what is new comes first."""
        while not self._stop.is_set():
            found = self.pictures.do(jobs.settle, path)
            if found["left"] == 0 or self._is_new(now):
                self._show(found["figures"])
            if found["version"] != now or self._is_new(now):
                return
            if found["left"] == 0:
                self._settled = now
                return

    def _is_new(self, now: str) -> bool:
        """Whether the study has changed, or a decision is to be made ready."""
        store = self.live.store()
        state = store.state()
        return _waits(store, state) or version(store, state) != now

    def _show(self, figures: list[Figure], anew: bool = False) -> None:
        kept = {k: f for k, f in self.known.figures.items() if not anew or f["group"] == "settled"}
        fresh = {**kept, **{figure["key"]: figure for figure in figures}}
        self.known = replace(self.known, figures=fresh, drawn=self.known.drawn + 1)


def _waits(store: StudyStore, state: State) -> bool:
    """Whether a decision is to be made ready. Where something is known beforehand, people say it first."""
    return not state.open and not store.file.known
