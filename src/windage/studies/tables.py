"""Tables of past rows into a study, and out of it."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from windage.errors import InputError, WindageError
from windage.studies import records
from windage.studies.book import Book
from windage.studies.file import pointed


def read_csv(book: Book, path: Path) -> tuple[list[FrozenTrial], int]:
    """The rows of a table, all right or an InputError that lists the bad ones; and how many are known.

    A row that a file of this name brought before (the table has grown, or a command was cut off) is not taken
    twice; nor is one that this study's own export wrote.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    dialect = _dialect(text)
    reader = csv.DictReader(text.splitlines(), dialect=dialect)
    columns = (*book.file.space, *book.file.contexts, "value")
    head = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = head
    missing = [name for name in columns if name not in head]
    if missing:
        raise InputError(
            f"{path} has no column {missing[0]!r}: its first line must name {', '.join(columns)}."
        )
    finished = {t.number: t for t in book.trials(TrialState.COMPLETE)}
    known = {t.user_attrs.get(records.ROW) for t in finished.values()}
    times: Counter[str] = Counter()
    found, faults, there = [], [], 0
    for row in reader:
        line = reader.line_num
        if not any(value for value in row.values() if isinstance(value, str)):
            continue
        entries = {name: str(row.get(name) or "").strip() for name in columns}
        if dialect.delimiter == ";":  # as spreadsheets write where the comma is the decimal sign
            entries = {name: pointed(entry) or entry for name, entry in entries.items()}
        content = json.dumps(entries)
        times[content] += 1
        origin = hashlib.sha256(f"{path.name} {content} {times[content]}".encode()).hexdigest()[:32]
        decision = {name: entries[name] for name in book.file.space}
        context = {name: entries[name] for name in book.file.contexts}
        try:
            trial = book.checked(decision, context, entries["value"], origin)
        except WindageError as error:
            faults.append(f"line {line}: {error}")
            continue
        if origin in known or _exported(row, trial, finished):
            there += 1
        else:
            found.append(trial)
    if faults:
        shown = "\n  ".join(faults[:20] + ([f"and {len(faults) - 20} more"] if len(faults) > 20 else []))
        raise InputError(f"nothing was taken from {path}, because of\n  {shown}")
    return found, there


def _exported(row: Mapping[str, Any], trial: FrozenTrial, finished: Mapping[int, FrozenTrial]) -> bool:
    """Whether the row is one that this study wrote: it has the number of a decision, and says the same."""
    number = str(row.get("number") or "").strip()
    if not number.isdigit() or "told" not in row:
        return False
    there = finished.get(int(number))
    return there is not None and (there.params, records.context_of(there), there.value) == (
        trial.params,
        records.context_of(trial),
        trial.value,
    )


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
