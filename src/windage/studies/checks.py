"""What people give, checked one by one. Every fault says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from optuna.distributions import CategoricalDistribution, IntDistribution

from windage.errors import InputError, near_match
from windage.space import Categorical, Integer, Parameter, Real, number
from windage.studies.axes import Axis
from windage.studies.quantities import typed

LONGEST = 60
"""Letters of a line in a message."""
MOST_WHOLE = 2**53
"""Beyond it floats skip whole numbers."""


def check_names(given: Iterable[str], known: Iterable[str], kind: str) -> None:
    """An InputError where a name is none of those known."""
    known = list(known)
    for name in given:
        if name not in known:
            there = ", ".join(known) or "none"
            raise InputError(f"there is no {kind} {name!r}; there is {there}.{near_match(name, known)}")


def chosen(choices: Iterable[Any], given: Any) -> list[Any]:
    """The choice that is meant, as it is or as text, else in any capitals; empty where there is none."""
    known, text = list(choices), str(given).strip()
    same = [c for c in known if c == given and isinstance(c, bool) == isinstance(given, bool)]
    exact = same or [choice for choice in known if str(choice) == text]
    return exact or [choice for choice in known if str(choice).casefold() == text.casefold()]


def checked_context(name: str, parameter: Parameter, given: Any, unit: str = "", past: bool = False) -> Any:
    """The value of one context, or an InputError. ``past``: the bounds may have been others."""
    label = f"context {name!r}"
    if isinstance(parameter, Categorical):
        match = chosen(parameter.choices, given)
        return match[0] if len(match) == 1 else parameter.check(given, label)
    value = typed(given, label, unit)
    if past:
        wide = Real(log=parameter.log) if isinstance(parameter, Real) else Integer(-MOST_WHOLE, MOST_WHOLE)
        return wide.check(value, label)
    return parameter.check(value, label)


def checked_decision(name: str, axis: Axis, value: Any, unit: str = "", past: bool = False) -> Any:
    """The value of one decision variable as Optuna's, or an InputError.

    ``past``: it was decided when bounds and step may have been others.
    """
    kind, label = axis.distribution, f"decision variable {name!r}"
    if isinstance(kind, CategoricalDistribution):
        match = chosen(kind.choices, value)
        if len(match) != 1:
            choices = [str(choice) for choice in kind.choices]
            near = near_match(value, choices)
            raise InputError(f"{label} is {value!r}, but must be one of {', '.join(choices)}.{near}")
        return match[0]
    given = number(typed(value, label, unit), label)
    integer = isinstance(kind, IntDistribution) and given == int(given)
    found = int(given) if integer else given
    if past and axis.recalls(found) and (integer or not isinstance(kind, IntDistribution)):
        return found
    if not axis.holds(found):
        low, high = kind.low, kind.high  # type: ignore[attr-defined]
        step = getattr(kind, "step", None)
        steps = f" in steps of {step:g}" if step else ""
        remedy = "" if low <= given <= high else " Correct it, or widen the bounds in the file."
        raise InputError(f"{label} is {given:g}, but must be {low:g} to {high:g}{steps}.{remedy}")
    return found


def slip(path: Path, error: str) -> str:
    """A fault of TOML, with the line in which it is."""
    found = re.search(r"at line (\d+)", error)
    lines = path.read_text(encoding="utf-8").splitlines()
    if not found or not 0 < int(found[1]) <= len(lines):
        return error
    line = lines[int(found[1]) - 1].strip()[:LONGEST]
    return f"line {found[1]}, {line}: write a number with a point, and text in quotes ({error})."
