"""Single rows of the study file as what they describe. Every fault says what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from windage.errors import ConfigurationError, near_match
from windage.space import Categorical, Integer, Parameter, Real, number

NUMERIC = ("low", "high", "step", "log", "integer", "outside")
"""Keys of a variable that is a number."""
FLAGS, TEXTS = ("integer", "log", "known", "optional"), ("unit", "description")
FOREVER = "never"
"""How a file says that nothing is forgotten: TOML has no None."""
FORGET = f'"auto", "{FOREVER}", a number of observations such as 30, or "30 days"'
MOST_DAYS = 36500
SLACK = 1e-9
"""Share of a step by which rounding may make the range smaller."""
MOST_STEPS = 1e12
"""Of a range: beyond it steps are finer than rounding, and Optuna cannot count them."""


def distribution(row: dict[str, Any]) -> BaseDistribution:
    """A decision variable, as Optuna describes it."""
    if "choices" in row:
        return CategoricalDistribution(_choices(row))
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


def _choices(row: dict[str, Any]) -> list[Any]:
    """Words or numbers of which there is always one."""
    choices = row["choices"]
    beside = [key for key in NUMERIC if key in row]
    if beside:
        raise ConfigurationError(f"choices and {beside[0]} do not belong together: leave out one of them.")
    if not isinstance(choices, list) or len(choices) < 2 or len(set(map(str, choices))) < len(choices):
        raise ConfigurationError('choices must be a list of two or more, such as ["red", "blue"].')
    if not all(isinstance(choice, str | int | float | bool) for choice in choices):
        raise ConfigurationError('choices must be words or numbers, such as ["07:00", "08:00"].')
    for choice in choices:
        if not isinstance(choice, str):
            number(float(choice) if isinstance(choice, bool) else choice, "a choice")
    return choices


def _step(row: dict[str, Any], low: float, high: float) -> float | None:
    """The step, or None where there is none."""
    if "step" not in row:
        return None
    step = number(row["step"], "step")
    if step <= 0 or 0 < high - low < step * (1 - SLACK):
        raise ConfigurationError(
            f"step must be above 0 and at most high - low, which is {high - low:g}, not {step:g}."
        )
    if (high - low) / step > MOST_STEPS:
        raise ConfigurationError(f"step {step:g} is too fine for {low:g} to {high:g}: leave it out.")
    return step


def context(row: dict[str, Any]) -> Parameter:
    """A context, as windage describes it."""
    if row.get("known", False) and row.get("optional", False):
        raise ConfigurationError("known and optional do not belong together: leave out one of them.")
    if "choices" in row:
        return Categorical(_choices(row))
    if row.get("integer", False):
        for side in ("low", "high"):
            if side not in row:
                raise ConfigurationError(f"{side} is missing: an integer context needs both bounds.")
        for key in ("log", "outside"):
            if row.get(key, False):
                raise ConfigurationError(f"integer and {key} do not belong together: leave out one of them.")
        return Integer(row["low"], row["high"])
    return Real(**{key: row[key] for key in ("low", "high", "log", "outside") if key in row})


def forget(value: Any) -> Any:
    """How the past counts less, as ``windage.Optimizer`` takes it: "auto", None, a half-life, "30 days"."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ConfigurationError(f"forget must be {FORGET}, not {value!r}.")
    if isinstance(value, int | float):
        if not 0 < value < float("inf"):
            raise ConfigurationError(f"forget is {value!r}, but a half-life must be above 0.")
        return value
    words = " ".join(value.split()).casefold()
    if words in ("auto", FOREVER):
        return None if words == FOREVER else words
    days = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?days?", words)
    if not days:
        raise ConfigurationError(
            f"forget must be {FORGET}, not {value!r}.{near_match(value, ('auto', FOREVER))}"
        )
    if not 0 < float(days[1]) <= MOST_DAYS:
        raise ConfigurationError(f"forget is {value!r}, but must be above 0 and at most {MOST_DAYS} days.")
    return f"{days[1]} days"


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
