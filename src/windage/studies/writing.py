"""A study file written from answers: ``windage init`` in a terminal, and the web page, ask for them.

What is written is read again before it is kept, so that a wrong answer is a fault with a reason and no file.
"""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from windage.errors import ConfigurationError, InputError, WindageError

HEAD = """# A windage study. Change what stands here, then:
#   windage serve {file}       the page of this study
#   windage ask {file}         what to do next, with its number
"""


@dataclass(frozen=True)
class Variable:
    """Something that is decided, or met."""

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    whole: bool = False
    """Whole numbers alone."""
    choices: tuple[str, ...] = ()
    """Words to choose from, in place of a number."""
    known: bool = False
    """Of what is met: whether it is known before the decision."""


@dataclass(frozen=True)
class Plan:
    """A study, as people describe it."""

    outcome: str
    """What comes out, in a few words."""
    unit: str
    """Of what comes out."""
    larger: bool
    """Whether a larger outcome is better."""
    decisions: Sequence[Variable]
    contexts: Sequence[Variable]


EXAMPLES = {
    "A bakery": Plan(
        "profit of the day", "EUR", True, [Variable("bread", "kg", 0, 80)], [Variable("demand", "kg", 0)]
    ),
    "A market stall": Plan(
        "profit of the day", "EUR", True, [Variable("bread", "", 0, 200, True)],
        [
            Variable("weekday", choices=("mon", "tue", "wed", "thu", "fri", "sat"), known=True),
            Variable("customers", "", 0, 500, True),
        ],
    ),
    "A plant": Plan(
        "yield", "%", True,
        [Variable("temperature", "°C", 60, 120), Variable("time", "min", 10, 90, True)],
        [Variable("moisture", "%", 0, 100)],
    ),
    "A delivery round": Plan(
        "time per parcel", "min", False, [Variable("drivers", "", 2, 12, True)], [Variable("parcels", "", 0)]
    ),
}  # fmt: skip
"""To begin with."""


def toml_of(plan: Plan, name: str, stem: str) -> str:
    """The study file of a plan: ``name`` of the file, and ``stem`` of its database."""
    method = [] if plan.contexts else ['method = "gp-ucb"     # nothing is met']
    lines = [
        HEAD.format(file=shlex.quote(" ".join(name.splitlines()))),
        f"direction = {quoted('maximize' if plan.larger else 'minimize')}",
        'aim = "earn"          # every decision counts; "learn": only the recommendation at the end does',
        *method,
        f"storage = {quoted(f'sqlite:///{stem}.db')}",
        "\n[value]",
        *_texts(plan.unit, plan.outcome),
    ]
    for kind, rows in (("decisions", plan.decisions), ("contexts", plan.contexts)):
        for row in rows:
            lines.append(f"\n[{kind}.{quoted(row.name)}]")
            ends = (("low", row.low), ("high", row.high))
            lines += [f"{side} = {_number(end)}" for side, end in ends if end is not None]
            lines += [f"choices = [{', '.join(map(quoted, row.choices))}]"] if row.choices else []
            lines += ["integer = true"] if row.whole else []
            lines += ["known = true"] if row.known and kind == "contexts" else []
            lines += _texts(row.unit, "")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _texts(unit: str, description: str) -> list[str]:
    pairs = (("unit", unit), ("description", description))
    return [f"{key} = {quoted(text)}" for key, text in pairs if text]


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise InputError(f"{value} is no bound: give a finite number.")
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def check(plan: Plan) -> None:
    """An InputError where a plan lacks a name or has one twice."""
    if not plan.decisions:
        raise InputError("say what you decide: a study needs one decision variable at least.")
    names = [row.name for row in (*plan.decisions, *plan.contexts)]
    for name in names:
        if not name.strip() or any(ord(letter) < 32 for letter in name):
            raise InputError("every decision and condition needs a name, in one line.")
        if names.count(name) > 1:
            raise InputError(f"the name {name!r} is there twice: give one of them another.")
    for text in (plan.outcome, plan.unit, *(row.unit for row in (*plan.decisions, *plan.contexts))):
        if any(ord(letter) < 32 for letter in text):
            raise InputError("a unit or description is one line.")


def write(plan: Plan, path: Path) -> None:
    """Write the study file of a plan, where there is none yet. A WindageError leaves no file behind."""
    from windage.studies.file import load

    check(plan)
    text = toml_of(plan, path.name, path.stem)
    create(path, text.encode())
    try:
        load(path).engine_method()
    except WindageError as error:
        with suppress(OSError):
            path.unlink()
        raise ConfigurationError(str(error).removeprefix(f"{path}: ")) from error


def create(path: Path, content: bytes) -> None:
    """Write a file that is not there yet; a WindageError where it is, or cannot be written."""
    if not path.name:
        raise WindageError(f"{path} cannot be written: give the study file a name, such as shop.toml.")
    try:
        if not path.parent.is_dir():
            raise WindageError(f"there is no folder {path.parent}: make it first.")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError as error:
        raise WindageError(f"{path} is there already: choose another name.") from error
    except (OSError, ValueError) as error:
        raise _unwritten(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: Exception) -> WindageError:
    words = getattr(error, "strerror", None) or "its name is no Unicode text"
    return WindageError(f"{path} cannot be written: {words}.")
