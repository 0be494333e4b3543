"""A study's book: what was asked for, what was told, and what follows. On Optuna's storage, whoever writes.

Looking and telling need no torch; asking and recommending import it.
"""

from __future__ import annotations

import csv
import hashlib
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import optuna
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from windage.errors import ConfigurationError, InputError, TrialError, WindageError, missing_extra
from windage.space import number
from windage.studies import records, turns
from windage.studies.file import StudyFile, without_password

if TYPE_CHECKING:
    from windage.recommendation import Recommendation

TABLES_TRIED = 6
"""How often workers that begin at one moment try to make the tables."""
ROW = "row"
"""User attribute of an imported trial: the digest of its file and its line."""


class StorageError(WindageError, RuntimeError):
    """The study's storage cannot be reached, or does not do what it should. Nothing told before is lost."""


@dataclass(frozen=True)
class Asked:
    """A decision to be made, in the user's words."""

    number: int
    decision: dict[str, Any]


@dataclass(frozen=True)
class Pending:
    """A decision under way: since when, in seconds, and whether it still counts."""

    number: int
    decision: dict[str, Any]
    age: float
    counts: bool


@dataclass(frozen=True)
class Entry:
    """A finished observation."""

    number: int
    decision: dict[str, Any]
    context: dict[str, float]
    value: float
    told: datetime | None


