"""What to do and what to expect: ``windage ask``, ``recommend`` and ``predict``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windage.cli.progress import piped, working
from windage.cli.questions import known_now
from windage.cli.shared import (
    AsJson,
    Forecast,
    Known,
    Pairs,
    StudyPath,
    described,
    given_of,
    in_terminal,
    open_store,
    pairs,
)

if TYPE_CHECKING:
    from windage import Prediction, Recommendation
    from windage.studies.beforehand import Beforehand
    from windage.studies.entries import Asked, Pending
    from windage.studies.store import StudyStore


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (ask, recommend, predict):
        app.command()(command)


def ask(
    file: StudyPath,
    another: Annotated[
        bool, typer.Option("--another", help="A new decision, though one is still open.")
    ] = False,
    known: Known = None,
    forecast: Forecast = None,
    as_json: AsJson = False,
) -> None:
    """The next decision, with its number. One that is still open comes again, until it is told."""
    with working("opening the study", quiet=piped(as_json)):
        store = open_store(file, to_ask=True)
        given = given_of(store, known, forecast)
    from windage.studies.beforehand import MissingKnownError

    try:
        asked = _asked(store, given, another, as_json)
    except MissingKnownError as missing:
        if as_json or not in_terminal():
            raise
        asked = _asked(store, known_now(store.file, given, missing.names), another, as_json)
    if isinstance(asked, list):
        _still_open(store, asked, given, as_json)
        return
    if as_json:
        typer.echo(json.dumps(_decided(asked)))
        return
    typer.echo(f"Decision {asked.number}")
    _show(store, asked)


def _asked(store: StudyStore, given: Beforehand, another: bool, as_json: bool) -> Asked | list[Pending]:
    with working("choosing the next decision from what was told", quiet=piped(as_json)):
        return store.ask(True, given) if another else store.next(given)


def _decided(one: Asked | Pending) -> dict[str, Any]:
    """A decision, for scripts."""
    return {"number": one.number, "decision": one.decision, "why": one.why, **one.beforehand.to_dict()}


def _still_open(store: StudyStore, waiting: Sequence[Pending], given: Beforehand, as_json: bool) -> None:
    """The oldest decision that is still to be told, and that there are others."""
    from windage.studies.beforehand import words
    from windage.studies.quantities import since

    first, others = waiting[0], [p.number for p in waiting[1:]]
    if as_json:
        more = {"open_seconds": round(first.age), "also_open": others}
        typer.echo(json.dumps({**_decided(first), **more}))
        return
    shown = ", ".join(f"{name} {value}" for name, value in store.file.show(first.decision).items())
    typer.echo(
        f"Decision {first.number}, {shown}, is still open since {since(first.age)}; "
        "--another for a second one."
    )
    if others:
        typer.echo(f"Also open: {', '.join(map(str, others))}.")
    if given.forecast and given.forecast != first.beforehand.forecast:
        before = words(store.file, first.beforehand) or "nothing"
        typer.echo(f"It was chosen when what was known was {before}; --another for one by what is known now.")
    _show(store, first)


def _show(store: StudyStore, one: Asked | Pending) -> None:
    """A decision, what it is for, and how its result is told."""
    from windage.studies.beforehand import words

    file, given = store.file, one.beforehand
    for name, value in one.decision.items():
        typer.echo(f"  {name} = {described(store, name, value)}")
    if given.to_dict():
        typer.echo(f"For: {words(file, given)}.")
    if one.why:
        typer.echo(f"Why: {one.why}.")
    needed = [f"--context {name}=..." for name in file.contexts if name not in (*given.known, *file.optional)]
    optional = [f"[--context {name}=...]" for name in file.optional if name not in given.known]
    where = shlex.quote(str(file.path))
    typer.echo(" ".join([f"Then:  windage tell {where} {one.number} --value ...", *needed, *optional]))


Threshold = Annotated[float | None, typer.Option(help="Say how often a single day stays below this value.")]


def recommend(
    file: StudyPath,
    threshold: Threshold = None,
    known: Known = None,
    forecast: Forecast = None,
    for_each: Annotated[
        str | None, typer.Option(metavar="NAME", help="A table: the best for each value of a condition.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The best decision as far as is known, with what to expect of it."""
    with working("opening the study", quiet=piped(as_json)) as say:
        store = open_store(file, to_ask=True)
        given = given_of(store, known, forecast)
        say("searching for the best decision from what was told")
        if for_each is not None:
            rows = store.recommend_each(for_each, _threshold(store, threshold), given)
        else:
            best = store.recommend(_threshold(store, threshold), given)
    if for_each is not None:
        _table(store, for_each, rows, as_json)
        return
    if as_json:
        typer.echo(json.dumps({**_recommended(best), **given.to_dict()}))
        return
    if given.to_dict():
        _for(store, given)
    _expectation(store, best, threshold is not None)
    if best.criterion == "worst_case":
        typer.echo(f"The decision is the best of that worse case, as the method {store.file.method!r} says.")
    if best.note:
        typer.echo(best.note)


