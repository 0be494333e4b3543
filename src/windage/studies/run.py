"""Run a program for each decision: ask, run, read what it says, tell.

One thread alone uses the storage; the programs run beside it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from windage.errors import ConfigurationError, InputError, TrialError, WindageError
from windage.studies.beforehand import NOTHING, Beforehand
from windage.studies.entries import Asked
from windage.studies.program import Outcome, Program
from windage.studies.storage import StorageError
from windage.studies.store import StudyStore

LEASE, RENEW_EVERY = 180.0, 45.0
"""Seconds that a decision stays pending when its worker dies, and between two renewals while it lives."""
PATIENCE, FIRST_PAUSE = 900.0, 0.5
"""Seconds for which a storage that went away is tried again, and the first pause between two tries."""
AT_THE_END = 10.0
"""The same where the run ends before its time: somebody waits for that."""
Say = Callable[[str], None]
T = TypeVar("T")


@dataclass
class Tally:
    """How far a run has come."""

    told: int = 0
    failed: int = 0
    running: int = 0
    last: str = ""
    """What happened last, in words."""


@dataclass(frozen=True)
class Patience:
    """Does what needs the storage. Where that has gone away: again until it is back, and says so."""

    say: Say = lambda _: None
    """Called with a line for the terminal."""
    seconds: float = PATIENCE

    def __call__(self, act: Callable[[], T]) -> T:
        """Do it. A WindageError where the storage stays away."""
        pause, start, away = FIRST_PAUSE, time.monotonic(), False
        while True:
            try:
                found = act()
            except StorageError as error:
                if time.monotonic() - start > self.seconds:
                    raise WindageError(f"gave up after {_lasting(self.seconds)}: {error}") from None
                if not away:
                    self.say(f"{error} It is tried again, for {_lasting(self.seconds)} at most.")
                away = True
            else:
                if away:
                    self.say("The storage is back.")
                return found
            time.sleep(pause)
            pause = min(2 * pause, 15.0)


def _lasting(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"


def run(
    store: StudyStore,
    program: Program,
    trials: int,
    jobs: int = 1,
    report: Callable[[Tally], None] = lambda _: None,
    say: Say = lambda _: None,
    given: Beforehand = NOTHING,
) -> Tally:
    """Run the program for so many decisions. On Ctrl-C what runs is ended and marked as failed.

    ``given``: what is known before each of them.
    """
    program.check([*store.file.space, *given.known])
    work = _Run(store, program, Tally(), report, Patience(say), given)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while work.asked < trials or work.going:
                while work.asked < trials and len(work.going) < jobs:
                    work.begin(pool)
                work.settle_finished()
                work.renew()
        except BaseException:
            work.end()
            raise
    return work.tally


class _Run:
    """The decisions of one run."""

    def __init__(
        self,
        store: StudyStore,
        program: Program,
        tally: Tally,
        report: Callable[[Tally], None],
        patiently: Patience,
        given: Beforehand,
    ) -> None:
        self.given = given
        self.store, self.program, self.tally, self.report = store, program, tally, report
        self.patiently = patiently
        self.going: dict[Future[Outcome], Asked] = {}
        self.asked = 0
        self.renewed = time.monotonic()

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Ask for a decision, and start its program."""
        next_ = self.patiently(partial(self.store.ask, False, self.given))
        try:
            self._renew(next_)  # first: a worker that is killed beside its program holds it for a short while
        except BaseException as fault:
            self._settle_at_the_end(next_, Outcome(error=in_words(fault)))
            raise
        self.going[pool.submit(self.program, next_)] = next_
        self.asked += 1
        self._report()

    def settle_finished(self) -> None:
        """Wait a moment, and tell what has come."""
        done, _ = wait(self.going, timeout=RENEW_EVERY / 3, return_when=FIRST_COMPLETED)
        for future in done:
            outcome = outcome_of(future)
            settle(self.store, self.going[future], outcome, self.tally, self.patiently)
            del self.going[future]
            self._report()
            if outcome.hopeless:
                raise ConfigurationError(f"--command: {outcome.error}. Correct it, and start again.")

    def renew(self) -> None:
        """What runs counts for another while."""
        if time.monotonic() - self.renewed <= RENEW_EVERY:
            return
        self.renewed = time.monotonic()
        for one in self.going.values():
            self._renew(one)

    def _renew(self, one: Asked) -> None:
        with contextlib.suppress(TrialError):  # told by another: its program goes on
            self.patiently(partial(self.store.renew, one.number, LEASE))

    def end(self) -> None:
        """End what runs. What is finished is told, the rest is marked as failed."""
        self.program.stop()
        wait(self.going)
        for future, one in self.going.items():
            self._settle_at_the_end(one, outcome_of(future))

    def _settle_at_the_end(self, one: Asked, outcome: Outcome) -> None:
        with contextlib.suppress(Exception):  # the others are still to be settled
            settle(self.store, one, outcome, self.tally, Patience(self.patiently.say, AT_THE_END))

    def _report(self) -> None:
        self.tally.running = len(self.going)
        self.report(self.tally)


def outcome_of(future: Future[Outcome]) -> Outcome:
    """What came of a program; a fault of ours in running it is the failure of its decision alone."""
    if future.cancelled():
        return Outcome(error="interrupted")
    fault = future.exception()
    return future.result() if fault is None else Outcome(error=in_words(fault))


def in_words(fault: BaseException) -> str:
    """A fault that nobody foresaw."""
    return f"{type(fault).__name__}: {fault}"


def settle(store: StudyStore, asked: Asked, outcome: Outcome, tally: Tally, patiently: Patience) -> None:
    """Tell what a program said; what is no result fails with the reason."""
    error = outcome.error
    try:
        if not error:
            try:
                entry = patiently(lambda: store.tell(asked.number, outcome.context, outcome.value))
            except InputError as fault:
                error = str(fault)
            except WindageError:
                raise
            except Exception as fault:  # whatever it is: it is the failure of this decision alone
                error = in_words(fault)
            else:
                tally.told += 1
                tally.last = f"decision {asked.number}: {store.file.quantities['value'].show(entry.value)}"
                return
        patiently(lambda: store.fail(asked.number, error))
    except TrialError as fault:  # another was first; or it was told, and the answer got lost with the storage
        if _is_told(store, asked, outcome, patiently):
            tally.told += 1
            tally.last = f"decision {asked.number} is told"
            return
        error = str(fault)
    tally.failed += 1
    tally.last = f"decision {asked.number} failed: {error.splitlines()[0]}"


def _is_told(store: StudyStore, asked: Asked, outcome: Outcome, patiently: Patience) -> bool:
    """Whether just this stands in the study."""
    found = patiently(lambda: [entry for entry in store.entries() if entry.number == asked.number])
    with contextlib.suppress(InputError):
        met = store.file.check_context(outcome.context, asked.beforehand.known)
        told = (met, store.file.check_value(outcome.value))
        return [(entry.context, entry.value) for entry in found] == [told]
    return False
