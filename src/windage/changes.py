"""Changes of what was told. Nothing is erased: a correction is a new fact beside the old one.

Observations are as they were told. A change names one of them by its number. What counts now follows from
both (``current``), so that every change can be undone, and everything stays to be seen.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from windage.errors import TrialError
from windage.observations import Observations, Row

Kind = Literal["correct", "forget", "undo"]


@dataclass(frozen=True)
class Change:
    """A change of one observation."""

    number: int
    """Of the observation."""
    kind: Kind
    """"correct": it says something else. "forget": it does not count. "undo": not its last change."""
    decision: Mapping[str, Any] | None = None
    """Decision variables that are corrected, and what they are."""
    context: Mapping[str, Any] | None = None
    """Contexts that are corrected, and what they are."""
    value: float | None = None
    """The outcome, if it is corrected."""
    why: str = ""
    time: float | None = None
    """When it was made, in seconds of the epoch."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, without what is not given."""
        given = {**vars(self), "decision": _plain(self.decision), "context": _plain(self.context)}
        return {name: value for name, value in given.items() if value not in (None, "")}


def _plain(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else dict(values)


@dataclass(frozen=True)
class Correction:
    """What stands of all changes of one observation."""

    decision: Mapping[str, Any]
    context: Mapping[str, Any]
    value: float | None
    forgotten: bool
    why: str = ""
    """The reason of the last of them."""


def standing(changes: Sequence[Change]) -> dict[int, Correction]:
    """By the number of the observation, what stands of its changes; none where all are undone."""
    left: dict[int, list[Change]] = {}
    for change in changes:
        mine = left.setdefault(change.number, [])
        if change.kind != "undo":
            mine.append(change)
        elif mine:
            mine.pop()
    return {number: _together(mine) for number, mine in left.items() if mine}


def _together(changes: Sequence[Change]) -> Correction:
    """Later corrections win; a correction brings back what was forgotten."""
    decision: dict[str, Any] = {}
    context: dict[str, Any] = {}
    value: float | None = None
    for change in changes:
        decision.update(change.decision or {})
        context.update(change.context or {})
        value = change.value if change.value is not None else value
    return Correction(decision, context, value, changes[-1].kind == "forget", changes[-1].why)


def check(
    change: Change, numbers: Collection[int], before: Sequence[Change], last: str, noun: str = "observation"
) -> None:
    """A TrialError where there is nothing to change.

    ``before``: earlier changes of this observation, be there others among them or not. ``last``: in words,
    which numbers there are.
    """
    if change.number not in numbers:
        raise TrialError(f"there is no {noun} {change.number}: {last}.")
    now = standing(before).get(change.number)
    if change.kind == "undo" and now is None:
        raise TrialError(f"{noun} {change.number} is as it was told: there is nothing to undo.")
    if change.kind == "forget" and now is not None and now.forgotten:
        raise TrialError(f"{noun} {change.number} is forgotten already; undo brings it back.")


@dataclass(frozen=True)
class Record:
    """All that was told and all changes of it. Adding to it returns a new record."""

    told: Observations
    changes: tuple[Change, ...] = ()

    def add(self, rows: Sequence[Row]) -> Record:
        """With more observations."""
        return replace(self, told=self.told.add(rows))

    def changed(self, change: Change) -> Record:
        """With one more change, made now; or a TrialError."""
        numbers = self.told.numbers
        last = f"the last is {numbers[-1]}" if numbers else "nothing was told yet"
        check(change, numbers, self.changes, last)
        return replace(self, changes=(*self.changes, replace(change, time=time.time())))

    @cached_property
    def current(self) -> Observations:
        """What counts now."""
        return current(self.told, self.changes)


def current(told: Observations, changes: Sequence[Change]) -> Observations:
    """What counts now: corrected observations as corrected, forgotten ones left out."""
    stands = standing(changes)
    if not stands:
        return told
    places = [i for i, n in enumerate(told.numbers) if n not in stands or not stands[n].forgotten]
    left = told.take(places)
    decisions, contexts, values = list(left.decisions), list(left.contexts), list(left.values)
    for i, number in enumerate(left.numbers):
        now = stands.get(number)
        if now is not None:
            decisions[i] = {**decisions[i], **now.decision}
            contexts[i] = {**contexts[i], **now.context}
            values[i] = values[i] if now.value is None else now.value
    return replace(left, decisions=tuple(decisions), contexts=tuple(contexts), values=tuple(values))
