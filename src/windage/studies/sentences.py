"""What to expect, in a person's words: on average, on a single day, and if conditions turn out worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windage.studies.file import StudyFile
from windage.studies.numerals import CURRENCY

if TYPE_CHECKING:
    from windage import Prediction

CODES = ("EUR", "USD", "GBP", "CHF", "JPY", "INR", "CAD", "AUD", "SEK", "NOK", "DKK", "PLN", "CZK", "CNY")
"""Currencies by their letters; less than 0 of them is a loss."""
FEWEST = 0.005
"""A smaller share of days rounds to 0 of 100."""


def threshold_of(file: StudyFile, given: float | None) -> float | None:
    """The value of which it is said how often a single day stays below: that given, or 0 of a gain."""
    return 0.0 if given is None and file.direction == "maximize" else given


def lines(file: StudyFile, found: Prediction, asked: bool = False) -> list[str]:
    """What to expect of a decision; ``asked``: the user gave the threshold, so it is named."""
    return [*average_and_day(file, found, asked), *worse(file, found)]


def average_and_day(file: StudyFile, found: Prediction, asked: bool = False) -> list[str]:
    """``On average 156 € (141 to 172 €). A single day: 95 to 175 €; a loss in 3 of 100 days.``"""
    value = file.quantities["value"]
    average = f"On average {value.show(found.expected)} ({_range(value, *found.interval)})."
    if not file.contexts:
        return [average]
    rare = _below(file, found, asked)
    return [average, f"A single day: {_range(value, *found.outcome.interval)}{'; ' + rare if rare else ''}."]


def worse(file: StudyFile, found: Prediction) -> list[str]:
    """What to expect if conditions turn out worse than seen."""
    if not file.contexts:
        return []
    shown = file.quantities["value"].show(found.worst_case)
    return [f"If conditions turn out worse than seen: {shown} on average."]


def _below(file: StudyFile, found: Prediction, asked: bool) -> str:
    """How often a single day stays below the threshold; empty where nobody asked and it is no news."""
    share, threshold = found.outcome.below, found.outcome.threshold
    if share is None or threshold is None:
        return ""
    if not asked and not FEWEST <= share < 1 - FEWEST:
        return ""
    quantity = file.quantities["value"]
    money = quantity.unit in CODES or (quantity.unit != "" and quantity.unit in CURRENCY)
    words = "a loss" if threshold == 0 and money else f"below {quantity.show(threshold)}"
    return f"{words} in {often(share)}"


def often(share: float) -> str:
    """``3 of 100 days``."""
    if 0 < share < FEWEST:
        return "less than 1 of 100 days"
    if 1 - FEWEST <= share < 1:
        return "more than 99 of 100 days"
    return f"{100 * share:.0f} of 100 days"


def _range(quantity: Any, low: float, high: float) -> str:
    """``141 to 172 €``."""
    return f"{quantity.figure(low)} to {quantity.show(high)}"
