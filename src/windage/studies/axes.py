"""Optuna's distributions as windage's decision variables, and back.

- A variable with a step is counted in steps.
- A choice is known by its position in the list, so that it may be anything.
- A parameter with a single value is no decision variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from windage.errors import ConfigurationError
from windage.space import Categorical, Integer, Parameter, Real, Value

MOST = 1e100
"""No past value is beyond it."""
STEP_TOLERANCE = 1e-8
"""How far, in steps, a value may be from a whole number of them. Optuna's own."""


@dataclass(frozen=True)
class Axis:
    """One parameter of a search space."""

    distribution: BaseDistribution
    """How Optuna knows it."""
    parameter: Parameter | None
    """How windage knows it; None where it has a single value."""

    @classmethod
    def of(cls, distribution: BaseDistribution) -> Axis:
        """From Optuna's distribution."""
        if distribution.single():
            return cls(distribution, None)
        if isinstance(distribution, CategoricalDistribution):
            return cls(distribution, Categorical([str(i) for i in range(len(distribution.choices))]))
        if isinstance(distribution, IntDistribution) and distribution.log:
            return cls(distribution, Real(distribution.low - 0.5, distribution.high + 0.5, log=True))
        if isinstance(distribution, FloatDistribution) and distribution.step is None:
            return cls(distribution, Real(distribution.low, distribution.high, log=distribution.log))
        if isinstance(distribution, (IntDistribution, FloatDistribution)):
            assert distribution.step is not None
            return cls(distribution, Integer(0, _steps(distribution.high, distribution)))
        raise ConfigurationError(f"windage cannot vary {distribution!r}: use float, int or categorical.")

    def holds(self, value: Any) -> bool:
        """Whether the value is one that this parameter can have."""
        distribution = self.distribution
        try:
            inner = distribution.to_internal_repr(value)
        except (ValueError, TypeError):
            return False
        if isinstance(distribution, CategoricalDistribution):
            return 0 <= inner < len(distribution.choices)
        low, high, step = distribution.low, distribution.high, distribution.step  # type: ignore[attr-defined]
        if not low <= inner <= high:  # false for NaN too
            return False
        steps = 0.0 if step is None else (inner - low) / step
        return bool(abs(steps - round(steps)) < STEP_TOLERANCE)

    def recalls(self, value: Any) -> bool:
        """Whether the value may have been one of this parameter, when bounds and step were others."""
        if self.holds(value):
            return True
        if isinstance(self.distribution, CategoricalDistribution) or self.parameter is None:
            return False
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MOST:
            return False
        return value > 0 or not self.distribution.log  # type: ignore[attr-defined]

    def wide(self, value: Any) -> BaseDistribution:
        """The parameter with bounds so wide, and a step so fine, that it holds a value that it recalls."""
        kind = self.distribution
        if self.holds(value) or not isinstance(kind, IntDistribution | FloatDistribution):
            return kind
        low, high = min(kind.low, value), max(kind.high, value)
        if isinstance(kind, IntDistribution):
            return IntDistribution(int(low), int(high), log=kind.log)
        return FloatDistribution(low, high, log=kind.log)

    def to_windage(self, value: Any) -> Value:
        """Optuna's value as windage's; off the step, a number of steps that is not whole."""
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return str(int(distribution.to_internal_repr(value)))
        if isinstance(self.parameter, Integer):
            kind: Any = distribution
            return _steps(value, kind) if self.holds(value) else (value - kind.low) / kind.step
        return float(value)

    def to_optuna(self, value: Value) -> Any:
        """Windage's value as Optuna's."""
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[int(value)]
        if isinstance(distribution, IntDistribution):
            if distribution.log:
                return min(max(round(float(value)), distribution.low), distribution.high)
            return distribution.low + int(value) * distribution.step
        assert isinstance(distribution, FloatDistribution)
        if distribution.step is not None:
            return min(distribution.low + int(value) * distribution.step, distribution.high)
        return min(max(float(value), distribution.low), distribution.high)

    def only(self) -> Any:
        """The one value of a parameter that has no other."""
        return self.distribution.to_external_repr(
            0.0 if isinstance(self.distribution, CategoricalDistribution) else self.distribution.low  # type: ignore[attr-defined]
        )


def _steps(value: float, distribution: Any) -> int:
    steps: int = round((value - distribution.low) / distribution.step)
    return steps


@dataclass(frozen=True)
class Axes:
    """All parameters of a search space, in the order in which they were given."""

    axes: Mapping[str, Axis]

    @classmethod
    def of(cls, space: Mapping[str, BaseDistribution]) -> Axes:
        """From Optuna's search space."""
        return cls({name: Axis.of(distribution) for name, distribution in space.items()})

    @cached_property
    def decisions(self) -> Mapping[str, Parameter]:
        """Windage's decision variables, by name in alphabetical order.

        The order decides what is asked, and must not depend on who describes the search space.
        """
        found = {name: self.axes[name].parameter for name in sorted(self.axes)}
        return {name: parameter for name, parameter in found.items() if parameter is not None}

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Whether a trial's parameters are a decision of this space."""
        return all(name in params and axis.holds(params[name]) for name, axis in self.axes.items())

    def recalls(self, params: Mapping[str, Any]) -> bool:
        """Whether a trial's parameters may have been a decision, when bounds and steps were others."""
        return all(name in params and axis.recalls(params[name]) for name, axis in self.axes.items())

    def outside(self, params: Mapping[str, Any]) -> list[str]:
        """The parameters of a trial that are outside of their bounds, or off their step."""
        return [name for name, axis in self.axes.items() if not axis.holds(params[name])]

    def to_windage(self, params: Mapping[str, Any]) -> dict[str, Value]:
        """A trial's parameters as a decision."""
        return {name: self.axes[name].to_windage(params[name]) for name in self.decisions}

    def to_optuna(self, decision: Mapping[str, Value]) -> dict[str, Any]:
        """A decision as a trial's parameters, in the order of the search space."""
        return {
            name: axis.only() if axis.parameter is None else axis.to_optuna(decision[name])
            for name, axis in self.axes.items()
        }
