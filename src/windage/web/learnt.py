"""What a study has found out, in sentences of the page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from windage.studies import findings
from windage.studies.dates import EPOCH
from windage.studies.file import StudyFile
from windage.studies.summary import suspects

if TYPE_CHECKING:
    from windage.contexts import Shift
    from windage.studies.store import Everything

FEW = 5
"""So many are named of what matters."""
NOT_USED = "not used"


def sentences(file: StudyFile, found: Everything) -> dict[str, list[str]]:
    """Of what people should know ("warn"), and of what is good to know ("more")."""
    shift = found.optimizer.shift
    warn = _odd(file, found)
    warn += [] if shift is None else [_shift(file, found, shift)]
    skills = found.optimizer.forecast_skill.values()
    warn += [skill.words() for skill in skills if skill.used == NOT_USED]
    matters = _matters(found)
    return {"warn": warn, "more": [matters] if matters else []}


def _odd(file: StudyFile, found: Everything) -> list[str]:
    """``Day 12 looks mistyped and does not count: profit of the day 1200 EUR. …``"""
    value = file.quantities["value"]
    label = value.description or "what came out"
    told = {row["number"]: row["value"] for row in found.known.observations}
    return [
        f"Day {number} looks mistyped, and its result does not count: {label} {value.in_full(told[number])}. "
        "Correct it in the table. If it is right, correct it there to the same."
        for number in suspects(found)
    ]


def _shift(file: StudyFile, found: Everything, shift: Shift) -> str:
    """``demand seems to have changed since 3 November (day 61): 110 kg on average, before 60 kg.``"""
    since = f"day {found.known.observations[shift.since]['number']}"
    if shift.time is not None:
        day = EPOCH + timedelta(days=shift.time)
        year = "" if day.year == datetime.now().year else f" {day.year}"
        since = f"{day.day} {day:%B}{year} ({since})"
    return shift.words(file.quantities[shift.name].show, since)


def _matters(found: Everything) -> str:
    """``What matters most: stock 45 %, demand 30 %.``"""
    shares = {name: one.total for name, one in findings.importance(found).items()}
    ordered = sorted(shares.items(), key=lambda item: -item[1])[:FEW]
    parts = [f"{name} {100 * share:.0f} %" for name, share in ordered if share >= findings.SMALLEST]
    return f"What matters most: {', '.join(parts)}." if parts else ""
