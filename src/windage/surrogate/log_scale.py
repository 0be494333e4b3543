"""Outcomes in logs: for those with a long upper tail, where a GP would see a few peaks and no slopes between.

y ↦ (log(y - floor) - mean)/deviation, with the floor a ``knee`` below the lowest outcome: well above it the
logarithm, below it nearly linear. Which knee, or none, is as uncertain as a kernel is, and is found as one:
by the log posterior of the fit, on the scale of y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

KNEES = (1.0, 0.3, 0.1, 0.03)
"""Those that are tried, in standard deviations of the outcomes."""


@dataclass(frozen=True)
class LogScale:
    """The scale found from outcomes seen: everything is in standard deviations of the outcomes."""

    knee: float
    floor: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, y: Tensor, knee: float) -> LogScale:
        """The scale of outcomes y (t) with this knee."""
        floor = float(y.min()) - knee
        logs = (y - floor).log()
        deviation = float(logs.std()) if len(y) > 1 else 0.0
        return cls(knee, floor, float(logs.mean()), deviation or 1.0)

    def forward(self, y: Tensor) -> Tensor:
        """Outcomes as the GP sees them."""
        return ((y - self.floor).log() - self.mean) / self.deviation

    def above(self, z: Tensor) -> Tensor:
        """The inverse: by how much an outcome is above the floor."""
        return (self.mean + self.deviation * z).exp()

    def log_slope(self, y: Tensor) -> float:
        """Σ log ∂z/∂y: what a log posterior in z lacks to be one in y.

        The lowest outcome is left out: the floor follows it, so that its place says nothing.
        """
        logs = (y - self.floor).log()
        return float(logs.min() - logs.sum()) - (len(y) - 1) * math.log(self.deviation)
