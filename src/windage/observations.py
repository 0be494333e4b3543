"""Trials and observations: frozen records in the user's names and units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from windage.errors import missing_extra
from windage.space import Array, Decision

if TYPE_CHECKING:
    import pandas


Context = Mapping[str, Any]
"""Context → value; None: it was not seen."""
Forecasts = Mapping[str, Any]
"""Context → (mean, deviation) as it had been forecast; of a choice, level → probability."""


@dataclass(frozen=True)
class Trial:
    """A decision to take. Give it back to ``Optimizer.tell`` with what happened."""

    number: int
    """Its number in the study, from 0."""
    decision: Decision
    """Decision variable → value."""
    study: str = field(default="", repr=False, compare=False)
    """Which optimizer in memory gave it out; survives a copy to another process and back."""
    known: Context = field(default_factory=dict, compare=False)
    """Contexts that were known when it was asked for."""
    forecast: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Contexts of which there was a forecast then."""

    def __hash__(self) -> int:
        return hash(self.number)


FEWEST_TO_JUDGE = 4
"""Observations before which no other one is odd."""
ROWS = ("decisions", "contexts", "values", "numbers", "times", "forecasts")
"""Fields of ``Observations`` with one item an observation."""


@dataclass(frozen=True)
class Row:
    """One observation: what was decided, met and came out."""

    decision: Decision
    context: Context
    value: float
    time: float | None = None
    forecast: Forecasts = field(default_factory=dict)


@dataclass(frozen=True)
class Observations:
    """Observations in the order told. Adding some returns a new record."""

    decisions: tuple[Decision, ...] = ()
    """Decision variable → value, one mapping an observation."""
    contexts: tuple[Context, ...] = ()
    """Context → value, one mapping an observation; None: it was not seen."""
    values: tuple[float, ...] = ()
    """The outcomes."""
    columns: tuple[str, ...] = ()
    """The names of the decision variables and of the contexts."""
    numbers: tuple[int, ...] = ()
    """By which ``correct`` and ``forget`` know them, from 0 in the order told; forgotten ones are missing."""
    times: tuple[float | None, ...] = ()
    """When each was made, in days since 1970; None: nobody said."""
    forecasts: tuple[Forecasts, ...] = ()
    """What had been forecast for each."""

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Observations({len(self)} of {', '.join((*self.columns, 'value'))})"

    def add(self, rows: Sequence[Row]) -> Observations:
        """A new record with more observations."""
        first = self.numbers[-1] + 1 if self.numbers else 0
        return Observations(
            (*self.decisions, *(dict(row.decision) for row in rows)),
            (*self.contexts, *(dict(row.context) for row in rows)),
            (*self.values, *(row.value for row in rows)),
            self.columns,
            (*self.numbers, *range(first, first + len(rows))),
            (*self.times, *(row.time for row in rows)),
            (*self.forecasts, *(dict(row.forecast) for row in rows)),
        )

    @property
    def last_time(self) -> float | None:
        """The latest time told; None where there is none."""
        return max((time for time in self.times if time is not None), default=None)

    def take(self, rows: Sequence[int]) -> Observations:
        """Some of them, by their places."""
        parts = {name: tuple(getattr(self, name)[row] for row in rows) for name in ROWS}
        return replace(self, **parts)

    def copy(self) -> Observations:
        """A record that shares no dictionary with this one."""
        decisions, contexts = tuple(map(dict, self.decisions)), tuple(map(dict, self.contexts))
        return replace(self, decisions=decisions, contexts=contexts)

    def context_array(self, names: tuple[str, ...]) -> Array:
        """The contexts of these names, which are numbers, n × Dc, in the user's units; nan: not seen."""
        rows = [[c[name] for name in names] for c in self.contexts]
        return np.array(rows, dtype=float).reshape(len(self), len(names))

    def best(self, maximize: bool) -> int:
        """The index of the luckiest draw, which is not the recommendation."""
        return int(np.argmax(self.values) if maximize else np.argmin(self.values))

    def to_pandas(self) -> pandas.DataFrame:
        """One row an observation: the decision variables, the contexts (nan: not seen), ``value``."""
        try:
            import pandas
        except ImportError as error:
            raise missing_extra("pandas", "tables", "a table of the observations") from error
        rows = zip(self.decisions, self.contexts, self.values, strict=True)
        table: list[dict[str, Any]] = [{**d, **_numbers(c), "value": v} for d, c, v in rows]
        return pandas.DataFrame(table, columns=[*self.columns, "value"] if self.columns else None)


def _numbers(context: Context) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in context.items()}
