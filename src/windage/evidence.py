"""What the observations say, on unit boxes: the GP's training data, and the law of the context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from windage.data import Observations, Outcome
from windage.density import Kde
from windage.settings import Settings
from windage.space import Array, ContextScale, ContextSpace, DecisionSpace
from windage.surrogate import Training


@dataclass(frozen=True)
class Evidence:
    """The observations of a study seen through its spaces and settings. Computed when first needed."""

    decisions: DecisionSpace
    contexts: ContextSpace
    observations: Observations
    maximize: bool
    settings: Settings

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
    def outcome(self) -> Outcome:
        """From the user's values to standardised ones."""
        return Outcome.of(np.array(self.observations.values), self.maximize)

    @cached_property
    def law_contexts(self) -> Tensor:
        """The contexts as the law sees them, t × Dc: those beyond the box count as at its end."""
        return torch.from_numpy(self.scale.to_unit(self.seen)).clamp(0, 1)

    @cached_property
    def kde(self) -> Kde | None:
        """The estimated law of the context; None where there is no context."""
        if not self.contexts.names:
            return None
        lower, upper = torch.from_numpy(self.scale.lower), torch.from_numpy(self.scale.upper)
        return Kde.of(self.law_contexts, self.settings.bandwidth, self.settings.boundary, lower, upper)

    def training(self, joint: bool, kernel: str = "rbf", member: bool = False) -> Training:
        """What a GP of this kernel is fitted to: on (x, c), or on x alone; ``member``: of an ensemble.

        Numbers are alike a priori. How much a choice matters has nothing to do with how much they do.
        """
        blocks = self.decisions.blocks
        contexts = self.scale.to_unit(self.seen)
        return Training(
            torch.from_numpy(self.decisions.encode(self.observations.decisions)),
            torch.from_numpy(contexts if joint else contexts[:, :0]),
            torch.from_numpy(self.outcome.standardise(np.array(self.observations.values))),
            tuple(i for i, b in enumerate(blocks) for _ in range(b.stop - b.start)),
            kernel,
            free_scale=member,
            alike=tuple(i for i, b in enumerate(blocks) if member and not b.categorical),
        )
