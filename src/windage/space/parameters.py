"""Kinds of decision variables and contexts: Real, Integer, Categorical."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from windage.errors import ConfigurationError, InputError, near_match
from windage.space.checks import ONE, number, plain, within

Array = NDArray[np.float64]
Value = float | int | str | bool
"""The value of one decision variable."""
Decision = Mapping[str, Any]
"""Decision variable → value. Any, so that ``decision["x"]`` is usable in arithmetic without a cast."""

SLACK = 1e-9
"""Share of a range by which rounding may push a number over its bound; it is then put on the bound."""
MOST_BOUND = 1e150
"""Bounds, decisions and contexts beyond this would overflow when squared."""
TINY = 1 / MOST_BOUND
"""A range below this would vanish when squared: it is none."""
MOST_LOG = 700.0
"""The logarithm of the largest number that is drawn from a density on a log scale."""
FENCE = 3.0
"""Tukey's outer fence: contexts further than this many quartile ranges out do not stretch the box."""
MARGIN = 0.1
"""How much wider than the contexts seen the box of an unbounded context is, as a share of their range."""


@dataclass(frozen=True)
class Real:
    """A real number in [low, high]; ``log=True`` scales it by its logarithm.

    A decision variable needs both bounds. A context may have one or none (``Real()``): it is then scaled by
    what was seen.
    """

    low: float | None = None
    """The lower bound."""
    high: float | None = None
    """The upper bound."""
    log: bool = False
    """Whether it is scaled by its logarithm."""
    outside: Literal["error", "clip"] = "error"
    """Of a context beyond its stated bounds: refuse it, or put it on the bound."""

    def __post_init__(self) -> None:
        for side in ("low", "high"):
            bound = plain(getattr(self, side))
            if bound is None:
                continue
            if isinstance(bound, bool) or not isinstance(bound, RealNumber):
                raise ConfigurationError(f"{side} must be a number, not {bound!r}.")
            if bound != bound:
                raise ConfigurationError(f"{side} is not a number (NaN): give a number or leave it out.")
            if not -MOST_BOUND <= bound <= MOST_BOUND:  # type: ignore[operator]
                raise ConfigurationError(
                    f"{side} is infinite or over {MOST_BOUND:g}: leave it out (None) where there is no bound."
                )
            object.__setattr__(self, side, float(bound))
        if self.low is not None and self.high is not None and self.low >= self.high:
            kind = "equal" if self.low == self.high else "reversed"
            raise ConfigurationError(
                f"the bounds are {kind}: low={self.low:g}, high={self.high:g}. Give low < high."
            )
        if not isinstance(self.log, bool):
            raise ConfigurationError(f"log must be True or False, not {self.log!r}.")
        if self.log and any(bound is not None and bound <= 0 for bound in (self.low, self.high)):
            raise ConfigurationError("log=True needs bounds above 0: raise them, or leave out log=True.")
        if self.outside not in ("error", "clip"):
            raise ConfigurationError(f'outside must be "error" or "clip", not {self.outside!r}.')
        if self.outside == "clip" and self.low is None and self.high is None:
            raise ConfigurationError(
                'outside="clip" needs a bound to clip at: give low or high, or leave it out.'
            )

    def check(self, value: object, label: str) -> float:
        """The value as a float inside the bounds, or an InputError."""
        result = number(value, label, MOST_BOUND)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        inside = min(max(result, low), high)
        if self.log and (inside <= 0 or (result <= 0 and self.outside == "error")):
            raise InputError(f"{label} is {result!r}, but it is log-scaled and must be above 0.")
        if self.outside == "error" and abs(result - inside) > self._slack(inside):
            hint = ', or use outside="clip"' if label.startswith("context") else ""
            raise InputError(
                f"{label} is {result:.15g}, outside its bounds ({within(low, high)}). "
                f"Correct it, or widen the bounds{hint}."
            )
        return inside

    def recall(self, value: object, label: str) -> float:
        """The value of a past decision as a float, outside of the bounds or not; or an InputError."""
        result = number(value, label, MOST_BOUND)
        if self.log and result <= 0:
            raise InputError(f"{label} is {result!r}, but it is log-scaled and must be above 0.")
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        inside = min(max(result, low), high)
        return inside if abs(result - inside) <= self._slack(inside) else result

    def _slack(self, bound: float) -> float:
        """How far rounding may push a number over this bound: on a log scale, a share of the bound itself."""
        if self.log or self.low is None or self.high is None:
            return SLACK * abs(bound)
        return SLACK * (self.high - self.low)

    def warp(self, value: Array) -> Array:
        """The scale on which the number is spread evenly: itself or its logarithm."""
        return np.log(value) if self.log else value

    def unwarp(self, value: Array, clip: bool = True) -> Array:
        """The inverse of ``warp``, kept inside the bounds unless told otherwise."""
        raw = np.exp(np.minimum(value, MOST_LOG)) if self.log else value
        if not clip:
            return raw
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return np.clip(raw, low, high)

    def box(self, seen: Array) -> tuple[float, float]:
        """The warped ends of the unit box: the bounds, and where there is none, what was seen.

        A side without a bound ends at the last context within Tukey's outer fence, or further out where more
        than one context in twenty lies beyond it; and then a margin.
        """
        ends = [None if b is None else float(self.warp(np.asarray(b))) for b in (self.low, self.high)]
        if ends[0] is not None and ends[1] is not None:
            return ends[0], ends[1]
        values = self.warp(seen) if len(seen) else np.asarray([e for e in ends if e is not None] or [0.0])
        first, third = np.quantile(values, [0.25, 0.75])
        reach = FENCE * (third - first)
        few = np.quantile(values, [0.05], method="higher")[0], np.quantile(values, [0.95], method="lower")[0]
        low = ends[0] if ends[0] is not None else max(values.min(), min(first - reach, few[0]))
        high = ends[1] if ends[1] is not None else min(values.max(), max(third + reach, few[1]))
        if not high - low > SLACK * max(abs(low), abs(high)):  # most are equal: whatever there is counts
            low, high = min(low, values.min()), max(high, values.max())
        width, size = high - low, max(abs(low), abs(high))
        # with nothing to scale by yet, a guess of the magnitude
        guess = (size if size > TINY else 1.0) / 2
        margin = MARGIN * width if width > max(SLACK * size, TINY) else guess
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
            bound = plain(getattr(self, side))
            whole = isinstance(bound, Integral) or (isinstance(bound, float) and bound.is_integer())
            if isinstance(bound, bool) or not whole:
                raise ConfigurationError(f"{side} must be a whole number, not {bound!r}.")
            if abs(bound) > 2**53:  # type: ignore[arg-type]
                raise ConfigurationError(f"{side} is beyond 2^53, where floats skip whole numbers: use Real.")
            object.__setattr__(self, side, int(bound))  # type: ignore[call-overload]
        if self.low >= self.high:
            kind = "equal" if self.low == self.high else "reversed"
            raise ConfigurationError(
                f"the bounds are {kind}: low={self.low}, high={self.high}. Give low < high."
            )

    def check(self, value: object, label: str) -> int:
        """The value as an int inside the bounds, or an InputError."""
        result = number(value, label)
        if result != round(result):
            raise InputError(f"{label} is {result!r}, but must be a whole number. Tell the one used.")
        if not self.low <= result <= self.high:
            raise InputError(
                f"{label} is {int(result)}, outside its bounds ({self.low} to {self.high}). "
                "Correct it, or widen the bounds."
            )
        return int(result)

    def recall(self, value: object, label: str) -> float:
        """The value of a past decision, outside of the bounds or not whole; or an InputError."""
        result = number(value, label, MOST_BOUND)
        return int(result) if result == round(result) else result