class Book:
    """A study file's study. Every method sees the storage as it is at that moment."""

    def __init__(self, file: StudyFile, study: optuna.Study) -> None:
        self.file, self.study = file, study
        backend: Any = getattr(study._storage, "_backend", study._storage)
        weakref.finalize(self, backend.engine.dispose)  # open connections end with the book

    @classmethod
    def open(cls, file: StudyFile) -> Book:
        """The study, made where there is none yet."""
        with storage_faults(file):
            storage = _storage(file.storage)
            sampler = optuna.samplers.RandomSampler()  # the one that asks comes when it is needed
            study = optuna.create_study(
                storage=storage,
                study_name=file.name,
                direction=StudyDirection[file.direction.upper()],
                load_if_exists=True,
                sampler=sampler,
            )
        wanted = StudyDirection[file.direction.upper()]
        if study.direction != wanted:
            raise ConfigurationError(
                f"the study {file.name!r} was begun with direction = {study.direction.name.lower()!r}, but "
                f"{file.path} says {file.direction!r}: correct it, or give the study another name."
            )
        return cls(file, study)

    @property
    def where(self) -> str:
        """The storage, without its password."""
        return without_password(self.file.storage, self.file.storage)

    def trials(self, *states: TrialState) -> list[FrozenTrial]:
        """Trials as they are now."""
        with storage_faults(self.file):
            return self.study.get_trials(deepcopy=False, states=states or None)

    def ask(self) -> Asked:
        """The next decision; it counts as under way until it is told or its lease ends."""
        with storage_faults(self.file):
            self.study.sampler = self.sampler()
            trial = self.study.ask(dict(self.file.space))
        return Asked(trial.number, trial.params)

    def sampler(self) -> Any:
        """Windage's sampler of this file."""
        from windage.studies.sampler import ContextSampler

        file = self.file
        seed = file.seed
        if seed is None:  # the same for every worker and every day
            seed = int.from_bytes(hashlib.sha256(file.name.encode()).digest()[:4], "big")
        return ContextSampler(
            file.contexts, file.space, file.method, seed, file.initial, file.lease, **file.settings
        )

    def tell(self, index: int, context: Mapping[str, Any], value: Any) -> Entry:
        """What came of a decision that was asked for. Refused if it was told already."""
        met = self.file.check_context(context)
        outcome = number(value, "value")
        with self._changing(index) as trial:
            storage = self.study._storage
            storage.set_trial_user_attr(trial._trial_id, records.CONTEXT, met)
            storage.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [outcome])
        return Entry(index, dict(trial.params), met, outcome, None)

    def fail(self, index: int, why: str) -> None:
        """A decision that brought no result."""
        with self._changing(index) as trial:
            storage = self.study._storage
            storage.set_trial_user_attr(trial._trial_id, "error", why[-records.LONGEST :])
            storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)

    def renew(self, index: int, seconds: float | None = None) -> None:
        """A decision under way counts for another while."""
        with self._changing(index) as trial:
            lease = self.file.lease if seconds is None else seconds
            records.renew(self.study._storage, trial._trial_id, lease)

    @contextmanager
    def _changing(self, index: int) -> Iterator[FrozenTrial]:
        """A running trial that nobody else changes meanwhile."""
        with storage_faults(self.file), turns.turn(self.study._storage, self.file.name, "telling"):
            known = self.study._get_trials(deepcopy=False, use_cache=False)
            if not 0 <= index < len(known):
                last = f"the last is {len(known) - 1}" if known else "none was asked for yet"
                raise TrialError(f"there is no decision {index}: {last}.")
            trial = known[index]
            if trial.state != TrialState.RUNNING:
                raise TrialError(_finished(trial, self.file))
            try:
                yield trial
            except UpdateFinishedTrialError as error:
                raise TrialError(f"decision {index} was told by another at this moment.") from error

    def add(self, decision: Mapping[str, Any], context: Mapping[str, Any], value: Any, row: str = "") -> None:
        """A decision of the user's own, or history."""
        self.add_all([self.checked(decision, context, value, row)])

    def checked(
        self, decision: Mapping[str, Any], context: Mapping[str, Any], value: Any, row: str = ""
    ) -> FrozenTrial:
        """A finished trial, not yet in the study."""
        params = self.file.check_decision(decision)
        attributes: dict[str, Any] = {records.CONTEXT: self.file.check_context(context)}
        if row:
            attributes[ROW] = row
        return optuna.create_trial(
            params=params,
            distributions=dict(self.file.space),
            value=number(value, "value"),
            user_attrs=attributes,
        )

    def add_all(self, trials: Sequence[FrozenTrial], report: Callable[[int], None] = lambda _: None) -> None:
        """Finished trials into the study, one after the other."""
        with storage_faults(self.file):
            for i, trial in enumerate(trials):
                self.study.add_trial(trial)
                report(i + 1)

    def read_csv(self, path: Path) -> tuple[list[FrozenTrial], int]:
        """The rows of a table, all right or an InputError that lists the bad ones; and how many are known.

        Rows of the same file that came in before (a command that was cut off) are not taken twice.
        """
        try:
            data = path.read_bytes()
            text = data.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read as a table: {error}") from error
        reader = csv.DictReader(text.splitlines(), dialect=_dialect(text))
        columns = (*self.file.space, *self.file.contexts, "value")
        head = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = head
        missing = [name for name in columns if name not in head]
        if missing:
            raise InputError(
                f"{path} has no column {missing[0]!r}: its first line must name {', '.join(columns)}."
            )
        digest = hashlib.sha256(data).hexdigest()[:16]
        known = {t.user_attrs.get(ROW) for t in self.trials(TrialState.COMPLETE)}
        found, faults, there = [], [], 0
        for row in reader:
            line = reader.line_num
            if not any(value for value in row.values() if isinstance(value, str)):
                continue
            if f"{digest}:{line}" in known:
                there += 1
                continue
            parts = [
                {name: str(row.get(name) or "").strip() for name in names}
                for names in (self.file.space, self.file.contexts)
            ]
            try:
                found.append(self.checked(parts[0], parts[1], _figure_of(row), f"{digest}:{line}"))
            except WindageError as error:
                faults.append(f"line {line}: {error}")
        if faults:
            shown = "\n  ".join(faults[:20] + ([f"and {len(faults) - 20} more"] if len(faults) > 20 else []))
            raise InputError(f"nothing was taken from {path}, because of\n  {shown}")
        return found, there

    def recommend(self) -> Recommendation:
        """What is best, as far as is known."""
        from windage.studies.sampler import recommend

        with storage_faults(self.file):
            self.study.sampler = self.sampler()
            return recommend(self.study)

    def entries(self) -> list[Entry]:
        """Finished observations, in the order of their numbers."""
        return [
            Entry(
                t.number,
                dict(t.params),
                dict(t.user_attrs.get(records.CONTEXT) or {}),
                t.value,
                t.datetime_complete,
            )
            for t in self.trials(TrialState.COMPLETE)
            if t.value is not None
        ]

    def pending(self) -> list[Pending]:
        """Decisions under way."""
        now = datetime.now()
        return [
            Pending(
                t.number,
                records.published(t),
                (now - t.datetime_start).total_seconds() if t.datetime_start else 0.0,
                not records.has_lapsed(t),
            )
            for t in self.trials(TrialState.RUNNING)
        ]


