"""A problem whose days differ: situations, each with its own distribution of the contexts."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from windage.bench.wide.contexts import ContextDistribution
from windage.bench.wide.instance import Instance
from windage.space import Array, Decision, Integer, Parameter

POINTS = 2**10
"""Equally likely contexts of a situation, for its expectations."""
SCAN, STARTS = 2**9, 6
"""Decisions scored for the optimum of a situation, and climbs from the best of them: 3 variables at most."""


@dataclass(frozen=True)
class Words:
    """What is said of a day before its decision, as ``ask`` takes it."""

    known: Mapping[str, Any] = field(default_factory=dict)
    forecast: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Day:
    """One day: what is said beforehand, and what is met."""

    situation: int
    words: Words
    context: Mapping[str, Any]
    """What is told of it afterwards, the known part included."""
    row: Array
    """The contexts that the outcome depends on, 1 × Dc."""
    noise: float
    """Of the outcome, a standard normal number."""


@dataclass(frozen=True)
class Pool(ContextDistribution):
    """Situations that are equally likely, taken together."""

    parts: tuple[ContextDistribution, ...] = ()

    @cached_property
    def nodes(self) -> Array:
        """Those of all parts."""
        return np.concatenate([part.nodes for part in self.parts])


def _nothing(_: int, __: np.random.Generator) -> Words:
    return Words()


@dataclass(frozen=True, eq=False)
class Problem:
    """Equally important situations, the order in which they come, and what is said of them."""

    name: str
    kind: str
    """What is known: weekday, season, forecast, …; or what changes."""
    situations: tuple[Instance, ...]
    """All with the same decision variables and contexts."""
    contexts: Mapping[str, Parameter]
    """What a study is told of the contexts, the known ones included."""
    order: Callable[[int, np.random.Generator], int]
    """The number of a day and a generator → its situation."""
    words: Callable[[int, np.random.Generator], Words] = _nothing
    """A situation and a generator → what is said of it beforehand."""
    noise: float = 0.0
    """Standard deviation of the noise, as a share of the outcome's spread."""
    useless: bool = False
    """Whether the words are about a day of their own: the day itself is in a situation at random."""

    @property
    def decisions(self) -> Mapping[str, Parameter]:
        """The decision variables."""
        return self.situations[0].decisions

    def day(self, seed: int, step: int) -> Day:
        """The same for every method."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), seed, step])
        spoken = self.order(step, rng)
        words = self.words(spoken, rng)
        number = int(rng.integers(len(self.situations))) if self.useless else spoken
        row = self.situations[number].distribution.sample(1, rng)
        context = {name: self._told(name, v) for name, v in zip(self._names, row[0].tolist(), strict=True)}
        return Day(number, words, {**context, **words.known}, row, float(rng.standard_normal()))

    def value(self, decision: Decision, day: Day) -> float:
        """The outcome of a decision on a day."""
        instance = self.situations[day.situation]
        exact = float(instance.evaluate(instance.row(decision), day.row)[0])
        return exact + self.noise * self.spread * day.noise

    def regret(self, decision: Decision, day: Day) -> float:
        """What the best decision of that day's distribution gains on this one, a share of a random one's.

        Where the words say nothing, the distribution is that of all situations together.
        """
        instance = self.pooled if self.useless else self.situations[day.situation]
        expected = float(instance.expected(instance.row(decision))[0])
        return (instance.optimum.value - expected) / self.scale

    @cached_property
    def pooled(self) -> Instance:
        """All situations as one."""
        first = self.situations[0]
        parts = tuple(s.distribution for s in self.situations)
        pool = Pool(parts[0].quantiles, parts[0].correlation, parts[0].bounds, parts=parts)
        return Instance(
            self.name, first.decisions, pool, first.function, names=first.names, scan=SCAN, starts=STARTS
        )

    @cached_property
    def scale(self) -> float:
        """The mean regret of random decisions."""
        judges = (self.pooled,) if self.useless else self.situations
        return float(np.mean([judge.optimum.value - judge.random for judge in judges]))

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the outcomes of random decisions."""
        return float(np.sqrt(np.mean([s.outcomes_deviation**2 for s in self.situations])))

    @cached_property
    def worth(self) -> float:
        """What knowledge can bring: the mean regret of the best decision for all situations together."""
        x = self.pooled.optimum.decision[None]
        lost = [s.optimum.value - float(s.expected(x)[0]) for s in self.situations]
        return float(np.mean(lost)) / self.scale

    @property
    def _names(self) -> tuple[str, ...]:
        return self.situations[0].names

    def _told(self, name: str, value: float) -> Any:
        return round(value) if isinstance(self.contexts[name], Integer) else value
