"""The base class of every acquisition function: posteriors → value and gradient over decisions.

Symbols: K surrogates, B decisions, M context nodes (1 for the posterior of an expectation). All values are of
the standardised outcome, on the unit box of the decisions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from windage.gp import Moments, Posterior
from windage.search import Valued
from windage.space import Array

MIN_VARIANCE = 1e-12
"""Of the standardised outcome; keeps the root's derivative finite where the GP is certain."""


class Combined(NamedTuple):
    """A function of means and variances, with its derivatives."""

    value: Array
    """B."""
    by_mean: Array
    """∂value/∂mean, K × B × M."""
    by_variance: Array
    """∂value/∂variance, K × B × M."""


class Acquisition(ABC):
    """A function of the means and variances of K posteriors at the same decisions.

    A subclass says how they are combined. The posteriors know the way back to the decisions.
    """

    coarse_is_close = False
    """Whether the maxima of ``coarse()`` lie near this function's."""
    smooth = True
    """Whether it has no kinks, or mild ones."""
    jumps = False
    """Whether it is discontinuous."""

    def __init__(self, posteriors: Sequence[Posterior]) -> None:
        self.posteriors = tuple(posteriors)

    @property
    def chunk(self) -> int:
        """How many decisions it wants at a time."""
        return min(posterior.chunk for posterior in self.posteriors)

    def value(self, x: Array) -> Array:
        """Decisions B × d → B."""
        return self.combine(*_stacked(self._moments(x))).value

    def value_and_gradient(self, x: Array) -> Valued:
        """Decisions B × d → values B and gradients B × d."""
        moments = self._moments(x)
        found = self.combine(*_stacked(moments))
        gradient = np.zeros_like(x)
        for posterior, at, *by in zip(self.posteriors, moments, *found[1:], strict=True):
            gradient += posterior.vjp(at, *by)
        return Valued(found.value, gradient)

    def _moments(self, x: Array) -> list[Moments]:
        return [posterior.moments(x) for posterior in self.posteriors]

    @abstractmethod
    def combine(self, means: Array, variances: Array) -> Combined:
        """Means and variances, K × B × M each → value and derivatives."""

    def coarse(self) -> Acquisition:
        """A cheaper function that ranks decisions much as this one does; itself where it is cheap."""
        return self


def _stacked(moments: Sequence[Moments]) -> tuple[Array, Array]:
    """Means and variances, K × B × M each."""
    if len(moments) == 1:
        return moments[0].mean[None], moments[0].variance[None]
    return np.stack([m.mean for m in moments]), np.stack([m.variance for m in moments])


def deviation(variances: Array) -> Array:
    """The root of the variances, which may be 0 or by rounding below it."""
    found: Array = np.sqrt(np.maximum(variances, MIN_VARIANCE))
    return found


def by_variance(by_deviation: Array, variances: Array, spread: Array) -> Array:
    """∂/∂variance from ∂/∂deviation; 0 where the variance is at its floor."""
    return np.where(variances > MIN_VARIANCE, by_deviation / (2 * spread), 0.0)
