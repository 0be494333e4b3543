"""What a study is: its spaces, method, direction, seed and settings. Checked once, then frozen."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, get_args

from windage.contexts import NOTHING, Given, Kde, at_the_moment, estimate
from windage.contexts.forecasts import checked as check_forecasts
from windage.contexts.forgetting import AUTO, half_life
from windage.dataset import Dataset
from windage.errors import ConfigurationError, InputError, WindageError, near_match
from windage.gp import Ensemble
from windage.methods import Method, Settings, check_used, get_method
from windage.observations import Context, Observations
from windage.proposal import initial_decisions
from windage.search import Seeds
from windage.space import (
    Categorical,
    ContextSpace,
    Decision,
    DecisionSpace,
    Direction,
    Integer,
    days,
    number,
    whole,
)
from windage.space.checks import MOST_SEED, brief

MOST_LEVELS = 64
"""Of a context for each value of which there is one recommendation."""
Check = Callable[[object, str], Any]
"""A value and what it is called → the value as it is kept, or an InputError."""


@dataclass(frozen=True)
class Configuration:
    """The configuration of an ``Optimizer``. With the observations it determines every decision."""

    decisions: DecisionSpace
    contexts: ContextSpace
    method: Method
    direction: Direction
    seed: int
    initial: int
    """How many first decisions come from a Sobol sequence."""
    settings: Settings

    @classmethod
    def of(
        cls,
        decisions: object,
        contexts: object,
        method: object,
        direction: object,
        seed: object,
        initial: int | None,
        settings: dict[str, Any],
    ) -> Configuration:
        """As a user gives it, or a ConfigurationError."""
        checked = Settings.of(settings)
        space = DecisionSpace.of(decisions)
        conditions = ContextSpace.of(contexts, space)
        found = get_method(method)
        if found.uses_context and not conditions.names:
            raise ConfigurationError(
                f"method {found.name!r} needs at least one context, such as contexts={{'demand': Real()}}; "
                'without any, use method="gp-ucb".'
            )
        check_used(found, checked)
        if checked.drift and not found.uses_context:
            raise ConfigurationError(
                f"method {found.name!r} does not see time: drift needs one with contexts."
            )
        if checked.distribution is not None:
            known = check_forecasts(checked.distribution, conditions.parameters, "the distribution")
            checked = replace(checked, distribution=known)
        seed = (
            secrets.randbits(32) if seed is None else whole(seed, "seed", ConfigurationError, most=MOST_SEED)
        )
        first = initial_decisions(found, space.blocks, initial, checked.budget)
        return cls(space, conditions, found, _direction(direction), seed, first, checked)

    @property
    def coded_contexts(self) -> int:
        """How many coordinates the contexts have at most, as the GP sees them."""
        kinds = self.contexts.parameters.values()
        return sum(len(p.choices) if isinstance(p, Categorical) else 1 for p in kinds) + self.settings.drift

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the decision variables and of the contexts."""
        return (*self.decisions.names, *self.contexts.names)

    def check_result(
        self, context: Context | None, value: float | None
    ) -> tuple[dict[str, float | None], float]:
        """What happened, or an InputError."""
        if context is None and self.contexts.names:
            names = ", ".join(f"{name!r}: ..." for name in self.contexts.names)
            raise InputError(f"the context is missing: give context={{{names}}}.")
        met = self.contexts.check_seen(context)
        if value is None:
            raise InputError("the value is missing: give value=..., what came out of this decision.")
        return met, number(value, "value")

    def check_time(self, time: object, told: Observations) -> float | None:
        """When an observation was made, in days since 1970, or an InputError."""
        if time is None:
            half = half_life(self.settings.forget)
            if half is not None and half[1]:
                raise InputError(
                    "forget is in days, so each observation needs its time: give time=..., or give the "
                    "half-life in observations."
                )
            return None
        when, last = days(time, "time"), told.last_time
        if last is not None and when < last:
            raise InputError(
                "time is before that of the last observation told. Tell in the order of time, or leave "
                "it out; if the last one was wrong, forget it."
            )
        return when

    def levels(self, name: object) -> tuple[Any, ...]:
        """The values of a context that has few, or an InputError."""
        parameters = self.contexts.parameters
        if not isinstance(name, str) or name not in parameters:
            known = ", ".join(map(repr, parameters)) or "none: this study has no contexts"
            near = near_match(name, parameters)
            raise InputError(f"there is no context {name!r}; the names are {known}.{near}")
        parameter = parameters[name]
        if isinstance(parameter, Categorical):
            return parameter.choices
        if isinstance(parameter, Integer) and parameter.high - parameter.low < MOST_LEVELS:
            return tuple(range(parameter.low, parameter.high + 1))
        raise InputError(
            f"context {name!r} has too many values for one answer each: ask for one of them, "
            f"known={{{name!r}: ...}}, or in a terminal --known {name}=..."
        )

    def check_parts(
        self, decision: Decision | None, context: Context | None, value: float | None, past: bool = False
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None, float | None]:
        """The parts of an observation that a correction gives, or an InputError.

        ``past``: it was made when bounds and steps may have been others.
        """
        checks: dict[str, Check] = {
            name: p.recall if past else p.check for name, p in self.decisions.parameters.items()
        }
        met: dict[str, Check] = {name: _seen(p.check) for name, p in self.contexts.parameters.items()}
        parts = _part(decision, checks, "decision variable"), _part(context, met, "context")
        if not any(parts) and value is None:
            raise InputError("say what is right: value=..., context={...} or decision={...}.")
        return *parts, None if value is None else number(value, "value")

    def dataset(self, observations: Observations) -> Dataset:
        """Observations on unit boxes, with the contexts that any of them has seen."""
        names, rows = self.contexts.names, observations.contexts
        unseen = tuple(n for n in names if rows and all(row[n] is None for row in rows))
        seen = self.contexts.only([n for n in names if n not in unseen])
        maximize, drift = self.direction == "maximize", self.settings.drift
        return Dataset(self.decisions, seen, observations, maximize, unseen=unseen, drift=drift)

    def density(self, data: Dataset, given: Given = NOTHING) -> Kde | None:
        """The distribution of the next context, with what is known of it; None where there is no context."""
        settings = self.settings
        forget = None if settings.forget == AUTO and not self.method.forgets else settings.forget
        found = estimate(data, settings.bandwidth, settings.boundary, forget)
        return None if found is None else at_the_moment(data, found, given, settings.distribution or {})

    def given(self, known: object, forecast: object, past: bool = False) -> Given:
        """What is known of the next context, or an InputError. ``past``: the bounds may have been others."""
        if known is not None and not isinstance(known, Mapping):
            raise InputError(f"known is a dictionary such as {{'weekday': 'sat'}}, not {brief(known)}.")
        checks: dict[str, Check] = {name: _seen(p.check) for name, p in self.contexts.parameters.items()}
        found = _part(known, checks, "context") or {}
        said = check_forecasts(forecast, self.contexts.parameters, "the forecast", past)
        for name in said:
            if found.get(name) is not None:
                raise InputError(f"context {name!r} is known and forecast: give one of both.")
        return Given({name: value for name, value in found.items() if value is not None}, said)

    def ensemble(self) -> Ensemble:
        """The surrogates, nothing fitted yet."""
        method, settings = self.method, self.settings
        kernels = method.kernels if settings.kernel is None else (settings.kernel,)
        if settings.surrogate is not None:
            kernels = ("matern",)
        members = method.members if settings.members is None else settings.members
        return Ensemble(kernels, members, Seeds(self.seed)("ensemble"), surrogate=settings.surrogate)


