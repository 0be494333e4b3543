"""Questions in a terminal: the few of ``windage init``, and what is known before a decision."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from windage.errors import InputError, WindageError

if TYPE_CHECKING:
    from windage.studies.beforehand import Beforehand
    from windage.studies.file import StudyFile
    from windage.studies.writing import Plan, Variable

NOTHING = "nothing more"


def known_now(file: StudyFile, given: Beforehand, names: Sequence[str]) -> Beforehand:
    """Ask for what is known before the decision, by name; a wrong answer is explained and asked for again."""
    known = dict(given.known)
    for name in names:
        choices = getattr(file.contexts[name], "choices", ())
        listed = ", ".join(map(str, choices)) or file.quantities[name].unit
        words = f"What is {name}?" + (f" ({listed})" if listed else "")
        while name not in known:
            answer: str = typer.prompt(words, prompt_suffix=" ")
            try:
                known |= file.check_known({name: answer})
            except InputError as error:
                typer.echo(f"  {error}")
    return replace(given, known=known)


def answered(file: Path) -> None:
    """Ask, and write the study file. A wrong answer is explained and asked for again."""
    from windage.studies.writing import write

    typer.echo("A few questions; Ctrl-C ends without a file.")
    while True:
        plan = _plan()
        try:
            write(plan, file)
            break
        except WindageError as error:
            if file.exists():
                raise
            typer.echo(f"That does not go: {error} Once more, please.")
    where = shlex.quote(str(file))
    typer.echo(f"{file} is written. Go on:  windage serve {where}  (a page), or  windage ask {where}")


def _plan() -> Plan:
    from windage.studies.writing import Plan, Variable

    decisions: list[Variable] = []
    while True:
        words = "What do you decide? A name, such as stock" if not decisions else "What else do you decide?"
        name = _text(words, None if not decisions else NOTHING)
        if name in ("", NOTHING):
            break
        unit = _text("  In which unit? Such as kg; empty for none", "")
        low, high = _number("  From"), _number("  To")
        whole = typer.confirm("  Whole numbers alone?", default=False)
        decisions.append(Variable(name, unit, low, high, whole))
    contexts: list[Variable] = []
    while True:
        words = "What do you meet, and see only afterwards? Such as demand" if not contexts else "What else?"
        name = _text(words, NOTHING)
        if name in ("", NOTHING):
            break
        contexts.append(Variable(name, _text("  In which unit? Empty for none", "")))
    outcome = _text("What comes out? Such as profit of the day", None)
    unit = _text("  In which unit? Such as EUR; empty for none", "")
    return Plan(outcome, unit, typer.confirm("Is more of it better?", default=True), decisions, contexts)


def _text(words: str, default: str | None) -> str:
    answer: str = typer.prompt(words, default=default, show_default=bool(default))
    return " ".join(answer.split())


def _number(words: str) -> float:
    """A number, with a decimal comma too."""
    from windage.studies.quantities import typed

    while True:
        answer: str = typer.prompt(words)
        try:
            return float(typed(answer, "this"))
        except InputError as error:
            typer.echo(f"  {error}")
