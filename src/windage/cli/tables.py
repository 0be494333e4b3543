"""``windage export``: everything told, as a table; and what was taken of a table told."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windage.cli.progress import working
from windage.cli.shared import StudyPath, open_store, rows_are
from windage.errors import InputError, WindageError
from windage.studies import need_optuna
from windage.studies.quantities import FEW, lines_named

if TYPE_CHECKING:
    from windage.studies.csv_sorting import Changed, Rows
    from windage.studies.file import StudyFile
    from windage.studies.store import StudyStore


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(export)


def export(
    file: StudyPath,
    table: Annotated[
        Path | None, typer.Option("--csv", help="Write a CSV table here; - is the standard output.")
    ] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write a Parquet table here.")] = None,
) -> None:
    """Everything told so far, as a table."""
    need_optuna()
    from windage.studies.csv_reading import STANDARD
    from windage.studies.tables import Table

    path = table or parquet
    if path is None or (table is not None and parquet is not None):
        raise InputError("say where: --csv out.csv or --parquet out.parquet.")
    try:
        if not path.parent.is_dir():
            raise WindageError(f"there is no folder {path.parent}: make it first.")
        with working("opening the study") as say:
            store = open_store(file)
            _check_free(path, store)
            say("writing the table")
            told = Table.of(store)
            if table is not None:
                told.write_csv(path)
            else:
                told.write_parquet(path)
    except OSError as error:
        raise WindageError(f"{path} cannot be written: {error.strerror or error}") from error
    if table != STANDARD:
        typer.echo(f"{rows_are(len(told.rows))} written to {path}.")


def taken(rows: Rows, path: Path, replaced: bool, file: StudyFile) -> tuple[dict[str, Any], str]:
    """What was taken of a table, for scripts and for people; ``replaced``: changed rows are corrections."""
    from windage.studies.csv_reading import shown

    new, skipped = len(rows.new), len(rows.skipped)
    done = {
        "added": new,
        "there already": skipped,
        "skipped lines": rows.skipped,
        "repeats": [{"line": line, "number": number} for line, number in rows.repeats],
        "equal lines": [[earlier, line] for line, earlier in rows.equal],
        "corrected" if replaced else "changed": [
            {"line": one.line, "number": one.number, "was": dict(one.was)} for one in rows.changed
        ],
        "forgotten lines": rows.forgotten,
        "other dates": [{"line": line, "number": number} for line, number in rows.dates],
    }
    if not new and not skipped and not rows.changed and not rows.forgotten:
        return done, f"{shown(path)} has a head and no rows: nothing is added."
    were = "was" if skipped == 1 else "were"
    known = f" ({skipped} {were} there already). Skipped: {lines_named(rows.skipped)}" if skipped else ""
    words = [f"{rows_are(new)} added from {shown(path)}{known}."]
    words += [
        f"Line {line} equals decision {number}, which is there already: taken all the same. "
        f"If it is the same one:  windage forget {shlex.quote(str(file.path))} {number}"
        for line, number in rows.repeats[:FEW]
    ]
    if len(rows.repeats) > FEW:
        words.append(
            f"So do {len(rows.repeats) - FEW} more: {lines_named([line for line, _ in rows.repeats[FEW:]])}."
        )
    if rows.equal:
        repeated = lines_named([line for line, _ in rows.equal])
        words.append(f"Equal to an earlier row of the table, and taken all the same: {repeated}.")
    words += _changed(rows.changed, replaced, file)
    if rows.forgotten:
        words.append(f"Forgotten, and not taken: {lines_named(rows.forgotten)}.")
    words += [
        f"Line {line} is decision {number} on another date. A date stays as it was told: forget decision "
        f"{number}, and tell the row again."
        for line, number in rows.dates[:FEW]
    ]
    return done, "\n".join(words)


def _changed(rows: Sequence[Changed], replaced: bool, file: StudyFile) -> list[str]:
    """Rows that say something else than was told, in words."""
    if not rows:
        return []
    words = []
    for one in rows[:FEW]:
        now = {**one.decision, **one.context, **({} if one.value is None else {"value": one.value})}
        parts = [
            f"{name} {_shown(file, name, new)}, told as {_shown(file, name, one.was[name])}"
            for name, new in now.items()
        ]
        done = "corrects" if replaced else "differs from"
        words.append(f"Line {one.line} {done} decision {one.number}: {'; '.join(parts)}.")
    if len(rows) > FEW:
        words.append(f"So do {len(rows) - FEW} more: {lines_named([one.line for one in rows[FEW:]])}.")
    if not replaced:
        words.append("What differs is not taken. To correct what was told, say it again with --replace.")
    return words


def _shown(file: StudyFile, name: str, value: Any) -> str:
    return "nothing" if value is None else file.quantities[name].in_full(value)


def _check_free(path: Path, store: StudyStore) -> None:
    """A WindageError where the table would be written over the study itself."""
    database = store.storage.engine.url.database if store.storage.engine.dialect.name == "sqlite" else None
    for kept in (store.file.path, Path(database) if database else None):
        if kept and kept.exists() and path.exists() and path.samefile(kept):
            raise WindageError(f"{path} is the study itself: write the table to another file.")
