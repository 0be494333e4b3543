"""Which finished trials count for a study as its file is now, and how.

Files change: a bound is narrowed, a step is added, a context is new. What was told before still teaches. A
decision outside of the bounds or off the step is taken as it was made; a context outside of its bounds counts
as at the bound; one that was not told counts as not seen. Each is flagged. What cannot be compared with the
file at all, such as a choice that is gone, does not count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.trial import FrozenTrial

from windage.errors import WindageError
from windage.space import Categorical, ContextSpace, Integer, Parameter, Real, Value, number
from windage.studies import records
from windage.studies.axes import Axes
from windage.studies.checks import checked_context


@dataclass(frozen=True)
class Counted:
    """A finished trial as an observation."""

    decision: Mapping[str, Value]
    """Windage's."""
    context: Mapping[str, Value | None]
    """None: it was not seen."""
    value: float
    outside: tuple[str, ...]
    """Decision variables that are outside of their bounds or off their step, and contexts out of bounds."""
    untold: tuple[str, ...] = ()
    """Contexts of which nothing was said, not even that they were not seen."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """Contexts that were not seen."""
        return tuple(name for name, met in self.context.items() if met is None)

    def flags(self, number: int) -> list[str]:
        """What is unlike the study as it is now, one sentence each."""
        words = []
        if self.outside:
            names = ", ".join(self.outside)
            words.append(f"trial {number} counts, though {names} is outside of its bounds or off its step.")
        if self.untold:
            names = ", ".join(self.untold)
            words.append(f"trial {number} counts, though {names} was not told: as not seen.")
        return words


def counted(trial: FrozenTrial, axes: Axes, contexts: ContextSpace) -> Counted | str:
    """A finished trial as an observation; or why it is none, in a sentence.

    What was known before it need not be told again.
    """
    params = records.published(trial)
    if not axes.recalls(params):
        return f"trial {trial.number} is left out: it is no decision of this search space: {params}."
    told, known = trial.user_attrs.get(records.CONTEXT), records.known_of(trial)
    if told is None and all(name in known for name in contexts.names):
        told = {}
    names = ", ".join(f"{name}=..." for name in contexts.names)
    if told is None and contexts.names:
        return (
            f"trial {trial.number} has no context and is left out: call "
            f"windage.studies.report_context(trial, {names}) before it ends."
        )
    value = trial.value
    if value is None or not math.isfinite(value):
        return f"trial {trial.number} is left out: its value is {value!r}, which is not finite."
    if not isinstance(told, Mapping) and contexts.names:
        return f"trial {trial.number} is left out: its context is no table of names and numbers: {told!r}."
    given: Mapping[str, Any] = {**known, **(told if isinstance(told, Mapping) else {})}
    met: dict[str, Value | None] = dict.fromkeys(contexts.names)
    outside = axes.outside(params)
    for name, parameter in contexts.parameters.items():
        if given.get(name) is None:
            continue
        try:
            met[name], inside = at_the_bounds(name, parameter, given[name])
        except WindageError as error:
            return f"trial {trial.number} is left out: {error}"
        if not inside:
            outside.append(name)
    untold = tuple(name for name in contexts.names if name not in given)
    return Counted(axes.to_windage(params), met, value, tuple(outside), untold)


def at_the_bounds(name: str, parameter: Parameter, given: Any) -> tuple[Value, bool]:
    """A context as it counts, within its bounds, and whether it was so; or an InputError."""
    label = f"context {name!r}"
    if isinstance(parameter, Categorical):
        return checked_context(name, parameter, given), True
    if isinstance(parameter, Integer):
        count = number(given, label)
        within = min(max(round(count), parameter.low), parameter.high)
        return within, count == within
    raw = Real(log=parameter.log).check(given, label)
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    inside = min(max(raw, low), high)
    return inside, parameter.outside == "clip" or raw == inside
