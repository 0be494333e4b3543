"""Numbers as people write them: with a unit, with a decimal comma, as text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from windage.errors import InputError
from windage.studies import numerals

DIGITS = 3
"""Of a number, and of the range of a decision variable: more is noise."""
STEP_DIGITS = 6
"""Of a step that has no end, such as a third."""
FEW = 5
"""So many lines of a table are named, then only counted."""
FEWEST, MOST = 1e-4, 1e15
"""Smaller and larger numbers are written with powers of ten."""


@dataclass(frozen=True)
class Quantity:
    """How people speak of a number."""

    unit: str = ""
    """Such as kg; printed after the number."""
    description: str = ""
    """What it is, in a few words."""
    places: int | None = None
    """Decimal places that are shown; None: three digits, and whole numbers in full."""

    def show(self, value: Any) -> str:
        """A value with its unit."""
        return f"{self.figure(value)} {self.unit}".rstrip()

    def figure(self, value: Any) -> str:
        """A value without its unit."""
        return figure(value, self.places)

    def in_full(self, value: float) -> str:
        """A value with its unit, each digit as it was told."""
        text = str(value).removesuffix(".0") if isinstance(value, float) else str(value)
        return f"{text} {self.unit}".rstrip()


def figure(value: Any, places: int | None = None) -> str:
    """A number as people write it, to so many decimal places; None: to three digits, and above 1000 as whole.

    No powers of ten but for the very large and the very small.
    """
    if not isinstance(value, float):
        return str(value)
    if value == 0 or not FEWEST <= abs(value) < MOST:
        return f"{value:.{DIGITS}g}"
    if places is None:
        places = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def places_of(low: float, high: float, step: float | None = None, log: bool = False) -> int | None:
    """The decimal places that a decision variable needs to be carried out: its step's, or its range's.

    None where three digits do: on a logarithmic scale.
    """
    if step is not None:
        exact = max(_places(step), _places(low))
        return max(0, min(exact, STEP_DIGITS - math.ceil(math.log10(step))))
    if log or not 0 < high - low < math.inf:
        return None
    found = DIGITS - math.ceil(math.log10(high - low))
    return max(0, found) if found <= -math.log10(FEWEST) + DIGITS else None


def _places(number: float) -> int:
    """The decimal places that a number is written with."""
    exponent = Decimal(repr(float(number))).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def counted(count: int, one: str) -> str:
    """``1 row``, ``3 rows``."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def lines_named(numbers: Sequence[int]) -> str:
    """``line 3``, ``lines 3, 4, 5, 6, 7 and 2 more``."""
    listed = ", ".join(map(str, numbers[:FEW]))
    more = f" and {len(numbers) - FEW} more" if len(numbers) > FEW else ""
    return f"line{'s' if len(numbers) > 1 else ''} {listed}{more}"


def since(age: float, now: datetime | None = None) -> str:
    """When something was so many seconds ago: ``08:15``, ``Monday``, ``3 November``, ``3 November 2025``."""
    now = now or datetime.now()
    then = now - timedelta(seconds=age)
    days = (now.date() - then.date()).days
    if days == 0:
        return f"{then:%H:%M}"
    if days < 7:
        return f"{then:%A}"
    return f"{then.day} {then:%B}" + ("" if then.year == now.year else f" {then.year}")


def typed(value: Any, label: str, unit: str = "") -> Any:
    """Text as a number, or an InputError; other values are left to the checks that follow.

    A point is the decimal one. A comma is too where it cannot stand for thousands. A currency sign, and the
    variable's own unit in any capitals, may stand beside the number.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    bare = text[: -len(unit)].rstrip() if unit and text.casefold().endswith(unit.casefold()) else text
    try:
        return float(numerals.plain(bare, None, "", label) if not _is_float(bare) else bare)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
    hint = " Write the number alone, such as 12.5."
    if re.match(r"[+-]?[\d.,]+\s*[^\d\s.,]", text):
        hint = " Write the number alone, without a unit."
    if re.fullmatch(r"[\doOlI.,]+", text) and re.search("[oOlI]", text):
        hint = " There is a letter in it."
    if "=" in text:
        hint = " Give one at a time."
    raise InputError(f"{label} is {value!r}, which is no number.{hint}")


def _is_float(text: str) -> bool:
    """Whether Python reads it as a number; ``1_000`` is none to people."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
