"""The study store: what was asked for, what was told, and what follows. It is kept in Optuna's storage.

Reading and telling need no engine; asking and recommending import it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from windage.changes import standing
from windage.errors import ConfigurationError, InputError, TrialError, WindageError
from windage.studies import beforehand, locks, reading, records
from windage.studies.beforehand import NOTHING, Beforehand
from windage.studies.entries import Asked, Entry, Pending
from windage.studies.file import StudyFile
from windage.studies.file_sampler import file_sampler
from windage.studies.learnt import Everything, LearntStudy
from windage.studies.opening import optuna_study
from windage.studies.storage import connect, storage_faults

if TYPE_CHECKING:
    from windage.studies.sampler import ContextSampler

__all__ = ["Everything", "StudyStore"]

STATES = {
    TrialState.FAIL: "has failed",
    TrialState.PRUNED: "was given up",
    TrialState.WAITING: "waits for a worker of Optuna's",
}


class StudyStore(LearntStudy):
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
            study = optuna_study(file, storage)
        wanted = StudyDirection[file.direction.upper()]
        if study.direction != wanted:
            raise ConfigurationError(
                f"the study {file.name!r} was begun with direction = {study.direction.name.lower()!r}, but "
                f"{file.path} says {file.direction!r}: correct it, or give the study another name."
            )
        return cls(file, study, storage, sampler)

    def next(self, given: Beforehand = NOTHING) -> Asked | list[Pending]:
        """The next decision, with what it is for; or the decisions that are still open, the oldest first.

        One that is open for something else than what is known now is no answer: then a new one comes.
        """
        with self.faults(), locks.hold(self.storage, self.file.name, "asking"):
            waiting = self.state().open
            same = [p for p in waiting if given.known.items() <= p.beforehand.known.items()]
            return same or self.ask(True, given)

    def ask(self, explain: bool = False, given: Beforehand = NOTHING) -> Asked:
        """The next decision; it counts as under way until it is told or its lease ends.

        ``explain``: say what it is for. ``given``: what is known before it (``beforehand.check``); a
        MissingKnownError where it lacks something that the file says is always known.
        """
        beforehand.refuse_missing(self.file, given)
        self._refuse_useless(given)
        with self.faults():
            self.study.sampler = self.sampler()
            trial = None
            try:
                with locks.hold(self.storage, self.file.name, "asking"):
                    trial = self.study.ask()
                    records.keep(trial, given.known, given.forecast)
                    decision = self._suggested(trial)
                    self._fail_cut_off()
            except BaseException:  # an interrupt too, or the lock's end: nobody knows of this decision
                if trial is not None:
                    self._cut_off.add(trial.number)
                    with suppress(Exception):
                        self._fail_cut_off()
                raise
        why = self._reason(trial.number, decision, given) if explain else ""
        return Asked(trial.number, decision, why, given)

    def _refuse_useless(self, given: Beforehand) -> None:
        """An InputError where the method sees no contexts, and more is said of them than the file wants."""
        more = [name for name in (*given.known, *given.forecast) if name not in self.file.known]
        if more and not self.file.engine_method().uses_context:
            raise InputError(
                f"method {self.file.method!r} sees no contexts: it has no use for what is known of {more[0]}."
            )

    def _reason(self, index: int, decision: Mapping[str, Any], given: Beforehand) -> str:
        """What a decision is for; kept with it."""
        from windage.studies import reasons

        why: str = reasons.reason(self, decision, given)
        with self.faults():
            self.storage.set_trial_user_attr(reading.trial_id(self.study, index), records.WHY, why)
        return why

    def _suggested(self, trial: optuna.Trial) -> dict[str, Any]:
        try:
            return {name: _suggest(trial, name, kind) for name, kind in self.file.space.items()}
        except ValueError as error:
            if isinstance(error, WindageError):
                raise
            raise self._other_space() from None

    def _fail_cut_off(self) -> None:
        """Mark asks that were cut off as failed, as soon as the storage takes it."""
        for index in sorted(self._cut_off):
            self.study.tell(index, state=TrialState.FAIL, skip_if_finished=True)
            self._cut_off.discard(index)

    def _other_space(self) -> ConfigurationError:
        return ConfigurationError(
            f"the study {self.file.name!r} was begun with another kind of decision variable, or with other "
            f"choices, than {self.file.path} has now. Export it, give the study another name, and tell the "
            "table to that, without rows of choices that are gone."
        )

    def tell(self, index: int, context: Mapping[str, Any], value: Any, time: str = "") -> Entry:
        """What came of a decision that was asked for. Refused if it was told already.

        What was known before it need not be told again. ``time``: when it happened, as ISO text; now, where
        it is left out.
        """
        outcome = self.file.check_value(value)
        with self._changing(index) as (trial, key):
            met = self.file.check_context(context, beforehand.kept(trial, self.file.contexts).known)
            decision = self.file.ordered(records.published(trial))
            if not self.file.axes.recalls(decision):
                raise TrialError(
                    f"decision {index} is none of this file's: its ask was cut off, or the file has changed. "
                    f"Say  windage tell FILE {index} --failed 'cut off'  and ask again."
                )
            if time:
                self.storage.set_trial_user_attr(key, records.DATE, time)
            self.storage.set_trial_user_attr(key, records.CONTEXT, met)
            self.storage.set_trial_state_values(key, TrialState.COMPLETE, [outcome])
        return Entry(index, decision, met, outcome, None, time, forecast=records.forecast_of(trial))

    def fail(self, index: int, why: str) -> None:
        """A decision that brought no result."""
        with self._changing(index) as (_, key):
            self.storage.set_trial_user_attr(key, records.ERROR, why[-records.LONGEST :])
            self.storage.set_trial_state_values(key, TrialState.FAIL)

    def renew(self, index: int, seconds: float | None = None) -> None:
        """A decision under way counts for so many seconds from now."""
        with self._changing(index) as (_, key):
            records.renew(self.storage, key, self.file.lease if seconds is None else seconds)

    def _finished(self, trial: FrozenTrial) -> str:
        """Why nothing can be told of a trial that is finished."""
        index = trial.number
        if trial.state != TrialState.COMPLETE:
            return (
                f"decision {index} {STATES[trial.state]}. Tell what was really done as history: "
                "windage tell FILE --decision NAME=VALUE ... --value ..."
            )
        entry = self._entry(trial, standing(self.history()).get(index))
        if entry.forgotten:
            return f"decision {index} was told, and is forgotten:  windage undo FILE {index}  brings it back."
        value = self.file.quantities["value"].show(entry.value)
        shown = "".join(f", {k} {v}" for k, v in self.file.show(entry.context).items())
        when = f" on {entry.told:%Y-%m-%d %H:%M}" if entry.told else ""
        return (
            f"decision {index} was told already{when}: value {value}{shown}. "
            f"If that was wrong:  windage correct FILE {index} --value ..."
        )

    @contextmanager
    def _changing(self, index: int) -> Iterator[tuple[FrozenTrial, int]]:
        """A running trial that nobody else changes meanwhile, and the storage's key of it."""
        with self.telling():
            trial = reading.trial(self.study, index) if index < 2**31 else None
            if trial is None:
                known = self.storage.get_n_trials(reading.study_id(self.study))
                last = f"the last is {known - 1}" if known else "none was asked for yet"
                raise TrialError(
                    f"there is no decision {index}: {last}. Those under way are in  windage status FILE ; "
                    "a new one comes by  windage ask FILE"
                )
            if trial.state != TrialState.RUNNING:
                raise TrialError(self._finished(trial))
            try:
                yield trial, reading.trial_id(self.study, index)
            except UpdateFinishedTrialError as error:
                raise TrialError(f"decision {index} was told by another at this moment.") from error

    def add(
        self,
        decision: Mapping[str, Any],
        context: Mapping[str, Any],
        value: Any,
        past: bool = False,
        time: str = "",
        forecast: Mapping[str, Any] | None = None,
    ) -> int:
        """A decision of the user's own, or history, and its number.

        ``past``: it may lie outside of the bounds, and contexts may be missing. ``time``: as in ``tell``.
        """
        trial = self.checked(decision, context, value, past, time, forecast)
        with self.telling():
            return self.add_all([trial])[0]

    def checked(
        self,
        decision: Mapping[str, Any],
        context: Mapping[str, Any],
        value: Any,
        past: bool = False,
        time: str = "",
        forecast: Mapping[str, Any] | None = None,
    ) -> FrozenTrial:
        """A finished trial, not yet in the study."""
        params = self.file.check_decision(decision, past)
        met = self.file.check_past_context(context) if past else self.file.check_context(context)
        return optuna.create_trial(
            params=params,
            distributions={name: axis.wide(params[name]) for name, axis in self.file.axes.axes.items()},
            value=self.file.check_value(value),
            user_attrs={
                records.CONTEXT: met,
                **({records.DATE: time} if time else {}),
                **({records.FORECAST: dict(forecast)} if forecast else {}),
            },
        )

    def add_all(
        self, trials: Sequence[FrozenTrial], report: Callable[[int], None] = lambda _: None
    ) -> list[int]:
        """Finished trials into the study, one after the other; their numbers."""
        numbers = []
        with self.faults():
            key = reading.study_id(self.study)
            for i, trial in enumerate(trials):
                try:
                    new = self.storage.create_new_trial(key, template_trial=trial)
                except ValueError:
                    raise self._other_space() from None
                numbers.append(self.storage.get_trial_number_from_id(new))
                report(i + 1)
        return numbers


def _suggest(trial: optuna.Trial, name: str, kind: BaseDistribution) -> Any:
    """The value of one decision variable, chosen by the study's sampler."""
    if isinstance(kind, CategoricalDistribution):
        return trial.suggest_categorical(name, kind.choices)
    low, high, step, log = kind.low, kind.high, kind.step, kind.log  # type: ignore[attr-defined]
    suggest: Any = trial.suggest_int if isinstance(kind, IntDistribution) else trial.suggest_float
    return suggest(name, low, high, step=step, log=log)
