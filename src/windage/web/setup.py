"""A new study from the page: a form, read into a plan and written as a study file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from windage.errors import InputError, WindageError
from windage.studies.quantities import typed
from windage.studies.writing import EXAMPLES, Plan, Variable, write
from windage.web.site import Site
from windage.web.words import for_page

ROWS = 6
"""Decisions, and conditions, that the form has room for."""
FIELDS = ("name", "unit", "low", "high", "choices")
LONGEST = 120
LONGEST_LIST = 1000
"""Letters of a list of choices."""


def shown(site: Site, given: Mapping[str, Any], fault: str = "") -> dict[str, Any]:
    """What the form shows: what was typed, or an example."""
    example = EXAMPLES.get(str(given.get("example", "")))
    values = _of(example) if example else {key: str(value)[:LONGEST_LIST] for key, value in given.items()}
    used = {k: sum(bool(values.get(f"{k}-name-{i}")) for i in range(ROWS)) for k in ("decision", "context")}
    return {
        "csrf": site.keys.form,
        "values": values,
        "fault": fault,
        "examples": list(EXAMPLES),
        "rows": range(ROWS),
        "first": {kind: max(1, count) for kind, count in used.items()},
        "folder": site.live.path.is_dir(),
        "path": str(site.live.path),
    }


def _of(plan: Plan) -> dict[str, str]:
    """A plan as what stands in the boxes."""
    found = {"outcome": plan.outcome, "unit": plan.unit, "better": "larger" if plan.larger else "smaller"}
    for kind, rows in (("decision", plan.decisions), ("context", plan.contexts)):
        for i, row in enumerate(rows):
            ends = {"low": row.low, "high": row.high}
            texts = {side: "" if end is None else f"{end:g}" for side, end in ends.items()}
            texts["choices"] = ", ".join(row.choices)
            for key, words in {"name": row.name, "unit": row.unit, **texts}.items():
                found[f"{kind}-{key}-{i}"] = words
            found[f"{kind}-whole-{i}"] = "yes" if row.whole else ""
            found[f"{kind}-known-{i}"] = "yes" if row.known else ""
    return found


def create(site: Site, form: Mapping[str, Any]) -> str:
    """Write the study file; empty, or what is wrong."""
    try:
        plan = Plan(
            _text(form, "outcome"),
            _text(form, "unit"),
            str(form.get("better", "larger")) != "smaller",
            _variables(form, "decision"),
            _variables(form, "context"),
        )
        path = _path(site, form)
        write(plan, path)
    except WindageError as error:
        return for_page(str(error))
    site.choose(path)
    return ""


def _text(form: Mapping[str, Any], key: str, longest: int = LONGEST) -> str:
    return " ".join(str(form.get(key, ""))[:longest].split())


def _field(form: Mapping[str, Any], kind: str, key: str, i: int) -> str:
    return _text(form, f"{kind}-{key}-{i}", LONGEST_LIST if key == "choices" else LONGEST)


def _ticked(form: Mapping[str, Any], key: str) -> bool:
    return bool(form.get(key))


def _variables(form: Mapping[str, Any], kind: str) -> list[Variable]:
    found = []
    for i in range(ROWS):
        name, unit, low, high, listed = (_field(form, kind, key, i) for key in FIELDS)
        if not (name or low or high or listed):
            continue
        if not name:
            raise InputError(f"row {i + 1} has bounds and no name: say what it is.")
        ends = [_bound(low, unit, f"{name}: from"), _bound(high, unit, f"{name}: to")]
        choices = tuple(word for word in (part.strip() for part in listed.split(",")) if word)
        whole, known = (_ticked(form, f"{kind}-{key}-{i}") for key in ("whole", "known"))
        if kind == "decision" and not choices and None in ends:
            raise InputError(f"{name} needs both ends: the least and the most that you would decide.")
        if ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]:
            raise InputError(f"{name} is from {low} to {high}: the first must be below the second.")
        if whole and not choices and None in ends:
            raise InputError(f"{name} in whole numbers needs both ends: the least and the most.")
        found.append(Variable(name, unit, ends[0], ends[1], whole and not choices, choices, known))
    return found


def _bound(text: str, unit: str, label: str) -> float | None:
    return float(typed(text, label, unit)) if text else None


def _path(site: Site, form: Mapping[str, Any]) -> Path:
    """Where the study file goes: in a folder, its name is the study's."""
    if not site.live.path.is_dir():
        return site.live.path
    name = re.sub(r"[^\w -]+", "-", _text(form, "study")).strip("- ")
    if not name:
        raise InputError("give the study a name: letters and digits.")
    return site.live.path / f"{name}.toml"
