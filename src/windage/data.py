"""What was told: a frozen record of decisions, contexts and values in the user's units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from windage.errors import missing_extra
from windage.space import Array, Value

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Observations:
    """Observations in the order told. Adding some returns a new record."""

    decisions: tuple[Mapping[str, Value], ...] = ()
    contexts: tuple[Mapping[str, float], ...] = ()
    values: tuple[float, ...] = ()
    columns: tuple[str, ...] = ()
    """The names of the decisions and of the contexts."""

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Observations({len(self)} of {', '.join((*self.columns, 'value'))})"

    def add(self, rows: Sequence[tuple[Mapping[str, Value], Mapping[str, float], float]]) -> Observations:
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
        """One row an observation: the decisions, the contexts, ``value``."""
        try:
            import pandas
        except ImportError as error:
            raise missing_extra("pandas", "tables", "a table of the observations") from error
        rows = zip(self.decisions, self.contexts, self.values, strict=True)
        table = [{**d, **c, "value": v} for d, c, v in rows]
        return pandas.DataFrame(table, columns=[*self.columns, "value"] if self.columns else None)


ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Outcome:
    """The scaling of values: sign, then magnitude, then mean 0 and deviation 1; larger is better.

    The magnitude is divided out first so that squares neither overflow nor vanish.
    """

    sign: float
    size: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Array, maximize: bool) -> Outcome:
        """The scaling for values seen; safe for one value, equal values and any magnitude."""
        sign = 1.0 if maximize else -1.0
        size = float(np.abs(values).max(initial=0.0)) or 1.0
        relative = sign * values / size
        deviation = float(relative.std(ddof=1)) if len(values) > 1 else 0.0
        if deviation <= ROUNDING:  # nothing but rounding: the magnitude itself is the only scale known
            deviation = 1.0
        return cls(sign, size, float(relative.mean()), deviation)

    def standardise(self, values: Array) -> Array:
        """Values in the user's units as the surrogate sees them."""
        return np.asarray((self.sign * values / self.size - self.mean) / self.deviation)

    def restore(self, standardised: Array) -> Array:
        """The inverse of ``standardise``."""
        return np.asarray(self.sign * self.size * (self.mean + self.deviation * standardised))
