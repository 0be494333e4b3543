"""The scaling of outcomes: the user's units ↔ standardised values of which larger is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from windage.space.parameters import Array

Direction = Literal["maximize", "minimize"]
ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class OutcomeScale:
    """Sign, then magnitude, then mean 0 and deviation 1.

    The magnitude is divided out first so that squares neither overflow nor vanish.
    """

    sign: float
    size: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Array, maximize: bool) -> OutcomeScale:
        """The scaling for values seen; safe for one value, equal values and any magnitude."""
        sign = 1.0 if maximize else -1.0
        size = float(np.abs(values).max(initial=0.0)) or 1.0
        relative = sign * values / size
        deviation = float(relative.std(ddof=1)) if len(values) > 1 else 0.0
        if deviation <= ROUNDING:  # nothing but rounding: the magnitude itself is the only scale known
            deviation = 1.0
        return cls(sign, size, float(relative.mean()), deviation)

    def standardise(self, values: Array) -> Array:
        """Values in the user's units as the surrogate sees them."""
        return np.asarray((self.sign * values / self.size - self.mean) / self.deviation)

    def restore(self, standardised: Array) -> Array:
        """The inverse of ``standardise``."""
        return np.asarray(self.sign * self.size * (self.mean + self.deviation * standardised))
