"""What one decision or one context may be: Real, Integer, Categorical; and the checks of what users give."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windage.errors import ConfigurationError, InputError, near_match

Array = NDArray[np.float64]
Value = float | int | str | bool
"""What a decision holds for one name."""

SLACK = 1e-9
"""Share of a range by which rounding may push a number over its bound; it is then put on the bound."""
FENCE = 3.0
"""Tukey's outer fence: contexts further than this many quartile ranges out do not stretch the box."""
MARGIN = 0.1
"""How much wider than the contexts seen the box of an unbounded context is, as a share of their range."""


def number(value: object, label: str) -> float:
    """A finite float, or an InputError that names ``label``."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # a scalar of numpy, torch or the like
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, RealNumber):
        raise InputError(
            f"{label} must be a number, but is {value!r} ({type(value).__name__}). Give a plain number."
        )
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise InputError(
            f"{label} is {value!r}, but it must be finite. Leave this result out, or tell what was measured."
        )
    return result


@dataclass(frozen=True)
class Real:
    """A real number in [low, high]; ``log=True`` scales it by its logarithm.

    A decision needs both bounds. A context may have one or none (``Real()``): it is then scaled by what was
    seen. ``outside="clip"`` puts a context beyond its stated bounds on the bound instead of refusing it.
    """

    low: float | None = None
    high: float | None = None
    log: bool = False
    outside: str = "error"

    def __post_init__(self) -> None:
        for side in ("low", "high"):
            bound = getattr(self, side)
            if bound is None:
                continue
            if isinstance(bound, bool) or not isinstance(bound, RealNumber):
                raise ConfigurationError(f"{side} must be a number, not {bound!r}.")
            if math.isinf(bound):
                raise ConfigurationError(f"{side} is infinite: leave it out (None) where there is no bound.")
            if math.isnan(bound):
                raise ConfigurationError(f"{side} is not a number (NaN): give a number or leave it out.")
            object.__setattr__(self, side, float(bound))
        if self.low is not None and self.high is not None:
            if self.low >= self.high:
                kind = "equal" if self.low == self.high else "reversed"
                raise ConfigurationError(
                    f"the bounds are {kind}: low={self.low:g}, high={self.high:g}. Give low < high."
                )
            if not math.isfinite(self.high - self.low):
                raise ConfigurationError("the range high - low is too wide for a float: give closer bounds.")
        if not isinstance(self.log, bool):
            raise ConfigurationError(f"log must be True or False, not {self.log!r}.")
        if self.log and any(bound is not None and bound <= 0 for bound in (self.low, self.high)):
            raise ConfigurationError("log=True needs bounds above 0: raise them, or leave out log=True.")
        if self.outside not in ("error", "clip"):
            raise ConfigurationError(f'outside must be "error" or "clip", not {self.outside!r}.')

    def check(self, value: object, label: str) -> float:
        """The value as a float inside the bounds, or an InputError."""
        result = number(value, label)
        if self.log and result <= 0:
            raise InputError(f"{label} is {result:g}, but it is log-scaled and must be above 0.")
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        inside = min(max(result, low), high)
        width = high - low if math.isfinite(high - low) else max(abs(inside), 1.0)
        if self.outside == "error" and abs(result - inside) > SLACK * width:
            where = f"[{low:g}, {high:g}]".replace("[-inf", "(-inf").replace("inf]", "inf)")
            raise InputError(
                f"{label} is {result:g}, outside its bounds {where}. "
                f'Correct it, widen the bounds, or (a context only) use Real(..., outside="clip").'
            )
        return inside

    def warp(self, value: Array) -> Array:
        """The scale on which the number is spread evenly: itself or its logarithm."""
        return np.log(value) if self.log else value

    def unwarp(self, value: Array) -> Array:
        """The inverse of ``warp``, kept inside the bounds."""
        raw = np.exp(value) if self.log else value
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return np.clip(raw, low, high)

    def box(self, seen: Array) -> tuple[float, float]:
        """The warped ends of the unit box: the bounds, and where there is none, what was seen."""
        ends = [None if b is None else float(self.warp(np.asarray(b))) for b in (self.low, self.high)]
        if ends[0] is not None and ends[1] is not None:
            return ends[0], ends[1]
        values = self.warp(seen) if len(seen) else np.asarray([e for e in ends if e is not None] or [0.0])
        first, third = np.quantile(values, [0.25, 0.75])
        reach = FENCE * (third - first) if third > first else np.inf
        low = ends[0] if ends[0] is not None else max(values.min(), first - reach)
        high = ends[1] if ends[1] is not None else min(values.max(), third + reach)
        width = high - low
        if not width > SLACK * max(abs(low), abs(high)):  # nothing to scale by yet: a guess of the magnitude
            width = max(abs(low), abs(high)) or 1.0
            margin = width / 2
        else:
            margin = MARGIN * width
        low = low - margin if ends[0] is None else low
        high = high + margin if ends[1] is None else high
        return float(low), float(high)


@dataclass(frozen=True)
class Integer:
    """A whole number in [low, high], both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        for side in ("low", "high"):
            bound = getattr(self, side)
            if isinstance(bound, bool) or not isinstance(bound, Integral):
                raise ConfigurationError(f"{side} must be a whole number, not {bound!r}.")
            object.__setattr__(self, side, int(bound))
        if self.low >= self.high:
            kind = "equal" if self.low == self.high else "reversed"
            raise ConfigurationError(
                f"the bounds are {kind}: low={self.low}, high={self.high}. Give low < high."
            )
        if self.high - self.low > 2**53:
            raise ConfigurationError("the range is wider than 2^53 whole numbers: use Real instead.")

    def check(self, value: object, label: str) -> int:
        """The value as an int inside the bounds, or an InputError."""
        result = number(value, label)
        if result != round(result):
            raise InputError(f"{label} is {result:g}, but must be a whole number.")
        if not self.low <= result <= self.high:
            raise InputError(f"{label} is {int(result)}, outside its bounds [{self.low}, {self.high}].")
        return int(result)


