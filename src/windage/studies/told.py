"""What was told to a study, and repairs of it. The lower half of ``StudyStore``; no engine here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import optuna
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from windage.changes import Change, Correction, standing
from windage.errors import TrialError
from windage.studies import beforehand, corrections, locks, reading, records
from windage.studies.entries import Entry, Pending, State
from windage.studies.file import StudyFile
from windage.studies.storage import storage_faults
from windage.studies.url import without_password


class ToldStudy:
    """The study of a study file: what was told, as it counts now."""

    file: StudyFile
    study: optuna.Study
    storage: RDBStorage

    def faults(self) -> Any:
        """A context in which faults of the storage become a StorageError."""
        return storage_faults(self.file.storage, self.file.name)

    @property
    def where(self) -> str:
        """The storage, without its password."""
        shown = without_password(self.file.storage, self.file.storage)
        return unquote(shown) if shown.startswith("sqlite") else shown  # a file's name, as people read it

    def trials(self, *states: TrialState) -> list[FrozenTrial]:
        """Trials as they are now."""
        with self.faults():
            return reading.trials(self.study, states or None)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Nobody else tells meanwhile."""
        with self.faults(), locks.hold(self.storage, self.file.name, "telling"):
            yield

    def entries(self) -> list[Entry]:
        """Finished observations, in the order of their numbers."""
        return self.state().entries

    def count(self) -> int:
        """How many trials there are, of any kind."""
        with self.faults():
            return self.storage.get_n_trials(reading.study_id(self.study))

    def counting(self) -> list[FrozenTrial]:
        """Finished trials as they count now: corrected, without forgotten ones."""
        with self.faults():
            return corrections.current(self.trials(TrialState.COMPLETE), corrections.changes(self.study))

    def counts(self, trial: FrozenTrial) -> bool:
        """Whether a running trial is a decision under way: made, and within its lease."""
        made = self.file.axes.holds(records.published(trial))
        return made and not records.has_lapsed(trial, self.file.lease)

    def state(self) -> State:
        """The whole study, read once."""
        now, stands = datetime.now(), standing(self.history())
        found = State([], [], 0, [])
        failed = 0
        for t in self.trials():
            if t.state == TrialState.COMPLETE and t.value is not None:
                change = stands.get(t.number)
                kept = found.forgotten if change is not None and change.forgotten else found.entries
                kept.append(self._entry(t, change))
            elif t.state == TrialState.RUNNING:
                age = (now - t.datetime_start).total_seconds() if t.datetime_start else 0.0
                decision = self.file.ordered(records.published(t))
                before = beforehand.kept(t, self.file.contexts)
                row = Pending(t.number, decision, age, self.counts(t), records.why_of(t), before)
                found.pending.append(row)
            failed += t.state == TrialState.FAIL
        return replace(found, failed=failed)

    def correct(
        self,
        index: int,
        *,
        decision: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        value: Any = None,
        why: str = "",
        past: bool = False,
    ) -> Entry:
        """What was told of a decision was wrong: what it should have said. What is not given stays.

        ``past``: it may lie outside of the bounds or off the step.
        """
        parts = self.file.check_parts(decision or {}, context or {}, value, past)
        return self._change(Change(index, "correct", *parts, why))

    def forget(self, index: int, why: str = "") -> Entry:
        """What was told of a decision no longer counts, until it is undone."""
        return self._change(Change(index, "forget", why=why))

    def undo(self, index: int, why: str = "") -> Entry:
        """Take back the last change of what was told of a decision."""
        return self._change(Change(index, "undo", why=why))

    def history(self) -> tuple[Change, ...]:
        """Every change of what was told, in the order made."""
        with self.faults():
            return corrections.changes(self.study)

    def narrated(self) -> list[tuple[Change, Mapping[str, Any]]]:
        """The same, each with what counted before of what it changes."""
        told = {t.number: t for t in self.trials(TrialState.COMPLETE)}
        found: list[tuple[Change, Mapping[str, Any]]] = []
        made: defaultdict[int, list[Change]] = defaultdict(list)
        for change in self.history():
            before = standing(made[change.number]).get(change.number)
            made[change.number].append(change)
            entry = self._entry(told[change.number], before) if change.number in told else None
            now = {} if entry is None else {**entry.decision, **entry.context, "value": entry.value}
            value = {} if change.value is None else {"value": change.value}
            names = [*(change.decision or {}), *(change.context or {}), *value]
            found.append((change, {name: now.get(name) for name in names}))
        return found

    def _change(self, change: Change) -> Entry:
        """Write a change; what was told of the decision, as it counts now."""
        change = replace(change, why="".join(sign for sign in change.why if sign.isprintable()))
        with self.telling():
            trials = self.trials()
            state = {t.number: t.state for t in trials}.get(change.number)
            if state == TrialState.RUNNING:
                raise TrialError(
                    f"decision {change.number} is not told yet: say  windage tell FILE {change.number} ..."
                )
            if state == TrialState.FAIL:
                raise TrialError(f"decision {change.number} has failed: there is no result to change.")
            told = {t.number: t for t in trials if t.state == TrialState.COMPLETE}
            corrections.write(self.study, change, told)
        stands = standing(self.history())
        return self._entry(told[change.number], stands.get(change.number))

    def _entry(self, trial: FrozenTrial, now: Correction | None) -> Entry:
        """A finished trial as it counts now; a forgotten one as it did before."""
        shown = trial if now is None else corrections.with_parts(trial, now)
        parts = (self.file.ordered(records.published(shown)), records.context_of(shown), shown.value)
        when = (trial.datetime_complete, records.date_of(trial))
        forecast = records.forecast_of(trial)
        if now is None:
            return Entry(trial.number, *parts, *when, forecast=forecast)  # type: ignore[arg-type]
        gone = now.forgotten
        before = {**records.published(trial), **records.context_of(trial), "value": trial.value}
        new = {**now.decision, **now.context, **({} if now.value is None else {"value": now.value})}
        was = {name: before.get(name) for name in new}
        return Entry(trial.number, *parts, *when, was, now.why, gone, forecast)  # type: ignore[arg-type]
