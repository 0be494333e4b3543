"""Work on a study that is killed at any moment, and what must be there afterwards.

A worker goes through a list of operations, and says when it begins one and when it has done it. The twin of
the study is a plain list of states: each operation wholly done, or not at all.
"""

import multiprocessing
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from optuna.trial import TrialState

from databases import GENEROUS, until
from windage.studies import corrections, locks, reading, records
from windage.studies.entries import Entry
from windage.studies.file import load
from windage.studies.store import StudyStore

Operation = Mapping[str, Any]
KINDS = {"tell": 3, "add": 3, "correct": 5, "forget": 2, "undo": 2}
"""Operations, and how often they come."""
AT_ONCE = 20.0
"""Seconds; a lock that is not given up is waited for much longer."""
_CONTEXT = multiprocessing.get_context("forkserver")  # workers begin with all that they need imported
_CONTEXT.set_forkserver_preload(["windage.studies.store", "windage.studies.file", "psycopg"])


@dataclass
class Twin:
    """What a study should say."""

    asked: Sequence[float]
    """The stock of each decision that was asked for at the beginning."""
    told: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """By number, what was told and after it each change that stands."""
    changes: list[dict[str, Any]] = field(default_factory=list)

    def do(self, operation: Operation) -> None:
        """Take over one operation."""
        number, kind, parts = operation["number"], operation["kind"], operation.get("parts", {})
        if kind == "tell":
            parts = {"stock": self.asked[number], **parts}
        if kind in ("tell", "add"):
            self.told[number] = [{**parts, "forgotten": False}]
            return
        self.changes.append({"number": number, "kind": kind, "why": operation["why"], **parts})
        stack = self.told[number]
        if kind == "undo":
            stack.pop()
        else:
            stack.append({**stack[-1], **parts, "forgotten": kind == "forget"})

    def pending(self) -> list[int]:
        """Decisions that are not told yet."""
        return [number for number in range(len(self.asked)) if number not in self.told]

    def rows(self, forgotten: bool, place: int = -1) -> dict[int, dict[str, float]]:
        """What counts, or what does not; ``place`` 0: as it was told."""
        found = {number: stack[place] for number, stack in sorted(self.told.items())}
        names = ("stock", "demand", "value")
        return {k: {n: row[n] for n in names} for k, row in found.items() if row["forgotten"] == forgotten}

    def seen(self) -> dict[str, Any]:
        """As ``seen`` of the study."""
        return {
            "told": self.rows(False, place=0),
            "rows": self.rows(False),
            "forgotten": self.rows(True),
            "pending": self.pending(),
            "changes": list(self.changes),
            "keys": [f"{corrections.KEY}{place:08d}" for place in range(len(self.changes))],
        }


def after(asked: Sequence[float], done: Sequence[Operation]) -> dict[str, Any]:
    """What the study should say after these operations."""
    twin = Twin(asked)
    for operation in done:
        twin.do(operation)
    return twin.seen()


def operations(seed: int, count: int, asked: Sequence[float]) -> list[Operation]:
    """A list of operations that can all be done, one after the other."""
    rng, twin, found = random.Random(seed), Twin(asked), []
    for place in range(count):
        possible = {
            "tell": twin.pending(),
            "add": [max(len(asked), 1 + max(twin.told, default=-1))],
            "correct": list(twin.told),
            "forget": list(twin.rows(forgotten=False)),
            "undo": [number for number, stack in twin.told.items() if len(stack) > 1],
        }
        kinds = {kind: share for kind, share in KINDS.items() if possible[kind]}
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        parts = {"demand": rng.randrange(1000) / 8, "value": rng.randrange(1000) / 8}
        if kind == "add" or (kind == "correct" and rng.random() < 0.5):
            parts["stock"] = rng.randrange(320) / 8
        one = {"kind": kind, "number": rng.choice(possible[kind]), "why": f"operation {place}"}
        found.append({**one, "parts": parts} if kind in ("tell", "add", "correct") else one)
        twin.do(found[-1])
    return found


def perform(store: StudyStore, operation: Operation) -> None:
    """One operation on the study itself."""
    number, why, parts = operation["number"], operation["why"], operation.get("parts", {})
    stock = {"stock": parts["stock"]} if "stock" in parts else {}
    match operation["kind"]:
        case "tell":
            store.tell(number, {"demand": parts["demand"]}, parts["value"])
        case "add":
            store.add(stock, {"demand": parts["demand"]}, parts["value"])
        case "correct":
            met = {"demand": parts["demand"]}
            store.correct(number, decision=stock, context=met, value=parts["value"], why=why)
        case "forget":
            store.forget(number, why)
        case "undo":
            store.undo(number, why)


