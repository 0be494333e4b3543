"""``windage export``: everything told, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windage.cli.progress import working
from windage.cli.shared import StudyPath, open_store, rows_are
from windage.errors import InputError, WindageError
from windage.studies import need_optuna

if TYPE_CHECKING:
    from windage.studies.store import StudyStore


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(export)


def export(
    file: StudyPath,
    table: Annotated[Path | None, typer.Option("--csv", help="Write a CSV table here.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write a Parquet table here.")] = None,
) -> None:
    """Everything told so far, as a table."""
    need_optuna()
    from windage.studies.tables import Table

    path = table or parquet
    if path is None or (table is not None and parquet is not None):
        raise InputError("say where: --csv out.csv or --parquet out.parquet.")
    if not path.parent.is_dir():
        raise WindageError(f"there is no folder {path.parent}: make it first.")
    with working("opening the study") as say:
        store = open_store(file)
        _check_free(path, store)
        say("writing the table")
        told = Table.of(store)
        try:
            if table is not None:
                told.write_csv(path)
            else:
                told.write_parquet(path)
        except OSError as error:
            raise WindageError(f"{path} cannot be written: {error.strerror or error}") from error
    typer.echo(f"{rows_are(len(told.rows))} written to {path}.")


def _check_free(path: Path, store: StudyStore) -> None:
    """A WindageError where the table would be written over the study itself."""
    database = store.storage.engine.url.database if store.storage.engine.dialect.name == "sqlite" else None
    for kept in (store.file.path, Path(database) if database else None):
        if kept and kept.exists() and path.exists() and path.samefile(kept):
            raise WindageError(f"{path} is the study itself: write the table to another file.")
