"""How a study stands, in the terminal: what is told, what is under way, the conditions seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from windage.errors import ConfigurationError, InputError
from windage.space import Array, Real
from windage.studies.entries import Entry, Pending, State
from windage.studies.quantities import figure
from windage.studies.store import StudyStore

if TYPE_CHECKING:
    from windage.contexts import ContextDensity

LINES, WIDTH = 10, 40
SMALLEST = 1e-9
"""A spread below this share of the values is none."""
NEAR, FAR = 2.0, 6.0
"""Bandwidths beyond the contexts seen: so far go the bars, and so far counts the density."""
CELLS_PER_WIDTH, MOST_CELLS = 8, 400
"""Of the sums that take the place of integrals: cells of a bandwidth, and of a bar at most."""


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


def bars(density: ContextDensity, values: Sequence[float], real: Real) -> list[str]:
    """The estimated probability of ten equal parts of the range of a context, as lines with bars.

    ``density`` is that of the one context, ``values`` are those seen.
    """
    seen = np.array(values)
    scaled = np.log(seen) if real.log else seen
    if len(seen) < 2 or float(scaled.std()) <= SMALLEST * max(1.0, float(np.abs(scaled).max())):
        return [f"{seen[0]:.4g}: seen {len(seen)} times"]
    edges, mass = masses(density, scaled, real)
    shown = np.exp(edges) if real.log else edges
    return [
        f"{a:>10.4g} to {b:<10.4g} {'█' * round(WIDTH * m / mass.max()):<{WIDTH}} {100 * m:.0f} %"
        for a, b, m in zip(shown[:-1], shown[1:], mass, strict=True)
    ]


def masses(density: ContextDensity, scaled: Array, real: Real) -> tuple[Array, Array]:
    """Edges of ten equal parts, and the probability of each under the study's own density.

    ``scaled`` are the contexts seen, in logarithms for a context with ``log``; so are the edges. Probability
    beyond the first and the last edge counts with the first and the last part, and so does what the study's
    boundary setting puts on a bound: the rest of the density's integral, by the tails beyond each bound.
    """
    (width,) = density.bandwidth.values()
    bounds = [None if b is None else math.log(b) if real.log else b for b in (real.low, real.high)]
    low, high = float(scaled.min()) - NEAR * width, float(scaled.max()) + NEAR * width
    low = low if bounds[0] is None else max(low, bounds[0])
    high = high if bounds[1] is None else min(high, bounds[1])
    edges = np.linspace(low, high, LINES + 1)
    more = (FAR - NEAR) * width
    parts = np.concatenate([[low - more], edges, [high + more]])
    found = np.array([_integral(density, a, b, width, real.log) for a, b in pairwise(parts)])
    mass = found[1:-1]
    mass[0] += found[0]
    mass[-1] += found[-1]
    tails = [
        0.0 if bound is None else float(np.mean([_normal(side * (bound - s) / width) for s in scaled]))
        for bound, side in zip(bounds, (1, -1), strict=True)
    ]
    if sum(tails) > 0:
        rest = max(0.0, 1 - mass.sum()) / sum(tails)
        mass[0] += rest * tails[0]
        mass[-1] += rest * tails[1]
    return edges, mass


def _integral(density: ContextDensity, low: float, high: float, width: float, log: bool) -> float:
    """The probability between two points, by the midpoint rule."""
    count = min(max(math.ceil(CELLS_PER_WIDTH * (high - low) / width), CELLS_PER_WIDTH), MOST_CELLS)
    cell = (high - low) / count
    middle = low + cell * (np.arange(count) + 0.5)
    if log:
        return float((density.pdf(np.exp(middle)) * np.exp(middle)).sum() * cell)
    return float(density.pdf(middle).sum() * cell)


def _normal(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def plain(store: StudyStore) -> dict[str, Any]:
    """How the study stands, for scripts."""
    state = store.state()
    waiting = [
        {"number": p.number, "decision": p.decision, "age_seconds": round(p.age), "counts": p.counts}
        for p in state.pending
    ]
    seen = {name: summarise(values) for name, values in _contexts(store, _counting(store, state)).items()}
    counts = {"told": len(state.entries), "failed": state.failed}
    return {"study": store.file.name, **counts, "pending": waiting, "contexts": seen}


def _counting(store: StudyStore, state: State) -> list[Entry]:
    """What was told and fits the study file as it is now, as an ask would count it."""
    file, found = store.file, []
    for entry in state.entries:
        given = {name: entry.context[name] for name in file.contexts if name in entry.context}
        with suppress(InputError):
            met = file.check_context(given)
            if file.axes.holds(entry.decision) and math.isfinite(entry.value):
                found.append(replace(entry, context=met))
    return found


def _contexts(store: StudyStore, told: Sequence[Entry]) -> dict[str, list[float]]:
    return {name: [e.context[name] for e in told] for name in store.file.contexts if told}


def show(store: StudyStore, console: Console) -> None:
    """How the study stands, for people."""
    file, state = store.file, store.state()
    told = _counting(store, state)
    console.print(f"[bold]{escape(file.name)}[/bold]: {file.method}, {file.direction} value")
    parts = [f"{len(state.entries)} told", f"{len(state.pending)} under way", f"{state.failed} failed"]
    console.print(", ".join(parts) + f"; kept in {escape(store.where)}")
    if len(told) < len(state.entries):
        others = len(state.entries) - len(told)
        console.print(
            f"{others} of those told do not fit {escape(str(file.path))} as it is now, and do not count."
        )
    if told:
        console.print(_last(store, told))
    if state.pending:
        console.print(_under_way(store, state.pending))
    contexts = _contexts(store, told)
    if contexts:
        console.print(_seen(store, contexts))
        density = _density(store, contexts)
        for name, values in contexts.items():
            console.print(f"Estimated distribution of {escape(name)}:")
            for line in bars(density.marginal(name), values, file.contexts[name]):
                console.print("  " + line)


def _density(store: StudyStore, contexts: Mapping[str, Sequence[float]]) -> ContextDensity:
    """The density of the contexts by the study's own settings, as an optimizer of it has it.

    It needs the room of contexts alone: the rest of the engine would double the time.
    """
    from windage.contexts import ContextDensity

    file = store.file
    rules = {name: file.settings[name] for name in ("bandwidth", "boundary") if name in file.settings}
    seen = np.array(list(contexts.values()), dtype=float).T
    try:
        return ContextDensity.of(file.context_space, seen, **rules)
    except ConfigurationError as error:
        raise ConfigurationError(f"{file.path}: {error}") from error


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
        table.add_row(str(e.number), *(escape(figure(row[name])) for name in names))
    return table


def _under_way(store: StudyStore, pending: Sequence[Pending]) -> Table:
    """What was asked for and not told, with its age."""
    table = Table("under way", "decision", "asked for", title_justify="left")
    for p in pending:
        shown = ", ".join(f"{k} {v}" for k, v in store.file.show(p.decision).items())
        lapsed = "" if p.counts or not p.decision else ": no longer counted, may still be told"
        words = escape(shown or "none: its ask was cut off")
        table.add_row(str(p.number), words, f"{age(p.age)} ago{lapsed}")
    return table


def _seen(store: StudyStore, contexts: dict[str, list[float]]) -> Table:
    """The contexts met, in figures."""
    table = Table("context", "times", "mean", "deviation", "least", "most")
    for name, values in contexts.items():
        row = summarise(values)
        figures = [f"{row[k]:.4g}" for k in ("mean", "deviation", "least", "most")]
        table.add_row(_head(name, store.file.quantities[name].unit), str(int(row["times"])), *figures)
    return table


def age(seconds: float) -> str:
    """``3 days``, ``2 hours``, ``5 minutes``."""
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"
