"""A study's book: what was asked for, what was told, and what follows. On Optuna's storage, whoever writes.

Looking and telling need no torch; asking and recommending import it.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from windage.errors import ConfigurationError, TrialError, WindageError
from windage.studies import reading, records, turns
from windage.studies.file import StudyFile, without_password
from windage.studies.storage import connect, storage_faults

if TYPE_CHECKING:
    from windage.recommendation import Recommendation

STATES = {
    TrialState.FAIL: "has failed",
    TrialState.PRUNED: "was given up",
    TrialState.WAITING: "waits for a worker of Optuna's",
}


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


@dataclass(frozen=True)
class State:
    """How a study stands."""

    entries: list[Entry]
    pending: list[Pending]
    failed: int


class Book:
    """A study file's study. Every method sees the storage as it is at that moment."""

    def __init__(self, file: StudyFile, study: optuna.Study) -> None:
        self.file, self.study = file, study
        self._cut_off: set[int] = set()
        backend: Any = getattr(study._storage, "_backend", study._storage)
        weakref.finalize(self, backend.engine.dispose)  # open connections end with the book

    @classmethod
    def open(cls, file: StudyFile) -> Book:
        """The study, made where there is none yet."""
        with storage_faults(file):
            study = _study(file)
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
            return reading.trials(self.study, states or None)

    def ask(self) -> Asked:
        """The next decision; it counts as under way until it is told or its lease ends."""
        with storage_faults(self.file):
            self._use_sampler()
            trial = self.study.ask()
            try:
                decision = {n: trial._suggest(n, kind) for n, kind in self.file.space.items()}
            except BaseException as error:  # an interrupt too: nobody will tell what nobody was told to do
                self._cut_off.add(trial.number)
                with suppress(Exception):
                    self._forget_cut_off()
                if isinstance(error, ValueError) and not isinstance(error, WindageError):
                    raise self._other_decisions(error) from None
                raise
            self._forget_cut_off()
        return Asked(trial.number, decision)

    def _forget_cut_off(self) -> None:
        """Asks that came to nothing are marked as failed, as soon as the storage takes it."""
        for index in sorted(self._cut_off):
            self.study.tell(index, state=TrialState.FAIL, skip_if_finished=True)
            self._cut_off.discard(index)

    def _other_decisions(self, error: ValueError) -> ConfigurationError:
        return ConfigurationError(
            f"the study {self.file.name!r} was begun with another kind of decision than {self.file.path} has "
            f"now ({error}) Export it, give the study another name, and tell the table to that."
        )

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

    def _use_sampler(self) -> None:
        from windage.studies.sampler import ContextSampler

        if not isinstance(self.study.sampler, ContextSampler):
            self.study.sampler = self.sampler()

    def tell(self, index: int, context: Mapping[str, Any], value: Any) -> Entry:
        """What came of a decision that was asked for. Refused if it was told already."""
        met = self.file.check_context(context)
        outcome = self.file.check_value(value)
        with self._changing(index) as trial:
            decision = records.published(trial)
            if not self.file.axes.holds(decision):
                raise TrialError(
                    f"decision {index} is none of this file's: its ask was cut off, or the file has changed. "
                    f"Say  windage tell FILE {index} --failed 'cut off'  and ask again."
                )
            storage = self.study._storage
            storage.set_trial_user_attr(trial._trial_id, records.CONTEXT, met)
            storage.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [outcome])
        return Entry(index, decision, met, outcome, None)

    def fail(self, index: int, why: str) -> None:
        """A decision that brought no result."""
        with self._changing(index) as trial:
            storage = self.study._storage
            storage.set_trial_user_attr(trial._trial_id, records.ERROR, why[-records.LONGEST :])
            storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)

    def renew(self, index: int, seconds: float | None = None) -> None:
        """A decision under way counts for another while."""
        with self._changing(index) as trial:
            lease = self.file.lease if seconds is None else seconds
            records.renew(self.study._storage, trial._trial_id, lease)

    @contextmanager
    def _changing(self, index: int) -> Iterator[FrozenTrial]:
        """A running trial that nobody else changes meanwhile."""
        with self.telling():
            trial = reading.trial(self.study, index) if index < 2**31 else None
            if trial is None:
                known = self.study._storage.get_n_trials(self.study._study_id)
                last = f"the last is {known - 1}" if known else "none was asked for yet"
                raise TrialError(f"there is no decision {index}: {last}.")
            if trial.state != TrialState.RUNNING:
                raise TrialError(_finished(trial, self.file))
            try:
                yield trial
            except UpdateFinishedTrialError as error:
                raise TrialError(f"decision {index} was told by another at this moment.") from error

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Nobody else tells meanwhile."""
        with storage_faults(self.file), turns.turn(self.study._storage, self.file.name, "telling"):
            yield

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
            attributes[records.ROW] = row
        return optuna.create_trial(
            params=params,
            distributions=dict(self.file.space),
            value=self.file.check_value(value),
            user_attrs=attributes,
        )

    def add_all(self, trials: Sequence[FrozenTrial], report: Callable[[int], None] = lambda _: None) -> None:
        """Finished trials into the study, one after the other."""
        with storage_faults(self.file):
            for i, trial in enumerate(trials):
                try:
                    self.study.add_trial(trial)
                except ValueError as error:
                    raise self._other_decisions(error) from None
                report(i + 1)

    def recommend(self) -> Recommendation:
        """What is best, as far as is known."""
        from windage.studies.sampler import recommend

        with storage_faults(self.file):
            self._use_sampler()
            return recommend(self.study)

    def entries(self) -> list[Entry]:
        """Finished observations, in the order of their numbers."""
        return self.state().entries

    def counts(self, trial: FrozenTrial) -> bool:
        """Whether a running trial is a decision under way: made, and within its lease."""
        made = self.file.axes.holds(records.published(trial))
        return made and not records.has_lapsed(trial, self.file.lease)

    def state(self) -> State:
        """The whole study, read once."""
        now = datetime.now()
        found = State([], [], 0)
        for t in self.trials():
            if t.state == TrialState.COMPLETE and t.value is not None:
                decision, met = records.published(t), records.context_of(t)
                found.entries.append(Entry(t.number, decision, met, t.value, t.datetime_complete))
            elif t.state == TrialState.RUNNING:
                age = (now - t.datetime_start).total_seconds() if t.datetime_start else 0.0
                found.pending.append(Pending(t.number, records.published(t), age, self.counts(t)))
            elif t.state == TrialState.FAIL:
                found = replace(found, failed=found.failed + 1)
        return found


def _study(file: StudyFile) -> optuna.Study:
    """Optuna's study, loaded or made; the sampler that asks comes when it is needed."""
    storage, sampler = connect(file.storage), optuna.samplers.RandomSampler()
    try:
        return optuna.load_study(study_name=file.name, storage=storage, sampler=sampler)
    except KeyError:
        return optuna.create_study(
            storage=storage,
            sampler=sampler,
            study_name=file.name,
            direction=StudyDirection[file.direction.upper()],
            load_if_exists=True,
        )


def _finished(trial: FrozenTrial, file: StudyFile) -> str:
    if trial.state == TrialState.COMPLETE:
        value = file.quantities["value"].show(trial.value)
        shown = ", ".join(f"{k} {v}" for k, v in file.show(records.context_of(trial)).items())
        when = f" on {trial.datetime_complete:%Y-%m-%d %H:%M}" if trial.datetime_complete else ""
        return (
            f"decision {trial.number} was told already{when}: value {value}{', ' + shown if shown else ''}. "
            "What was told stays."
        )
    return (
        f"decision {trial.number} {STATES[trial.state]}. Tell what was really done as history: "
        "windage tell FILE --decision NAME=VALUE ... --value ..."
    )
