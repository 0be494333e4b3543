"""How a study stands, in the terminal: told, under way, the conditions seen. No torch here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from windage.space import Real
from windage.studies.book import Book, Entry, State
from windage.studies.file import figure

LINES, WIDTH = 10, 40
SMALLEST = 1e-9


def summarise(values: Sequence[float]) -> dict[str, float]:
    """Times, mean, deviation, least and most."""
    figures = np.array(values)
    deviation = float(figures.std(ddof=1)) if len(figures) > 1 else 0.0
    return {
        "times": len(figures),
        "mean": float(figures.mean()),
        "deviation": deviation,
        "least": float(figures.min()),
        "most": float(figures.max()),
    }


def bars(values: Sequence[float], real: Real, contexts: int) -> list[str]:
    """The estimated probability of ten equal parts of the range seen, as lines with bars.

    The masses are those of the kernel density estimate with the rule-of-thumb bandwidth for so many contexts
    (paper, Section 4.1), what lies beyond a stated bound counted at the bound.
    """
    seen = np.array(values)
    scaled = np.log(seen) if real.log else seen
    spread = float(scaled.std())
    if len(seen) < 2 or spread <= SMALLEST * max(1.0, float(np.abs(scaled).max())):
        return [f"{seen[0]:.4g}: seen {len(seen)} times" if len(seen) else "nothing seen yet"]
    width = spread * (4 / ((contexts + 2) * len(seen))) ** (1 / (contexts + 4))
    ends = [float(scaled.min()) - 2 * width, float(scaled.max()) + 2 * width]
    for i, bound in enumerate((real.low, real.high)):
        if bound is not None:
            limit = math.log(bound) if real.log else bound
            ends[i] = max(ends[i], limit) if i == 0 else min(ends[i], limit)
    edges = np.linspace(ends[0], ends[1], LINES + 1)
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    below = np.array([[_normal((e - c) / width) for e in outer] for c in scaled]).mean(axis=0)
    mass = np.diff(below)
    shown = np.exp(edges) if real.log else edges
    most = mass.max()
    return [
        f"{a:>10.4g} to {b:<10.4g} {'█' * round(WIDTH * m / most):<{WIDTH}} {100 * m:.0f} %"
        for a, b, m in zip(shown[:-1], shown[1:], mass, strict=True)
    ]


def _normal(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def plain(book: Book) -> dict[str, Any]:
    """How the study stands, for scripts."""
    state = book.state()
    waiting = [
        {"number": p.number, "decision": p.decision, "age_seconds": round(p.age), "counts": p.counts}
        for p in state.pending
    ]
    seen = {name: summarise(values) for name, values in _contexts(book, _counting(book, state)).items()}
    counts = {"told": len(state.entries), "failed": state.failed}
    return {"study": book.file.name, **counts, "pending": waiting, "contexts": seen}


def _counting(book: Book, state: State) -> list[Entry]:
    """What was told and fits the study file as it is now."""
    names, axes = set(book.file.contexts), book.file.axes
    return [e for e in state.entries if names <= set(e.context) and axes.holds(e.decision)]


def _contexts(book: Book, told: Sequence[Entry]) -> dict[str, list[float]]:
    return {name: [e.context[name] for e in told] for name in book.file.contexts if told}


def show(book: Book, console: Console) -> None:
    """How the study stands, for people."""
    file, state = book.file, book.state()
    told = _counting(book, state)
    console.print(f"[bold]{escape(file.name)}[/bold]: {file.method}, {file.direction} value")
    parts = [f"{len(state.entries)} told", f"{len(state.pending)} under way", f"{state.failed} failed"]
    console.print(", ".join(parts) + f"; kept in {escape(book.where)}")
    if len(told) < len(state.entries):
        others = len(state.entries) - len(told)
        console.print(
            f"{others} of those told do not fit {escape(str(file.path))} as it is now, and do not count."
        )
    if told:
        console.print(_last(book, told))
    if state.pending:
        waits = Table("under way", "decision", "asked for", title_justify="left")
        for p in state.pending:
            words = (
                ", ".join(f"{k} {v}" for k, v in file.show(p.decision).items()) or "none: its ask was cut off"
            )
            lapsed = "" if p.counts or not p.decision else ": no longer counted, may still be told"
            waits.add_row(str(p.number), escape(words), f"{age(p.age)} ago{lapsed}")
        console.print(waits)
    contexts = _contexts(book, told)
    if not contexts:
        return
    seen = Table("context", "times", "mean", "deviation", "least", "most")
    for name, values in contexts.items():
        row = summarise(values)
        figures = [f"{row[k]:.4g}" for k in ("mean", "deviation", "least", "most")]
        seen.add_row(_head(name, file.quantities[name].unit), str(int(row["times"])), *figures)
    console.print(seen)
    for name, values in contexts.items():
        console.print(f"Estimated law of {escape(name)}:")
        for line in bars(values, file.contexts[name], len(contexts)):
            console.print("  " + line)


def _head(name: str, unit: str) -> str:
    """A column's name with its unit, kept from rich, which would take the brackets for a style."""
    return escape(f"{name} [{unit}]" if unit else name)


def _last(book: Book, told: Sequence[Entry]) -> Table:
    """The newest rows."""
    file = book.file
    names = [*file.space, *file.contexts, "value"]
    table = Table("told", *(_head(name, file.quantities[name].unit) for name in names))
    for e in told[-5:]:
        row = {**e.decision, **e.context, "value": e.value}
        table.add_row(str(e.number), *(escape(figure(row[name])) for name in names))
    return table


def age(seconds: float) -> str:
    """``3 days``, ``2 hours``, ``5 minutes``."""
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"
