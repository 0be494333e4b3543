"""What an optimizer was told, and how mistakes in it are noticed and repaired.

A part of ``Optimizer``, in a file of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import replace
from threading import RLock

from windage.changes import Change, Record, standing
from windage.configuration import Configuration
from windage.contexts import ForecastSkill, Shift, shift_of, skills
from windage.dataset import Dataset
from windage.errors import WindageWarning
from windage.gp import Ensemble
from windage.observations import Context, Observations, Row
from windage.outliers import Oddity, odd_rows, oddities, suspects
from windage.space import Decision, whole
from windage.threads import one_thread


class Memory:
    """The observations of an optimizer, and every change of them."""

    _configuration: Configuration
    _ensemble: Ensemble
    _lock: RLock
    _record: Record
    _data: Dataset
    """All that counts, on unit boxes."""
    _screened: Dataset | None
    """The same without the outcomes that look mistyped; None where that was not asked for yet."""

    @property
    def observations(self) -> Observations:
        """Everything told so far that counts, as corrected: a frozen copy."""
        return self._record.current.copy()

    def _take(self, record: Record) -> None:
        """What was told and changed is now this."""
        self._record = record
        self._data = self._configuration.dataset(record.current)
        self._screened = None

    @property
    def history(self) -> tuple[Change, ...]:
        """Every change of what was told, in the order made."""
        return self._record.changes

    def correct(
        self,
        number: int,
        *,
        value: float | None = None,
        context: Context | None = None,
        decision: Decision | None = None,
        why: str = "",
    ) -> None:
        """An observation was wrong: give what it should have said. What is not given stays.

        ``number`` is its place among everything told, from 0: ``observations.numbers``. Nothing is erased:
        ``history`` has it, and ``undo(number)`` takes it back.
        """
        checked = self._configuration.check_parts(decision, context, value)
        self._change(Change(whole(number, "number"), "correct", *checked, why))

    def forget(self, number: int, why: str = "") -> None:
        """An observation no longer counts, until ``undo(number)``."""
        self._change(Change(whole(number, "number"), "forget", why=why))

    def undo(self, number: int, why: str = "") -> None:
        """Take the last change of an observation back."""
        self._change(Change(whole(number, "number"), "undo", why=why))

    def _change(self, change: Change) -> None:
        with self._lock:
            self._take(self._record.changed(change))
            self._ensemble = self._configuration.ensemble()  # nothing learnt from the mistake stays

    @property
    def shift(self) -> Shift | None:
        """Where the distribution of a context seems to have changed, and since when; None: nowhere.

        Of studies in which nothing changed, 5 in 100 show one at any one look.
        """
        with self._lock:
            return shift_of(self._data)

    @property
    def forecast_skill(self) -> dict[str, ForecastSkill]:
        """Of each context that was forecast, how much that has been worth."""
        with self._lock:
            return skills(self._data)

    @property
    def suspects(self) -> tuple[int, ...]:
        """Numbers of observations that look mistyped. They are in no fit, until they are corrected."""
        with self._lock, one_thread():
            data = self._fitted_data()
        return tuple(data.observations.numbers[row] for row in data.suspects)

    def oddities(self, decision: Decision, context: Context, value: float) -> list[Oddity]:
        """What makes ``tell`` warn of a result: a context or a value far from all that was seen."""
        kind = self._configuration
        row = (kind.decisions.recall(decision), *kind.check_result(context, value))
        with self._lock, one_thread():
            return oddities(self._data, *row)

    def second_look(self, numbers: Collection[int]) -> dict[int, list[Oddity]]:
        """The same of observations that were told already, by their numbers: odd to all the others."""
        with self._lock, one_thread():
            known = self._data.observations.numbers
            rows = [row for row, number in enumerate(known) if number in numbers]
            return {known[row]: found for row, found in odd_rows(self._data, rows).items()}

    def _fitted_data(self) -> Dataset:
        """The dataset without the outcomes that look mistyped."""
        if self._screened is None:
            found = suspects(self._data, self._trusted()) if self._configuration.settings.screen else ()
            self._screened = replace(self._data, suspects=found) if found else self._data
        return self._screened

    def _trusted(self) -> list[int]:
        """Rows whose outcome was corrected, be it to the same: somebody has looked at them again."""
        stands = standing(self._record.changes)
        looked_at = {number for number, now in stands.items() if now.value is not None}
        return [row for row, n in enumerate(self._record.current.numbers) if n in looked_at]

    def _warn(self, row: Row) -> None:
        """A warning where what is told is far from all that was seen."""
        if self._configuration.settings.screen:
            with one_thread():
                found = oddities(self._data, row.decision, row.context, row.value)
            index = len(self._record.told)
            for odd in found:
                what = "value" if odd.name == "value" else "context"
                words = f"{odd.words()} It is taken. If it is wrong: correct({index}, {what}=...)."
                warnings.warn(words, WindageWarning, stacklevel=3)
