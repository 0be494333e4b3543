"""Numbers as people write them: with a unit, with a decimal comma, as text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from windage.errors import InputError


@dataclass(frozen=True)
class Quantity:
    """How people speak of a number."""

    unit: str = ""
    """Such as kg; printed after the number."""
    description: str = ""
    """What it is, in a few words."""

    def show(self, value: Any) -> str:
        """A value with its unit."""
        return f"{figure(value)} {self.unit}".rstrip()


def figure(value: Any) -> str:
    """A number as people write it: six digits or more, and no powers of ten but for the very large."""
    if not isinstance(value, float):
        return str(value)
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.6g}"
    places = max(0, 5 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def typed(value: Any, label: str) -> Any:
    """Text as a number, or an InputError; other values are left to the checks that follow."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        hint = f" Write {pointed(value)}, with a point." if pointed(value) else ""
        if re.match(r"[+-]?[\d.]+\s*[^\d\s.,]", value):
            hint = " Write the number alone, without a unit."
        raise InputError(f"{label} is {value!r}, which is no number.{hint}") from None


def pointed(text: str) -> str:
    """A number with a decimal comma as one with a point; empty where it is none."""
    candidate = text.replace(",", ".")
    return candidate if re.fullmatch(r"[+-]?\d+\.\d+", candidate) and "," in text else ""
