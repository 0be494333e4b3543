"""Tables of past rows into a study, and out of it."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from windage.errors import InputError, WindageError, missing_extra
from windage.studies import records
from windage.studies.quantities import pointed
from windage.studies.store import StudyStore

MORE = "\n"
"""The key of the cells of a row beyond the columns: no column has this name."""
TOO_MANY = "more cells than columns; write decimals with a point, or separate by ;"


@dataclass(frozen=True)
class Rows:
    """The rows of a table of past results."""

    new: list[FrozenTrial]
    """Those to be added."""
    known: int
    """How many are in the study already."""


def read_csv(store: StudyStore, path: Path) -> Rows:
    """The rows of a table: all are right, or an InputError lists the bad ones.

    A row that a file of this name brought before is not taken twice: the table may have grown, or a command
    was cut off. Nor is a row that this study's own export wrote.
    """
    columns = (*store.file.space, *store.file.contexts, "value")
    finished = {t.number: t for t in store.trials(TrialState.COMPLETE)}
    origins = {t.user_attrs.get(records.ROW) for t in finished.values()}
    times: Counter[str] = Counter()
    new, faults, known = [], [], 0
    for line, row in _lines(path, columns):
        entries = {name: row[name] for name in columns}
        content = json.dumps(entries)
        times[content] += 1
        origin = hashlib.sha256(f"{path.name} {content} {times[content]}".encode()).hexdigest()[:32]
        decision = {name: entries[name] for name in store.file.space}
        context = {name: entries[name] for name in store.file.contexts}
        try:
            if MORE in row:
                raise InputError(TOO_MANY)
            trial = store.checked(decision, context, entries["value"], origin)
        except WindageError as error:
            faults.append(f"line {line}: {error}")
            continue
        if origin in origins or _exported(row, trial, finished):
            known += 1
        else:
            new.append(trial)
    if faults:
        shown = "\n  ".join(faults[:20] + ([f"and {len(faults) - 20} more"] if len(faults) > 20 else []))
        raise InputError(f"nothing was taken from {path}, because of\n  {shown}")
    return Rows(new, known)


def _lines(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """The rows of a table that are not empty, each with the number of its line."""
    found = []
    try:
        reader = _reader(path, columns)
        # spreadsheets write ; where the comma is the decimal sign
        commas = reader.reader.dialect.delimiter == ";"
        for row in reader:
            cells = {
                name: ("".join(cell) if name == MORE else cell or "").strip() for name, cell in row.items()
            }
            if any(cells.values()):
                clean = {name: (pointed(cell) or cell) if commas else cell for name, cell in cells.items()}
                found.append((reader.line_num, clean))
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    return found


def _reader(path: Path, columns: Sequence[str]) -> csv.DictReader[str]:
    """The table, which has each of these columns once."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    reader = csv.DictReader(text.splitlines(), dialect=_dialect(text), restkey=MORE, restval="")
    head = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = head
    missing = [name for name in columns if name not in head]
    if missing:
        raise InputError(
            f"{path} has no column {missing[0]!r}: its first line must name {', '.join(columns)}."
        )
    repeated = [name for name in columns if head.count(name) > 1]
    if repeated:
        raise InputError(f"{path} has the column {repeated[0]!r} more than once: keep one of them.")
    return reader


def _exported(row: Mapping[str, str], trial: FrozenTrial, finished: Mapping[int, FrozenTrial]) -> bool:
    """Whether the row is one that this study wrote: it has the number of a decision, and says the same."""
    number = row.get("number", "")
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


@dataclass(frozen=True)
class Table:
    """Everything told, as rows."""

    head: list[str]
    rows: list[list[Any]]

    @classmethod
    def of(cls, store: StudyStore) -> Table:
        """One row for each finished observation, in the order of their numbers."""
        file = store.file
        rows = [
            [
                e.number,
                *(e.decision.get(name) for name in file.space),
                *(e.context.get(name) for name in file.contexts),
                e.value,
                e.told.astimezone(UTC).isoformat(timespec="seconds") if e.told else None,
            ]
            for e in store.entries()
        ]
        return cls(["number", *file.space, *file.contexts, "value", "told"], rows)

    def write_csv(self, path: Path) -> None:
        """With a head line, in UTF-8."""
        with path.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([self.head, *self.rows])

    def write_parquet(self, path: Path) -> None:
        """Numbers as numbers, words as words; a column of both as words."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise missing_extra("pyarrow", "studies", "a Parquet table") from error
        columns = {}
        for i, name in enumerate(self.head):
            column = [row[i] for row in self.rows]
            kinds = {type(v) for v in column if v is not None}
            if not (kinds <= {int, float} or kinds == {str}):
                column = [None if v is None else str(v) for v in column]
            columns[name] = column
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
