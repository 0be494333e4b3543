"""What a study store gives out: decisions asked for, under way and told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A decision to be made, in the user's words."""

    number: int
    decision: dict[str, Any]


@dataclass(frozen=True)
class Pending:
    """A decision under way."""

    number: int
    decision: dict[str, Any]
    age: float
    """Seconds since it was asked for."""
    counts: bool
    """Whether the next ask allows for it: it is made, and its lease has not ended."""


@dataclass(frozen=True)
class Entry:
    """A finished observation."""

    number: int
    decision: dict[str, Any]
    context: dict[str, float]
    value: float
    told: datetime | None


@dataclass(frozen=True)
class State:
    """How a study stands."""

    entries: list[Entry]
    pending: list[Pending]
    failed: int
