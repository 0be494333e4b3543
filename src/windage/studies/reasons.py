"""What a decision is for, in a line: to begin with, to learn more, or the best as far as is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from windage.errors import NotEnoughDataError
from windage.space import DecisionSpace, Value
from windage.studies.beforehand import Beforehand, engine

if TYPE_CHECKING:
    from windage import Optimizer
    from windage.studies.store import StudyStore

NEAR = 0.05
"""A decision within this share of every range of the recommended one is the best as far as is known."""
FIRST = "to begin with: the first decisions are spread over the whole range"
BEST = "the best as far as is known"


def reason(store: StudyStore, decision: Mapping[str, Any], given: Beforehand) -> str:
    """What a decision that was just asked for is for."""
    try:
        found = store.everything()
    except NotEnoughDataError:
        return FIRST
    optimizer = found.optimizer
    others = len(optimizer.pending) - 1  # this decision is under way itself
    if not found.known.observations or len(found.known.observations) + others < optimizer.initial:
        return FIRST
    best = optimizer.recommend(**engine(given)).decision
    return _compared(optimizer, found.axes.to_windage(decision), best, decision)


def _compared(
    optimizer: Optimizer, mine: Mapping[str, Value], best: Mapping[str, Value], shown: Mapping[str, Any]
) -> str:
    """By the variable in which a decision is farthest from the best."""
    space = DecisionSpace.of(optimizer.decisions)
    at, best_at = space.encode([mine, best])
    blocks = dict(zip(space.names, space.blocks, strict=True))
    away = {name: float(abs(at - best_at)[b.start : b.stop].max()) for name, b in blocks.items()}
    name = max(away, key=lambda n: away[n])
    if away[name] <= NEAR:
        return BEST
    if blocks[name].categorical:
        return f"to learn more about {name} {shown[name]}"
    return f"to learn more about {_level(float(at[blocks[name].start]))} {name}"


def _level(share: float) -> str:
    return "low" if share < 1 / 3 else "high" if share > 2 / 3 else "medium"
