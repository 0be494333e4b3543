"""The boxes of a form: what stands beside them, what was typed, and what is wrong with it.

Numbers may have a decimal comma, a currency sign or the box's own unit. Boxes are known by their place, since
names may hold any letters; ``shape`` says of which study file the places are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optuna.distributions import CategoricalDistribution

from windage.errors import InputError, WindageError
from windage.space import Categorical, Integer, Parameter
from windage.studies.entries import Entry
from windage.studies.file import StudyFile

LONGEST = 200
"""Letters in a box."""
OUTSIDE = re.compile(r" is \S+, outside its bounds \((?P<ends>[^)]+)\)\..*")
ENDLESS = re.compile(r" is \S+, but must be finite\..*")


@dataclass(frozen=True)
class Box:
    """One box of a form."""

    field: str
    """Its name in the form: decision-0, context-1, value."""
    name: str
    """In the study."""
    label: str
    unit: str
    help: str
    choices: tuple[str, ...] = ()
    """Words to choose from, in place of a number."""
    blank: str = ""
    """The first of the words, where nothing is chosen yet."""
    whole: bool = False
    """Digits alone are typed."""
    typed: str = ""
    fault: str = ""
    may_be_empty: bool = False


@dataclass(frozen=True)
class Typed:
    """What was typed into boxes."""

    boxes: tuple[Box, ...]
    decision: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    value: float | None = None

    @property
    def right(self) -> bool:
        """Whether every box is right."""
        return not any(box.fault for box in self.boxes)

    @property
    def digest(self) -> str:
        """Of the numbers: a "sure" counts for these alone."""
        said = json.dumps([self.decision, self.context, self.value], default=str)
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def shape(file: StudyFile) -> str:
    """A digest of the names, their order, units and kinds."""
    units = {name: quantity.unit for name, quantity in file.quantities.items()}
    kinds = repr([dict(file.space), dict(file.contexts), file.known, file.optional])
    names = json.dumps([list(file.space), list(file.contexts), units, kinds])
    return hashlib.sha256(names.encode()).hexdigest()[:12]


def decision_boxes(file: StudyFile) -> list[Box]:
    """A box for each decision variable."""
    return [_decision(file, i, name) for i, name in enumerate(file.space)]


def result_boxes(file: StudyFile, known: Container[str] = ()) -> list[Box]:
    """A box for each condition that is not known already, and one for what came out."""
    names = [(i, name) for i, name in enumerate(file.contexts) if name not in known]
    value = file.quantities["value"]
    last = Box("value", "value", value.description or "What came out", value.unit, "")
    return [*(context_box(file, f"context-{i}", name) for i, name in names), last]


def context_box(file: StudyFile, field: str, name: str) -> Box:
    """A box for a condition of any kind."""
    quantity, kind, optional = file.quantities[name], file.contexts[name], name in file.optional
    choices = tuple(str(c) for c in kind.choices) if isinstance(kind, Categorical) else ()
    parts = (quantity.description, _ends(kind), "may stay empty" if optional else "")
    whole = isinstance(kind, Integer) and kind.low >= 0
    blank = "not seen" if optional else "choose …"
    help_ = ", ".join(part for part in parts if part)
    return Box(field, name, name, quantity.unit, help_, choices, blank, whole, may_be_empty=optional)


def asking_boxes(file: StudyFile) -> list[Box]:
    """Boxes for what is known before a decision, then two for each forecast: the middle, and ± how much."""
    places = {name: i for i, name in enumerate(file.contexts)}
    found = [context_box(file, f"known-{places[name]}", name) for name in file.known]
    for name, i in places.items():
        if name in file.known or isinstance(file.contexts[name], Categorical):
            continue
        unit = file.quantities[name].unit
        found.append(Box(f"forecast-{i}", name, f"Forecast of {name}", unit, "", may_be_empty=True))
        found.append(Box(f"spread-{i}", name, "± how much", unit, "", may_be_empty=True))
    return found


def _ends(kind: Parameter) -> str:
    return f"a whole number, {kind.low} to {kind.high}" if isinstance(kind, Integer) else ""


def _decision(file: StudyFile, i: int, name: str) -> Box:
    quantity, kind = file.quantities[name], file.space[name]
    words = isinstance(kind, CategoricalDistribution)
    choices = tuple(str(c) for c in kind.choices) if isinstance(kind, CategoricalDistribution) else ()
    ends = "" if words else f"{quantity.figure(kind.low)} to {quantity.show(kind.high)}"  # type: ignore[attr-defined]
    help_ = ", ".join(part for part in (quantity.description, ends) if part)
    return Box(f"decision-{i}", name, name, quantity.unit, help_, choices)


def filled(file: StudyFile, boxes: Sequence[Box], entry: Entry) -> list[Box]:
    """Boxes that hold what was told, a decision as it was shown.

    What was not told may stay empty; a choice that is gone may stay.
    """
    values: dict[str, Any] = {**entry.decision, **entry.context, "value": entry.value}
    found = []
    for box in boxes:
        value = values.get(box.name)
        decided = isinstance(value, float) and box.name in entry.decision
        told = file.quantities[box.name].figure(value) if decided else _digits(value)
        choices = (*box.choices, told) if box.choices and told and told not in box.choices else box.choices
        empty = box.field.startswith("context") and box.name not in entry.context
        found.append(replace(box, typed=told, choices=choices, may_be_empty=empty))
    return found


def seen(entry: Entry) -> str:
    """A digest of a day as a form shows it."""
    said = json.dumps([entry.decision, entry.context, entry.value], default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _digits(value: Any) -> str:
    """Each digit as it was told."""
    if value is None:
        return ""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def read(file: StudyFile, boxes: Sequence[Box], form: Mapping[str, Any], past: bool = False) -> Typed:
    """What was typed, each box checked by itself; ``past``: bounds of decisions may have been others then."""
    found, checked = Typed(tuple(boxes)), []
    for box in boxes:
        text = str(form.get(box.field, ""))[:LONGEST].strip()
        mine = replace(box, typed=text)
        kept = box.choices or box.field.startswith("decision")
        if (box.may_be_empty and not text) or (kept and text == box.typed and text):
            checked.append(mine)  # as it was told
            continue
        try:
            value = _checked(file, mine, past)
        except WindageError as error:
            checked.append(replace(mine, fault=in_words(str(error), mine)))
            continue
        if box.field == "value":
            found = replace(found, value=float(value))
        elif box.name in file.contexts:
            found.context[box.name] = value
        else:
            found.decision[box.name] = value
        checked.append(mine)
    return replace(found, boxes=tuple(checked))


def _checked(file: StudyFile, box: Box, past: bool) -> Any:
    if not box.typed:
        raise InputError("this is missing: say what it was.")
    if box.field == "value":
        return file.check_value(box.typed)
    return file.check_one(box.name, box.typed, past and box.name in file.space)


def in_words(message: str, box: Box) -> str:
    """A fault without the words of programmers."""
    for before in (f"context {box.name!r}", f"decision variable {box.name!r}"):
        message = message.replace(before, box.label)
    if box.field == "value":
        message = message.replace("value is", f"{box.label} is", 1).replace(
            "value must", f"{box.label} must", 1
        )
    if outside := OUTSIDE.search(message):
        words = f" is {box.typed}, but must be {outside['ends']}. "
        message = f"{message[: outside.start()]}{words}Correct it, or widen the bounds in the study file."
    if endless := ENDLESS.search(message):
        message = f"{message[: endless.start()]} is {box.typed}, which is no number to count with."
    return message[:1].upper() + message[1:]