@dataclass(frozen=True, init=False)
class Categorical:
    """One of a list of choices without an order."""

    choices: tuple[Value, ...]

    def __init__(self, choices: Sequence[Value]) -> None:
        if isinstance(choices, str) or not isinstance(choices, Sequence):
            raise ConfigurationError(f"choices must be a list such as ['a', 'b'], not {choices!r}.")
        for choice in choices:
            if not isinstance(choice, str | int | float | bool):
                raise ConfigurationError(f"a choice must be a string, a number or a bool, not {choice!r}.")
            if isinstance(choice, float) and not math.isfinite(choice):
                raise ConfigurationError(f"a choice must be finite, not {choice!r}.")
        if len(set(choices)) != len(choices):
            raise ConfigurationError(f"the choices repeat or equal each other: {list(choices)!r}.")
        if len(choices) < 2:
            raise ConfigurationError(
                f"a Categorical needs at least two choices, not {list(choices)!r}. Leave out a fixed one."
            )
        object.__setattr__(self, "choices", tuple(choices))

    def check(self, value: object, label: str) -> Value:
        """The choice equal to the value, or an InputError."""
        for choice in self.choices:
            if value == choice and isinstance(value, bool) == isinstance(choice, bool):
                return choice
        raise InputError(
            f"{label} is {value!r}, not one of {list(self.choices)!r}."
            + near_match(value, [c for c in self.choices if isinstance(c, str)])
        )


Parameter = Real | Integer | Categorical


def check_names(given: object, known: Sequence[str], kind: str) -> Mapping[str, Any]:
    """The mapping itself if it has exactly the known names, else an InputError with the near match."""
    expected = ", ".join(repr(name) for name in known) or "none"
    if not isinstance(given, Mapping):
        example = "{" + ", ".join(f"{name!r}: ..." for name in known) + "}"
        raise InputError(
            f"the {kind} must be a dictionary such as {example}, not {given!r} ({type(given).__name__})."
        )
    for name in given:
        if name not in known:
            raise InputError(f"unknown {kind} {name!r}; the names are {expected}.{near_match(name, known)}")
    for name in known:
        if name not in given:
            raise InputError(f"{kind} {name!r} is missing; all of {expected} are needed.")
    return given


def check_space(space: object, kind: str, allowed: tuple[type, ...]) -> dict[str, Any]:
    """The parameters of a space by name, or a ConfigurationError."""
    if not isinstance(space, Mapping):
        raise ConfigurationError(
            f"{kind}s must be a dictionary from names to spaces: {{'demand': Real(0, 1)}}, not {space!r}."
        )
    words = " or ".join(cls.__name__ for cls in allowed)
    for name, parameter in space.items():
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"the name of a {kind} must be a non-empty string, not {name!r}.")
        if name == "value":
            raise ConfigurationError(f"a {kind} cannot be named 'value': that is the outcome. Rename it.")
        if not isinstance(parameter, allowed):
            raise ConfigurationError(f"{kind} {name!r} must be a {words}, not {parameter!r}.")
    return dict(space)
