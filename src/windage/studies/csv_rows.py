"""Rows of a table of past results as trials, not yet in the study.

A past decision may lie outside of the bounds, and a context may be empty: not seen. ``second_look`` asks
about both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial

from windage.errors import InputError, WindageError
from windage.space import Categorical
from windage.studies import beforehand, dates, numerals, records
from windage.studies.csv_reading import CsvTable, Line, read
from windage.studies.file import CHANGE, DATE, EXPORTED, FORECAST, FORGOTTEN, StudyFile
from windage.studies.store import StudyStore

TOO_MANY = "more cells than columns; write decimals with a point, or separate by ;"
MOST_FAULTS = 20
"""So many are listed."""


@dataclass(frozen=True)
class Row:
    """A row of a table that is right, not yet in the study."""

    line: int
    """Its line in the file."""
    trial: FrozenTrial
    number: int | None
    """Of the decision, where an export wrote the row."""
    told: str
    """When it was told, as an export writes it; empty where none did."""
    earlier: int | None
    """The line of an equal row before it in the table."""
    forgotten: bool = False
    """Whether this study's export says that the row no longer counts."""


def read_rows(store: StudyStore, raw: bytes, name: str) -> list[Row]:
    """The rows of a table of this name: all are right, or an InputError lists the bad ones."""
    file = store.file
    names = (*file.space, *file.contexts, "value")
    late = _late(store)
    forecasts = [f"{name}{FORECAST}" for name in file.contexts]
    optional = [name for name in (*EXPORTED, DATE, CHANGE, *forecasts) if name not in file.quantities]
    needed = {name: file.quantities[name].unit for name in names if name not in late}
    outcome = file.quantities["value"].description
    table = read(raw, name, needed, [*late, *optional], {"value": outcome} if outcome else None)
    cells = _Cells.of(table, file)
    rows: list[Row] = []
    faults: list[str] = []
    lines: dict[str, int] = {}
    for line in table.lines:
        try:
            trial = _trial(store, line, cells)
        except WindageError as error:
            faults.append(f"line {line.number}: {error}")
            continue
        trial.set_user_attr(records.ROW, table.name)
        said = f"{content(trial, file)} {records.date_of(trial)}"
        gone = line.cells.get(CHANGE, "").startswith(FORGOTTEN)
        told = line.cells.get("told", "")
        rows.append(Row(line.number, trial, _number(line), told, lines.get(said), gone))
        lines.setdefault(said, line.number)
    if faults:
        more = [f"and {len(faults) - MOST_FAULTS} more"] if len(faults) > MOST_FAULTS else []
        listed = "\n  ".join(faults[:MOST_FAULTS] + more)
        raise InputError(f"nothing was taken from {table.name}, because of\n  {listed}")
    return rows


def _late(store: StudyStore) -> list[str]:
    """Contexts that some row told does not have, or need not: a table may be without them too."""
    told, file = store.entries(), store.file
    return [n for n in file.contexts if n in file.optional or any(n not in e.context for e in told)]


def content(trial: FrozenTrial, file: StudyFile) -> str:
    """What a trial says of what the file has, as text."""
    met = records.context_of(trial)
    known = {name: trial.params.get(name) for name in file.space}
    return json.dumps([known, {name: met.get(name) for name in file.contexts}, trial.value])


@dataclass(frozen=True)
class _Cells:
    """How the cells of a table are written."""

    separator: str
    marks: Mapping[str, numerals.Mark | None]
    """Of each column of numbers, the decimal mark that its cells show, or else those of the whole table."""
    dated: bool
    """Whether the column ``date`` is a date, and no variable of the study."""
    months_first: bool | None

    @classmethod
    def of(cls, table: CsvTable, file: StudyFile) -> _Cells:
        """As all cells together show it."""
        words = [n for n, kind in file.space.items() if isinstance(kind, CategoricalDistribution)]
        words += [n for n, kind in file.contexts.items() if isinstance(kind, Categorical)]
        numbers = [n for n in (*file.space, *file.contexts, "value") if n not in words]
        columns = {name: [line.cells.get(name, "") for line in table.lines] for name in numbers}
        whole = numerals.decimal_mark(cell for column in columns.values() for cell in column)
        marks = {name: numerals.decimal_mark(column) or whole for name, column in columns.items()}
        dated = DATE in table.columns and DATE not in file.quantities
        months_first = dates.month_first(line.cells[DATE] for line in table.lines) if dated else None
        return cls(table.separator, marks, dated, months_first)

    def read(self, line: Line, name: str, label: str) -> str:
        """A cell, numbers as Python writes them."""
        cell = line.cells.get(name, "")
        return numerals.plain(cell, self.marks[name], self.separator, label) if name in self.marks else cell


def _trial(store: StudyStore, line: Line, cells: _Cells) -> FrozenTrial:
    """The finished trial of a row, or an InputError."""
    if line.extra:
        raise InputError(TOO_MANY)
    file = store.file
    decision = {name: cells.read(line, name, f"decision variable {name!r}") for name in file.space}
    context = {
        name: cells.read(line, name, f"context {name!r}") for name in file.contexts if line.cells.get(name)
    }
    forecast = {
        name: beforehand.one_forecast(file, name, cell, cells.marks.get(name), cells.separator)
        for name in file.contexts
        if f"{name}{FORECAST}" not in file.quantities and (cell := line.cells.get(f"{name}{FORECAST}"))
    }
    value = cells.read(line, "value", "value")
    when = dates.iso(line.cells[DATE], cells.months_first) if cells.dated and line.cells[DATE] else ""
    return store.checked(decision, context, value, past=True, time=when, forecast=forecast)


def _number(line: Line) -> int | None:
    """The number of a decision that this study's export wrote."""
    text = line.cells.get("number", "")
    return (
        int(text) if "told" in line.cells and text.isascii() and text.isdigit() and len(text) < 10 else None
    )