@dataclass(frozen=True, init=False)
class Categorical:
    """One of a list of choices without an order."""

    choices: tuple[Value, ...]

    def __init__(self, choices: Sequence[Value]) -> None:
        if isinstance(choices, str) or not isinstance(choices, Sequence):
            raise ConfigurationError(f"choices must be a list such as ['a', 'b'], not {choices!r}.")
        choices = [plain(choice) for choice in choices]  # type: ignore[misc]
        for choice in choices:
            if not isinstance(choice, str | int | float | bool):
                raise ConfigurationError(f"a choice must be a string, a number or a bool, not {choice!r}.")
            if isinstance(choice, float) and not math.isfinite(choice):
                raise ConfigurationError(f"a choice must be finite, not {choice!r}.")
        if len(set(choices)) != len(choices):
            raise ConfigurationError(f"choices equal each other: {list(choices)!r}. Leave out the repeats.")
        if len(choices) < 2:
            raise ConfigurationError(
                f"a Categorical needs at least two choices, not {list(choices)!r}. Leave out a fixed one."
            )
        object.__setattr__(self, "choices", tuple(choices))

    def check(self, value: object, label: str) -> Value:
        """The choice equal to the value, or an InputError."""
        value = plain(value)
        for choice in self.choices if isinstance(value, str | int | float) else ():
            if value == choice and isinstance(value, bool) == isinstance(choice, bool):
                return choice
        raise InputError(
            f"{label} is {value!r}, not one of {list(self.choices)!r}."
            + near_match(value, [c for c in self.choices if isinstance(c, str)])
        )

    def recall(self, value: object, label: str) -> Value:
        """The choice of a past decision, which must still be one; or an InputError."""
        return self.check(value, label)


Parameter = Real | Integer | Categorical


def refuse_beyond(parameter: Parameter, least: float, most: float, label: str) -> None:
    """An InputError where all from ``least`` to ``most`` lies beyond the bounds of a number."""
    if isinstance(parameter, Categorical) or getattr(parameter, "outside", "") == "clip":
        return
    least_of_all = 0.0 if getattr(parameter, "log", False) else -math.inf
    low = least_of_all if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    if most < low or least > high:
        where = within(low, high)
        raise InputError(f"{label} lies outside its bounds ({where}). Correct it, or widen the bounds.")


def check_space(space: object, kind: str, allowed: tuple[type, ...]) -> dict[str, Any]:
    """The parameters of a space by name, or a ConfigurationError."""
    if not isinstance(space, Mapping):
        raise ConfigurationError(
            f"{kind}s must be a dictionary from names to spaces: {{'a_name': Real(0, 1)}}, not {space!r}."
        )
    words, one = " or ".join(cls.__name__ for cls in allowed), ONE[kind]
    for name, parameter in space.items():
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"the name of a {one} must be a non-empty string, not {name!r}.")
        if name == "value":
            raise ConfigurationError(f"a {one} cannot be named 'value': that is the outcome. Rename it.")
        if not isinstance(parameter, allowed):
            hint = f" For a range write {name!r}: Real(low, high)."
            raise ConfigurationError(f"{one} {name!r} must be a {words}, not {parameter!r}.{hint}")
    return dict(space)
