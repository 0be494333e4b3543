"""Which rows of a table a study has already, which are new, and which correct what was told.

Each row is paired with one decision at most, and each decision with one row, in this order:

1. by the number, where an export of this study wrote the row: the time told and half of the cells say so;
2. by what both say, as told or as corrected, on the same date if both have one;
3. by a date that no other has: both must say nearly the same, or the rest of the table is known;
4. by the place between rows that are paired, where they differ in one cell at most.

Decisions that were told by number count for the first way alone: a row that says the same is named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from difflib import SequenceMatcher
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from windage.changes import standing
from windage.studies import corrections, records
from windage.studies.csv_rows import Row, content
from windage.studies.file import StudyFile
from windage.studies.told import ToldStudy

CELLS = 3
"""So many cells a row needs at least, for all but one to say that it is the same one."""


@dataclass(frozen=True)
class Changed:
    """A row that says something else than what was told of a decision."""

    line: int
    number: int
    """Of the decision."""
    decision: Mapping[str, Any]
    """Decision variables that differ."""
    context: Mapping[str, Any]
    """Contexts that differ."""
    value: float | None
    """The outcome, if it differs."""
    was: Mapping[str, Any]
    """What counts now of those."""


@dataclass
class Rows:
    """The rows of a table, sorted out."""

    new: list[FrozenTrial] = field(default_factory=list)
    """Those to be added."""
    skipped: list[int] = field(default_factory=list)
    """Lines of those that are in the study already."""
    repeats: list[tuple[int, int]] = field(default_factory=list)
    """Of the new ones, those that equal a decision told in another way: line, and number of the decision."""
    equal: list[tuple[int, int]] = field(default_factory=list)
    """Of the new ones, those that equal an earlier row of the table: line, and that row's line."""
    changed: list[Changed] = field(default_factory=list)
    """Those that say something else than what was told before of the same decision. They are not new."""
    forgotten: list[int] = field(default_factory=list)
    """Lines of those that are forgotten, here or in the export that wrote them."""
    dates: list[tuple[int, int]] = field(default_factory=list)
    """Those that differ from a decision by their date alone: line, and number of the decision."""


@dataclass(frozen=True)
class Decision:
    """A finished trial, as told and as it counts."""

    told: FrozenTrial
    now: FrozenTrial
    forgotten: bool
    texts: tuple[str, ...]
    """What it said, and what it says now."""

    @property
    def from_table(self) -> bool:
        """Whether a table brought it."""
        return records.ROW in self.told.user_attrs

    @property
    def stamp(self) -> str:
        """When it was told, as an export writes it."""
        moment = self.told.datetime_complete
        return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else ""


def sort_out(rows: Sequence[Row], store: ToldStudy) -> Rows:
    """Which rows are new, which are there already, and which say something else than was told."""
    file, decisions = store.file, _decisions(store)
    pairs, found = _Pairs(file, rows, decisions).found, Rows()
    single = defaultdict(list)
    for one in decisions:
        if not one.from_table and not one.forgotten:
            single[content(one.now, file)].append(one.told.number)
    for row in rows:
        mine = pairs.get(row.line)
        if mine is not None:
            _sort_paired(found, row, mine, file)
        elif row.forgotten:
            found.forgotten.append(row.line)
        else:
            found.new.append(row.trial)
            alike = single[content(row.trial, file)]
            if alike:
                found.repeats.append((row.line, alike.pop(0)))
            elif row.earlier is not None:
                found.equal.append((row.line, row.earlier))
    return found


def _decisions(store: ToldStudy) -> list[Decision]:
    stands, found = standing(store.history()), []
    for trial in store.trials(TrialState.COMPLETE):
        change = stands.get(trial.number)
        now = trial if change is None else corrections.with_parts(trial, change)
        texts = (content(trial, store.file), content(now, store.file))
        found.append(Decision(trial, now, change is not None and change.forgotten, texts))
    return found


def _sort_paired(found: Rows, row: Row, mine: Decision, file: StudyFile) -> None:
    """A row that is a decision of the study."""
    dates = [records.date_of(trial) for trial in (row.trial, mine.told)]
    if mine.forgotten:
        found.forgotten.append(row.line)
    elif content(row.trial, file) in mine.texts:
        found.skipped.append(row.line)
        if all(dates) and dates[0] != dates[1]:
            found.dates.append((row.line, mine.told.number))
    else:
        change = _difference(row, mine.now, file)
        if change.was:
            found.changed.append(change)
        else:
            found.skipped.append(row.line)


