"""Trials and observations: frozen records in the user's names and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from windage.errors import missing_extra
from windage.space import Array, Decision

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Trial:
    """A decision to take. Give it back to ``Optimizer.tell`` with what happened."""

    number: int
    """Its number in the study, from 0."""
    decision: Decision
    """Decision variable → value."""
    study: str = field(default="", repr=False, compare=False)
    """Which optimizer in memory gave it out; survives a copy to another process and back."""

    def __hash__(self) -> int:
        return hash(self.number)


@dataclass(frozen=True)
class Observations:
    """Observations in the order told. Adding some returns a new record."""

    decisions: tuple[Decision, ...] = ()
    """Decision variable → value, one mapping an observation."""
    contexts: tuple[Mapping[str, float], ...] = ()
    """Context → value, one mapping an observation."""
    values: tuple[float, ...] = ()
    """The outcomes."""
    columns: tuple[str, ...] = ()
    """The names of the decision variables and of the contexts."""

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Observations({len(self)} of {', '.join((*self.columns, 'value'))})"

    def add(self, rows: Sequence[tuple[Decision, Mapping[str, float], float]]) -> Observations:
        """A new record with more observations: decision, context and value of each."""
        return Observations(
            (*self.decisions, *(dict(decision) for decision, _, _ in rows)),
            (*self.contexts, *(dict(context) for _, context, _ in rows)),
            (*self.values, *(value for _, _, value in rows)),
            self.columns,
        )

    def copy(self) -> Observations:
        """A record that shares no dictionary with this one."""
        decisions, contexts = tuple(map(dict, self.decisions)), tuple(map(dict, self.contexts))
        return Observations(decisions, contexts, self.values, self.columns)

    def context_array(self, names: tuple[str, ...]) -> Array:
        """The contexts, n × Dc, in the user's units."""
        return np.array([[c[name] for name in names] for c in self.contexts]).reshape(len(self), len(names))

    def best(self, maximize: bool) -> int:
        """The index of the luckiest draw, which is not the recommendation."""
        return int(np.argmax(self.values) if maximize else np.argmin(self.values))

    def to_pandas(self) -> pandas.DataFrame:
        """One row an observation: the decision variables, the contexts, ``value``."""
        try:
            import pandas
        except ImportError as error:
            raise missing_extra("pandas", "tables", "a table of the observations") from error
        rows = zip(self.decisions, self.contexts, self.values, strict=True)
        table: list[dict[str, Any]] = [{**d, **c, "value": v} for d, c, v in rows]
        return pandas.DataFrame(table, columns=[*self.columns, "value"] if self.columns else None)
