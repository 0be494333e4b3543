"""Single rows of the study file as what they describe. Every fault says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from windage.errors import ConfigurationError
from windage.space import Real, number

NUMERIC = ("low", "high", "step", "log", "integer")
"""Keys of a decision variable that is a number."""
FLAGS, TEXTS = ("integer", "log"), ("unit", "description")
MOST_DAYS = 36500
SLACK = 1e-9
"""Share of a step by which rounding may make the range smaller."""


def distribution(row: dict[str, Any]) -> BaseDistribution:
    """A decision variable, as Optuna describes it."""
    if "choices" in row:
        return _categorical(row)
    for side in ("low", "high"):
        if side not in row:
            raise ConfigurationError(f"{side} is missing: a decision variable needs both bounds, or choices.")
    low, high = (number(row[side], side) for side in ("low", "high"))
    log, step = row.get("log", False), _step(row, low, high)
    if row.get("integer", False):
        if low != int(low) or high != int(high):
            raise ConfigurationError("an integer decision variable needs whole bounds.")
        if step is not None and step != int(step):
            raise ConfigurationError("an integer decision variable needs a whole step.")
        return IntDistribution(int(low), int(high), log=log, step=1 if step is None else int(step))
    Real(low, high, log=log)
    return FloatDistribution(low, high, log=log, step=step)


def _categorical(row: dict[str, Any]) -> CategoricalDistribution:
    choices = row["choices"]
    beside = [key for key in NUMERIC if key in row]
    if beside:
        raise ConfigurationError(f"choices and {beside[0]} do not belong together: leave out one of them.")
    if not isinstance(choices, list) or len(choices) < 2 or len(set(map(str, choices))) < len(choices):
        raise ConfigurationError('choices must be a list of two or more, such as ["red", "blue"].')
    if not all(isinstance(choice, str | int | float | bool) for choice in choices):
        raise ConfigurationError('choices must be words or numbers, such as ["07:00", "08:00"].')
    return CategoricalDistribution(choices)


def _step(row: dict[str, Any], low: float, high: float) -> float | None:
    """The step, or None where there is none."""
    if "step" not in row:
        return None
    step = number(row["step"], "step")
    if step <= 0 or 0 < high - low < step * (1 - SLACK):
        raise ConfigurationError(
            f"step must be above 0 and at most high - low, which is {high - low:g}, not {step:g}."
        )
    return step


def context(row: dict[str, Any]) -> Real:
    """A context, as windage describes it."""
    return Real(**{key: row[key] for key in ("low", "high", "log", "outside") if key in row})


def check_kinds(row: Mapping[str, Any], where: str) -> None:
    """A ConfigurationError where a flag is not true or false, or a text is no text."""
    for key in FLAGS:
        if not isinstance(row.get(key, False), bool):
            raise ConfigurationError(f"[{where}]: {key} must be true or false, not {row[key]!r}.")
    for key in TEXTS:
        if not isinstance(row.get(key, ""), str):
            raise ConfigurationError(
                f'[{where}]: {key} must be text in quotes, such as {key} = "{row[key]}".'
            )


def days(value: Any, label: str) -> float:
    """A number of days above 0 and up to a hundred years, in seconds."""
    found = number(value, label)
    if not 0 < found <= MOST_DAYS:
        raise ConfigurationError(f"{label} must be above 0 and at most {MOST_DAYS}, not {found:g}.")
    return 86400 * found


def whole(table: Mapping[str, Any], key: str, most: int = 10**6) -> int | None:
    """A whole number from 0 to ``most``, or None where the key is left out."""
    value = table.get(key)
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most
    ):
        raise ConfigurationError(f"{key} must be a whole number, 0 to {most}, not {value!r}.")
    return value