def in_halves(store: StudyStore, operation: Operation) -> None:
    """A planted fault: a correction that is written in two parts."""
    if operation["kind"] == "correct":
        store.correct(operation["number"], value=operation["parts"]["value"], why=operation["why"])
        key, made = reading.study_id(store.study), store.history()
        store.storage.set_study_system_attr(
            key, f"{corrections.KEY}{len(made) - 1:08d}", _whole(operation)
        )  # the rest of it, in its place
    else:
        perform(store, operation)


def _whole(operation: Operation) -> dict[str, Any]:
    parts = operation["parts"]
    stock = {"decision": {"stock": parts["stock"]}} if "stock" in parts else {}
    said = {"number": operation["number"], "kind": "correct", "why": operation["why"]}
    return {**said, **stock, "context": {"demand": parts["demand"]}, "value": parts["value"]}


def seen(store: StudyStore) -> dict[str, Any]:
    """All that a study says of what was told and changed."""
    state, attributes = store.state(), store.storage.get_study_system_attrs(reading.study_id(store.study))
    changes = []
    for change in store.history():
        value = {} if change.value is None else {"value": change.value}
        parts = {**(change.decision or {}), **(change.context or {}), **value}
        changes.append({"number": change.number, "kind": change.kind, "why": change.why, **parts})
    told = store.trials(TrialState.COMPLETE)
    return {
        "told": {t.number: {**t.params, **records.context_of(t), "value": t.value} for t in told},
        "rows": _rows(state.entries),
        "forgotten": _rows(state.forgotten),
        "pending": [pending.number for pending in state.pending],
        "changes": changes,
        "keys": sorted(key for key in attributes if key.startswith(corrections.KEY)),
    }


def _rows(entries: Sequence[Entry]) -> dict[int, dict[str, float]]:
    return {e.number: {**e.decision, **e.context, "value": e.value} for e in entries}


def check(store: StudyStore, asked: Sequence[float], done: Sequence[Operation], begun: bool) -> int:
    """How many operations are done; an AssertionError where one is lost, doubled or done in part.

    ``done``: those that the worker said to have done, and, if it had ``begun`` another, that one last.
    """
    said = len(done) - begun
    found = seen(store)
    wanted = [after(asked, done[:count]) for count in range(said, len(done) + 1)]
    assert found in wanted, "\n".join(f"{name}: {found[name]} is not {wanted[0][name]}" for name in found)
    return said + wanted.index(found)


def work(path: str, todo: Sequence[Operation], said: Any, pause: float, broken: bool) -> None:
    """The worker: each operation, with a line before and after it."""
    store = StudyStore.open(load(Path(path)))
    store.state()
    said.send("ready")
    for place, operation in enumerate(todo):
        said.send(("begun", place))
        (in_halves if broken else perform)(store, operation)
        said.send(("done", place))
        time.sleep(pause)


@dataclass(frozen=True)
class Killed:
    """Where a worker was killed."""

    done: int
    """So many operations it had said to have done."""
    inside: bool
    """Whether it had begun another."""


def killed(path: Path, todo: Sequence[Operation], after: float, pause: float, broken: bool = False) -> Killed:
    """Start a worker, and kill it so many seconds after it is ready."""
    here, there = _CONTEXT.Pipe(duplex=False)
    worker = _CONTEXT.Process(target=work, args=(str(path), todo, there, pause, broken))
    worker.start()
    there.close()
    assert here.poll(GENEROUS)
    assert here.recv() == "ready"
    time.sleep(after)
    worker.kill()  # kill -9
    worker.join()
    assert worker.exitcode == -9, worker.exitcode
    done, begun = 0, 0
    while True:
        try:
            word, place = here.recv()
        except EOFError:
            break
        done, begun = (place + 1, begun) if word == "done" else (done, place + 1)
    here.close()
    worker.close()
    return Killed(done, begun > done)


def reopened(path: Path) -> StudyStore:
    """The study, by connections of its own. Its locks are free at once."""
    _settle(load(path).storage)
    store = StudyStore.open(load(path))
    purposes: tuple[locks.Purpose, ...] = ("asking", "telling")
    with mock.patch.object(locks, "PATIENCE", AT_ONCE):
        for purpose in purposes:
            with locks.hold(store.storage, store.file.name, purpose):
                pass
    return store


def _settle(url: str) -> None:
    """Wait until PostgreSQL has noticed that a worker is gone. It ends what it was told to commit."""
    from sqlalchemy import NullPool, create_engine, text

    if not url.startswith("postgresql"):
        return
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    others = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    with engine.connect() as connection:
        until(lambda: connection.execute(others).scalar() == 0, pause=0.005)
