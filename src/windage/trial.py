"""A decision that was asked for, and its result when it comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windage.space import Value


@dataclass(frozen=True)
class Trial:
    """A decision to take. Give it back to ``Optimizer.tell`` with what happened."""

    number: int
    decision: Mapping[str, Value]
    study: str = field(default="", repr=False, compare=False)
    """Which optimizer in memory gave it out; survives a copy to another process and back."""

    def __hash__(self) -> int:
        return hash((self.number, self.study))
