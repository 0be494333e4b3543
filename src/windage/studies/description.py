"""A study as its file describes it, and checks of what people give to it. Every fault says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution

from windage.errors import ConfigurationError, InputError, WindageError
from windage.space import ContextSpace, DecisionSpace, Direction, Parameter, number
from windage.studies.axes import Axes
from windage.studies.checks import check_names, checked_context, checked_decision
from windage.studies.quantities import Quantity, typed

if TYPE_CHECKING:
    from windage.methods import Method


@dataclass(frozen=True)
class StudyFile:
    """A study as its file describes it."""

    path: Path
    """Of the file."""
    name: str
    """Of the study in its storage."""
    direction: Direction
    method: str
    """A row of ``windage methods``. Checked by ``engine_method``, which needs the engine."""
    storage: str
    """The URL of the database."""
    space: Mapping[str, BaseDistribution]
    """The decision variables by name, in the order of the file."""
    contexts: Mapping[str, Parameter]
    """The contexts by name, in the order of the file."""
    known: tuple[str, ...]
    """Contexts that are known before the decision."""
    optional: tuple[str, ...]
    """Contexts that may be left out where they were not seen."""
    quantities: Mapping[str, Quantity]
    """Units and descriptions: of the decision variables, of the contexts, and of ``value``."""
    lease: float
    """Seconds for which a decision that was asked for and not told counts as under way."""
    seed: int | None
    """Of everything random; None: one made of the study's name."""
    initial: int | None
    """How many first decisions come from a Sobol sequence; None: the method's own number."""
    settings: Mapping[str, Any]
    """Keywords of ``windage.Optimizer``."""

    @cached_property
    def axes(self) -> Axes:
        """The decision variables between Optuna and windage."""
        return Axes.of(self.space)

    @cached_property
    def context_space(self) -> ContextSpace:
        """The contexts, to check what is told."""
        return ContextSpace.of(dict(self.contexts), DecisionSpace.of(self.axes.decisions))

    def engine_method(self) -> Method:
        """The method to use: that of the file, or what continues one that is gone, with a warning.

        A ConfigurationError where it is unknown, or needs a context that is not there.
        """
        from windage.methods import continued, get_method

        try:
            method = get_method(continued(self.method))
        except WindageError as error:
            raise ConfigurationError(f"{self.path}: {error}") from error
        if method.uses_context and not self.contexts:
            raise ConfigurationError(
                f"{self.path}: method {method.name!r} needs a context: add one, such as [contexts.demand], "
                'or use method = "gp-ucb".'
            )
        return method

    def show(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Values with their units."""
        return {name: self.quantities.get(name, Quantity()).show(value) for name, value in values.items()}

    def ordered(self, decision: Mapping[str, Any]) -> dict[str, Any]:
        """A decision in the order of the file; names that the file does not know come last."""
        return {name: decision[name] for name in (*self.space, *decision) if name in decision}

    def check_decision(self, given: Mapping[str, Any], past: bool = False) -> dict[str, Any]:
        """A decision in the user's words as Optuna's parameters, or an InputError.

        ``past``: it may lie outside of the bounds or off the step, which may have been others then.
        """
        check_names(given, self.space, "decision variable")
        for name in self.space:
            if name not in given:
                raise InputError(f"the decision variable {name!r} is missing.")
        return {name: self.check_one(name, given[name], past) for name in self.space}

    def check_context(
        self, given: Mapping[str, Any], known: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The contexts met, or an InputError. ``known`` ones need not be given again; what is given wins.

        Optional ones may be left out, or be None: they were not seen.
        """
        told = {**(known or {}), **given}
        unseen = [name for name in self.optional if told.get(name) is None]
        check_names(told, self.contexts, "context")
        met = {name: self.check_one(name, v) for name, v in told.items() if name not in unseen}
        for name in self.contexts:
            if name not in met and name not in unseen:
                needed = ", ".join(repr(n) for n in self.contexts if n not in self.optional)
                raise InputError(f"context {name!r} is missing; all of {needed} are needed.")
        return {name: met[name] for name in self.contexts if name in met}

    def check_past_context(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Contexts of the past: some may be missing, and bounds may have been others. Or an InputError."""
        check_names(given, self.contexts, "context")
        return {name: self.check_one(name, value, past=True) for name, value in given.items()}

    def check_known(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Contexts that are known before the decision, or an InputError."""
        check_names(given, self.contexts, "context")
        return {name: self.check_one(name, given[name]) for name in self.contexts if name in given}

    def check_one(self, name: str, value: Any, past: bool = False) -> Any:
        """The value of one decision variable or context, or an InputError; ``past``: as above."""
        unit = self.quantities[name].unit
        if name in self.space:
            return checked_decision(name, self.axes.axes[name], value, unit, past)
        return checked_context(name, self.contexts[name], value, unit, past)

    def check_parts(
        self, decision: Mapping[str, Any], context: Mapping[str, Any], value: Any, past: bool = False
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None, float | None]:
        """The parts of what was told that a correction gives, or an InputError; ``past``: as above."""
        if not decision and not context and value is None:
            raise InputError("say what is right: --value, --context NAME=VALUE or --decision NAME=VALUE.")
        check_names(decision, self.space, "decision variable")
        check_names(context, self.contexts, "context")
        own, met = (
            {name: self.check_one(name, v, past) for name, v in part.items()} for part in (decision, context)
        )
        return own or None, met or None, None if value is None else self.check_value(value)

    def check_value(self, given: Any) -> float:
        """The outcome as a number, or an InputError."""
        return number(typed(given, "value", self.quantities["value"].unit), "value")
