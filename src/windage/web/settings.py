"""The study in words: what its file says, for people who do not read it."""

from __future__ import annotations

from typing import Any

from optuna.distributions import CategoricalDistribution

from windage.space import Categorical, Integer
from windage.studies.entries import State
from windage.studies.file import StudyFile
from windage.studies.quantities import counted
from windage.studies.store import StudyStore

DAY = 86400.0
"""Seconds."""


def in_words(store: StudyStore, state: State) -> list[tuple[str, str]]:
    """The study in words."""
    file = store.file
    value = file.quantities["value"]
    outcome = (value.description or "the outcome") + (f", in {value.unit}" if value.unit else "")
    aim = file.settings.get("aim", "earn")
    rows = [("The aim", f"as {'much' if file.direction == 'maximize' else 'little'} as possible: {outcome}")]
    for name, kind in file.space.items():
        rows.append(("You decide", _range(file, name, kind)))
    for name in file.contexts:
        rows.append(("You know beforehand" if name in file.known else "You meet", _met(file, name)))
    rows.append(
        (
            "What counts",
            "every day"
            if aim == "earn"
            else "the recommendation at the end; days before may be used to learn",
        )
    )
    rows.append(
        ("So far", f"{len(state.entries)} days told, {len(state.open)} open, {state.failed} without a result")
    )
    rows.append(("An open decision waits", f"{file.lease / DAY:g} days"))
    rows.append(("The past", _past(file.settings.get("forget", "auto"))))
    if file.settings.get("drift", False):
        rows.append(("The outcome", "may change with time: the same decision may bring less than before"))
    rows.append(("The method", file.method))
    rows.append(("The study file", str(file.path.resolve())))
    rows.append(("The database", store.where))
    return rows


def _described(file: StudyFile, name: str) -> str:
    quantity = file.quantities[name]
    unit = f" in {quantity.unit}" if quantity.unit else ""
    return f"{name}{unit}" + (f" ({quantity.description})" if quantity.description else "")


def _met(file: StudyFile, name: str) -> str:
    """A condition: what it is, and within which bounds or choices."""
    kind, words = file.contexts[name], _described(file, name)
    if isinstance(kind, Categorical):
        words += f": {', '.join(str(choice) for choice in kind.choices)}"
    else:
        words += " in whole numbers" if isinstance(kind, Integer) else ""
        words += "" if kind.low is None else f" from {kind.low:g}"
        words += "" if kind.high is None else f" up to {kind.high:g}"
    return words + (", where it is seen" if name in file.optional else "")


def _past(forget: Any) -> str:
    """How old days count."""
    if forget is None:
        return "counts as much as the last days"
    if forget == "auto":
        return "counts less where conditions seem to change"
    return f"counts half after {forget if isinstance(forget, str) else counted(forget, 'day')}"


def _range(file: StudyFile, name: str, kind: Any) -> str:
    if isinstance(kind, CategoricalDistribution):
        return f"{_described(file, name)}: {', '.join(str(c) for c in kind.choices)}"
    step = f" in steps of {kind.step:g}" if kind.step else ""
    return f"{_described(file, name)}: {kind.low:g} to {kind.high:g}{step}"
