"""Tables on the page: an upload of past days, and everything told as a download."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from windage.errors import WindageError
from windage.studies.csv_rows import Row, read_rows
from windage.studies.csv_sorting import Rows
from windage.studies.quantities import FEW, counted, lines_named
from windage.studies.store import StudyStore
from windage.studies.tables import Table
from windage.studies.taking import odd_lines, take
from windage.web.site import Site
from windage.web.view import Attempt, with_alert


def upload(site: Site, content: bytes, form: Mapping[str, Any]) -> str | Attempt:
    """Past days of a table: an address to go to, or the form again with what is wrong.

    Whatever the file was called: its name is a stranger's text, and may hold a path.
    """
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
        rows = read_rows(store, content, "the table")
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
        equal, are = ("equals", "is") if len(rows.repeats) == 1 else ("equal", "are")
        numbers = ", ".join(str(number) for _, number in rows.repeats[:FEW])
        words.append(
            f"{counted(len(rows.repeats), 'row')} {equal} a day that was entered here (day {numbers}), and "
            f"{are} taken all the same: forget one of them if it is the same day."
        )
    if rows.equal:
        lines = lines_named([line for line, _ in rows.equal])
        words.append(f"Equal to an earlier row of the table, and taken all the same: {lines}.")
    if rows.changed:
        differ, are = ("differs", "is") if len(rows.changed) == 1 else ("differ", "are")
        not_taken = f'{differ} from what was told, and {are} not taken (tick "rows that differ" to correct)'
        done = "corrected what was told" if replaces else not_taken
        lines = lines_named([one.line for one in rows.changed])
        words.append(f"{counted(len(rows.changed), 'row')} {done}: {lines}.")
    if rows.forgotten:
        words.append(f"{counted(len(rows.forgotten), 'row')} left out, as forgotten.")
    if rows.dates:
        lines = lines_named([line for line, _ in rows.dates])
        words.append(f"A date stays as it was told: forget the day, and add it again ({lines}).")
    return " ".join(words)


def download(store: StudyStore) -> tuple[str, str]:
    """Everything told as CSV, without formulas; and a harmless name for the file."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", store.file.name).strip("-") or "study"
    return Table.of(store).as_csv(), f"{stem}.csv"