def _seen(check: Check) -> Check:
    """A check that lets None pass: a context that was not seen."""
    return lambda value, label: None if value is None else check(value, label)


def _part(given: object, known: Mapping[str, Check], kind: str) -> dict[str, Any] | None:
    """Some of the variables of a space, each checked."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InputError(f"a correction names each {kind} and what is right, such as {{name: 3}}.")
    for name in given:
        if name not in known:
            raise InputError(
                f"there is no {kind} {name!r}; there is {', '.join(known)}.{near_match(name, known)}"
            )
    return {name: known[name](value, f"{kind} {name!r}") for name, value in given.items()}


def refuse_unknown(
    unknown: Mapping[str, object], function: Callable[..., Any], kind: type[WindageError] = ConfigurationError
) -> None:
    """An error for a keyword that a function has not."""
    known = [name for name in signature(function).parameters if name not in ("self", "unknown")]
    for name in unknown:
        raise kind(f"unknown keyword {name!r}; the keywords are {', '.join(known)}.{near_match(name, known)}")


def _direction(given: object) -> Direction:
    known: tuple[Direction, ...] = get_args(Direction)
    for direction in known:
        if isinstance(given, str) and given == direction:
            return direction
    raise ConfigurationError(
        f'direction must be "maximize" or "minimize", not {given!r}.{near_match(given, known)}'
    )
