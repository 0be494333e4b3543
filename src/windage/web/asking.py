"""What is known before a decision: boxes for it, what was typed, and the decision for such a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from windage.errors import InputError, WindageError
from windage.space import number
from windage.studies.beforehand import SIGN, check_bounds, one_forecast
from windage.studies.file import StudyFile
from windage.studies.quantities import typed
from windage.web import boxes, jobs
from windage.web.boxes import LONGEST, Box
from windage.web.site import Site
from windage.web.view import Attempt, with_alert
from windage.web.words import CHANGED

PATIENCE = 60.0
"""Seconds for a decision."""


@dataclass(frozen=True)
class Given:
    """What was typed of a day before its decision."""

    boxes: tuple[Box, ...]
    known: dict[str, Any] = field(default_factory=dict)
    forecast: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """Whether every box is right."""
        return not any(box.fault for box in self.boxes)


def ask(site: Site, form: Mapping[str, Any]) -> str | Attempt:
    """The decision for a day of which something is known."""
    attempt = Attempt("ask", _number(form))
    try:
        store = site.live.store()
        if str(form.get("shape", "")) != boxes.shape(store.file):
            raise InputError(CHANGED)
        given = read(store.file, form)
        attempt = replace(attempt, boxes=given.boxes)
        if not given.right:
            return replace(attempt, alert="Not asked yet: look at the marked boxes.")
        arguments = (str(site.live.path), given.known, given.forecast, attempt.number)
        found = site.background.answers.do(jobs.ask, *arguments, seconds=PATIENCE)
    except WindageError as error:
        kept = attempt.boxes or [_kept(box, form) for box in _wanted(site)]
        return with_alert(replace(attempt, boxes=kept), error)
    site.background.attend()
    return f"/?decision={found}#today"


def read(file: StudyFile, form: Mapping[str, Any]) -> Given:
    """What was typed, each box checked by itself."""
    found, checked = Given(()), []
    texts = {box.field: _kept(box, form) for box in boxes.asking_boxes(file)}
    for box in texts.values():
        fault = ""
        try:
            if box.field.startswith("known"):
                found.known[box.name] = _known(file, box)
            elif box.field.startswith("forecast"):
                _forecast(file, box, texts[box.field.replace("forecast", "spread")], found.forecast)
                if box.name in found.forecast:
                    check_bounds(file, box.name, found.forecast[box.name])
            elif box.typed:
                _deviation(box)
        except WindageError as error:
            fault = boxes.in_words(str(error), box)
        checked.append(replace(box, fault=fault))
    return replace(found, boxes=tuple(checked))


def _known(file: StudyFile, box: Box) -> Any:
    if not box.typed:
        raise InputError("this is missing: say what it is, before the decision.")
    return file.check_one(box.name, box.typed)


def _forecast(file: StudyFile, box: Box, spread: Box, found: dict[str, dict[str, Any]]) -> None:
    """A forecast into those found, or an InputError."""
    if not box.typed and not spread.typed:
        return
    if not box.typed:
        raise InputError("say the forecast itself too, or leave both boxes empty.")
    if SIGN.search(box.typed) and not spread.typed:
        found[box.name] = one_forecast(file, box.name, box.typed)
        return
    label = f"the forecast of {box.name}"
    mean = number(typed(box.typed, label, box.unit), label)
    deviation = None
    if spread.typed:
        try:
            deviation = _deviation(spread)
        except InputError:
            return  # said beside its own box
    found[box.name] = {"mean": mean, "deviation": deviation}


def _deviation(box: Box) -> float:
    label = "what follows ±"
    found = number(typed(box.typed, label, box.unit), label)
    if found <= 0:
        raise InputError(f"{label} is {box.typed}, but must be above 0.")
    return found


def _kept(box: Box, form: Mapping[str, Any]) -> Box:
    return replace(box, typed=str(form.get(box.field, ""))[:LONGEST].strip())


def _wanted(site: Site) -> list[Box]:
    return boxes.asking_boxes(site.live.file) if site.live.file else []


def _number(form: Mapping[str, Any]) -> int | None:
    """The open decision whose place a new one takes."""
    text = str(form.get("number", ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
