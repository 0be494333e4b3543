"""The dataset: the observations of a study on unit boxes, outcomes standardised."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windage.observations import Observations
from windage.space import FARTHEST, Array, ContextScale, ContextSpace, DecisionSpace, OutcomeScale


@dataclass(frozen=True)
class Dataset:
    """Observations seen through the spaces of their study. Each part is computed when first needed."""

    decisions: DecisionSpace
    contexts: ContextSpace
    """Those that any row has seen: one that was never seen is as if it were not there."""
    observations: Observations
    maximize: bool
    suspects: tuple[int, ...] = ()
    """Rows whose outcomes look mistyped. They are in no fit; their contexts count (``windage.outliers``)."""
    unseen: tuple[str, ...] = ()
    """Contexts of the study that no row has seen yet."""
    drift: bool = False
    """Whether time is an input of the GP, beside the contexts."""
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What others computed from it."""

    def __len__(self) -> int:
        return len(self.observations) - len(self.suspects)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The rows that are fitted, t."""
        return np.setdiff1d(np.arange(len(self.observations)), self.suspects)

    @cached_property
    def seen(self) -> Array:
        """All contexts in numbers, n × Dc, of suspect rows too; nan: not seen."""
        return self.contexts.numbers(self.observations.contexts)

    @cached_property
    def scale(self) -> ContextScale:
        """From the user's contexts to the unit box."""
        return self.contexts.scale(self.seen)

    @cached_property
    def outcome(self) -> OutcomeScale:
        """From the user's outcomes to standardised ones."""
        return OutcomeScale.of(self.values, self.maximize)

    @cached_property
    def values(self) -> Array:
        """The outcomes in the user's units, t."""
        return np.array(self.observations.values)[self.rows]

    @cached_property
    def x(self) -> Array:
        """The decisions, t × d; outside of the unit box where the bounds were others once."""
        return self.decisions.encode([self.observations.decisions[row] for row in self.rows])

    @cached_property
    def unit_c(self) -> Array:
        """The contexts of the rows that are fitted, t × Dc on the unit box; nan: not seen.

        An unbounded one may lie outside of it.
        """
        return self.unit_contexts(self.seen[self.rows])

    @cached_property
    def c(self) -> Array:
        """The same as the GP sees them, with the time in a last column where outcomes drift."""
        return self.code(self.unit_c, self.clock[self.rows] if self.drift else None)

    def unit_contexts(self, contexts: Array) -> Array:
        """Contexts in numbers, n × Dc, on the unit box or not too far outside of it."""
        return np.clip(self.scale.to_unit(contexts), -FARTHEST, FARTHEST)

    def code(self, points: Array, clock: Array | None = None) -> Array:
        """Points of the contexts' unit box as the GP sees them; at these times, or else now."""
        coded = self.scale.code(points)
        if not self.drift:
            return coded
        clock = np.full(len(points), self.now) if clock is None else clock
        return np.concatenate([coded, clock[:, None]], axis=1)

    @property
    def groups(self) -> tuple[int, ...]:
        """Which lengthscale each coordinate of ``c`` has."""
        own = self.scale.groups
        return (*own, len(self.contexts.names)) if self.drift else own

    @cached_property
    def _times(self) -> tuple[Array, float]:
        """When each observation was made, n, and now: in days where all were told, else in observations."""
        times, count = self.observations.times, len(self.observations)
        if times and all(time is not None for time in times):
            found = np.array(times, dtype=float)
            return found, float(found.max())
        return np.arange(count, dtype=float), float(count)

    @cached_property
    def _hour(self) -> tuple[float, float]:
        """When time begins, and its unit: a power of 2, so that the scale rarely changes as a study grows."""
        times, now = self._times
        first = float(times.min()) if len(times) else 0.0
        return first, 2.0 ** math.ceil(math.log2(max(now - first, 1.0)))

    @property
    def clock(self) -> Array:
        """When each observation was made, n, from 0 to 1."""
        first, unit = self._hour
        return (self._times[0] - first) / unit

    @property
    def now(self) -> float:
        """The time of the next decision, on the scale of ``clock``."""
        first, unit = self._hour
        return (self._times[1] - first) / unit

    @cached_property
    def boxed_c(self) -> Array:
        """All contexts that were seen whole, n × Dc, of suspect rows too: what the density is estimated from.

        Those outside of the unit box are put on its end.
        """
        return complete(np.clip(self.unit_contexts(self.seen), 0, self.scale.ends))

    @cached_property
    def boxed_rows(self) -> NDArray[np.intp] | None:
        """The observations of ``boxed_c``; None where no context was seen whole."""
        whole = np.flatnonzero(~np.isnan(self.seen).any(axis=1))
        return whole if len(whole) else None

    @cached_property
    def contexts_seen(self) -> int:
        """How many of the rows that are fitted have seen the whole context."""
        return int((~np.isnan(self.unit_c)).all(axis=1).sum()) or len(self.boxed_c)

    @cached_property
    def y(self) -> Array:
        """The standardised outcomes, t; larger is better."""
        return self.outcome.standardise(self.values)


def complete(contexts: Array) -> Array:
    """The rows of contexts (n × Dc) that were seen whole. Each context was seen in some row.

    Where no row was, the values of each context in the order seen, side by side, the shorter ones repeated.
    """
    lacks = np.isnan(contexts)
    if not lacks.any():
        return contexts
    rows = contexts[~lacks.any(axis=1)]
    if len(rows):
        return rows
    columns = [column[~np.isnan(column)] for column in contexts.T]
    most = max(map(len, columns))
    return np.stack([np.resize(column, most) for column in columns], axis=1)
