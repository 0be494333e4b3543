"""The command line. Heavy imports wait until a command needs them; errors are one line."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from typing import Annotated

import typer

from windage import __version__
from windage.bench.commands import app as bench
from windage.cli import answers, general, repairs, studies, tables, telling, web, workers
from windage.errors import WindageError

DEBUG = "WINDAGE_DEBUG"
"""The environment variable that lets tracebacks of windage's own faults be seen."""
LONGEST = 300
"""Characters of an error or a command in one line."""
ORDER = (
    *("demo", "init", "serve", "ask", "tell", "recommend", "predict", "status"),
    *("correct", "forget", "undo", "history", "export"),
    *("run", "renew", "dashboard", "methods", "problems"),
)
"""Of the commands in the help: as a person needs them."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Decisions whose outcome depends on conditions that nobody controls, of unknown distribution.",
)
for room in (general, studies, answers, telling, repairs, tables, web, workers):
    room.register(app)
app.registered_commands.sort(key=lambda command: ORDER.index(general.name_of(command)))
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
    """The console script: a fault of the input is one line and exit code 2, never a traceback.

    What was not foreseen is a fault of windage: one line with how to report it, and exit code 70.
    """
    warnings.showwarning = _show_warning
    try:
        app()
    except WindageError as error:
        print(f"windage: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # who reads has had enough; Python's own last flush must not speak of it
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        sys.exit(1)
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        print(f"windage: {_unforeseen(error)}", file=sys.stderr)
        sys.exit(70)


def _unforeseen(error: Exception) -> str:
    """One line about a fault of windage itself, and how to report it."""
    cause = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
    command = shlex.join(["windage", *sys.argv[1:]])[:LONGEST]
    return (
        f"this is a fault of windage {__version__}, not yours ({cause}). Please report it with the output "
        f"of  {DEBUG}=1 {command}"
    )
