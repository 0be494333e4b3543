"""How often a study says that its distribution changed: where it did not, and where it did."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from windage.errors import WindageWarning
from windage.optimizer import Optimizer
from windage.space import Array, Categorical, Integer, Parameter, Real

LENGTHS = (20, 120)
"""Observations of a study in which nothing changes, at least and at most."""
BEFORE, WITHIN = (30, 60), 15
"""Observations before a shift, at least and at most, and those after it within which it should be found."""
LEVELS = ("a", "b", "c", "d")


@dataclass(frozen=True, eq=False)
class Source:
    """A distribution of one context."""

    name: str
    parameter: Parameter
    draw: Callable[[int, np.random.Generator], Array]
    deviation: float | None
    """None: it has none, and is not shifted."""


def _from(distribution: stats.rv_continuous) -> Callable[[int, np.random.Generator], Array]:
    return lambda n, rng: np.asarray(distribution.rvs(n, random_state=rng), dtype=float)


def _clipped(n: int, rng: np.random.Generator) -> Array:
    return np.clip(rng.standard_normal(n), -0.8, 0.8)


def _humps(n: int, rng: np.random.Generator) -> Array:
    return rng.normal(np.where(rng.random(n) < 0.5, -2.0, 2.0), 1.0)


def _levels(n: int, rng: np.random.Generator) -> Array:
    return rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]).astype(float)


CLIPPED = stats.norm.cdf(-0.8)
SOURCES: tuple[Source, ...] = (
    Source("normal", Real(), _from(stats.norm()), 1.0),
    Source("skewed", Real(), _from(stats.lognorm(0.8)), float(stats.lognorm(0.8).std())),
    Source("heavy-tailed", Real(), _from(stats.t(3)), math.sqrt(3)),
    Source("uniform", Real(-5, 5), _from(stats.uniform(-1, 2)), 1 / math.sqrt(3)),
    Source("two humps", Real(), _humps, math.sqrt(5)),
    Source(
        "a fifth on each bound",
        Real(-5, 5),
        _clipped,
        math.sqrt(2 * CLIPPED * 0.64 + stats.norm.expect(lambda z: z * z, lb=-0.8, ub=0.8)),
    ),
    Source("whole numbers", Integer(0, 40), _from(stats.poisson(4)), 2.0),
    Source("four choices", Categorical(LEVELS), _levels, None),
)


@dataclass(frozen=True)
class Stable:
    """A study in which nothing changes."""

    source: str
    observations: int
    at_end: bool
    """Whether a look at the end finds a shift."""
    ever: bool
    """Whether one of the looks after each observation does."""


@dataclass(frozen=True)
class Shifted:
    """A study with a shift by one deviation."""

    source: str
    before: int
    """Observations before the shift."""
    already: bool
    """Whether a shift was seen before there was one."""
    after: int | None
    """Observations after it until a look found one; None: not within ``WITHIN``."""
    at_end: bool
    """Whether the look after the last of these finds one."""
    since: int | None
    """The number that the look at the end gives; from 0."""


def study_of(source: Source) -> Optimizer:
    """A study that is only told."""
    return Optimizer({"x": Real(0, 1)}, {"c": source.parameter}, method="random", seed=0)


def tell(study: Optimizer, source: Source, value: float) -> None:
    """One observation; decision and outcome do not matter."""
    context: Any = value
    if isinstance(source.parameter, Categorical):
        context = LEVELS[int(value)]
    elif isinstance(source.parameter, Integer):
        context = int(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WindageWarning)
        study.tell({"x": 0.5}, {"c": context}, 0.0)


def stable(number: int) -> Stable:
    """Study ``number`` in which nothing changes, looked at after each observation."""
    rng, source = np.random.default_rng([number, 0]), SOURCES[number % len(SOURCES)]
    length = int(rng.integers(LENGTHS[0], LENGTHS[1] + 1))
    study, ever = study_of(source), False
    for value in source.draw(length, rng):
        tell(study, source, value)
        ever = ever or study.shift is not None
    return Stable(source.name, length, study.shift is not None, ever)


def shifted(number: int) -> Shifted:
    """Study ``number`` with a shift by one deviation, up or down."""
    rng = np.random.default_rng([number, 1])
    sources = [source for source in SOURCES if source.deviation is not None]
    source = sources[number % len(sources)]
    before = int(rng.integers(BEFORE[0], BEFORE[1] + 1))
    values = source.draw(before + WITHIN, rng)
    step = source.deviation or 0.0
    up = isinstance(source.parameter, Integer) or rng.random() < 0.5  # counts have no room below
    values[before:] += step if up else -step
    study, found, already = study_of(source), None, False
    for n, value in enumerate(values, 1):
        tell(study, source, value)
        if n == before:
            already = study.shift is not None
        if n > before and found is None and study.shift is not None:
            found = n - before
    last = study.shift
    return Shifted(source.name, before, already, found, last is not None, last.since if last else None)
