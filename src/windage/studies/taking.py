"""A table told: what looks mistyped in it, and taking it. The command line and the page share this."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windage.studies.csv_rows import Row
from windage.studies.csv_sorting import Rows, sort_out
from windage.studies.second_look import odd_correction, odd_rows
from windage.studies.store import StudyStore

AT_A_TIME = 20
"""Rows that are added before others may tell too."""


def odd_lines(store: StudyStore, rows: Sequence[Row], replaces: bool) -> list[str]:
    """What looks mistyped in new rows, and in corrections if there are to be any: one sentence each."""
    found = sort_out(rows, store)
    lines = {id(row.trial): row.line for row in rows}
    odd = [(lines[id(found.new[k])], words) for k, words in odd_rows(store, found.new).items()]
    for one in found.changed if replaces else ():
        odd.append((one.line, odd_correction(store, one.number, one.decision, one.context, one.value)))
    return [f"line {line}: {words}" for line, odds in sorted(odd) for words in odds]


def take(
    store: StudyStore,
    rows: Sequence[Row],
    replaces: bool,
    name: str,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> Rows:
    """Add what is new, and correct what differs if it is to; how the rows were sorted out."""
    with store.telling():
        found = sort_out(rows, store)
        changed = found.changed if replaces else []
        for one in changed:
            store.file.check_parts(one.decision, one.context, one.value, past=True)
        for one in changed:
            parts = {"decision": one.decision, "context": one.context}
            store.correct(one.number, **parts, value=one.value, why=f"line {one.line} of {name}", past=True)
    left, count = found.new, -1
    while left:
        with store.telling():
            if count != store.count():  # first, or another told something meanwhile
                left = sort_out(rows, store).new
            store.add_all(left[:AT_A_TIME])
            left, count = left[AT_A_TIME:], store.count()
        report(len(found.new) - len(left), len(found.new))
    return found
