"""The page for people: ``windage serve``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from windage.cli.shared import StudyPath, open_store
from windage.errors import WindageError
from windage.studies import need_optuna

PORT = 8765
"""Beside the experts' page, which has 8080: both may run."""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(serve)


def serve(
    file: StudyPath,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of this machine; 0: any that is free.")] = PORT,
    host: Annotated[
        str, typer.Option(help="Let other machines in, by this name or number of this one; 0.0.0.0: all.")
    ] = "127.0.0.1",
    password_file: Annotated[
        Path | None, typer.Option(help="A file whose first line is the password of the page.")
    ] = None,
) -> None:
    """The study as a page in the browser: what to do today, what happened, and what to expect.

    Where the file is not there yet, or is a folder, the page asks for what it needs and writes one.
    """
    need_optuna()
    from windage.web import need_web

    need_web()
    from windage.studies.storage import quiet
    from windage.web.serve import Server, password_of

    quiet()  # a study may be set up on the page
    if file.exists() and not file.is_dir():
        open_store(file, to_ask=True)  # what is wrong is said here, before a page is there
    elif not file.exists() and not file.resolve().parent.is_dir():
        raise WindageError(f"there is no folder {file.parent}: make it first.")
    server = Server(file, port, host, password_of(password_file) if password_file else "")
    typer.echo(f"Open {server.address} in a browser. Ctrl-C ends.")
    if server.opens:
        typer.echo(server.opens)
    with suppress(KeyboardInterrupt):
        server.serve()
    typer.echo("Ended. The study stays as it is.")
