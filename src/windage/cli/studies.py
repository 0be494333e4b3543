"""The commands on a study file, for people without Python: init, ask, tell, recommend, renew, status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windage.cli.progress import piped, working
from windage.cli.shared import AsJson, StudyPath, described, open_store, rows_are
from windage.errors import InputError, WindageError
from windage.studies import need_optuna

if TYPE_CHECKING:
    from windage.studies.store import StudyStore

Pairs = list[str]
FORMS = {
    "--context": "NAME=NUMBER, such as --context demand=3.5",
    "--decision": "NAME=VALUE, with the name of a decision variable, such as --decision stock=20",
}


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (init, ask, tell, recommend, renew, status):
        app.command()(command)


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
    try:
        file.write_text(TEMPLATE.format(file=file.name, stem=file.stem), encoding="utf-8")
    except OSError as error:
        raise WindageError(f"{file} cannot be written: {error.strerror or error}") from error
    typer.echo(f"{file} is written. Open it, put in your decisions and contexts, then: windage ask {file}")


def ask(file: StudyPath, as_json: AsJson = False) -> None:
    """The next decision, with its number."""
    with working("opening the study", quiet=piped(as_json)) as say:
        store = open_store(file, to_ask=True)
        say("choosing the next decision from what was told")
        asked = store.ask()
    if as_json:
        typer.echo(json.dumps({"number": asked.number, "decision": asked.decision}))
        return
    typer.echo(f"Decision {asked.number}")
    for name, value in asked.decision.items():
        typer.echo(f"  {name} = {described(store, name, value)}")
    contexts = " ".join(f"--context {name}=..." for name in store.file.contexts)
    typer.echo(f"Then:  windage tell {file} {asked.number} --value ... {contexts}".rstrip())


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
    _check_options(number, decision, table, failed, value, context)
    met, own = _pairs(context or (), "--context"), _pairs(decision or (), "--decision")
    with working("opening the study", quiet=piped(as_json)) as say:
        store = open_store(file)
        say("writing what was told")
        if table is not None:
            done, words = _tell_table(store, table)
        elif failed is not None and number is not None:
            store.fail(number, failed)
            done, words = {"number": number, "failed": failed}, f"Decision {number} failed."
        else:
            done, words = _tell_one(store, number, own, met, value)
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


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """``["demand=3"]`` → ``{"demand": "3"}``."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise InputError(f"{option} {text!r} must be {FORMS[option]}.")
        if name.strip() in found:
            raise InputError(f"{option} {name.strip()!r} is given twice.")
        found[name.strip()] = value.strip()
    return found


def _tell_one(
    store: StudyStore,
    number: int | None,
    decision: dict[str, str],
    met: dict[str, str],
    value: str | None,
) -> tuple[dict[str, Any], str]:
    """What was told, for scripts and for people."""
    outcome = store.file.check_value(value)
    done: dict[str, Any] = {"added": 1}
    words = "One row is added"
    if number is not None:
        entry = store.tell(number, met, outcome)
        done = {"number": entry.number, "decision": entry.decision, "context": entry.context}
        words = f"Decision {number} is told"
    else:
        store.add(decision, met, outcome)
    return {**done, "value": outcome}, f"{words}: {store.file.quantities['value'].show(outcome)}."


def _tell_table(store: StudyStore, path: Path) -> tuple[dict[str, Any], str]:
    """What was told, for scripts and for people."""
    from rich.console import Console

    from windage.studies.tables import read_csv

    with store.telling(), Console(stderr=True).status("") as status:
        rows = read_csv(store, path)
        store.add_all(rows.new, lambda done: status.update(f"{done} of {len(rows.new)} rows"))
    known = f" ({rows.known} {'was' if rows.known == 1 else 'were'} there already)" if rows.known else ""
    words = f"{rows_are(len(rows.new))} added from {path}{known}."
    return {"added": len(rows.new), "there already": rows.known}, words


def recommend(file: StudyPath, as_json: AsJson = False) -> None:
    """The best decision as far as is known, with what to expect of it."""
    with working("opening the study", quiet=piped(as_json)) as say:
        store = open_store(file, to_ask=True)
        say("searching for the best decision from what was told")
        best = store.recommend()
    if as_json:
        typer.echo(json.dumps({**asdict(best), "interval": list(best.interval)}))
        return
    value = store.file.quantities["value"]
    for name, figure in best.decision.items():
        typer.echo(f"{name} = {described(store, name, figure)}")
    low, high = (value.show(end) for end in best.interval)
    typer.echo(f"Expect {value.show(best.expected)} on average, 95 % between {low} and {high}.")
    if store.file.contexts:
        typer.echo(f"If conditions turn out worse than seen: {value.show(best.worst_case)} on average.")
    if best.criterion == "worst_case":
        typer.echo(f"The decision is the best of that worse case, as the method {store.file.method!r} says.")
    if best.note:
        typer.echo(best.note)


def renew(
    file: StudyPath,
    number: Annotated[int, typer.Argument(help="Of the decision.")],
    days: Annotated[float | None, typer.Option(help="From now; the file's lease by default.")] = None,
) -> None:
    """Let a decision under way count for another while."""
    need_optuna()
    from windage.studies import rows

    seconds = None if days is None else rows.days(days, "--days")
    open_store(file).renew(number, seconds)
    typer.echo(f"Decision {number} counts as under way again.")


def status(file: StudyPath, as_json: AsJson = False) -> None:
    """How the study stands: what was told, what is under way, and the conditions seen."""
    need_optuna()
    from rich.console import Console

    from windage.studies import summary

    console = Console(highlight=False)
    with console, working("opening the study", quiet=piped(as_json)) as say:  # printed when all is known
        store = open_store(file)
        say("reading what was told")
        if as_json:
            typer.echo(json.dumps(summary.plain(store)))
        else:
            summary.show(store, console)