def _for(store: StudyStore, given: Beforehand) -> None:
    from windage.studies.beforehand import words

    typer.echo(f"For: {words(store.file, given)}.")


def _recommended(best: Recommendation) -> dict[str, Any]:
    """A recommendation, for scripts."""
    return {**_plain(best), "criterion": best.criterion, "note": best.note}


def _table(store: StudyStore, name: str, rows: Mapping[Any, Recommendation], as_json: bool) -> None:
    """What is best for each value of a context."""
    if as_json:
        levels = [{name: level, **_recommended(best)} for level, best in rows.items()]
        typer.echo(json.dumps({"for_each": name, "levels": levels}))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    value = store.file.quantities["value"]
    table = Table(*map(escape, (name, *store.file.space, "on average", "a single day")))
    for level, best in rows.items():
        low, high = best.outcome.interval
        ends = [value.show(best.expected), f"{value.figure(low)} to {value.show(high)}"]
        shown = [store.file.quantities[name].show(level), *store.file.show(best.decision).values(), *ends]
        table.add_row(*map(escape, shown))
    Console(highlight=False).print(table)
    for note in dict.fromkeys(best.note for best in rows.values() if best.note):
        typer.echo(note)


def predict(
    file: StudyPath,
    decision: Annotated[
        Pairs, typer.Argument(metavar="NAME=VALUE...", help="The decision, such as stock=60.")
    ],
    threshold: Threshold = None,
    known: Known = None,
    forecast: Forecast = None,
    as_json: AsJson = False,
) -> None:
    """What to expect of a decision of your own. Variables that are left out are as recommended."""
    own = pairs(decision)
    with working("opening the study", quiet=piped(as_json)) as say:
        store = open_store(file, to_ask=True)
        given = given_of(store, known, forecast)
        say("computing what to expect from what was told")
        found = store.predict(own, _threshold(store, threshold), given)
    if as_json:
        typer.echo(json.dumps({**_plain(found), **given.to_dict()}))
        return
    if given.to_dict():
        _for(store, given)
    _expectation(store, found, threshold is not None)


def _threshold(store: StudyStore, given: float | None) -> float | None:
    from windage.studies.sentences import threshold_of

    return threshold_of(store.file, given)


def _plain(found: Prediction) -> dict[str, Any]:
    """What to expect, for scripts."""
    return {
        "decision": found.decision,
        "expected": found.expected,
        "interval": list(found.interval),
        "worst_case": found.worst_case,
        "outcome": found.outcome.to_dict(),
    }


def _expectation(store: StudyStore, found: Prediction, asked: bool) -> None:
    """A decision and what to expect of it, for people."""
    from windage.studies.sentences import lines

    for name, figure in found.decision.items():
        typer.echo(f"{name} = {described(store, name, figure)}")
    for line in lines(store.file, found, asked):
        typer.echo(line)
