"""``windage tell``: what happened, one result or a table of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windage.cli.progress import piped, working
from windage.cli.shared import (
    AsJson,
    Forecast,
    Pairs,
    StudyPath,
    Sure,
    ask_again,
    given_of,
    open_store,
    pairs,
    rows_are,
)
from windage.cli.tables import taken
from windage.errors import InputError

if TYPE_CHECKING:
    from windage.studies.store import StudyStore


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(tell)


def tell(
    file: StudyPath,
    number: Annotated[int | None, typer.Argument(help="Of the decision, as windage ask gave it.")] = None,
    value: Annotated[str | None, typer.Option(help="What came out, a number.")] = None,
    context: Annotated[
        Pairs | None, typer.Option(metavar="NAME=VALUE", help="What was met; once for each context.")
    ] = None,
    decision: Annotated[
        Pairs | None,
        typer.Option(metavar="NAME=VALUE", help="A decision of your own, in place of a number."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--csv", help="A table of past rows: decisions, contexts, value; - is the standard input."
        ),
    ] = None,
    failed: Annotated[str | None, typer.Option(help="It brought no result; say why.")] = None,
    time: Annotated[
        str | None, typer.Option(help="When it happened, such as 2026-11-18; now, where it is left out.")
    ] = None,
    forecast: Forecast = None,
    sure: Sure = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="With --csv: rows that differ correct what was told.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What happened: the contexts that were met, and the value that came out."""
    _check_options(number, decision, table, failed, value, context)
    if (time is not None and (table is not None or failed is not None)) or (forecast and not decision):
        raise InputError(
            "--time goes with one result, and --forecast with --decision: a decision that was asked for has "
            "the forecast of its ask, and a table has columns for both."
        )
    if replace and table is None:
        raise InputError("--replace goes with --csv: one result is corrected by  windage correct FILE N ...")
    met, own = pairs(context or (), "--context"), pairs(decision or (), "--decision")
    with working("opening the study", quiet=piped(as_json)) as say:
        store = open_store(file)
        say("looking at what is told")
        row = _One(store, number, own, met, value, _moment(time), given_of(store, None, forecast).forecast)
        telling = _telling(row, table, failed, replace)
        odd = [] if sure else telling.odd()
    ask_again(odd, as_json)
    with working("writing what was told", quiet=piped(as_json)):
        done, words = telling.write()
    typer.echo(json.dumps(done) if as_json else words)


def _check_options(
    number: int | None,
    decision: Pairs | None,
    table: Path | None,
    failed: str | None,
    value: str | None,
    context: Pairs | None,
) -> None:
    """An InputError where it is not clear what is told."""
    result = value is not None or bool(context)
    if sum([number is not None, bool(decision), table is not None]) != 1:
        raise InputError(
            "say which decision: its number, or --decision NAME=VALUE for one of your own, or --csv FILE."
        )
    alone = table is not None and (result or failed is not None)
    if alone or (failed is not None and (result or decision)):
        raise InputError(
            "these options do not belong together: --csv stands alone, --failed goes with a number alone."
        )
    if table is None and failed is None and value is None:
        raise InputError("the value is missing: give --value, what came out of this decision.")


@dataclass(frozen=True)
class _One:
    """The result of a decision: of one that was asked for, or of the user's own."""

    store: StudyStore
    number: int | None
    decision: dict[str, str]
    met: dict[str, str]
    value: str | None
    time: str
    """When it happened, as ISO text; empty: now."""
    forecast: Mapping[str, Any]

    def odd(self) -> list[str]:
        """What looks mistyped, one sentence each."""
        from windage.studies.second_look import odd_time, oddities

        file, outcome = self.store.file, self.store.file.check_value(self.value)
        if self.number is None:
            own, met = file.check_decision(self.decision, past=True), file.check_context(self.met)
        else:
            under_way = {p.number: p for p in self.store.state().pending}
            if self.number not in under_way:
                return []  # told already, or never asked for: writing says so
            mine = under_way[self.number]
            own, met = mine.decision, file.check_context(self.met, mine.beforehand.known)
        return [*odd_time(self.store, self.time), *oddities(self.store, own, met, outcome)]

    def write(self) -> tuple[dict[str, Any], str]:
        """What was told, for scripts and for people."""
        outcome = self.store.file.check_value(self.value)
        shown = self.store.file.quantities["value"].in_full(outcome)
        if self.number is not None:
            entry = self.store.tell(self.number, self.met, outcome, self.time)
            done = {"number": entry.number, "decision": entry.decision, "context": entry.context}
            return {**done, "value": outcome}, f"Decision {self.number} is told: {shown}."
        met = self.store.file.check_context(self.met)
        own = self.store.file.check_decision(self.decision, past=True)
        equal = [
            e.number for e in self.store.entries() if (e.decision, e.context, e.value) == (own, met, outcome)
        ]
        number = self.store.add(own, met, outcome, True, self.time, self.forecast)
        words = f"Decision {number} is added: {shown}."
        if equal:
            words += f" It equals decision {equal[-1]}; if it is the same one:  windage forget FILE {number}"
        return {"added": 1, "number": number, "value": outcome, "equals": equal}, words


@dataclass(frozen=True)
class _Failed:
    """A decision that brought no result."""

    store: StudyStore
    number: int
    why: str

    def odd(self) -> list[str]:
        """Nothing."""
        return []

    def write(self) -> tuple[dict[str, Any], str]:
        """What was told, for scripts and for people."""
        self.store.fail(self.number, self.why)
        return {"number": self.number, "failed": self.why}, f"Decision {self.number} failed."


class _Table:
    """A table of past rows."""

    def __init__(self, store: StudyStore, path: Path, replace: bool) -> None:
        from windage.studies.csv_reading import content, shown
        from windage.studies.csv_rows import read_rows

        self.store, self.path, self.replace = store, path, replace
        self.rows = read_rows(store, content(path), shown(path))

    def odd(self) -> list[str]:
        """What looks mistyped, one sentence each."""
        from windage.studies.taking import odd_lines

        return odd_lines(self.store, self.rows, self.replace)

    def write(self) -> tuple[dict[str, Any], str]:
        """What was told, for scripts and for people."""
        from rich.console import Console

        from windage.studies.taking import take

        with Console(stderr=True).status("") as status:

            def report(done: int, of: int) -> None:
                status.update(f"{done} of {rows_are(of)} added")

            rows = take(self.store, self.rows, self.replace, self.path.name, report)
        return taken(rows, self.path, self.replace, self.store.file)


def _moment(given: str | None) -> str:
    """A time as people write it, as ISO text; or an InputError."""
    from windage.studies import dates

    return "" if given is None else dates.iso(given.strip(), None, "time")


def _telling(one: _One, table: Path | None, failed: str | None, replace: bool) -> _One | _Failed | _Table:
    """What is told, not yet written."""
    if table is not None:
        return _Table(one.store, table, replace)
    if failed is not None and one.number is not None:
        return _Failed(one.store, one.number, failed)
    return one
