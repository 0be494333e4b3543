"""The contexts of a study, and their scaling to a unit box (without bounds, of what was seen).

Three forms of a context, each an array with a row an observation:

- in *numbers*, n × Dc: the user's units; a choice is the place of its level among the choices.
- on the *unit box*, n × Dc: numbers from 0 to 1; a choice is still the place of its level.
- *coded*, n × (Dc and more): as the GP sees it; a choice is a scaled one-hot vector, as a decision's is.

In all of them, nan is a context that was not seen.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windage.errors import ConfigurationError, InputError
from windage.space.checks import check_names, plain
from windage.space.decisions import ONE_HOT, DecisionSpace
from windage.space.parameters import Array, Categorical, Integer, Parameter, Real, check_space

LEVEL = ONE_HOT / 2
"""Height of a one-hot coordinate: two levels are half a range apart. Days and kinds of feed that the user
lists are more often alike in what a decision brings than numbers a range apart
(docs/decisions/0019-conditions.md)."""


class ContextKind(NamedTuple):
    """What values a context has."""

    levels: int = 0
    """How many; 0 for a real number."""
    choice: bool = False
    """Whether they have no order."""

    @classmethod
    def of(cls, parameter: Parameter) -> ContextKind:
        """That of a parameter."""
        if isinstance(parameter, Categorical):
            return cls(len(parameter.choices), True)
        return cls(parameter.high - parameter.low + 1) if isinstance(parameter, Integer) else cls()


@dataclass(frozen=True)
class ContextScale:
    """An affine map from warped contexts to the unit box, with the bounds that are truly there.

    ``lower`` and ``upper`` are the ends of the unit box where the user stated a bound, and infinite where
    not.
    """

    parameters: tuple[Parameter, ...]
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

    @cached_property
    def kinds(self) -> tuple[ContextKind, ...]:
        """What values each context has."""
        return tuple(map(ContextKind.of, self.parameters))

    @cached_property
    def ends(self) -> Array:
        """The upper ends of the unit box, Dc: 1, or the place of a choice's last level. The lower are 0."""
        return np.array([kind.levels - 1.0 if kind.choice else 1.0 for kind in self.kinds])

    @property
    def groups(self) -> tuple[int, ...]:
        """Which context each coded coordinate belongs to."""
        return tuple(d for d, kind in enumerate(self.kinds) for _ in range(kind.levels if kind.choice else 1))

    def to_unit(self, contexts: Array) -> Array:
        """Contexts in numbers, n × Dc, as points of the unit box."""
        warped = contexts.astype(float)
        for d, parameter in enumerate(self.parameters):
            if isinstance(parameter, Real):
                warped[:, d] = parameter.warp(warped[:, d])
        return np.asarray((warped - self.low) / (self.high - self.low))

    def to_user(self, points: Array, clip: bool = True) -> Array:
        """The inverse of ``to_unit``, kept inside the stated bounds unless told otherwise."""
        found = self.low + points * (self.high - self.low)
        for d, parameter in enumerate(self.parameters):
            if isinstance(parameter, Real):
                found[:, d] = parameter.unwarp(found[:, d], clip)
            else:
                found[:, d] = np.round(found[:, d])
        return found

    def code(self, points: Array) -> Array:
        """Points of the unit box, n × Dc, as the GP sees them; themselves where no context is a choice."""
        if not any(kind.choice for kind in self.kinds):
            return points
        columns = []
        for column, kind in zip(points.T, self.kinds, strict=True):
            if not kind.choice:
                columns.append(column[:, None])
                continue
            hot = np.where(column[:, None] == np.arange(kind.levels), LEVEL, 0.0)
            columns.append(np.where(np.isnan(column)[:, None], np.nan, hot))
        return np.concatenate(columns, axis=1)

    def possible(self, contexts: Array) -> NDArray[np.bool_]:
        """Whether each context can be scaled: a log-scaled one must be above 0; n."""
        logs = [i for i, p in enumerate(self.parameters) if isinstance(p, Real) and p.log]
        return np.asarray((contexts[:, logs] > 0).all(axis=1))

    def jacobian(self, contexts: Array) -> Array:
        """|d unit / d user| of the reals at each context, n: what a density in the unit box is multiplied by.

        Whole numbers and choices have probabilities, which no scale changes.
        """
        factor = np.ones(len(contexts))
        for i, parameter in enumerate(self.parameters):
            if isinstance(parameter, Real):
                factor /= self.high[i] - self.low[i]
                if parameter.log:
                    factor /= contexts[:, i]
        return factor


@dataclass(frozen=True)
class ContextSpace:
    """The contexts by name."""

    parameters: Mapping[str, Parameter]

    @classmethod
    def of(cls, contexts: object, decisions: DecisionSpace) -> ContextSpace:
        """The checked space, or a ConfigurationError."""
        kinds = (Real, Integer, Categorical)
        parameters = check_space({} if contexts is None else contexts, "context", kinds)
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

    def only(self, names: Container[str]) -> ContextSpace:
        """The space of some of the contexts; itself where that is all of them."""
        if all(name in names for name in self.parameters):
            return self
        return ContextSpace({name: p for name, p in self.parameters.items() if name in names})

    def check(self, context: object) -> dict[str, Any]:
        """The context in the user's order, or an InputError."""
        given = check_names({} if context is None and not self.parameters else context, self.names, "context")
        return {name: p.check(given[name], f"context {name!r}") for name, p in self.parameters.items()}

    def check_seen(self, context: object) -> dict[str, Any]:
        """The same, and None passes: a context that was not seen."""
        given = check_names({} if context is None and not self.parameters else context, self.names, "context")
        for name in self.names:
            if isinstance(value := plain(given[name]), float) and value != value:
                raise InputError(
                    f"context {name!r} is nan, but must be finite. If it was not seen, tell None."
                )
        seen = [name for name in self.names if given[name] is not None]
        found = self.only(seen).check({name: given[name] for name in seen})
        return {name: found.get(name) for name in self.names}

    def numbers(self, contexts: Sequence[Mapping[str, Any]]) -> Array:
        """Contexts in numbers, n × Dc; nan: not seen."""
        rows = [[self.number(name, context[name]) for name in self.parameters] for context in contexts]
        return np.array(rows, dtype=float).reshape(len(contexts), len(self.parameters))

    def number(self, name: str, value: Any) -> float:
        """One context that was checked, in numbers; nan: not seen."""
        if value is None:
            return float("nan")
        parameter = self.parameters[name]
        return float(parameter.choices.index(value) if isinstance(parameter, Categorical) else value)

    def scale(self, seen: Array) -> ContextScale:
        """The scaling of contexts (in numbers, n × Dc) given those seen so far; nan: not seen."""
        parameters = tuple(self.parameters.values())
        boxes, lower, upper = [], [], []
        for parameter, column in zip(parameters, seen.T, strict=True):
            if isinstance(parameter, Real):
                boxes.append(parameter.box(column[~np.isnan(column)]))
                lower.append(-np.inf if parameter.low is None else 0.0)
                upper.append(np.inf if parameter.high is None else 1.0)
            elif isinstance(parameter, Integer):
                boxes.append((float(parameter.low), float(parameter.high)))
                lower, upper = [*lower, 0.0], [*upper, 1.0]
            else:
                boxes.append((0.0, 1.0))
                lower, upper = [*lower, 0.0], [*upper, len(parameter.choices) - 1.0]
        low, high = np.array(boxes).reshape(-1, 2).T
        return ContextScale(parameters, low, high, np.array(lower), np.array(upper))
