"""The contexts of a study, and their scaling to a unit box (without bounds, of what was seen)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windage.errors import ConfigurationError
from windage.space.checks import check_names
from windage.space.decisions import DecisionSpace
from windage.space.parameters import Array, Real, check_space


@dataclass(frozen=True)
class ContextScale:
    """An affine map from warped contexts to the unit box, with the bounds that are truly there.

    ``lower`` and ``upper`` are 0 and 1 where the user stated a bound and infinite where not.
    """

    parameters: tuple[Real, ...]
    low: Array
    high: Array
    lower: Array
    upper: Array

    def marginal(self, d: int) -> ContextScale:
        """The scale of one context alone."""
        one = slice(d, d + 1)
        return ContextScale(
            self.parameters[one], self.low[one], self.high[one], self.lower[one], self.upper[one]
        )

    def to_unit(self, contexts: Array) -> Array:
        """Contexts in the user's units, n × Dc, as points of the unit box."""
        columns = [p.warp(contexts[:, i]) for i, p in enumerate(self.parameters)]
        warped = np.stack(columns, axis=1) if columns else contexts
        return np.asarray((warped - self.low) / (self.high - self.low))

    def to_user(self, points: Array, clip: bool = True) -> Array:
        """The inverse of ``to_unit``, kept inside the stated bounds unless told otherwise."""
        warped = self.low + points * (self.high - self.low)
        columns = [p.unwarp(warped[:, i], clip) for i, p in enumerate(self.parameters)]
        return np.stack(columns, axis=1) if columns else warped

    def possible(self, contexts: Array) -> NDArray[np.bool_]:
        """Whether each context can be scaled: a log-scaled one must be above 0; n."""
        logs = [i for i, p in enumerate(self.parameters) if p.log]
        return np.asarray((contexts[:, logs] > 0).all(axis=1))

    def jacobian(self, contexts: Array) -> Array:
        """|d unit / d user| at each context, n: what a density in the unit box is multiplied by."""
        factor = np.full(len(contexts), 1 / np.prod(self.high - self.low))
        for i, parameter in enumerate(self.parameters):
            if parameter.log:
                factor = factor / contexts[:, i]
        return factor


@dataclass(frozen=True)
class ContextSpace:
    """The contexts by name."""

    parameters: Mapping[str, Real]

    @classmethod
    def of(cls, contexts: object, decisions: DecisionSpace) -> ContextSpace:
        """The checked space, or a ConfigurationError."""
        parameters = check_space({} if contexts is None else contexts, "context", (Real,))
        for name in parameters:
            if name in decisions.names:
                raise ConfigurationError(
                    f"{name!r} is both a decision variable and a context. Give them different names."
                )
        return cls(parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the user's order."""
        return tuple(self.parameters)

    def check(self, context: object) -> dict[str, float]:
        """The context in the user's order, or an InputError."""
        given = check_names({} if context is None and not self.parameters else context, self.names, "context")
        return {name: p.check(given[name], f"context {name!r}") for name, p in self.parameters.items()}

    def scale(self, seen: Array) -> ContextScale:
        """The scaling of contexts (n × Dc, user's units) given those seen so far."""
        parameters = tuple(self.parameters.values())
        ends = np.array([p.box(seen[:, i]) for i, p in enumerate(parameters)]).reshape(-1, 2)
        lower = np.array([-np.inf if p.low is None else 0.0 for p in parameters])
        upper = np.array([np.inf if p.high is None else 1.0 for p in parameters])
        return ContextScale(parameters, ends[:, 0], ends[:, 1], lower, upper)
