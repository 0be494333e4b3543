"""The commands on a study file, for people without Python."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from windage.errors import InputError, WindageError, missing_extra
from windage.studies import need_optuna

if TYPE_CHECKING:
    from windage.studies.book import Book

StudyPath = Annotated[Path, typer.Argument(metavar="FILE", help="The study file, such as shop.toml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Pairs = list[str]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (init, ask, tell, recommend, status, export, renew, dashboard):
        app.command()(command)
    app.command(name="run")(run_program)


def _open(path: Path) -> Book:
    import logging

    need_optuna()
    import optuna

    from windage.studies.book import Book
    from windage.studies.file import load

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    return Book.open(load(path))


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """``["demand=3"]`` → ``{"demand": "3"}``."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise InputError(f"{option} {text!r} must be NAME=NUMBER, such as {option} demand=3.5")
        if name.strip() in found:
            raise InputError(f"{option} {name.strip()!r} is given twice.")
        found[name.strip()] = value.strip()
    return found


def init(
    file: StudyPath,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a commented study file to fill in."""
    need_optuna()
    from windage.studies.template import TEMPLATE

    if file.exists() and not force:
        raise WindageError(f"{file} is there already: choose another name, or say --force to write over it.")
    if not file.parent.is_dir():
        raise WindageError(f"there is no folder {file.parent}: make it first.")
    file.write_text(TEMPLATE.format(file=file.name, stem=file.stem), encoding="utf-8")
    typer.echo(f"{file} is written. Open it, put in your decisions and contexts, then: windage ask {file}")


def ask(file: StudyPath, as_json: AsJson = False) -> None:
    """The next decision, with its number."""
    book = _open(file)
    asked = book.ask()
    if as_json:
        typer.echo(json.dumps({"number": asked.number, "decision": asked.decision}))
        return
    typer.echo(f"Decision {asked.number}")
    for name, value in asked.decision.items():
        typer.echo(f"  {name} = {_described(book, name, value)}")
    contexts = " ".join(f"--context {name}=..." for name in book.file.contexts)
    typer.echo(f"Then:  windage tell {file} {asked.number} --value ... {contexts}".rstrip())


def _described(book: Book, name: str, value: Any) -> str:
    quantity = book.file.quantities[name]
    return quantity.show(value) + (f"   ({quantity.description})" if quantity.description else "")


def tell(
    file: StudyPath,
    number: Annotated[int | None, typer.Argument(help="Of the decision, as windage ask gave it.")] = None,
    value: Annotated[str | None, typer.Option(help="What came out, a number.")] = None,
    context: Annotated[
        Pairs | None, typer.Option(metavar="NAME=NUMBER", help="What was met; once for each context.")
    ] = None,
    decision: Annotated[
        Pairs | None,
        typer.Option(metavar="NAME=VALUE", help="A decision of your own, in place of a number."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", help="A table of past rows: decisions, contexts, value.")
    ] = None,
    failed: Annotated[str | None, typer.Option(help="It brought no result; say why.")] = None,
    as_json: AsJson = False,
) -> None:
    """What happened: the contexts that were met, and the value that came out."""
    ways = [number is not None, bool(decision), table is not None]
    if sum(ways) != 1:
        raise InputError(
            "say which decision: its number, or --decision NAME=VALUE for one of your own, or --csv FILE."
        )
    given = value is not None or bool(context)
    if (table is not None and (given or failed is not None)) or (failed is not None and (given or decision)):
        raise InputError(
            "these options do not belong together: --csv stands alone, --failed goes with a number alone."
        )
    if table is not None:
        _tell_table(_open(file), table, as_json)
        return
    if failed is not None and number is not None:
        _open(file).fail(number, failed)
        typer.echo(
            json.dumps({"number": number, "failed": failed}) if as_json else f"Decision {number} failed."
        )
        return
    if value is None:
        raise InputError("the value is missing: give --value, what came out of this decision.")
    met = _pairs(context or (), "--context")
    book = _open(file)
    outcome = book.file.check_value(value)
    if number is not None:
        entry = book.tell(number, met, outcome)
        done = {"number": entry.number, "decision": entry.decision, "context": entry.context}
        words = f"Decision {number} is told"
    else:
        book.add(_pairs(decision or (), "--decision"), met, outcome)
        done, words = {"added": 1}, "One row is added"
    if as_json:
        typer.echo(json.dumps({**done, "value": outcome}))
        return
    typer.echo(f"{words}: {book.file.quantities['value'].show(outcome)}.")


def _tell_table(book: Book, path: Path, as_json: bool) -> None:
    from windage.studies.tables import read_csv

    with book.telling(), Console(stderr=True).status("") as status:
        trials, there = read_csv(book, path)
        book.add_all(trials, lambda done: status.update(f"{done} of {len(trials)} rows"))
    if as_json:
        typer.echo(json.dumps({"added": len(trials), "there already": there}))
        return
    known = f" ({there} were there already)" if there else ""
    typer.echo(f"{len(trials)} rows are added from {path}{known}.")


def recommend(file: StudyPath, as_json: AsJson = False) -> None:
    """The best decision as far as is known, with what to expect of it."""
    book = _open(file)
    best = book.recommend()
    if as_json:
        typer.echo(json.dumps({**asdict(best), "interval": list(best.interval)}))
        return
    value = book.file.quantities["value"]
    for name, figure in best.decision.items():
        typer.echo(f"{name} = {_described(book, name, figure)}")
    low, high = (value.show(end) for end in best.interval)
    typer.echo(f"Expect {value.show(best.expected)} on average, 95 % between {low} and {high}.")
    if book.file.contexts:
        typer.echo(
            f"Under the worst conditions near what was seen: {value.show(best.worst_case)} on average."
        )
    if best.note:
        typer.echo(best.note)


def renew(
    file: StudyPath,
    number: Annotated[int, typer.Argument(help="Of the decision.")],
    days: Annotated[
        float | None, typer.Option(min=1e-6, help="From now; the file's lease by default.")
    ] = None,
) -> None:
    """Let a decision under way count for another while."""
    book = _open(file)
    book.renew(number, None if days is None else 86400 * days)
    typer.echo(f"Decision {number} counts as under way again.")


def status(file: StudyPath, as_json: AsJson = False) -> None:
    """How the study stands: what was told, what is under way, and the conditions seen."""
    need_optuna()
    from windage.studies import summary

    book = _open(file)
    if as_json:
        typer.echo(json.dumps(summary.plain(book)))
    else:
        summary.show(book, Console(highlight=False))


def export(
    file: StudyPath,
    table: Annotated[Path | None, typer.Option("--csv", help="Write a CSV table here.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write a Parquet table here.")] = None,
) -> None:
    """Everything told so far, as a table."""
    need_optuna()
    from windage.studies.tables import export_rows

    if (table is None) == (parquet is None):
        raise InputError("say where: --csv out.csv or --parquet out.parquet.")
    path = table or parquet
    assert path is not None
    if not path.parent.is_dir():
        raise WindageError(f"there is no folder {path.parent}: make it first.")
    head, rows = export_rows(_open(file))
    try:
        if table is not None:
            with table.open("w", newline="", encoding="utf-8") as out:
                csv.writer(out).writerows([head, *rows])
        else:
            _write_parquet(path, head, rows)
    except OSError as error:
        raise WindageError(f"{path} cannot be written: {error.strerror or error}") from error
    typer.echo(f"{len(rows)} rows are written to {path}.")


def _write_parquet(path: Path, head: list[str], rows: list[list[Any]]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("pyarrow", "studies", "a Parquet table") from error
    columns = {}
    for i, name in enumerate(head):
        column = [row[i] for row in rows]
        kinds = {type(v) for v in column if v is not None}
        numbers = kinds <= {int, float}
        columns[name] = (
            column if numbers or kinds == {str} else [None if v is None else str(v) for v in column]
        )
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def run_program(
    file: StudyPath,
    command: Annotated[str, typer.Option(help="The program, decisions in braces: './simulate {stock}'.")],
    trials: Annotated[int, typer.Option(min=1, help="How many decisions.")] = 10,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Programs at a time.")] = 1,
    limit: Annotated[float | None, typer.Option(min=0.001, help="Seconds for one program.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Times that a failed program is run again.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Run a program for each decision; it prints {"value": ..., "context": {...}} as one line."""
    need_optuna()
    from windage.studies.run import Program, Tally, run

    book = _open(file)
    console = Console(stderr=True, highlight=False)
    shown = ""
    with console.status("asking") as status:

        def report(tally: Tally) -> None:
            nonlocal shown
            counts = f"{tally.told} told, {tally.failed} failed, {tally.running} running of {trials}"
            status.update(f"{counts}   {tally.last}")
            if tally.last != shown:
                shown = tally.last
                console.print(shown, markup=False)

        try:
            tally = run(book, Program(command, limit, retries), trials, jobs, report)
        except KeyboardInterrupt:
            console.print("Interrupted: what was running is marked as failed; what was told stays.")
            raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps({"told": tally.told, "failed": tally.failed}))
    else:
        typer.echo(f"{tally.told} decisions told, {tally.failed} failed.")
    if not tally.told:
        raise typer.Exit(1)


def dashboard(
    file: StudyPath,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of this machine; 0: any that is free.")] = 8080,
    keep_asking: Annotated[
        bool,
        typer.Option("--ask", help="Always have a decision waiting, asked for when the last one is told."),
    ] = False,
) -> None:
    """The study as a web page on this machine: pictures, and a form to enter what happened."""
    need_optuna()
    from windage.studies.page import Page

    page = Page(_open(file), port, keep_asking, lambda words: typer.echo(words, err=True))
    typer.echo(f"Open {page.address} in a browser. Ctrl-C ends.")
    try:
        page.serve()
    except KeyboardInterrupt:
        typer.echo("Ended. The study stays as it is.")
