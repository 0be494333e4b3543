"""The study file itself and how a study stands: ``windage init``, ``renew`` and ``status``."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from typing import Annotated

import typer

from windage.cli import questions
from windage.cli.progress import piped, working
from windage.cli.shared import AsJson, StudyPath, open_store
from windage.errors import WindageError
from windage.studies import need_optuna


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (init, renew, status):
        app.command()(command)


def init(
    file: StudyPath,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a study file: in a terminal by a few questions, elsewhere one with comments to fill in."""
    need_optuna()
    from windage.studies.template import filled

    if not file.name:
        raise WindageError(f"{file} cannot be written: give the study file a name, such as shop.toml.")
    if sys.stdin.isatty() and sys.stdout.isatty() and not file.exists() and file.parent.is_dir():
        questions.answered(file)
        return
    there = False
    try:
        there = file.exists()
        if there and not force:
            raise WindageError(
                f"{file} is there already: choose another name, or say --force to write over it."
            )
        if not file.parent.is_dir():
            raise WindageError(f"there is no folder {file.parent}: make it first.")
        file.write_bytes(filled(file.name, file.stem).encode())
    except (OSError, ValueError) as error:  # a full disk, a name of 300 characters, or of odd bytes
        with suppress(OSError, ValueError):
            if not there:
                file.unlink(missing_ok=True)  # the empty beginning of a file
        words = getattr(error, "strerror", None) or "its name is no Unicode text"
        raise WindageError(f"{file} cannot be written: {words}.") from error
    where = shlex.quote(str(file))
    typer.echo(f"{file} is written. Open it, put in your decisions and contexts, then: windage ask {where}")


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
