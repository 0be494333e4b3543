"""Everything told, as a table."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from windage.errors import missing_extra
from windage.studies.beforehand import exact
from windage.studies.csv_reading import STANDARD, safe
from windage.studies.entries import Entry
from windage.studies.file import CHANGE, DATE, FORECAST, FORGOTTEN
from windage.studies.store import StudyStore


@dataclass(frozen=True)
class Table:
    """Everything told, as rows."""

    head: list[str]
    rows: list[list[Any]]

    @classmethod
    def of(cls, store: StudyStore) -> Table:
        """One row for each finished observation, in the order of their numbers.

        Dates, forecasts, changes, and variables that the file no longer has, get columns where there are any.
        Forgotten observations are there, and say so.
        """
        file, state = store.file, store.state()
        hidden = CHANGE in file.quantities  # no column could say that they do not count
        gone = {} if hidden else {e.number: e for e in state.forgotten}
        entries = sorted([*state.entries, *gone.values()], key=lambda e: e.number)
        every = dict.fromkeys(name for e in entries for name in (*e.decision, *e.context))
        gone_names = [name for name in every if name not in file.quantities]  # the file had them once
        dated = any(e.date for e in entries) and DATE not in file.quantities
        foreseen = [n for n in file.contexts if any(n in e.forecast for e in entries)]
        foreseen = [name for name in foreseen if f"{name}{FORECAST}" not in file.quantities]
        changed = bool(gone or any(e.was for e in entries)) and not hidden
        rows = [
            [
                e.number,
                *([e.date or None] if dated else []),
                *(e.decision.get(name) for name in file.space),
                *(e.context.get(name) for name in file.contexts),
                *({**e.decision, **e.context}.get(name) for name in gone_names),
                *(exact(e.forecast[name]) if name in e.forecast else None for name in foreseen),
                e.value,
                e.told.astimezone(UTC).isoformat(timespec="seconds") if e.told else None,
                *([change_of(e, e.number in gone)] if changed else []),
            ]
            for e in entries
        ]
        names = [*file.space, *file.contexts, *gone_names, *(f"{name}{FORECAST}" for name in foreseen)]
        head = ["number", *([DATE] if dated else []), *names, "value", "told"]
        return cls([*head, *([CHANGE] if changed else [])], rows)

    def as_csv(self, end: str = "\r\n") -> str:
        """As text with a head line; ``end``: of each line. No cell is a formula."""
        out = io.StringIO()
        lines = [[safe(cell) for cell in row] for row in (self.head, *self.rows)]
        csv.writer(out, lineterminator=end).writerows(lines)
        return out.getvalue()

    def write_csv(self, path: Path) -> None:
        """In UTF-8; ``-`` is the standard output."""
        if path == STANDARD:
            sys.stdout.write(self.as_csv("\n"))
        else:
            path.write_text(self.as_csv(), encoding="utf-8", newline="")

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


def change_of(entry: Entry, forgotten: bool) -> str | None:
    """``corrected: value was 1200 (a digit too many)``; None where nothing was changed."""
    if not forgotten and not entry.was:
        return None
    was = ", ".join(f"{name} was {'not told' if v is None else v}" for name, v in entry.was.items())
    parts = [FORGOTTEN if forgotten else "corrected", *([was] if was else [])]
    return ": ".join(parts) + (f" ({entry.why})" if entry.why else "")
