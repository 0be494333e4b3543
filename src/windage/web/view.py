"""What the page shows, as plain values for its templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from windage.errors import WindageError
from windage.studies import beforehand
from windage.studies.dates import moment
from windage.studies.entries import Entry, Pending, State
from windage.studies.file import StudyFile
from windage.studies.quantities import since
from windage.studies.store import StudyStore
from windage.web import boxes
from windage.web.boxes import Box
from windage.web.live import version
from windage.web.settings import in_words
from windage.web.site import Site
from windage.web.sliders import sliders
from windage.web.words import for_page

FEW_DAYS = 30
"""So many days are listed, unless all are wanted."""
WAIT = 0.2
"""Seconds that a page waits for the next decision."""
WHY = 3.0
"""Seconds after which a decision is shown without its line of why."""
DAY = 86400.0
NO_DECISION: dict[str, Any] = {"parts": [], "why": "", "given": "", "since": ""}
GROUPS = {
    "expected": "What to expect",
    "varies": "How conditions vary",
    "settled": "How the recommendation settled",
}


@dataclass(frozen=True)
class Attempt:
    """A form that was sent and not taken: what was typed is shown again."""

    form: str
    """ask, tell, add, correct, forget, undo, fail or upload."""
    number: int | None = None
    boxes: Sequence[Box] = ()
    why: str = ""
    alert: str = ""
    """What is wrong, in a sentence."""
    odd: Sequence[str] = ()
    """What looks mistyped."""
    sure: str = ""
    """What a "sure" must say."""
    table: str = ""
    """The key of an upload that waits for a "sure"."""
    replaces: bool = False
    """Whether rows that differ correct what was told."""
    seen: str = ""
    """Of a correction: a digest of the day as the form shows it."""


@dataclass(frozen=True)
class Wanted:
    """What a visitor wants to see."""

    said: str = ""
    correct: int | None = None
    decision: int | None = None
    every_day: bool = False
    what_if: Mapping[str, Any] = field(default_factory=dict)


def page(site: Site, wanted: Wanted, attempt: Attempt | None = None) -> dict[str, Any]:
    """All that the template needs; without a study there is a fault in words."""
    found: dict[str, Any] = {"fault": "", "said": wanted.said, "attempt": attempt, "csrf": site.keys.form}
    try:
        store = site.live.store()
        state = store.state()
        if not ready(state) and not store.file.known and not (attempt and attempt.form == "tell"):
            site.background.wait_for_decision(WAIT)
            state = store.state()
    except WindageError as error:
        return {**found, **_broken(site, attempt), "fault": for_page(str(error))}
    site.background.attend()
    return {**found, **_shown(site, store, state, wanted, attempt)}


def _broken(site: Site, attempt: Attempt | None) -> dict[str, Any]:
    """A page without its study: what was typed stays."""
    file = site.live.file
    today = None
    if file is not None and attempt is not None and attempt.form == "tell" and attempt.number is not None:
        today = {
            **NO_DECISION,
            "number": attempt.number,
            "gone": False,
            "boxes": attempt.boxes,
        }
    nothing: dict[str, Any] = dict.fromkeys(("others", "days", "head", "settings"), ())
    return {
        **nothing,
        **dict.fromkeys(("count", "more", "drawn"), 0),
        **dict.fromkeys(("best", "what_if"), None),
        "fresh": True,
        "busy": False,
        "trouble": "",
        "pictures": {},
        "today": today,
        "asking": attempt.boxes if attempt and attempt.form == "ask" else (),
        "asks": False,
        "file": file,
        "name": file.name if file else site.path.stem,
        "shape": boxes.shape(file) if file else "",
        "add": _add(file, attempt),
        "correcting": attempt if attempt and attempt.form == "correct" else None,
    }


def _shown(
    site: Site, store: StudyStore, state: State, wanted: Wanted, attempt: Attempt | None
) -> dict[str, Any]:
    file, known = store.file, site.background.known
    waiting = _waiting(state, wanted, attempt)
    rows = sorted([*state.entries, *state.forgotten], key=lambda e: -e.number)
    listed = rows if wanted.every_day else rows[:FEW_DAYS]
    if wanted.correct is not None and all(e.number != wanted.correct for e in listed):
        listed = [*listed, *(e for e in rows if e.number == wanted.correct)]
    return {
        "file": file,
        "name": file.name,
        "shape": boxes.shape(file),
        "today": _today(file, waiting, attempt),
        "asking": _asking(file, attempt),
        "asks": bool(file.known) and waiting is None,
        "others": [
            {"number": p.number, "shown": _line(file, p.decision), "given": _given(file, p)}
            for p in state.open
            if p is not waiting
        ],
        "best": known.best,
        "fresh": known.version == version(store, state),
        "trouble": for_page(known.fault) if known.fault else "",
        "pictures": grouped(known.figures),
        "drawn": known.drawn,
        "busy": site.background.busy,
        "what_if": sliders(file, known.best, wanted.what_if) if state.entries else None,
        "days": [_day(file, e, {f.number for f in state.forgotten}) for e in listed],
        "count": len(rows),
        "more": len(rows) - len(listed),
        "head": _heads(file),
        "settings": in_words(store, state),
        "add": _add(file, attempt),
        "correcting": _correcting(file, rows, wanted, attempt),
    }


def grouped(figures: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Pictures by what they are about."""
    return {
        title: [f for f in figures.values() if f["group"] == group]
        for group, title in GROUPS.items()
        if any(f["group"] == group for f in figures.values())
    }


