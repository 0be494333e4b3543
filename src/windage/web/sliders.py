"""The what-if: a slider for each number, a list for each choice; a box where the scale is logarithmic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution

from windage.studies.file import StudyFile
from windage.web.boxes import Box, context_box

ANY = "any"
"""In place of a condition that is not said."""


def sliders(file: StudyFile, best: Mapping[str, Any] | None, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What the form shows: ``best`` is the recommendation; ``asked`` the question, its answer under ""."""
    at = dict(best["decision"]) if best else {}
    at.update({name: value for name, value in asked.items() if name in file.space})
    kinds = enumerate(file.space.items())
    rows = [_decision(file, f"decision-{i}", name, kind, at.get(name)) for i, (name, kind) in kinds]
    days = [_known(box, str(asked.get(box.name, ""))) for box in known_boxes(file)]
    return {"rows": [*days, *rows], "answer": asked.get("")}


def known_boxes(file: StudyFile) -> list[Box]:
    """What may be known of the day."""
    places = {name: i for i, name in enumerate(file.contexts)}
    return [context_box(file, f"known-{places[name]}", name) for name in file.known]


def _known(box: Box, at: str) -> dict[str, Any]:
    row = {"field": box.field, "name": box.name, "unit": box.unit, "at": at}
    if box.choices:
        return {**row, "kind": "choice", "choices": box.choices, "blank": ANY}
    return {**row, "kind": "box"}


def _decision(file: StudyFile, field: str, name: str, kind: BaseDistribution, value: Any) -> dict[str, Any]:
    quantity = file.quantities[name]
    row: dict[str, Any] = {"field": field, "name": name, "unit": quantity.unit, "kind": "slider"}
    if isinstance(kind, CategoricalDistribution):
        at = str(kind.choices[0] if value is None else value)
        return {**row, "kind": "choice", "choices": [str(c) for c in kind.choices], "at": at, "blank": ""}
    low, high = kind.low, kind.high  # type: ignore[attr-defined]
    step = getattr(kind, "step", None) or _step(low, high)
    row["kind"] = "box" if getattr(kind, "log", False) else "slider"
    at = quantity.figure(low if value is None else value)
    return {**row, "low": low, "high": high, "step": step, "at": at}


def _step(low: float, high: float) -> float:
    """About a two-hundredth of a range, as a round number."""
    return float(f"{(high - low) / 200:.1g}") or 1e-9
