"""What a study store gives out: decisions asked for, under way and told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from windage.studies.beforehand import NOTHING, Beforehand


@dataclass(frozen=True)
class Asked:
    """A decision to be made, in the user's words."""

    number: int
    decision: dict[str, Any]
    why: str = ""
    """What the decision is for; empty where nobody asked."""
    beforehand: Beforehand = NOTHING
    """What was known before it."""


@dataclass(frozen=True)
class Pending:
    """A decision under way."""

    number: int
    decision: dict[str, Any]
    age: float
    """Seconds since it was asked for."""
    counts: bool
    """Whether the next ask allows for it: it is made, and its lease has not ended."""
    why: str = ""
    """What the decision is for, as it was said when it was asked for."""
    beforehand: Beforehand = NOTHING
    """What was known before it."""


@dataclass(frozen=True)
class Entry:
    """A finished observation, as it counts now."""

    number: int
    decision: dict[str, Any]
    context: dict[str, Any]
    value: float
    told: datetime | None
    date: str = ""
    """Of what happened, as ISO text, where a table gave one."""
    was: Mapping[str, Any] = field(default_factory=dict)
    """What was told before it was corrected: by the names that were; None for what was not told."""
    why: str = ""
    """The reason of its last change."""
    forgotten: bool = False
    """Whether it no longer counts."""
    forecast: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What had been forecast, by context."""


@dataclass(frozen=True)
class State:
    """How a study stands."""

    entries: list[Entry]
    """Those that count."""
    pending: list[Pending]
    failed: int
    forgotten: list[Entry] = field(default_factory=list)
    """Those that were told and no longer count."""

    @property
    def open(self) -> list[Pending]:
        """Decisions under way that count, the oldest first."""
        return [p for p in self.pending if p.counts]