def _waiting(state: State, wanted: Wanted, attempt: Attempt | None) -> Pending | None:
    """The decision to show: the one wanted, or the oldest."""
    number = attempt.number if attempt and attempt.form in ("ask", "tell", "fail") else wanted.decision
    chosen = [p for p in state.open if p.number == number]
    return (chosen or ready(state) or [None])[0]  # type: ignore[list-item]


def ready(state: State) -> list[Pending]:
    """Open decisions, but for one of this moment whose line of why is still being written."""
    return [p for p in state.open if p.why or p.age > WHY]


def _today(file: StudyFile, waiting: Pending | None, attempt: Attempt | None) -> dict[str, Any] | None:
    """Today's decision and its boxes."""
    mine = attempt if attempt and attempt.form == "tell" else None
    if waiting is None or (mine and mine.number != waiting.number):
        if mine is None:
            return None
        return {**NO_DECISION, "number": mine.number, "boxes": mine.boxes, "gone": True}
    parts = [
        {"name": name, "shown": file.quantities[name].show(v), "help": file.quantities[name].description}
        for name, v in waiting.decision.items()
        if name in file.space
    ]
    old = since(waiting.age) if waiting.age > DAY else ""
    shown = list(mine.boxes) if mine else boxes.result_boxes(file, waiting.beforehand.known)
    return {
        "number": waiting.number,
        "parts": parts,
        "why": waiting.why,
        "given": _given(file, waiting),
        "since": old,
        "gone": False,
        "boxes": shown,
    }


def _given(file: StudyFile, waiting: Pending) -> str:
    """``weekday sat, demand forecast 80±15 kg``"""
    return beforehand.words(file, waiting.beforehand)


def _asking(file: StudyFile, attempt: Attempt | None) -> Sequence[Box]:
    """Boxes for what is known before a decision."""
    return attempt.boxes if attempt and attempt.form == "ask" else boxes.asking_boxes(file)


def _add(file: StudyFile | None, attempt: Attempt | None) -> Sequence[Box]:
    if attempt and attempt.form == "add":
        return attempt.boxes
    return [*boxes.decision_boxes(file), *boxes.result_boxes(file)] if file else []


def _correcting(
    file: StudyFile, rows: Sequence[Entry], wanted: Wanted, attempt: Attempt | None
) -> Attempt | None:
    """The row that is being corrected, with what it holds or what was typed."""
    if attempt and attempt.form == "correct":
        return attempt
    found = [e for e in rows if e.number == wanted.correct]
    if not found:
        return None
    every = [*boxes.decision_boxes(file), *boxes.result_boxes(file)]
    return Attempt("correct", found[0].number, boxes.filled(file, every, found[0]), seen=boxes.seen(found[0]))


def _line(file: StudyFile, decision: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {shown}" for name, shown in file.show(decision).items())


def _heads(file: StudyFile) -> list[dict[str, str]]:
    names = [*file.space, *file.contexts, "value"]
    label = {"value": file.quantities["value"].description or "came out"}
    return [{"name": label.get(n, n), "unit": file.quantities[n].unit} for n in names]


def _day(file: StudyFile, entry: Entry, forgotten: set[int]) -> dict[str, Any]:
    """One row of the table of days."""
    values: dict[str, Any] = {**entry.decision, **entry.context, "value": entry.value}
    cells = []
    for name in (*file.space, *file.contexts, "value"):
        quantity, value = file.quantities[name], values.get(name)
        was = entry.was.get(name, value)
        cells.append(
            {
                "shown": "–" if value is None else quantity.figure(value),
                "was": "" if was == value or was is None else quantity.show(was),
            }
        )
    when = _short(moment(entry.date) or entry.told)
    gone = entry.number in forgotten
    return {
        "number": entry.number, "when": when, "cells": cells, "gone": gone,
        "changed": bool(entry.was) or gone, "why": entry.why,
    }  # fmt: skip


def _short(when: datetime | None) -> str:
    """``18 Nov``, ``18 Nov 2025``."""
    if when is None:
        return ""
    year = "" if when.year == datetime.now().year else f" {when.year}"
    return f"{when.day} {when:%b}{year}"


def with_alert(attempt: Attempt, error: WindageError) -> Attempt:
    """The same form, with what is wrong."""
    return replace(attempt, alert=for_page(str(error)))
