"""The study store: what was asked for, what was told, and what follows. It is kept in Optuna's storage.

Reading and telling need no engine; asking and recommending import it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from windage.errors import ConfigurationError, NotEnoughDataError, TrialError, WindageError
from windage.studies import locks, reading, records
from windage.studies.entries import Asked, Entry, Pending, State
from windage.studies.file import StudyFile
from windage.studies.file_sampler import file_sampler
from windage.studies.storage import connect, storage_faults, without_password

if TYPE_CHECKING:
    from windage import Optimizer, Recommendation
    from windage.studies.axes import Axes
    from windage.studies.sampler import ContextSampler, Known

STATES = {
    TrialState.FAIL: "has failed",
    TrialState.PRUNED: "was given up",
    TrialState.WAITING: "waits for a worker of Optuna's",
}


@dataclass(frozen=True)
class Everything:
    """All that is known of a study, and windage's optimizer of it."""

    axes: Axes
    known: Known
    optimizer: Optimizer


class StudyStore:
    """The study of a study file. Every method sees the storage as it is at that moment."""

    def __init__(
        self,
        file: StudyFile,
        study: optuna.Study,
        storage: RDBStorage,
        sampler: ContextSampler | None = None,
    ) -> None:
        self.file, self.study, self.storage = file, study, storage
        self._cut_off: set[int] = set()
        self._sampler = sampler
        weakref.finalize(self, storage.engine.dispose)  # open connections end with the store

    @classmethod
    def open(cls, file: StudyFile, to_ask: bool = False) -> StudyStore:
        """The study, created where there is none yet; ``to_ask``: method and settings are checked before."""
        sampler = file_sampler(file) if to_ask else None
        with storage_faults(file.storage, file.name):
            storage = connect(file.storage)
            study = _study(file, storage)
        wanted = StudyDirection[file.direction.upper()]
        if study.direction != wanted:
            raise ConfigurationError(
                f"the study {file.name!r} was begun with direction = {study.direction.name.lower()!r}, but "
                f"{file.path} says {file.direction!r}: correct it, or give the study another name."
            )
        return cls(file, study, storage, sampler)

    def faults(self) -> Any:
        """A context in which faults of the storage become a StorageError."""
        return storage_faults(self.file.storage, self.file.name)

    @property
    def where(self) -> str:
        """The storage, without its password."""
        return without_password(self.file.storage, self.file.storage)

    def trials(self, *states: TrialState) -> list[FrozenTrial]:
        """Trials as they are now."""
        with self.faults():
            return reading.trials(self.study, states or None)

    def ask(self) -> Asked:
        """The next decision; it counts as under way until it is told or its lease ends."""
        with self.faults():
            self.study.sampler = self.sampler()
            trial = None
            try:
                with locks.hold(self.storage, self.file.name, "asking"):
                    trial = self.study.ask()
                    decision = self._suggested(trial)
                    self._fail_cut_off()
            except BaseException:  # an interrupt too, or the lock's end: nobody knows of this decision
                if trial is not None:
                    self._cut_off.add(trial.number)
                    with suppress(Exception):
                        self._fail_cut_off()
                raise
        return Asked(trial.number, decision)

    def _suggested(self, trial: optuna.Trial) -> dict[str, Any]:
        try:
            return {name: _suggest(trial, name, kind) for name, kind in self.file.space.items()}
        except ValueError as error:
            if isinstance(error, WindageError):
                raise
            raise self._other_space(error) from None

    def _fail_cut_off(self) -> None:
        """Mark asks that were cut off as failed, as soon as the storage takes it."""
        for index in sorted(self._cut_off):
            self.study.tell(index, state=TrialState.FAIL, skip_if_finished=True)
            self._cut_off.discard(index)

    def _other_space(self, error: ValueError) -> ConfigurationError:
        return ConfigurationError(
            f"the study {self.file.name!r} was begun with another kind of decision variable than "
            f"{self.file.path} has now ({error}) Export it, give the study another name, and tell the table "
            "to that."
        )

    def sampler(self) -> ContextSampler:
        """Windage's sampler of this file. A ConfigurationError where its method or a setting is wrong."""
        if self._sampler is None:
            self._sampler = file_sampler(self.file)
        return self._sampler

    def everything(self) -> Everything:
        """All that is known; a NotEnoughDataError where nothing was told yet."""
        with self.faults():
            sampler = self.sampler()
            try:
                axes, known = sampler.everything(self.study)
            except NotEnoughDataError:
                words = "a recommendation needs at least 1 observation: tell one first."
                raise NotEnoughDataError(words) from None
            optimizer = sampler.optimizer(axes, self.file.direction, known, known.count)
        return Everything(axes, known, optimizer)

    def recommend(self) -> Recommendation:
        """What is best, as far as is known."""
        found = self.everything()
        best = found.optimizer.recommend()
        return replace(best, decision=found.axes.to_optuna(best.decision))

    def tell(self, index: int, context: Mapping[str, Any], value: Any) -> Entry:
        """What came of a decision that was asked for. Refused if it was told already."""
        met = self.file.check_context(context)
        outcome = self.file.check_value(value)
        with self._changing(index) as (trial, key):
            decision = self.file.ordered(records.published(trial))
            if not self.file.axes.holds(decision):
                raise TrialError(
                    f"decision {index} is none of this file's: its ask was cut off, or the file has changed. "
                    f"Say  windage tell FILE {index} --failed 'cut off'  and ask again."
                )
            self.storage.set_trial_user_attr(key, records.CONTEXT, met)
            self.storage.set_trial_state_values(key, TrialState.COMPLETE, [outcome])
        return Entry(index, decision, met, outcome, None)

    def fail(self, index: int, why: str) -> None:
        """A decision that brought no result."""
        with self._changing(index) as (_, key):
            self.storage.set_trial_user_attr(key, records.ERROR, why[-records.LONGEST :])
            self.storage.set_trial_state_values(key, TrialState.FAIL)

    def renew(self, index: int, seconds: float | None = None) -> None:
        """A decision under way counts for so many seconds from now."""
        with self._changing(index) as (_, key):
            records.renew(self.storage, key, self.file.lease if seconds is None else seconds)

    @contextmanager
    def _changing(self, index: int) -> Iterator[tuple[FrozenTrial, int]]:
        """A running trial that nobody else changes meanwhile, and the storage's key of it."""
        with self.telling():
            trial = reading.trial(self.study, index) if index < 2**31 else None
            if trial is None:
                known = self.storage.get_n_trials(reading.study_id(self.study))
                last = f"the last is {known - 1}" if known else "none was asked for yet"
                raise TrialError(f"there is no decision {index}: {last}.")
            if trial.state != TrialState.RUNNING:
                raise TrialError(_finished(trial, self.file))
            try:
                yield trial, reading.trial_id(self.study, index)
            except UpdateFinishedTrialError as error:
                raise TrialError(f"decision {index} was told by another at this moment.") from error

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Nobody else tells meanwhile."""
        with self.faults(), locks.hold(self.storage, self.file.name, "telling"):
            yield

    def add(self, decision: Mapping[str, Any], context: Mapping[str, Any], value: Any, row: str = "") -> None:
        """A decision of the user's own, or history."""
        trial = self.checked(decision, context, value, row)
        with self.telling():
            self.add_all([trial])

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
        with self.faults():
            for i, trial in enumerate(trials):
                try:
                    self.study.add_trial(trial)
                except ValueError as error:
                    raise self._other_space(error) from None
                report(i + 1)

    def entries(self) -> list[Entry]:
        """Finished observations, in the order of their numbers."""
        return self.state().entries

    def counts(self, trial: FrozenTrial) -> bool:
        """Whether a running trial is a decision under way: made, and within its lease."""
        made = self.file.axes.holds(records.published(trial))
        return made and not records.has_lapsed(trial, self.file.lease)

    def state(self) -> State:
        """The whole study, read once."""
        now, entries, pending, failed = datetime.now(), [], [], 0
        for t in self.trials():
            decision = self.file.ordered(records.published(t))
            if t.state == TrialState.COMPLETE and t.value is not None:
                entries.append(Entry(t.number, decision, records.context_of(t), t.value, t.datetime_complete))
            elif t.state == TrialState.RUNNING:
                age = (now - t.datetime_start).total_seconds() if t.datetime_start else 0.0
                pending.append(Pending(t.number, decision, age, self.counts(t)))
            failed += t.state == TrialState.FAIL
        return State(entries, pending, failed)


