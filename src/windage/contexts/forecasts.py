"""Forecasts of a context, as users give them, checked.

A forecast is a sample, a mean with a deviation, a frozen distribution of ``scipy.stats``, or of a choice the
probability of each level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from windage.errors import InputError, near_match
from windage.space import Categorical, Parameter, number, plain, refuse_beyond
from windage.space.checks import brief

POINTS = 64
"""Equally likely values that stand for a distribution."""


@dataclass(frozen=True)
class Forecast:
    """A forecast of one context, in the user's units."""

    values: tuple[Any, ...]
    """Equally likely values; the levels of a choice."""
    probabilities: tuple[float, ...] = ()
    """Of the levels of a choice."""
    mean: float | None = None
    """None for a choice."""
    deviation: float | None = None
    """None where none was given, and for a choice."""
    smooth: bool = False
    """Whether the values stand for a continuous distribution, and are no sample."""

    @classmethod
    def of(cls, given: Any, parameter: Parameter, label: str) -> Forecast:
        """As a user gives it, or an InputError."""
        given = plain(given)
        if isinstance(given, Forecast):
            return given
        if isinstance(parameter, Categorical):
            return _of_choice(given, parameter, label)
        if hasattr(given, "ppf"):
            return _of_distribution(given, label)
        if isinstance(given, tuple) and len(given) == 2:
            return normal(number(given[0], f"the mean of {label}"), _deviation(given[1], label))
        if isinstance(given, str | bytes | Mapping):
            raise _refusal(given, label)
        values = np.asarray(given, dtype=object).reshape(-1).tolist()
        checked = [number(value, f"a value of {label}") for value in values]
        if not checked:
            raise InputError(f"{label} is an empty sample. Give values, or (mean, deviation).")
        if len(checked) == 1:
            return cls(tuple(checked), mean=checked[0])
        return cls(tuple(checked), mean=float(np.mean(checked)), deviation=float(np.std(checked)) or None)

    def to_dict(self) -> Any:
        """As plain values, which ``from_dict`` reads."""
        if self.probabilities:
            return {"levels": list(self.values), "probabilities": list(self.probabilities)}
        if self.smooth and self.values == normal_points(self.mean or 0.0, self.deviation or 0.0):
            return {"mean": self.mean, "deviation": self.deviation}
        return {"values": list(self.values), "smooth": self.smooth}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], parameter: Parameter, label: str) -> Forecast:
        """The inverse of ``to_dict``, or an InputError."""
        if not isinstance(saved, Mapping):
            raise _refusal(saved, label)
        if "levels" in saved:
            pairs = dict(zip(saved["levels"], saved["probabilities"], strict=True))
            return cls.of(pairs, parameter, label)
        if "mean" in saved:
            return cls.of((saved["mean"], saved["deviation"]), parameter, label)
        found = cls.of(list(saved["values"]), parameter, label)
        return cls(found.values, (), found.mean, found.deviation, bool(saved["smooth"]))

    @property
    def summary(self) -> Any:
        """What is kept beside what came: mean and deviation, or the levels' probabilities."""
        if self.probabilities:
            return dict(zip(self.values, self.probabilities, strict=True))
        return self.mean, self.deviation


def normal(mean: float, deviation: float | None) -> Forecast:
    """A normal distribution; without a deviation, one value of which nobody said how sure it is."""
    if deviation is None:
        return Forecast((mean,), mean=mean)
    return Forecast(normal_points(mean, deviation), (), mean, deviation, True)


def normal_points(mean: float, deviation: float) -> tuple[float, ...]:
    """Equally likely values of a normal distribution."""
    return tuple((mean + deviation * ndtri((np.arange(POINTS) + 0.5) / POINTS)).tolist())


def _deviation(given: Any, label: str) -> float | None:
    if plain(given) is None:
        return None
    found = number(given, f"the deviation of {label}")
    if found <= 0:
        raise InputError(f"the deviation of {label} is {found!r}, but must be above 0.")
    return found


def _of_distribution(given: Any, label: str) -> Forecast:
    """A frozen distribution by its quantiles."""
    levels = (np.arange(POINTS) + 0.5) / POINTS
    try:
        points = np.asarray(given.ppf(levels), dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{label} is a distribution without quantiles: {error}") from None
    if points.shape != levels.shape or not np.isfinite(points).all():
        raise InputError(f"{label} is a distribution whose quantiles are not finite. Check its parameters.")
    spread = float(points.std())
    return Forecast(tuple(points.tolist()), (), float(points.mean()), spread or None, spread > 0)


def _of_choice(given: Any, parameter: Categorical, label: str) -> Forecast:
    """The probabilities of levels, from a mapping, a sample of levels, or one level."""
    if not isinstance(given, Mapping):
        single = isinstance(given, str | int | float | bool)
        if not single and not isinstance(given, list | tuple | np.ndarray):
            raise InputError(
                f"{label} must be a level, a sample of levels, or level → probability, not {brief(given)}."
            )
        levels = [given] if single else list(given)
        checked = [parameter.check(level, f"a level of {label}") for level in levels]
        given = {level: checked.count(level) / len(checked) for level in dict.fromkeys(checked)}
    shares = {
        parameter.check(k, f"a level of {label}"): number(v, f"a chance of {label}") for k, v in given.items()
    }
    total = sum(shares.values())
    if not shares or min(shares.values()) < 0 or not 0 < total < math.inf:
        raise InputError(f"the chances of {label} must be 0 or more, and one above 0, not {brief(given)}.")
    return Forecast(tuple(shares), tuple(share / total for share in shares.values()))


def _refusal(given: object, label: str) -> InputError:
    return InputError(
        f"{label} must be a sample of numbers, (mean, deviation) or a distribution, not {brief(given)}."
    )


def checked(
    given: object, parameters: Mapping[str, Parameter], what: str, past: bool = False
) -> dict[str, Forecast]:
    """Forecasts by context, or an InputError. ``past``: the bounds may have been others."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            f"{what} is a dictionary from contexts, such as {{'demand': (80, 15)}}, not {brief(given)}."
        )
    for name in given:
        if name not in parameters:
            known = ", ".join(map(repr, parameters)) or "none: this study has no contexts"
            raise InputError(
                f"{what} of an unknown context {name!r}; the names are {known}.{near_match(name, parameters)}"
            )
    found = {}
    for name, value in given.items():
        label = f"{what} of {name!r}"
        found[name] = Forecast.of(value, parameters[name], label)
        mean, deviation = found[name].mean, found[name].deviation or 0.0
        if mean is not None and not past:
            refuse_beyond(parameters[name], mean - deviation, mean + deviation, label)
    return found
