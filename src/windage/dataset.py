"""The dataset: the observations of a study on unit boxes, outcomes standardised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windage.observations import Observations
from windage.search import sobol
from windage.space import (
    FARTHEST,
    Array,
    ContextKind,
    ContextScale,
    ContextSpace,
    DecisionSpace,
    OutcomeScale,
)

OTHER_LEVEL = 50.0
"""Squared deviations at which another level of a choice is from the one that was seen: it counts where the
level itself was never met."""


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
        """All contexts of which anything was seen, of suspect rows too: what the density is estimated from.

        n × Dc, whole: what was not seen is filled in. Those outside of the unit box are put on its end.
        """
        unit = np.clip(self.unit_contexts(self.seen), 0, self.scale.ends)
        return filled(unit[self.boxed_rows], self.scale.kinds)

    @cached_property
    def boxed_rows(self) -> NDArray[np.intp]:
        """The observations of ``boxed_c``."""
        return np.flatnonzero(_any_seen(self.seen))

    @cached_property
    def contexts_seen(self) -> int:
        """How many of the rows that are fitted have seen any of the context."""
        return int(_any_seen(self.unit_c).sum()) or len(self.boxed_c)

    @cached_property
    def y(self) -> Array:
        """The standardised outcomes, t; larger is better."""
        return self.outcome.standardise(self.values)


def _any_seen(contexts: Array) -> NDArray[np.bool_]:
    """Of which rows of contexts anything was seen, n; of all where there are no contexts."""
    if not contexts.shape[1]:
        return np.ones(len(contexts), dtype=bool)
    return np.asarray(~np.isnan(contexts).all(axis=1))


def filled(contexts: Array, kinds: Sequence[ContextKind]) -> Array:
    """Contexts of the unit box (n × Dc, nan: not seen) made whole, each value from a row that saw it.

    The row is drawn with chances ∝ Π_d K_d(c_d, c_ld) over what both have, K_d as in ``windage.gp.mixtures``
    (a hot deck). So what was seen counts in full, however seldom the rest was. The draws are the same in
    every process. Each context was seen in some row.
    """
    lacks = np.isnan(contexts)
    if not lacks.any():
        return contexts
    found = contexts.copy()
    for d in np.argsort(lacks.sum(axis=0), kind="stable"):  # what was seen most comes first
        lacking = np.flatnonzero(lacks[:, d])
        donors = found[~lacks[:, d]]
        donors = donors[donors[:, d].argsort(kind="stable")]
        total = _likeness(found[lacking], donors, kinds).cumsum(axis=1)
        marks = sobol(len(lacking), 1, int(d))[:, 0] * total[:, -1]
        place = (total < marks[:, None]).sum(axis=1)
        found[lacking, d] = donors[np.minimum(place, len(donors) - 1), d]
    return found


def _likeness(rows: Array, donors: Array, kinds: Sequence[ContextKind]) -> Array:
    """How like rows are to donors in what both have, m × n; where one of both lacks it, as on average."""
    count, size = donors.shape
    away = np.zeros((len(rows), count))
    for d, kind in enumerate(kinds):
        ours, theirs = rows[:, d, None], donors[:, d]
        known = ~np.isnan(ours) & ~np.isnan(theirs)
        if kind.choice:
            squares = np.where(ours == theirs, 0.0, OTHER_LEVEL)
        else:
            deviation = float(theirs[~np.isnan(theirs)].std()) if known.any() else 0.0
            width = deviation * (4 / ((size + 2) * count)) ** (1 / (size + 4))  # the rule of thumb
            squares = ((ours - theirs) / (width if width > 0 else 1.0)) ** 2
        squares = np.where(known, squares, 0.0)
        average = squares.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
        away += np.where(known, squares, average)
    return np.asarray(np.exp(-0.5 * (away - away.min(axis=1, keepdims=True))))
