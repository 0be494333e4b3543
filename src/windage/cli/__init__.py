"""The command line. Heavy imports wait until a command needs them; errors are one line."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from windage import __version__
from windage.bench.commands import app as bench
from windage.cli import general, studies, tables, workers
from windage.errors import WindageError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Decisions whose outcome depends on conditions that nobody controls, of unknown distribution.",
)
for room in (general, studies, tables, workers):
    room.register(app)
app.add_typer(bench, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"windage {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What every command shares."""


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as people read it, without file and line."""
    print(f"windage: {message}", file=sys.stderr)


def main() -> None:
    """The console script: a fault of the input is one line and exit code 2, never a traceback."""
    warnings.showwarning = _show_warning
    try:
        app()
    except WindageError as error:
        print(f"windage: {error}", file=sys.stderr)
        sys.exit(2)
