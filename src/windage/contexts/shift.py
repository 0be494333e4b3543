"""Whether the distribution of the context seems to have changed, and since when.

A permutation test of the largest standardised rank sum over all places where it may have changed (Pettitt
1979, with the exact null distribution of Good 2005 by shuffling the contexts): for the last a of n contexts,
with standardised ranks r_i,

    z_a = Σ_{i > n-a} r_i / sqrt(a(n - a)/(n - 1)),     Z = max_a |z_a|.

Of a choice, each level has a column of its own, 1 where it was met. The largest Z of all columns is compared
with those of shuffled rows, so that one chance of a false alarm holds for all contexts together, whatever
their distribution is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windage.space import Array, ContextKind

FALSE_ALARM = 0.05
"""The chance that a look at a study whose distribution never changed finds a shift."""
FEWEST, MOST = 5, 30
"""Contexts before and after a shift, at least; and after it at most, or half of all where that is more: what
changed long ago is the distribution by now, and fewer places find a shift sooner."""
LATEST = 200
"""Contexts in which a shift is looked for: the latest."""
SHUFFLES = 999
SEED = 20240


@dataclass(frozen=True)
class Shift:
    """The distribution of a context seems to have changed."""

    name: str
    """The context."""
    since: int
    """The number of the first observation after it."""
    time: float | None
    """When that was, in days since 1970; None where no time was told."""
    chance: float
    """Of such a difference where nothing changed."""
    before: float
    """The mean before; of a choice, the share of ``level``."""
    after: float
    """The same after it."""
    level: Any = None
    """Of a choice, the level whose share changed."""

    def words(self, show: Callable[[float], str] = "{:.3g}".format, since: str = "") -> str:
        """A sentence, with numbers as ``show`` writes them; ``since``: in words, when it was."""
        when = since or f"observation {self.since}"
        if self.level is None:
            now, then = show(self.after), show(self.before)
            return f"{self.name} seems to have changed since {when}: {now} on average, before {then}."
        now, then = f"{100 * self.after:.0f} %", f"{100 * self.before:.0f} %"
        return f"{self.name} seems to have changed since {when}: {self.level} in {now}, before in {then}."


@dataclass(frozen=True)
class Found:
    """A shift of a column of contexts."""

    context: int
    level: int | None
    """Of a choice."""
    after: int
    """How many rows are after it."""
    chance: float


def find(contexts: Array, kinds: Sequence[ContextKind]) -> Found | None:
    """The likeliest shift of contexts in the order seen, n × Dc; None where chance explains all.

    nan, a context that was not seen, counts as the middle of the others.
    """
    contexts = contexts[-LATEST:]
    n = len(contexts)
    if n < 2 * FEWEST:
        return None
    columns: list[Array] = []
    owners: list[tuple[int, int | None]] = []
    for d, kind in enumerate(kinds):
        column = contexts[:, d]
        parts = (
            [(column == level, level) for level in range(kind.levels)] if kind.choice else [(column, None)]
        )
        for values, level in parts:
            seen = ~np.isnan(column)
            ranks = np.zeros(n)
            if seen.any() and np.ptp(values[seen].astype(float)) > 0:
                ranks[seen] = _ranks(values[seen])
                ranks[seen] -= ranks[seen].mean()
                columns.append(ranks / np.sqrt((ranks**2).mean()))
                owners.append((d, level))
    if not columns:
        return None
    ranks = np.stack(columns, axis=1)
    standard = _largest(ranks[None])[0]  # columns × splits
    highest = np.unravel_index(int(standard.argmax()), standard.shape)
    chance = _chance(ranks, float(standard.max()))
    if chance > FALSE_ALARM:
        return None
    return Found(*owners[int(highest[0])], FEWEST + int(highest[1]), chance)


def _ranks(values: Array) -> Array:
    """Ranks, those of equal values averaged. (``scipy.stats`` takes half a second to import.)"""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - (counts - 1) / 2)[place])


def _largest(ranks: Array) -> Array:
    """|z_a| of shuffles × n × columns, for each a from FEWEST on: shuffles × columns × splits."""
    n = ranks.shape[1]
    a = np.arange(FEWEST, min(n - FEWEST, max(MOST, n // 2)) + 1)
    sums = ranks[:, ::-1].cumsum(axis=1)[:, a - 1]
    found: Array = np.abs(sums / np.sqrt(a * (n - a) / (n - 1))[:, None])
    return found.transpose(0, 2, 1)


def _chance(ranks: Array, found: float) -> float:
    """The share of shuffles, and of the rows as they are, with a shift as large."""
    generator = np.random.default_rng(SEED)
    order = generator.permuted(np.tile(np.arange(len(ranks)), (SHUFFLES, 1)), axis=1)
    largest = _largest(ranks[order]).max(axis=(1, 2))
    return float((1 + (largest >= found - 1e-12).sum()) / (1 + SHUFFLES))
