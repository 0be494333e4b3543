"""Tables on the page: an upload of past days, and everything told as a download."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from windage.errors import InputError, WindageError
from windage.studies.csv_reading import safe
from windage.studies.csv_rows import Row, read_rows
from windage.studies.csv_sorting import Rows
from windage.studies.quantities import counted
from windage.studies.store import StudyStore
from windage.studies.tables import Table
from windage.studies.taking import odd_lines, take
from windage.web.site import Site
from windage.web.view import Attempt, with_alert

NAME = "table.csv"
"""Whatever a file was called: its name is a stranger's text, and may hold a path."""
FEW = 5
"""So many lines are named."""


def upload(site: Site, content: bytes, form: Mapping[str, Any]) -> str | Attempt:
    """Past days of a table: an address to go to, or the form again with what is wrong."""
    replaces = str(form.get("replace", "")) == "yes"
    attempt = Attempt("upload", replaces=replaces)
    key = str(form.get("table", ""))[:40]
    if not content and key:
        kept = site.tables.get(key)
        if kept is None:
            return Attempt("upload", alert="The table is no longer at hand: choose it once more.")
        content = kept
    if not content:
        return Attempt("upload", alert="Choose a table first: a CSV file with a line for each day.")
    try:
        store = site.live.store()
        rows = _rows(store, content)
        sure = hashlib.sha256(content + str(replaces).encode()).hexdigest()[:16]
        if str(form.get("sure", "")) != sure:
            odd = _odd(store, rows, replaces)
            if odd:
                kept_as = site.tables.put(content)
                return Attempt("upload", odd=odd, sure=sure, table=kept_as, replaces=replaces)
        words = taken(take(store, rows, replaces, "a table"), replaces)
    except WindageError as error:
        return with_alert(attempt, error)
    site.background.attend()
    return site.say(words)


def _rows(store: StudyStore, content: bytes) -> list[Row]:
    """The rows of a table, or an InputError that does not speak of where it was kept meanwhile."""
    with tempfile.TemporaryDirectory(prefix="windage-") as folder:
        path = Path(folder) / NAME
        path.write_bytes(content)
        try:
            return read_rows(store, path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), "the table")) from None


def _odd(store: StudyStore, rows: list[Row], replaces: bool) -> list[str]:
    """What looks mistyped, one sentence each."""
    found = [words[0].upper() + words[1:] for words in odd_lines(store, rows, replaces)]
    more = [f"And {len(found) - FEW} more."] if len(found) > FEW else []
    return [*found[:FEW], *more]


def taken(rows: Rows, replaces: bool) -> str:
    """``3 days are added. 2 were there already. …``"""
    new, known = len(rows.new), len(rows.skipped)
    words = [f"{counted(new, 'day')} {'is' if new == 1 else 'are'} added from the table."]
    if known:
        words.append(f"{known} {'was' if known == 1 else 'were'} there already.")
    if rows.repeats:
        numbers = ", ".join(str(number) for _, number in rows.repeats[:FEW])
        words.append(
            f"{counted(len(rows.repeats), 'row')} equal a day that was entered here (day {numbers}), and "
            "are taken all the same: forget one of them if it is the same day."
        )
    if rows.equal:
        words.append(f"Equal to an earlier row of the table, and taken all the same: {_lines(rows.equal)}.")
    if rows.changed:
        lines = [(one.line, one.number) for one in rows.changed]
        done = (
            "corrected what was told"
            if replaces
            else 'differ from what was told, and are not taken (tick "rows that differ" to correct)'
        )
        words.append(f"{counted(len(rows.changed), 'row')} {done}: {_lines(lines)}.")
    if rows.forgotten:
        words.append(f"{counted(len(rows.forgotten), 'row')} left out, as forgotten.")
    if rows.dates:
        words.append(f"A date stays as it was told: forget the day, and add it again ({_lines(rows.dates)}).")
    return " ".join(words)


def _lines(pairs: list[tuple[int, int]]) -> str:
    listed = ", ".join(str(line) for line, _ in pairs[:FEW])
    more = f" and {len(pairs) - FEW} more" if len(pairs) > FEW else ""
    return f"line{'s' if len(pairs) > 1 else ''} {listed}{more}"


def download(store: StudyStore) -> tuple[str, str]:
    """Everything told as CSV, without formulas; and a harmless name for the file."""
    told, out = Table.of(store), io.StringIO()
    csv.writer(out).writerows([[safe(cell) for cell in row] for row in (told.head, *told.rows)])
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", store.file.name).strip("-") or "study"
    return out.getvalue(), f"{stem}.csv"
