"""What the forms of the page do. Each gives an address to go to, or the form again with what is wrong."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from windage.errors import InputError, TrialError, WindageError
from windage.studies.entries import Entry
from windage.studies.file import StudyFile
from windage.studies.second_look import odd_correction, oddities
from windage.studies.store import StudyStore
from windage.web import boxes
from windage.web.boxes import Box, Typed
from windage.web.site import Site
from windage.web.view import Attempt, with_alert
from windage.web.words import CHANGED

Result = str | Attempt
LONGEST = 300
"""Letters of a reason."""
SAME: Mapping[str, Any] = {"decision": {}, "context": {}, "value": None}
"""The parts of a correction that says what was told."""


def tell(site: Site, form: Mapping[str, Any], number: int) -> Result:
    """What came of today's decision."""
    attempt = Attempt("tell", number)
    known: Mapping[str, Any] = {}
    try:
        mine = {p.number: p for p in site.live.store().state().pending}.get(number)
        known = _known(site, form) if mine is None else mine.beforehand.known
        store, typed = _typed(site, form, decided=False, known=known)
        attempt = replace(attempt, boxes=typed.boxes)
        if not typed.right:
            return replace(attempt, alert="Not saved yet: look at the marked boxes.")
        if mine is not None:
            odd = _odd(store, mine.decision, typed, form, known)
            if odd:
                return replace(attempt, odd=odd, sure=typed.digest)
        entry = store.tell(number, typed.context, typed.value)
    except TrialError as error:
        if _said_before(site, number, typed):
            return site.say(f"Decision {number} is saved already, with the same numbers.")
        return with_alert(attempt, error)
    except WindageError as error:
        return with_alert(_kept(site, attempt, form, decided=False, known=known), error)
    return _done(site, f"Saved: {_line(store.file, entry)}.")


def add(site: Site, form: Mapping[str, Any]) -> Result:
    """A day of one's own."""
    attempt = Attempt("add")
    try:
        store, typed = _typed(site, form, decided=True)
        attempt = replace(attempt, boxes=typed.boxes)
        if not typed.right:
            return replace(attempt, alert="Not saved yet: look at the marked boxes.")
        odd = _odd(store, typed.decision, typed, form)
        if odd:
            return replace(attempt, odd=odd, sure=typed.digest)
        key = f"{str(form.get('once', ''))[:40]} {typed.digest}"
        if not site.forms.first(key):
            return site.say("This day is saved already.")
        try:
            store.add(typed.decision, typed.context, typed.value, past=True)
        except BaseException:  # it is not saved, whatever it was
            site.forms.drop(key)
            raise
    except WindageError as error:
        return with_alert(_kept(site, attempt, form, decided=True), error)
    values = {**typed.decision, **typed.context, "value": typed.value}
    return _done(site, f"A day is added: {_shown(store.file, values)}.")


def correct(site: Site, form: Mapping[str, Any], number: int) -> Result:
    """What was told of a day was wrong."""
    attempt = Attempt("correct", number, why=str(form.get("why", ""))[:LONGEST])
    try:
        told = {e.number: e for e in site.live.store().state().entries}.get(number)
        if told is None:
            raise InputError(f"day {number} is not among the days that count.")
        store, typed = _typed(site, form, decided=True, told=told)
        attempt = replace(attempt, boxes=typed.boxes, seen=boxes.seen(told))
        if str(form.get("seen", "")) != attempt.seen:
            return replace(attempt, alert=f"Day {number} was changed meanwhile: look at it again, then save.")
        if not typed.right:
            return replace(attempt, alert="Not corrected yet: look at the marked boxes.")
        parts = _differing(typed, told)
        if parts == SAME:  # somebody has looked at it again: it is no longer taken for a slip
            store.correct(number, value=typed.value, why=attempt.why or "looked at again")
            return _done(site, f"Day {number} stays as it is, and counts.")
        odd = [] if _said_right(typed, form) else odd_correction(store, number, **parts)
        if odd:
            return replace(attempt, odd=_named(store.file, odd), sure=typed.digest)
        entry = store.correct(number, **parts, why=attempt.why, past=True)
    except WindageError as error:
        return with_alert(_kept(site, attempt, form, decided=True), error)
    return _done(site, f"Day {number} is corrected: {_line(store.file, entry)}.")


def forget(site: Site, number: int) -> Result:
    """A day no longer counts."""
    return _change(site, number, "forget", f"Day {number} no longer counts. Undo brings it back.")


