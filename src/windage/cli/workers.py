"""Commands that go on until they are ended: ``windage run`` and ``windage dashboard``."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated

import typer

from windage.cli.shared import AsJson, Forecast, Known, StudyPath, given_of, open_store
from windage.errors import InputError
from windage.studies import need_optuna


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(dashboard)
    app.command(name="run")(run_program)


def run_program(
    file: StudyPath,
    command: Annotated[
        str, typer.Option(help="The program, decision variables in braces: './simulate {stock}'.")
    ],
    trials: Annotated[int, typer.Option(min=1, help="How many decisions.")] = 10,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Programs at a time.")] = 1,
    limit: Annotated[float | None, typer.Option(min=0.001, help="Seconds for one program.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Times that a failed program is run again.")] = 0,
    known: Known = None,
    forecast: Forecast = None,
    as_json: AsJson = False,
) -> None:
    """Run a program for each decision; it prints {"value": ..., "context": {...}} as one line."""
    need_optuna()
    from rich.console import Console

    from windage.studies.program import Program
    from windage.studies.quantities import counted
    from windage.studies.run import Tally, run

    store = open_store(file, to_ask=True)
    given = given_of(store, known, forecast)
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
            say = partial(console.print, markup=False, soft_wrap=True)
            tally = run(store, Program(command, limit, retries), trials, jobs, report, say, given)
        except KeyboardInterrupt:
            console.print("Interrupted: what was running is marked as failed; what was told stays.")
            raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps({"told": tally.told, "failed": tally.failed}))
    else:
        typer.echo(f"{counted(tally.told, 'decision')} told, {tally.failed} failed.")
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

    store = open_store(file, to_ask=keep_asking)
    if keep_asking and store.file.known:
        names = " and ".join(store.file.known)
        raise InputError(f"--ask cannot know {names} beforehand: ask by  windage ask FILE --known ...")
    page = Page(store, port, keep_asking, lambda words: typer.echo(words, err=True))
    typer.echo(f"Open {page.address} in a browser. Ctrl-C ends.")
    try:
        page.serve()
    except KeyboardInterrupt:
        typer.echo("Ended. The study stays as it is.")
