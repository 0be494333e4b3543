"""What a study has found out: whether conditions changed, what forecasts are worth, and what matters."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from windage.errors import NotEnoughDataError
from windage.studies.dates import EPOCH
from windage.studies.description import StudyFile
from windage.studies.learnt import Everything

if TYPE_CHECKING:
    from windage.contexts import Shift
    from windage.importance import Importance

FEWEST = 5
"""Results before which nobody can say what matters."""
MOST = 1000
"""Results up to which a status takes the time to fit them and say what matters."""
SMALLEST = 0.005
"""A smaller share rounds to 0 %."""


def lines(file: StudyFile, found: Everything) -> list[str]:
    """A sentence each."""
    shift = found.optimizer.shift
    words = [] if shift is None else [shift_words(file, found, shift)]
    words += [skill.words() for skill in found.optimizer.forecast_skill.values()]
    matters = importance_words(importance(found))
    return [*words, matters] if matters else words


def plain(found: Everything) -> dict[str, Any]:
    """The same, for scripts."""
    shift, skills = found.optimizer.shift, found.optimizer.forecast_skill
    return {
        "shift": None if shift is None else {**vars(shift), **_place(found, shift)},
        "forecasts": {name: {"count": skill.count, "used": skill.used} for name, skill in skills.items()},
        "importance": {n: {"alone": i.alone, "total": i.total} for n, i in importance(found).items()},
    }


def shift_words(file: StudyFile, found: Everything, shift: Shift) -> str:
    """``demand seems to have changed since 18 November 2026 (decision 61): 110 kg on average, ...``"""
    place = _place(found, shift)
    since = f"decision {place['since']}"
    if place["date"]:
        day = EPOCH + timedelta(days=shift.time or 0.0)
        since = f"{day.day} {day:%B %Y} ({since})"
    return shift.words(file.quantities[shift.name].show, since)


def _place(found: Everything, shift: Shift) -> dict[str, Any]:
    """Number of the first decision after a shift, and its date."""
    date = None if shift.time is None else (EPOCH + timedelta(days=shift.time)).date().isoformat()
    return {"since": found.known.observations[shift.since]["number"], "date": date}


def importance(found: Everything) -> dict[str, Importance]:
    """How much of the outcome each variable and context explains; empty of few results, and of very many."""
    rows = found.known.observations
    if not FEWEST <= len(rows) <= MOST:
        return {}
    try:
        return found.optimizer.importance()
    except NotEnoughDataError:
        return {}


def importance_words(shares: dict[str, Importance]) -> str:
    """``What matters: stock 45 %, demand 30 %, weekday 5 %.``"""
    if not any(share.total >= SMALLEST for share in shares.values()):
        return ""
    ordered = sorted(shares.items(), key=lambda item: -item[1].total)
    return f"What matters: {', '.join(f'{name} {100 * share.total:.0f} %' for name, share in ordered)}."
