"""What a study is: its spaces, method, direction, seed and settings. Checked once, then frozen."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, get_args

from windage.contexts import Kde, estimate
from windage.dataset import Dataset
from windage.errors import ConfigurationError, near_match
from windage.gp import Ensemble
from windage.methods import Method, Settings, check_used, get_method
from windage.observations import Observations
from windage.proposal import initial_decisions
from windage.search import Seeds
from windage.space import ContextSpace, DecisionSpace, Direction, whole


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
        seed = secrets.randbits(32) if seed is None else whole(seed, "seed", ConfigurationError)
        first = initial_decisions(found, space.blocks, initial, checked.budget)
        return cls(space, conditions, found, _direction(direction), seed, first, checked)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the decision variables and of the contexts."""
        return (*self.decisions.names, *self.contexts.names)

    def dataset(self, observations: Observations) -> Dataset:
        """Observations on unit boxes."""
        return Dataset(self.decisions, self.contexts, observations, self.direction == "maximize")

    def density(self, data: Dataset) -> Kde | None:
        """The estimated distribution of the context; None where there is no context."""
        return estimate(data, self.settings.bandwidth, self.settings.boundary)

    def ensemble(self) -> Ensemble:
        """The surrogates, nothing fitted yet."""
        method, settings = self.method, self.settings
        kernels = method.kernels if settings.kernel is None else (settings.kernel,)
        members = method.members if settings.members is None else settings.members
        return Ensemble(kernels, members, Seeds(self.seed)("ensemble"))


def _direction(given: object) -> Direction:
    known: tuple[Direction, ...] = get_args(Direction)
    for direction in known:
        if isinstance(given, str) and given == direction:
            return direction
    raise ConfigurationError(
        f'direction must be "maximize" or "minimize", not {given!r}.{near_match(given, known)}'
    )
