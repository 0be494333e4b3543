"""Six problems with a context that moves: at once, slowly, or with a season; and the same without a change.

A move is in deviations of that context. What is judged is the second half of the decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from windage.bench.conditions.days import Problem
from windage.bench.conditions.varying import (
    classic,
    drawn,
    first_that_matters,
    newsvendor,
    normal,
    of,
    queue,
    situations,
    waves,
)
from windage.bench.wide.classics import levy
from windage.bench.wide.contexts import ContextDistribution
from windage.bench.wide.instance import Instance
from windage.bench.wide.kinetics import Reaction
from windage.errors import ConfigurationError
from windage.space import Array, Integer, Parameter, Real

DECISIONS, CHANGE = 120, 60
"""Of a run, and those before a shift; the ones after it are judged."""
DRIFT = 40
"""Decisions before a drift begins; it goes on to the end."""
PERIOD = 60
"""Decisions in a season."""
STEPS = 4
"""Decisions in the same situation of a drift or a season."""
STABLE = "stable"


@dataclass(frozen=True)
class Move:
    """How far the context moves, in its deviations."""

    shift: float
    drift: float
    """In all."""
    season: float
    """To either side."""


def moved_by(kind: str, move: Move, step: int) -> float:
    """How far the context has moved at a decision, in its deviations."""
    if kind == "shift":
        return move.shift if step >= CHANGE else 0.0
    start = STEPS * (step // STEPS)
    if kind == "drift":
        return move.drift * max(0, start - DRIFT) / (DECISIONS - DRIFT)
    if kind == "season":
        return move.season * math.sin(2 * math.pi * start / PERIOD)
    return 0.0


KINDS = ("shift", "drift", "season")


@dataclass(frozen=True, eq=False)
class Base:
    """A problem with a context that can move."""

    decisions: dict[str, Parameter]
    contexts: dict[str, Parameter]
    at: Callable[[float], ContextDistribution]
    """A move in deviations → the distribution."""
    function: Callable[[np.random.Generator, Array], Callable[[Array, Array], Array]]
    """A generator and the contexts of all situations → f."""
    move: Move
    noise: float
    drawn: bool = False
    """Whether the function is a random one."""


def _stock() -> Base:
    return Base(
        {"stock": Real(0, 200)},
        {"demand": Real(0, 250)},
        lambda move: drawn(normal(65 + 15 * move, 15, 0, 250)),
        lambda _, __: newsvendor((10, 5, 1, 0)),
        Move(3.0, 4.0, 1.5),
        0.0,
    )


def _pieces() -> Base:
    def at(move: float) -> ContextDistribution:
        return drawn(of(stats.gamma(6, 20 * move, 50 / 6), 0, 250, 1))

    return Base(
        {"stock": Integer(0, 200)},
        {"demand": Integer(0, 250)},
        at,
        lambda _, __: newsvendor((8, 3, 0, 1)),
        Move(2.0, 3.0, 1.5),
        0.05,
    )


def _staff() -> Base:
    return Base(
        {"servers": Integer(1, 24)},
        {"arrivals": Real(low=0)},
        lambda move: drawn(normal(100 + 18 * move, 18, 0)),
        lambda _, __: queue(1),
        Move(-2.0, -3.0, -1.5),
        0.05,
    )


def _random() -> Base:
    return Base(
        {"x1": Real(0, 1), "x2": Real(0, 1)},
        {"c": Real()},
        lambda move: drawn(normal(0.5 + 0.1 * move, 0.1)),
        lambda rng, nodes: waves(2, nodes, rng),
        Move(2.0, 3.0, 1.5),
        0.0,
        drawn=True,
    )


def _ripples() -> Base:
    return Base(
        {"x1": Real(0, 1), "x2": Real(0, 1)},
        {"c1": Real(), "c2": Real()},
        lambda move: drawn(normal(0.5 + 0.1 * move, 0.1), normal(0.5, 0.1)),
        lambda rng, nodes: classic(levy, 1.0, 8.0, 2, nodes, rng),
        Move(-2.0, -3.0, -1.5),
        0.2,
        drawn=True,
    )


def _reaction() -> Base:
    return Base(
        {"temperature": Real(40, 140), "time": Real(0.2, 8)},
        {"purity": Real(0, 1), "heat": Real()},
        lambda move: drawn(normal(0.8, 0.1, 0, 1), normal(10 * move, 10)),
        lambda _, __: Reaction((0.8, 0.12), (55.0, 100.0), poison=0.8, worth=100, heat=8, hour=3, catalyst=6),
        Move(3.0, 4.0, 1.5),
        0.05,
    )


BASES: dict[str, Callable[[], Base]] = {
    "stock": _stock,
    "pieces": _pieces,
    "staff": _staff,
    "random": _random,
    "ripples": _ripples,
    "reaction": _reaction,
}


def _made(base: Base, name: str, kind: str, function: Callable[[Array, Array], Array]) -> Problem:
    """The problem with this kind of change."""
    moves = [moved_by(kind, base.move, step) for step in range(DECISIONS)]
    different = list(dict.fromkeys(moves))
    numbers = [different.index(move) for move in moves]
    spreads = [base.at(move) for move in different]
    made: tuple[Instance, ...] = situations(name, base.decisions, function, list(base.contexts), spreads)
    return Problem(
        f"{name}/{kind}", kind, made, base.contexts, lambda step, _: numbers[step], noise=base.noise
    )


@cache
def _function(name: str) -> Callable[[Array, Array], Array]:
    """The same for all kinds of change of a problem; a random one is drawn so that the shift matters."""
    base = BASES[name]()
    nodes = np.concatenate([base.at(move).nodes for move in (0.0, base.move.shift)])
    if not base.drawn:
        return base.function(np.random.default_rng(0), nodes)
    found = first_that_matters(name, lambda rng: _made(base, name, "shift", base.function(rng, nodes)))
    return found.situations[0].function


def changing(kind: str) -> list[str]:
    """Names of the problems with a kind of change."""
    return [f"{name}/{kind}" for name in BASES]


def stable() -> list[str]:
    """Names of the same problems without a change."""
    return changing(STABLE)


@cache
def get(name: str) -> Problem:
    """A problem by its name, as ``stock/shift``."""
    base, _, kind = name.partition("/")
    if base not in BASES or kind not in (*KINDS, STABLE):
        ends = ", /".join((*KINDS, STABLE))
        raise ConfigurationError(f"there is no problem {name!r}: take {', '.join(BASES)} with /{ends}.")
    return _made(BASES[base](), base, kind, _function(base))