def _storage(url: str) -> Any:
    if url.startswith("postgresql"):
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise missing_extra("psycopg", "postgresql", "a study on PostgreSQL") from error
    from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

    for attempt in range(TABLES_TRIED):
        try:
            # a connection that died while we slept is noticed and made anew
            return optuna.storages.RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
        except (IntegrityError, ProgrammingError, OperationalError) as error:
            # another worker makes the tables of an empty database at this moment: they will be there
            busy = any(word in str(error) for word in ("already exists", "unique", "UNIQUE", "locked"))
            if not busy or attempt == TABLES_TRIED - 1:
                raise
            time.sleep(0.3 * (attempt + 1))
    raise AssertionError("unreachable")


@contextmanager
def storage_faults(file: StudyFile) -> Iterator[None]:
    """Faults of the storage in one line, without its password."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except WindageError:
        raise
    except (SQLAlchemyError, StorageInternalError, OSError) as error:
        cause = error.__cause__ or error
        words = str(getattr(cause, "orig", None) or cause).strip().splitlines() or [type(cause).__name__]
        text = without_password(f"{words[0]} ({file.storage})", file.storage)
        raise StorageError(f"the study's storage failed: {text}") from None
    except ValueError as error:
        if "password" in str(error) or file.storage in str(error):
            raise StorageError(without_password(str(error), file.storage)) from None
        raise


def _finished(trial: FrozenTrial, file: StudyFile) -> str:
    if trial.state == TrialState.COMPLETE:
        value = file.quantities["value"].show(trial.value)
        met = trial.user_attrs.get(records.CONTEXT) or {}
        shown = ", ".join(f"{name} {v:g}" for name, v in met.items())
        when = f" on {trial.datetime_complete:%Y-%m-%d %H:%M}" if trial.datetime_complete else ""
        return (
            f"decision {trial.number} was told already{when}: value {value}{', ' + shown if shown else ''}. "
            "What was told stays."
        )
    return (
        f"decision {trial.number} has {trial.state.name.lower()}ed. Tell what was really done as history: "
        "windage tell FILE --decision NAME=VALUE ... --value ..."
    )


def _dialect(text: str) -> type[csv.Dialect]:
    try:
        return csv.Sniffer().sniff(text[:4096], delimiters=",;\t")
    except csv.Error:
        return csv.excel


def _figure_of(row: Mapping[str, Any]) -> Any:
    text = str(row.get("value") or "").strip()
    try:
        return float(text)
    except ValueError:
        raise InputError(f"value is {text!r}, which is no number.") from None


def export_rows(book: Book) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns, and a row for each finished observation."""
    file = book.file
    head = ["number", *file.space, *file.contexts, "value", "told"]
    rows = [
        [
            e.number,
            *(e.decision.get(name) for name in file.space),
            *(e.context.get(name) for name in file.contexts),
            e.value,
            e.told.astimezone(UTC).isoformat(timespec="seconds") if e.told else None,
        ]
        for e in book.entries()
    ]
    return head, rows


def age(seconds: float) -> str:
    """``3 days``, ``2 hours``, ``5 minutes``."""
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"
