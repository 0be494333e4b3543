"""Checks of what users give. Each names the field and says what to do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from numbers import Real as RealNumber
from typing import Any

from windage.errors import ConfigurationError, InputError, WindageError, near_match

ONE = {"decision": "decision variable", "context": "context"}
"""What one name of a decision or of a context is called."""
MOST_SEED = 2**128 - 1
"""As many bits as NumPy's generators draw from."""
SECONDS_A_DAY, MOST_DAYS = 86400.0, 1e9
LONGEST = 200
"""Characters of a value in a message."""


def plain(value: object) -> object:
    """A scalar of NumPy or the like as Python's own; anything else as it is."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    return value


def brief(value: object) -> str:
    """A value as a message shows it: cut where it is long. Python writes no whole number of 5,000 digits."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def within(low: float, high: float) -> str:
    """Bounds in words: ``0 or more``, ``100 or less``, ``0 to 100``."""
    if high == math.inf:
        return f"{low:.15g} or more"
    return f"{high:.15g} or less" if low == -math.inf else f"{low:.15g} to {high:.15g}"


def number(value: object, label: str, most: float = 1e300) -> float:
    """A finite float of magnitude up to ``most``, or an InputError that names ``label``."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, RealNumber):
        raise InputError(
            f"{label} must be a number, but is {brief(value)} ({type(value).__name__}). Give a plain number."
        )
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise InputError(
            f"{label} is {result!r}, but must be finite. Give a finite number, or leave this observation out."
        )
    if abs(result) > most:
        raise InputError(f"{label} is {result!r}: too large to compute with. Use a larger unit.")
    return result


def days(value: object, label: str) -> float:
    """A time in days since 1970, from a number of days, a date, a moment, or ISO text; or an InputError."""
    if getattr(getattr(value, "dtype", None), "kind", "") == "M" and getattr(value, "ndim", None) == 0:
        value = value.astype("datetime64[us]")  # type: ignore[attr-defined]  # nanoseconds would be a number
    value = plain(value)
    if value is None or (isinstance(value, datetime) and value != value):  # a NaT of NumPy or pandas
        raise InputError(f"{label} is NaT, no time: give one, or leave it out.")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InputError(
                f"{label} is {brief(value)}: write it as 2026-11-18 or 2026-11-18T08:30."
            ) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment.timestamp() / SECONDS_A_DAY
    return number(value, label, MOST_DAYS)


def whole(
    value: object,
    label: str,
    kind: type[WindageError] = InputError,
    least: int = 0,
    words: str = "",
    most: int = 2**63 - 1,
) -> int:
    """A whole number from ``least`` to ``most``, or an error of this kind. Arrays hold no larger ones."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise kind(f"{label} must be a whole number, {least} or more{words}, not {brief(value)}.")
    if value > most:
        raise kind(f"{label} must be at most {most}, not {brief(value)}.")
    return value


def positive(value: object, label: str, zero: bool = False, words: str = "") -> None:
    """A ConfigurationError where a setting is no positive number (or 0, if that is allowed)."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if not numeric or not 0 <= value <= 1e300 or (value == 0 and not zero):  # type: ignore[operator]
        kind = "0 or a positive" if zero else "a positive"
        raise ConfigurationError(f"{label} must be {kind} number{words}, not {brief(value)}.")


def one_of(value: object, label: str, known: Sequence[str]) -> None:
    """A ConfigurationError where a setting is none of the known words."""
    if not isinstance(value, str) or value not in known:
        raise ConfigurationError(
            f"{label} must be one of {', '.join(known)}, not {brief(value)}.{near_match(value, known)}"
        )


def check_names(given: object, known: Sequence[str], kind: str) -> Mapping[str, Any]:
    """The mapping itself if it has exactly the known names, else an InputError with the near match."""
    expected, one = ", ".join(repr(name) for name in known) or "none: this study has no contexts", ONE[kind]
    if not isinstance(given, Mapping):
        example = "{" + ", ".join(f"{name!r}: ..." for name in known) + "}"
        shown = repr(given) if len(repr(given)) < 60 else "a"
        raise InputError(
            f"the {kind} must be a dictionary such as {example}, not {shown} ({type(given).__name__})."
        )
    for name in given:
        if name not in known:
            raise InputError(f"unknown {one} {name!r}; the names are {expected}.{near_match(name, known)}")
    for name in known:
        if name not in given:
            raise InputError(f"{one} {name!r} is missing; all of {expected} are needed.")
    return given