def undo(site: Site, number: int) -> Result:
    """The last change of a day is taken back."""
    return _change(site, number, "undo", f"The last change of day {number} is undone.")


def fail(site: Site, form: Mapping[str, Any], number: int) -> Result:
    """A decision brought no result."""
    why = str(form.get("why", ""))[:LONGEST].strip()
    try:
        site.live.store().fail(number, why or "no reason was given")
    except WindageError as error:
        return with_alert(Attempt("fail", number, why=why), error)
    return _done(site, f"Decision {number} is closed without a result.")


def _change(site: Site, number: int, kind: str, words: str) -> Result:
    try:
        getattr(site.live.store(), kind)(number)
    except WindageError as error:
        return with_alert(Attempt(kind, number), error)
    return _done(site, words)


def _done(site: Site, words: str) -> str:
    site.background.attend()
    return site.say(words)


def _wanted(file: StudyFile, decided: bool, known: Container[str] = ()) -> list[Box]:
    """The boxes of a form."""
    return [*(boxes.decision_boxes(file) if decided else ()), *boxes.result_boxes(file, known)]


def _known(site: Site, form: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions for which a form has no box: they were known before its decision."""
    file = site.live.store().file
    return {name: None for i, name in enumerate(file.contexts) if f"context-{i}" not in form}


def _typed(
    site: Site,
    form: Mapping[str, Any],
    decided: bool,
    told: Entry | None = None,
    known: Container[str] = (),
) -> tuple[StudyStore, Typed]:
    """The study and what was typed; an InputError where the boxes are of another study file."""
    store = site.live.store()
    if str(form.get("shape", "")) != boxes.shape(store.file):
        raise InputError(CHANGED)
    wanted = _wanted(store.file, decided, known)
    wanted = wanted if told is None else boxes.filled(store.file, wanted, told)
    return store, boxes.read(store.file, wanted, form, past=True)


def _kept(
    site: Site, attempt: Attempt, form: Mapping[str, Any], decided: bool, known: Container[str] = ()
) -> Attempt:
    """What was typed, where the study could not be read."""
    if attempt.boxes or site.live.file is None:
        return attempt
    wanted = _wanted(site.live.file, decided, known)
    texts = [replace(box, typed=str(form.get(box.field, ""))[: boxes.LONGEST]) for box in wanted]
    return replace(attempt, boxes=texts)


def _odd(
    store: StudyStore,
    decision: Mapping[str, Any],
    typed: Typed,
    form: Mapping[str, Any],
    known: Mapping[str, Any] | None = None,
) -> list[str]:
    """What looks mistyped, unless these very numbers were said to be right."""
    if _said_right(typed, form) or typed.value is None:
        return []
    met = {**(known or {}), **typed.context}
    return _named(store.file, oddities(store, decision, met, typed.value))


def _said_right(typed: Typed, form: Mapping[str, Any]) -> bool:
    return str(form.get("sure", "")) == typed.digest


def _named(file: StudyFile, odd: Sequence[str]) -> list[str]:
    """Sentences that call the value what the study calls it."""
    label = file.quantities["value"].description or "what came out"
    return [words.replace("value ", f"{label} ", 1) if words.startswith("value ") else words for words in odd]


def _said_before(site: Site, number: int, typed: Typed) -> bool:
    """Whether a decision was told with the same numbers: a button pressed twice."""
    try:
        told = {e.number: e for e in site.live.store().entries()}.get(number)
    except WindageError:
        return False
    if told is None or told.value != typed.value:
        return False
    return all(told.context.get(box.name) == typed.context.get(box.name) for box in typed.boxes[:-1])


def _differing(typed: Typed, told: Entry) -> dict[str, Any]:
    """The parts of a correction: what differs from what was told."""
    decision = {k: v for k, v in typed.decision.items() if told.decision.get(k) != v}
    context = {k: v for k, v in typed.context.items() if told.context.get(k) != v}
    return {
        "decision": decision,
        "context": context,
        "value": typed.value if typed.value != told.value else None,
    }


def _shown(file: StudyFile, values: Mapping[str, Any]) -> str:
    label = file.quantities["value"].description or "outcome"
    return ", ".join(
        f"{label if name == 'value' else name} {file.quantities[name].in_full(value)}"
        for name, value in values.items()
        if name in file.quantities
    )


def _line(file: StudyFile, entry: Entry) -> str:
    return _shown(file, {**entry.context, "value": entry.value})
