"""Dates as tables have them: 2026-11-18, 18.11.2026, and 11/18/2026 where the column shows what is meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime

from windage.errors import InputError

YEARS = range(1900, 2201)
"""Others are slips of the pen."""
FORM = "write year-month-day, such as 2026-11-18"
CLOCK = r"(?:[T ]+([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)\s*(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
YEAR_FIRST = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})" + CLOCK)
YEAR_LAST = re.compile(r"([0-9]{1,2})([./])([0-9]{1,2})\2([0-9]{4})" + CLOCK)


def month_first(cells: Iterable[str]) -> bool | None:
    """Whether dates with slashes are month/day/year; None where the cells do not show it, or differ."""
    found = [YEAR_LAST.fullmatch(cell) for cell in cells]
    pairs = [(int(m[1]), int(m[3])) for m in found if m and m[2] == "/"]
    shown = {first <= 12 for first, second in pairs if (first > 12) != (second > 12)}
    return shown.pop() if len(shown) == 1 else None


def iso(cell: str, months_first: bool | None, label: str = "date") -> str:
    """A date, with its time if it has one, as ISO text; an InputError where it is none, or ambiguous."""
    early, late = YEAR_FIRST.fullmatch(cell), YEAR_LAST.fullmatch(cell)
    if early:
        year, month, day, clock = int(early[1]), int(early[3]), int(early[4]), early.groups()[4:]
    elif late:
        (day, month), year, clock = (int(late[1]), int(late[3])), int(late[4]), late.groups()[4:]
        if late[2] == "/" and day != month:
            if months_first is None:
                raise InputError(f"{label} is {cell!r}: day or month first? {FORM.capitalize()}.")
            day, month = (month, day) if months_first else (day, month)
    else:
        raise InputError(f"{label} is {cell!r}, which is no date: {FORM}.")
    try:
        found = date(year, month, day).isoformat()
        if clock[0]:
            hour, _, rest = clock[0].partition(":")
            zone = (clock[1] or "").replace("Z", "+00:00")
            found = datetime.fromisoformat(f"{found}T{hour:0>2}:{rest}{zone}").isoformat()
    except ValueError:
        raise InputError(f"{label} is {cell!r}, which is no day of the calendar: {FORM}.") from None
    if year not in YEARS:
        raise InputError(f"{label} is {cell!r}: the year must be {YEARS[0]} to {YEARS[-1]}.")
    return found


EPOCH = datetime(1970, 1, 1)


def days(when: datetime) -> float:
    """Days since 1970, by the local clock."""
    return (when - EPOCH).total_seconds() / 86400


def moment(text: object) -> datetime | None:
    """ISO text as local time without a time zone, as Optuna's times are; None where it is none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        return found if found.tzinfo is None else found.astimezone().replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None
