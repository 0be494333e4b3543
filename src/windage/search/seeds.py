"""Random streams: one for each purpose and trial, so that no two draws depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Purpose = Literal[
    "first decisions",
    "retries",
    "random decisions",
    "candidates",
    "context samples",
    "context space",
    "pending contexts",
    "recommendation",
    "density",
    "ensemble",
]
_NUMBERS = {purpose: number for number, purpose in enumerate(get_args(Purpose))}


@dataclass(frozen=True)
class Seeds:
    """The seeds of one trial of a study."""

    study: int
    trial: int = 0

    def __call__(self, purpose: Purpose) -> int:
        """A seed of its own for each purpose, study and trial."""
        entropy = [self.study, _NUMBERS[purpose], self.trial]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])
