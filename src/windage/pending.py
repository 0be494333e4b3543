"""Trials asked for and not told yet, and who may tell them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windage.contexts import NOTHING, Given
from windage.errors import TrialError
from windage.observations import Trial
from windage.space import Array, Decision, DecisionSpace, Real, whole


@dataclass
class PendingTrials:
    """The trials that an ``Optimizer`` gave out. A part of its state."""

    space: DecisionSpace
    asked: int = 0
    """How many trials were asked for so far."""
    decisions: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By the number of the trial."""
    given: dict[int, Given] = field(default_factory=dict)
    """What was known of the context when each was asked for."""
    restored: frozenset[int] = frozenset()
    """Trials that came back from a dictionary: any copy of the study may tell them."""
    study: str = field(default_factory=lambda: secrets.token_hex(8))
    """Which optimizer in memory this is."""

    def trials(self) -> tuple[Trial, ...]:
        """All of them."""
        return tuple(self._trial(k, d) for k, d in self.decisions.items())

    def _trial(self, number: int, decision: Mapping[str, Any]) -> Trial:
        given = self.given.get(number, NOTHING)
        return Trial(number, dict(decision), self.study, dict(given.known), dict(given.forecast))

    def points(self) -> Array:
        """Their points of the unit box, n × d."""
        return self.space.encode(list(self.decisions.values()))

    def add(self, point: Array, given: Given = NOTHING) -> Trial:
        """A new trial at a point of the unit box."""
        number, decision = self.asked, self.space.decode(np.asarray(point))
        self.decisions[number] = dict(decision)
        if given.known or given.forecast:
            self.given[number] = given
        self.asked += 1
        return self._trial(number, decision)

    def drop(self, number: int) -> None:
        """A trial that was told or cancelled."""
        del self.decisions[number]
        self.given.pop(number, None)
        self.restored -= {number}

    def recognise(self, decision: Decision) -> int | None:
        """The trial of exactly this decision, if a real number in it makes a coincidence unlikely."""
        if not any(isinstance(p, Real) for p in self.space.parameters.values()):
            return None
        return next((k for k, d in self.decisions.items() if d == decision), None)

    def check(self, trial: Trial) -> Mapping[str, Any]:
        """The decision of a trial that may be told now, or a TrialError."""
        index = whole(trial.number, "the number of the trial", TrialError)
        decision = self.decisions.get(index)
        own = trial.study == self.study
        if decision is not None and own and decision != trial.decision:
            raise TrialError(
                f"the decision of trial {index} was changed since it was asked for. Cancel the trial, and "
                "tell what was really done as history: tell({...}, ...)."
            )
        if decision is None and own and index < self.asked:
            raise TrialError(
                f"trial {index} was told or cancelled already; what was told stays. Ask for a new one."
            )
        if decision is None or not (own or index in self.restored) or decision != trial.decision:
            raise TrialError(
                f"trial {index} is of another optimizer, or was told before this one was restored. Tell it "
                "there, or tell its decision as history: tell(trial.decision, ...)."
            )
        return decision
