"""A CSV table as people have it: bytes of any usual kind → cells by column. No study here."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windage.errors import InputError, near_match

STANDARD = Path("-")
"""Stands for the standard input and output."""
SEPARATORS = (",", ";", "\t", "|")
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""First bytes of a file → how it is written. UTF-32's first: they begin as UTF-16's do."""
SAVE = "Save it as CSV in UTF-8."
UNIT = re.compile(r"(.*\S)\s*(?:\[([^\[\]]*)\]|\(([^()]*)\))", re.DOTALL)
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a text begins that a spreadsheet may compute, after apostrophes of its own or none."""


@dataclass(frozen=True)
class Line:
    """A row of a table that is not empty."""

    number: int
    """Of its line in the file, from 1."""
    cells: Mapping[str, str]
    """By the name of the column, without blanks around."""
    extra: bool
    """Whether there are more cells than columns."""


@dataclass(frozen=True)
class CsvTable:
    """A table whose columns are found."""

    name: str
    """How people know it."""
    separator: str
    columns: tuple[str, ...]
    """The columns that are there, of those asked for."""
    lines: list[Line]


def safe(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: such a text has an apostrophe before it."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def bare(cell: str) -> str:
    """The text of a cell that ``safe`` wrote."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def shown(path: Path) -> str:
    """How people know a table."""
    return "the standard input" if path == STANDARD else str(path)


def read(
    raw: bytes,
    name: str,
    needed: Mapping[str, str],
    optional: Sequence[str] = (),
    other: Mapping[str, str] | None = None,
) -> CsvTable:
    """The table, which has each needed column once; an InputError says what is wrong.

    Args:
        raw: the file's bytes.
        name: how people know it.
        needed: name → unit, which a column's head may state in brackets.
        optional: columns that may be there. Those of other names are left out.
        other: by what other name a column may be called.
    """
    text, stated = _body(decoded(raw, name), name)
    if not text.strip():
        raise InputError(f"{name} is empty: its first line must name {', '.join(needed)}.")
    try:
        separator, head = _head(text, stated, needed)
        places = _places(head, needed, optional, name, other or {})
        lines = _lines(text, separator, bool(stated), len(head), places)
    except csv.Error as error:
        raise InputError(f"{name} cannot be read as a table: {error}.") from error
    return CsvTable(name, separator, tuple(places), lines)


def content(path: Path) -> bytes:
    """The bytes of a table, or an InputError."""
    try:
        return sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or error
        raise InputError(f"{shown(path)} cannot be read as a table: {words}.") from error


def decoded(raw: bytes, name: str) -> str:
    """The text of a file: UTF-8, what its first bytes say, or Windows-1252.

    The last is a guess. It does no harm: names and choices must be the study's own, and numbers are ASCII.
    """
    kinds = [kind for mark, kind in MARKS.items() if raw.startswith(mark)][:1] or ["utf-8", "cp1252"]
    for kind in kinds:
        try:
            text = raw.decode(kind)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            raise InputError(f"{name} cannot be read as a table: it is no text. {SAVE}")
        return text
    raise InputError(f"{name} cannot be read as a table: its letters are of an unknown kind. {SAVE}")


def _body(text: str, name: str) -> tuple[str, str]:
    """The table, and the separator that a first line ``sep=;`` states, or the empty string."""
    first, end, rest = text.partition("\n")
    found = re.fullmatch(r'"?sep=(.)"?[,;\t|]*\r?', first, re.IGNORECASE)
    if not found:
        return text, ""
    if found[1] not in SEPARATORS:
        raise InputError(f"{name} is separated by {found[1]!r}: separate by , or ; instead.")
    return rest if end else "", found[1]


def _reader(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)


def _filled(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """The rows that are not empty."""
    return ([bare(cell) for cell in row] for row in rows if any(cell.strip() for cell in row))


def _head(text: str, stated: str, needed: Mapping[str, str]) -> tuple[str, list[str]]:
    """The separator and the names of the columns: those by which most of the needed columns are found."""
    found = []
    for separator in (stated,) if stated else SEPARATORS:
        head = [" ".join(cell.split()) for cell in next(_filled(_reader(text, separator)), [])]
        count = sum(any(_with_unit(cell, name) for cell in head) for name in needed)
        found.append((count, len(head), separator, head))
    _, _, separator, head = max(found, key=lambda way: way[:2])
    return separator, head


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _split(cell: str) -> tuple[str, str]:
    """``stock [kg]`` → ``stock``, ``kg``."""
    found = UNIT.fullmatch(cell)
    return (found[1], (found[2] or found[3] or "").strip()) if found else (cell, "")


def _exact(cell: str, name: str) -> bool:
    return cell == name


def _any_capitals(cell: str, name: str) -> bool:
    return _key(cell) == _key(name)


def _with_unit(cell: str, name: str) -> bool:
    return _key(name) in (_key(cell), _key(_split(cell)[0]))


def _places(
    head: Sequence[str],
    needed: Mapping[str, str],
    optional: Sequence[str],
    name: str,
    other: Mapping[str, str],
) -> dict[str, int]:
    """Where each column stands: by its exact name, in any capitals, with a unit, or by its other name."""
    found: dict[str, int] = {}
    own = {column: column for column in (*needed, *optional)}
    for matches, names in ((_exact, own), (_any_capitals, own), (_with_unit, own), (_with_unit, other)):
        for column, called in names.items():
            free = [i for i in range(len(head)) if i not in found.values()]
            here = [i for i in free if column not in found and matches(head[i], called)]
            if len(here) > 1 and column in needed:
                raise InputError(f"{name} has the column {column!r} more than once: keep one of them.")
            if len(here) == 1:
                found[column] = here[0]
    for column, unit in needed.items():
        if column not in found:
            others = [cell for i, cell in enumerate(head) if i not in found.values()]
            near = near_match(column, others) or near_match(column, [_split(cell)[0] for cell in others])
            raise InputError(
                f"{name} has no column {column!r}: its first line must name {', '.join(needed)}.{near}"
            )
        if not _any_capitals(head[found[column]], other.get(column, column)):
            _check_unit(head[found[column]], column, unit, name)
    return found


def _check_unit(cell: str, column: str, unit: str, name: str) -> None:
    """An InputError where a column is in another unit than the study's."""
    stated = "" if _any_capitals(cell, column) else _split(cell)[1]
    if stated and unit and stated != unit:
        raise InputError(
            f"{name} has the column {cell!r}, but the study has {column!r} in {unit}: convert the numbers, "
            f"or name the column {column!r} if they are in {unit} already."
        )


def _lines(text: str, separator: str, before: int, width: int, places: Mapping[str, int]) -> list[Line]:
    """The rows that are not empty."""
    reader = _reader(text, separator)
    rows, found = _filled(reader), []
    next(rows, None)
    for row in rows:
        named = {column: row[i].strip() if i < len(row) else "" for column, i in places.items()}
        found.append(Line(before + reader.line_num, named, len(row) > width))
    return found
