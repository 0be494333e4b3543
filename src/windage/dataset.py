"""The dataset: the observations of a study on unit boxes, outcomes standardised."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windage.observations import Observations
from windage.space import Array, ContextScale, ContextSpace, DecisionSpace, OutcomeScale

FARTHEST = 1e6
"""Of the unit box: a context further out is no less like the others, and its square must not overflow."""


@dataclass(frozen=True)
class Dataset:
    """Observations seen through the spaces of their study. Each part is computed when first needed."""

    decisions: DecisionSpace
    contexts: ContextSpace
    observations: Observations
    maximize: bool

    def __len__(self) -> int:
        return len(self.observations)

    @cached_property
    def seen(self) -> Array:
        """The contexts in the user's units, t × Dc."""
        return self.observations.context_array(self.contexts.names)

    @cached_property
    def scale(self) -> ContextScale:
        """From the user's contexts to the unit box."""
        return self.contexts.scale(self.seen)

    @cached_property
    def outcome(self) -> OutcomeScale:
        """From the user's outcomes to standardised ones."""
        return OutcomeScale.of(np.array(self.observations.values), self.maximize)

    @cached_property
    def x(self) -> Array:
        """The decisions, t × d."""
        return self.decisions.encode(self.observations.decisions)

    @cached_property
    def c(self) -> Array:
        """The contexts, t × Dc. Those of an unbounded context may lie outside of the unit box."""
        return np.clip(self.scale.to_unit(self.seen), -FARTHEST, FARTHEST)

    @cached_property
    def boxed_c(self) -> Array:
        """The contexts, t × Dc; those outside of the unit box are put on its end."""
        return np.clip(self.c, 0, 1)

    @cached_property
    def y(self) -> Array:
        """The standardised outcomes, t; larger is better."""
        return self.outcome.standardise(np.array(self.observations.values))
