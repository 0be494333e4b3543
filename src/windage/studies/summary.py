"""How a study stands, in the terminal: what is told, what is under way, the conditions seen."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from windage.errors import WindageWarning
from windage.observations import FEWEST_TO_JUDGE
from windage.space import Categorical
from windage.studies import beforehand, findings, records
from windage.studies.conditions import bars, summarise
from windage.studies.counting import Counted, counted
from windage.studies.entries import Entry, Pending, State
from windage.studies.learnt import Everything
from windage.studies.quantities import counted as plural
from windage.studies.quantities import figure
from windage.studies.store import StudyStore

LINES = 10
"""Numbers of decisions in a line."""


def plain(store: StudyStore) -> dict[str, Any]:
    """How the study stands, for scripts."""
    state = store.state()
    waiting = [
        {
            "number": p.number,
            "decision": p.decision,
            "age_seconds": round(p.age),
            "counts": p.counts,
            **p.beforehand.to_dict(),
        }
        for p in state.pending
    ]
    counting = _counting(store)
    learnt = _learnt(store, counting)
    seen = {name: summarise(v, store.file.contexts[name]) for name, v in _contexts(store, counting).items()}
    counts = {"told": len(state.entries), "failed": state.failed}
    changed = {
        "corrected": [e.number for e in state.entries if e.was],
        "forgotten": [e.number for e in state.forgotten],
        "suspects": [] if learnt is None else suspects(learnt),
        "outside": counting.outside,
        "not_seen": counting.unseen,
    }
    found = {} if learnt is None else findings.plain(learnt)
    return {"study": store.file.name, **counts, **changed, "pending": waiting, "contexts": seen, **found}


def _learnt(store: StudyStore, counting: _Counting) -> Everything | None:
    """What the study has learnt; None where nothing that was told counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WindageWarning)  # what is left out is said in words of its own
        return store.everything() if counting.entries else None


def suspects(learnt: Everything) -> list[int]:
    """Numbers of results that look mistyped. They are in no fit."""
    numbers = [row["number"] for row in learnt.known.observations]
    if len(numbers) < FEWEST_TO_JUDGE:
        return []
    return [numbers[index] for index in learnt.optimizer.suspects]


@dataclass(frozen=True)
class _Counting:
    """What was told, by how it counts."""

    entries: list[Entry]
    """Those that count, as told or corrected."""
    met: list[Mapping[str, Any]]
    """Their contexts as they count."""
    outside: list[int]
    """Numbers of those outside of the bounds or off the step."""
    unseen: dict[str, int]
    """By context, how many rows do not tell it."""


def _counting(store: StudyStore) -> _Counting:
    """What was told and counts for the study file as it is now, as an ask would count it."""
    found = _Counting([], [], [], {})
    for trial in store.counting():
        row = counted(trial, store.file.axes, store.file.context_space)
        if not isinstance(row, Counted):
            continue
        decision = store.file.ordered(records.published(trial))
        found.entries.append(Entry(trial.number, decision, records.context_of(trial), row.value, None))
        found.met.append(row.context)
        if row.outside:
            found.outside.append(trial.number)
        for name in row.unseen:
            found.unseen[name] = found.unseen.get(name, 0) + 1
    return found


def _contexts(store: StudyStore, counting: _Counting) -> dict[str, list[Any]]:
    rows = {name: [met[name] for met in counting.met] for name in store.file.contexts}
    seen = {name: [met for met in column if met is not None] for name, column in rows.items()}
    return {name: column for name, column in seen.items() if column}


