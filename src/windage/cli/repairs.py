"""Mistakes in what was told: ``windage correct``, ``forget``, ``undo`` and ``history``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windage.cli.progress import piped, working
from windage.cli.shared import AsJson, Pairs, StudyPath, Sure, ask_again, open_store, pairs

if TYPE_CHECKING:
    from windage.changes import Change
    from windage.studies.entries import Entry
    from windage.studies.file import StudyFile
    from windage.studies.store import StudyStore

Number = Annotated[int, typer.Argument(help="Of the decision, as windage status and export show it.")]
Why = Annotated[str, typer.Option(help="The reason, in your words; it is kept.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (correct, forget, undo, history):
        app.command()(command)


def correct(
    file: StudyPath,
    number: Number,
    value: Annotated[str | None, typer.Option(help="What really came out, a number.")] = None,
    context: Annotated[Pairs | None, typer.Option(metavar="NAME=VALUE", help="What was really met.")] = None,
    decision: Annotated[
        Pairs | None, typer.Option(metavar="NAME=VALUE", help="What was really done.")
    ] = None,
    why: Why = "",
    sure: Sure = False,
    as_json: AsJson = False,
) -> None:
    """Correct what was told of a decision. What is not given stays; nothing is erased."""
    met, own = pairs(context or (), "--context"), pairs(decision or (), "--decision")
    with working("opening the study", quiet=piped(as_json)):
        store = open_store(file)
        parts = store.file.check_parts(own, met, value, past=True)
        odd = [] if sure else _odd(store, number, parts)
        forgotten = any(entry.number == number for entry in store.state().forgotten)
    ask_again(odd, as_json)
    with working("writing the correction", quiet=piped(as_json)):
        entry = store.correct(number, decision=own, context=met, value=value, why=why, past=True)
    again = " It counts again." if forgotten else ""
    _done(entry, "corrected", f"Decision {number} is corrected: {_parts(store.file, entry)}.{again}", as_json)


def _odd(store: StudyStore, number: int, parts: tuple[Any, Any, Any]) -> list[str]:
    from windage.studies.second_look import odd_correction

    own, met, value = parts
    return odd_correction(store, number, own or {}, met or {}, value)


def forget(file: StudyPath, number: Number, why: Why = "", as_json: AsJson = False) -> None:
    """What was told of a decision no longer counts. Nothing is erased; windage undo brings it back."""
    with working("opening the study", quiet=piped(as_json)):
        store = open_store(file)
        entry = store.forget(number, why)
    back = f"windage undo {shlex.quote(str(file))} {number}"
    words = f"Decision {number} no longer counts. To bring it back:  {back}"
    _done(entry, "forgotten", words, as_json)


def undo(file: StudyPath, number: Number, why: Why = "", as_json: AsJson = False) -> None:
    """Take back the last correction of a decision, or let a forgotten one count again."""
    with working("opening the study", quiet=piped(as_json)):
        store = open_store(file)
        entry = store.undo(number, why)
    shown = _shown(store.file, {**entry.decision, **entry.context, "value": entry.value})
    gone = " It is forgotten again: it does not count." if entry.forgotten else ""
    _done(entry, "undone", f"The last change of decision {number} is undone: {shown}.{gone}", as_json)


def history(file: StudyPath, as_json: AsJson = False) -> None:
    """Every change of what was told, with its time and reason."""
    with working("opening the study", quiet=piped(as_json)):
        store = open_store(file)
        made = store.narrated()
    if as_json:
        typer.echo(json.dumps([{**change.to_dict(), "was": dict(was)} for change, was in made]))
        return
    if not made:
        typer.echo("Nothing was changed: all that was told stands as it was told.")
    for change, was in made:
        typer.echo(_line(store.file, change, was))


def _done(entry: Entry, key: str, words: str, as_json: bool) -> None:
    """What was done, for scripts or for people."""
    now = {"decision": entry.decision, "context": entry.context, "value": entry.value}
    done = {"number": entry.number, key: True, **now, "was": dict(entry.was), "counts": not entry.forgotten}
    typer.echo(json.dumps(done) if as_json else words)


def _parts(file: StudyFile, entry: Entry) -> str:
    """``value 120 €, told as 1200 €``."""
    now: dict[str, Any] = {**entry.decision, **entry.context, "value": entry.value}
    found = []
    for name, before in entry.was.items():
        told = "not told before" if before is None else f"told as {_one(file, name, before)}"
        found.append(f"{name} {_one(file, name, now[name])}, {told}")
    return "; ".join(found)


def _line(file: StudyFile, change: Change, was: Mapping[str, Any]) -> str:
    """``2026-11-18 09:12  decision 12 corrected: value 120 €, was 1200 € (a digit too many)``."""
    when = f"{datetime.fromtimestamp(change.time):%Y-%m-%d %H:%M}" if change.time is not None else ""
    done = {"correct": "corrected", "forget": "forgotten", "undo": "last change undone"}[change.kind]
    value = {} if change.value is None else {"value": change.value}
    new = {**(change.decision or {}), **(change.context or {}), **value}
    told = {name: "not told" if v is None else f"was {_one(file, name, v)}" for name, v in was.items()}
    shown = "; ".join(f"{name} {_one(file, name, v)}, {told[name]}" for name, v in new.items())
    parts = f": {shown}" if shown else ""
    return f"{when}  decision {change.number} {done}{parts}" + (f" ({change.why})" if change.why else "")


def _shown(file: StudyFile, values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_one(file, name, value)}" for name, value in values.items())


def _one(file: StudyFile, name: str, value: Any) -> str:
    """A value with its unit, each digit as it was told."""
    from windage.studies.quantities import Quantity

    return file.quantities.get(name, Quantity()).in_full(value)
