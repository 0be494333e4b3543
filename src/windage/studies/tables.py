"""Tables of past rows into a study, and out of it."""

from __future__ import annotations

import csv
import hashlib
from datetime import UTC
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from windage.errors import InputError, WindageError
from windage.studies import records
from windage.studies.book import Book


def read_csv(book: Book, path: Path) -> tuple[list[FrozenTrial], int]:
    """The rows of a table, all right or an InputError that lists the bad ones; and how many are known.

    Rows of the same file that came in before (a command that was cut off) are not taken twice.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    reader = csv.DictReader(text.splitlines(), dialect=_dialect(text))
    columns = (*book.file.space, *book.file.contexts, "value")
    head = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = head
    missing = [name for name in columns if name not in head]
    if missing:
        raise InputError(
            f"{path} has no column {missing[0]!r}: its first line must name {', '.join(columns)}."
        )
    digest = hashlib.sha256(data).hexdigest()[:16]
    known = {t.user_attrs.get(records.ROW) for t in book.trials(TrialState.COMPLETE)}
    found, faults, there = [], [], 0
    for row in reader:
        line = reader.line_num
        if not any(value for value in row.values() if isinstance(value, str)):
            continue
        if f"{digest}:{line}" in known:
            there += 1
            continue
        entries = {name: str(row.get(name) or "").strip() for name in columns}
        decision = {name: entries[name] for name in book.file.space}
        context = {name: entries[name] for name in book.file.contexts}
        try:
            found.append(book.checked(decision, context, entries["value"], f"{digest}:{line}"))
        except WindageError as error:
            faults.append(f"line {line}: {error}")
    if faults:
        shown = "\n  ".join(faults[:20] + ([f"and {len(faults) - 20} more"] if len(faults) > 20 else []))
        raise InputError(f"nothing was taken from {path}, because of\n  {shown}")
    return found, there


def _dialect(text: str) -> type[csv.Dialect]:
    try:
        return csv.Sniffer().sniff(text[:4096], delimiters=",;\t")
    except csv.Error:
        return csv.excel


def export_rows(book: Book) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns, and a row for each finished observation."""
    file = book.file
    head = ["number", *file.space, *file.contexts, "value", "told"]
    rows = [
        [
            e.number,
            *(e.decision.get(name) for name in file.space),
            *(e.context.get(name) for name in file.contexts),
            e.value,
            e.told.astimezone(UTC).isoformat(timespec="seconds") if e.told else None,
        ]
        for e in book.entries()
    ]
    return head, rows