class _Pairs:
    """The pairing of rows and decisions, ``found`` by the line of the row."""

    def __init__(self, file: StudyFile, rows: Sequence[Row], decisions: Sequence[Decision]) -> None:
        self.file, self.rows, self.decisions = file, rows, decisions
        self.found: dict[int, Decision] = {}
        self._taken: set[int] = set()
        for way in (self._by_number, self._by_content, self._by_date, self._by_place):
            way()

    def _pair(self, row: Row, decision: Decision) -> None:
        if row.line not in self.found and decision.told.number not in self._taken:
            self.found[row.line] = decision
            self._taken.add(decision.told.number)

    def _left(self) -> tuple[list[Row], list[Decision]]:
        """Rows and decisions from tables that are not paired yet."""
        rows = [row for row in self.rows if row.line not in self.found]
        return rows, [d for d in self.decisions if d.from_table and d.told.number not in self._taken]

    def _by_number(self) -> None:
        known = {d.told.number: d for d in self.decisions}
        for row in self.rows:
            mine = None if row.number is None else known.get(row.number)
            if mine is not None and row.told and row.told == mine.stamp and self._nearly(row, mine):
                self._pair(row, mine)

    def _by_content(self) -> None:
        same_date: Callable[[str, str], bool] = lambda a, b: a == b  # noqa: E731
        one_has_none: Callable[[str, str], bool] = lambda a, b: not (a and b)  # noqa: E731
        for fits in (same_date, one_has_none):
            rows, decisions = self._left()
            by_text: defaultdict[str, list[Decision]] = defaultdict(list)
            for d in decisions:
                for text in dict.fromkeys(d.texts):
                    by_text[text].append(d)
            for row in rows:
                for d in by_text[content(row.trial, self.file)]:
                    dates = records.date_of(row.trial), records.date_of(d.told)
                    if d.told.number not in self._taken and fits(*dates):
                        self._pair(row, d)
                        break

    def _by_date(self) -> None:
        dates = Counter(records.date_of(row.trial) for row in self.rows)
        numbers = Counter(records.date_of(d.told) for d in self.decisions)
        rows, decisions = self._left()
        by_date = {records.date_of(d.told): d for d in decisions}
        for row in rows:
            date = records.date_of(row.trial)
            if date and dates[date] == 1 and numbers[date] == 1 and date in by_date:
                mine = by_date[date]
                if self.found or self._nearly(row, mine):
                    self._pair(row, mine)

    def _by_place(self) -> None:
        rows, decisions = self._left()
        if not rows or not decisions or not self.found:
            return
        of = {d.told.number: line for line, d in self.found.items()}
        before = [d for d in self.decisions if d.from_table]
        marks = [of.get(d.told.number, f"decision {d.told.number}") for d in before]
        lines = [r.line if r.line in self.found else f"row {r.line}" for r in self.rows]
        for kind, a, b, c, d in SequenceMatcher(None, marks, lines, False).get_opcodes():
            if kind == "replace" and b - a == d - c:
                for mine, row in zip(before[a:b], self.rows[c:d], strict=True):
                    if len(self._cells(row.trial)) >= CELLS and self._differing(row, mine) <= 1:
                        self._pair(row, mine)

    def _nearly(self, row: Row, mine: Decision) -> bool:
        """Whether a row says the same as a decision in half of its cells or more."""
        return self._differing(row, mine) <= len(self._cells(row.trial)) / 2

    def _cells(self, trial: FrozenTrial) -> dict[str, Any]:
        return dict(_cells(trial, self.file))

    def _differing(self, row: Row, mine: Decision) -> int:
        """How many cells of a row say something else than a decision does; empty ones say nothing."""
        now = self._cells(mine.now)
        said = self._cells(row.trial).items()
        return sum(v is not None and now.get(name) is not None and now[name] != v for name, v in said)


def _cells(trial: FrozenTrial, file: StudyFile) -> Iterator[tuple[str, Any]]:
    """Name and content of each cell that the file has; None: it is empty."""
    met = records.context_of(trial)
    yield from ((name, trial.params.get(name)) for name in file.space)
    yield from ((name, met.get(name)) for name in file.contexts)
    yield "value", trial.value


def _difference(row: Row, now: FrozenTrial, file: StudyFile) -> Changed:
    """What a row says otherwise than what counts now; what it does not say stays."""
    before = dict(_cells(now, file))
    new = {n: v for n, v in _cells(row.trial, file) if v is not None and before[n] != v}
    return Changed(
        row.line,
        now.number,
        {name: v for name, v in new.items() if name in file.space},
        {name: v for name, v in new.items() if name in file.contexts},
        new.get("value"),
        {name: before[name] for name in new},
    )