def _study(file: StudyFile, storage: RDBStorage) -> optuna.Study:
    """Optuna's study, loaded or created; the sampler that asks comes when it is needed."""
    wanted = StudyDirection[file.direction.upper()]
    keys: Any = {"study_name": file.name, "storage": storage, "sampler": optuna.samplers.RandomSampler()}
    try:
        found = optuna.load_study(**keys)
        if found.direction == wanted or _has_trials(found, storage):
            return found
        with locks.hold(storage, file.name, "asking"), locks.hold(storage, file.name, "telling"):
            found = optuna.load_study(**keys)  # another worker may have been quicker
            if found.direction == wanted or _has_trials(found, storage):
                return found
            optuna.delete_study(study_name=file.name, storage=storage)  # made anew below
    except KeyError:
        pass
    return optuna.create_study(**keys, direction=wanted, load_if_exists=True)


def _has_trials(study: optuna.Study, storage: RDBStorage) -> bool:
    return storage.get_n_trials(reading.study_id(study)) > 0


def _suggest(trial: optuna.Trial, name: str, kind: BaseDistribution) -> Any:
    """The value of one decision variable, chosen by the study's sampler."""
    if isinstance(kind, CategoricalDistribution):
        return trial.suggest_categorical(name, kind.choices)
    low, high, step, log = kind.low, kind.high, kind.step, kind.log  # type: ignore[attr-defined]
    suggest: Any = trial.suggest_int if isinstance(kind, IntDistribution) else trial.suggest_float
    return suggest(name, low, high, step=step, log=log)


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