def show(store: StudyStore, console: Console) -> None:
    """How the study stands, for people."""
    file, state, counting = store.file, store.state(), _counting(store)
    told = counting.entries
    console.print(f"[bold]{escape(file.name)}[/bold]: {file.method}, {file.direction} value")
    parts = [f"{len(state.entries)} told", f"{len(state.pending)} under way", f"{state.failed} failed"]
    console.print(", ".join(parts) + f"; kept in {escape(store.where)}")
    if len(told) < len(state.entries):
        others = len(state.entries) - len(told)
        console.print(
            f"{others} of those told {'does' if others == 1 else 'do'} not fit {escape(str(file.path))} "
            f"as it is now, and {'does' if others == 1 else 'do'} not count."
        )
    if told:
        console.print(_last(store, told))
    learnt = _learnt(store, counting)
    learnt_lines = [] if learnt is None else findings.lines(file, learnt)
    for line in [*_mistakes(store, state, learnt), *_grown(counting), *learnt_lines]:
        console.print(escape(line))
    if state.pending:
        console.print(_under_way(store, state.pending))
    contexts = _contexts(store, counting)
    if contexts:
        figures = _seen(store, contexts)
        if figures.row_count:
            console.print(figures)
        assert learnt is not None  # what was met was told
        density = learnt.optimizer.density
        for name, values in contexts.items():
            console.print(f"Estimated distribution of {escape(name)}:")
            for line in bars(density.marginal(name), values, file.contexts[name]):
                console.print(escape("  " + line))


def _mistakes(store: StudyStore, state: State, learnt: Everything | None) -> list[str]:
    """What looks mistyped, and what was changed."""
    lines, by_number = [], {e.number: e for e in state.entries}
    path = shlex.quote(str(store.file.path))
    for number in suspects(learnt) if learnt else ():
        value = store.file.quantities["value"].in_full(by_number[number].value)
        lines.append(
            f"Decision {number} looks mistyped, and is left out of the model: value {value}. "
            f"If so:  windage correct {path} {number} --value ...  "
            "If it is right, correct it to the same."
        )
    corrected = sum(bool(e.was) for e in state.entries)
    if corrected or state.forgotten:
        lines.append(f"{corrected} corrected, {len(state.forgotten)} forgotten:  windage history {path}")
    return lines


def _grown(counting: _Counting) -> list[str]:
    """What was told when the study file was another."""
    lines = []
    if counting.outside:
        more = ", ..." if counting.outside[LINES:] else ""
        numbers = ", ".join(map(str, counting.outside[:LINES])) + more
        lines.append(f"Outside of the bounds or off the step, and still teaching: {numbers}.")
    for name, count in counting.unseen.items():
        lines.append(f"{plural(count, 'row')} without {name}: there it counts as not seen.")
    return lines


def _head(name: str, unit: str) -> str:
    """A column's name with its unit; escaped, since rich takes brackets for a style."""
    return escape(f"{name} [{unit}]" if unit else name)


def _last(store: StudyStore, told: Sequence[Entry]) -> Table:
    """The newest rows."""
    file = store.file
    names = [*file.space, *file.contexts, "value"]
    table = Table("told", *(_head(name, file.quantities[name].unit) for name in names))
    for e in told[-5:]:
        row = {**e.decision, **e.context, "value": e.value}
        shown = (file.quantities[name].figure(row[name]) if name in row else "–" for name in names)
        table.add_row(str(e.number), *map(escape, shown))
    return table


def _under_way(store: StudyStore, pending: Sequence[Pending]) -> Table:
    """What was asked for and not told, with its age."""
    table = Table("under way", "decision", "asked for", title_justify="left")
    for p in pending:
        shown = ", ".join(f"{k} {v}" for k, v in store.file.show(p.decision).items())
        lapsed = "" if p.counts or not p.decision else ": no longer counted, may still be told"
        given = beforehand.words(store.file, p.beforehand)
        shown += f" (for {given})" if given else ""
        words = escape(shown or "none: its ask was cut off")
        table.add_row(str(p.number), words, f"{age(p.age)} ago{lapsed}")
    return table


def _seen(store: StudyStore, contexts: dict[str, list[Any]]) -> Table:
    """The contexts met, in figures."""
    table = Table("context", "times", "mean", "deviation", "least", "most")
    for name, values in contexts.items():
        if isinstance(store.file.contexts[name], Categorical):
            continue  # the bars say all
        row = summarise(values, store.file.contexts[name])
        figures = [figure(row[k]) for k in ("mean", "deviation", "least", "most")]
        table.add_row(_head(name, store.file.quantities[name].unit), str(int(row["times"])), *figures)
    return table


def age(seconds: float) -> str:
    """``3 days``, ``2 hours``, ``5 minutes``."""
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"
