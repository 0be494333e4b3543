"""A second look at what is told: values and contexts that may be mistyped, in words.

What lies within all that was seen is never odd, so that most tells need no engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from optuna.trial import FrozenTrial

from windage.observations import FEWEST_TO_JUDGE
from windage.space import Categorical
from windage.studies import dates, records
from windage.studies.counting import at_the_bounds
from windage.studies.entries import Entry
from windage.studies.file import StudyFile
from windage.studies.quantities import Quantity

if TYPE_CHECKING:
    from windage import Optimizer
    from windage.outliers import Oddity
    from windage.studies.store import StudyStore


def oddities(
    store: StudyStore, decision: Mapping[str, Any], context: Mapping[str, Any], value: float
) -> list[str]:
    """What is odd about a result, one sentence each; empty where nothing is."""
    if not store.file.axes.recalls(decision):
        return []  # its ask was cut off: telling says so
    told, beyond = store.entries(), [*outside(store.file, decision, context).values()]
    if not _screens(store.file) or len(told) < FEWEST_TO_JUDGE or _seen(told, context, value):
        return beyond
    found = store.everything()
    return [*beyond, *_judged(store.file, found.optimizer, found.axes.to_windage(decision), context, value)]


def odd_time(store: StudyStore, time: str) -> list[str]:
    """What is odd about when a result happened: in the future, or before the last one told."""
    when = dates.moment(time)
    if when is None:
        return []
    if when > datetime.now():
        return [f"the time {time} is in the future."]
    told = [dates.moment(entry.date) or entry.told for entry in store.entries()]
    last = max((moment for moment in told if moment), default=when)
    early = when < last if "T" in time else when.date() < last.date()
    return [f"the time {time} is before the last one told, {last:%Y-%m-%d %H:%M}."] if early else []


def odd_correction(
    store: StudyStore,
    index: int,
    decision: Mapping[str, Any],
    context: Mapping[str, Any],
    value: float | None,
) -> list[str]:
    """What is odd about a correction, given all other results; nothing where it confirms what was told."""
    state = store.state()
    before = {e.number: e for e in (*state.entries, *state.forgotten)}.get(index)
    if before is None:
        return []  # there is nothing to correct: writing says so
    own, met = {**before.decision, **decision}, {**before.context, **context}
    if not store.file.axes.recalls(own):
        return []  # of a study file that was another: it does not count
    outcome = before.value if value is None else value
    others = [e for e in state.entries if e.number != index]
    changed = {**decision, **context}
    beyond = [words for name, words in outside(store.file, own, met).items() if name in changed]
    same = (own, met, outcome) == (before.decision, before.context, before.value)
    if same or not _screens(store.file) or len(others) < FEWEST_TO_JUDGE or _seen(others, met, outcome):
        return beyond
    axes, known = store.known()
    rows = [row for row in known.observations if row["number"] != index]
    optimizer = store.sampler().optimizer(
        axes, store.file.direction, replace(known, observations=rows, pending=[], fits={}), known.count
    )
    return [*beyond, *_judged(store.file, optimizer, axes.to_windage(own), met, outcome)]


def odd_rows(store: StudyStore, rows: Sequence[FrozenTrial]) -> dict[int, list[str]]:
    """Of new rows of a table, by their place: what is odd about them, given all others and what was told."""
    file = store.file
    every_row = [outside(file, row.params, records.context_of(row)) for row in rows]
    found = {place: [*beyond.values()] for place, beyond in enumerate(every_row) if beyond}
    if not rows or not _screens(file):
        return found
    axes, known = store.known()
    first, told = len(known.observations), [*known.observations]
    for row in rows:
        met = _within(file, records.context_of(row))
        told.append({"decision": axes.to_windage(row.params), "context": met, "value": row.value})
    every = replace(known, observations=told, pending=[], fits={})
    optimizer = store.sampler().optimizer(axes, file.direction, every, known.count)
    for number, odds in optimizer.second_look(range(first, len(told))).items():
        found.setdefault(number - first, []).extend(in_words(file, odd) for odd in odds)
    return dict(sorted(found.items()))


def outside(file: StudyFile, decision: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, str]:
    """What of the past lies outside of the bounds or off the step, or was not told: by name, a sentence."""
    words = {}
    for name in file.axes.outside(decision):
        kind: Any = file.space[name]
        step = getattr(kind, "step", None)
        steps = f" in steps of {step:g}" if step and step != 1 else ""
        within = _range(file.quantities[name], float(kind.low), float(kind.high))
        words[name] = f"{name} {file.quantities[name].in_full(decision[name])} is not within {within}{steps}."
    for name, parameter in file.contexts.items():
        if name not in context:
            if name not in file.optional:
                words[name] = f"{name} is not told: it would count as not seen."
        elif not isinstance(parameter, Categorical) and not at_the_bounds(name, parameter, context[name])[1]:
            shown = file.quantities[name].in_full(context[name])
            within = _range(file.quantities[name], parameter.low, parameter.high)
            words[name] = f"{name} {shown} is not within {within}."
    return words


def _range(quantity: Quantity, low: float | None, high: float | None) -> str:
    """``0 to 40 kg``, ``0 kg or more``."""
    if low is None or high is None:
        return f"{quantity.show(high)} or less" if low is None else f"{quantity.show(low)} or more"
    return f"{quantity.figure(low)} to {quantity.show(high)}"


def _within(file: StudyFile, met: Mapping[str, Any]) -> dict[str, Any]:
    """Contexts as they count: at the bound where they lie beyond it; None where they were not told."""
    return {
        name: at_the_bounds(name, parameter, met[name])[0] if name in met else None
        for name, parameter in file.contexts.items()
    }


def _judged(
    file: StudyFile,
    optimizer: Optimizer,
    decision: Mapping[str, Any],
    context: Mapping[str, Any],
    value: float,
) -> list[str]:
    return [in_words(file, odd) for odd in optimizer.oddities(decision, _within(file, context), value)]


def _screens(file: StudyFile) -> bool:
    return bool(file.settings.get("screen", True))


def _seen(told: Sequence[Entry], context: Mapping[str, Any], value: float) -> bool:
    """Whether every number lies within what was seen. A word is never odd."""
    numbers = {name: met for name, met in context.items() if records.is_finite(met)}
    columns = {n: [e.context[n] for e in told if records.is_finite(e.context.get(n))] for n in numbers}
    pairs = [(met, columns[name]) for name, met in numbers.items()] + [(value, [e.value for e in told])]
    return all(not seen or min(seen) <= met <= max(seen) for met, seen in pairs)


def in_words(file: StudyFile, odd: Oddity) -> str:
    """``1200 € is 8 times the most so far, 150 €.``"""
    return odd.words(file.quantities[odd.name].show)
