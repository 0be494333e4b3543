"""What is known before a decision: contexts that are known, and forecasts of others.

Both are kept with the decision, as user attributes of Optuna's trial. A forecast is kept as its mean, and its
deviation or None; a sample also as its values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from optuna.trial import FrozenTrial

from windage.errors import InputError
from windage.space import Categorical, Parameter, number, refuse_beyond
from windage.studies import numerals, records
from windage.studies.checks import check_names, checked_context
from windage.studies.description import StudyFile
from windage.studies.quantities import Quantity, figure, typed

SIGN = re.compile(r"\s*(?:±|\+/-|\+-)\s*")
"""Between the mean and the deviation of a forecast."""
FORM = "write it as 80±15, or 80+-15, or 80"


@dataclass(frozen=True)
class Beforehand:
    """What is known before one decision."""

    known: Mapping[str, Any] = field(default_factory=dict)
    """Context → what it will be."""
    forecast: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Context → the forecast, as it is kept."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, without what is not there."""
        named = {"known": dict(self.known), "forecast": {n: dict(row) for n, row in self.forecast.items()}}
        return {key: values for key, values in named.items() if values}


NOTHING = Beforehand()


def kept(trial: FrozenTrial, contexts: Mapping[str, Parameter], known: bool = True) -> Beforehand:
    """What was known before the decision of a trial, as far as it still fits the contexts.

    ``known``: without it, the forecasts alone.
    """
    found: dict[str, Any] = {}
    for name, value in records.known_of(trial).items() if known else ():
        with suppress(InputError):
            if name in contexts:
                found[name] = checked_context(name, contexts[name], value)
    rows = records.forecast_of(trial).items()
    numeric = {n for n, parameter in contexts.items() if not isinstance(parameter, Categorical)}
    return Beforehand(found, {n: row for n, row in rows if n in numeric and n not in found})


def strict(trial: FrozenTrial, contexts: Mapping[str, Parameter]) -> Beforehand:
    """What is known before the decision of a trial that asks for one now, or an InputError."""
    known, forecast = records.known_of(trial), records.forecast_of(trial)
    check_names([*known, *forecast], contexts, "context")
    checked = {name: checked_context(name, contexts[name], value) for name, value in known.items()}
    return Beforehand(checked, forecast)


def engine(given: Beforehand) -> dict[str, Any]:
    """As keywords of ``windage.Optimizer``; those that say nothing are left out."""
    forecast = {
        name: row["values"] if "values" in row else (row["mean"], row["deviation"])
        for name, row in given.forecast.items()
    }
    found = {"known": dict(given.known), "forecast": forecast}
    return {key: values for key, values in found.items() if values}


def check(file: StudyFile, known: Mapping[str, Any], forecast: Mapping[str, Any]) -> Beforehand:
    """What people say beforehand, or an InputError."""
    check_names(forecast, file.contexts, "context")
    rows = {name: one_forecast(file, name, value) for name, value in forecast.items()}
    for name, row in rows.items():
        check_bounds(file, name, row)
    found = Beforehand(file.check_known(known), rows)
    both = [name for name in found.forecast if name in found.known]
    if both:
        raise InputError(f"context {both[0]!r} is both known and forecast: leave out one of them.")
    return found


def one_forecast(
    file: StudyFile, name: str, given: str, mark: numerals.Mark | None = None, separator: str = ""
) -> dict[str, Any]:
    """A forecast as people write it, or an InputError; ``mark``, ``separator``: of a table's numbers."""
    label, unit, text = f"the forecast of {name!r}", file.quantities[name].unit, given.strip()
    if isinstance(file.contexts[name], Categorical):
        raise InputError(f"{label} is {given!r}, but only numbers are forecast: say  --known {name}=...")
    parts = SIGN.split(text.removesuffix(unit).rstrip())
    if len(parts) > 2 or not all(parts):
        raise InputError(f"{label} is {given!r}: {FORM}.")
    plain = [numerals.plain(part.removesuffix(unit).strip(), mark, separator, label) for part in parts]
    mean, deviation = (number(typed(part, label), label) for part in (plain + plain[:1])[:2])
    if len(parts) == 1:
        return {"mean": mean, "deviation": None}
    if deviation <= 0:
        raise InputError(f"{label} is {given!r}, but what follows ± must be above 0.")
    return {"mean": mean, "deviation": deviation}


def for_good(file: StudyFile, given: Any) -> dict[str, Any]:
    """Distributions that are known for good, as a study file has them: ``"80±15"``, a sample, or chances."""
    if not isinstance(given, Mapping):
        raise InputError('distribution must be a table from contexts, such as {demand = "80±15"}.')
    check_names(given, file.contexts, "context")
    found = dict(given)
    for name, value in given.items():
        if isinstance(value, str) and not isinstance(file.contexts[name], Categorical):
            row = one_forecast(file, name, value)
            found[name] = row["mean"], row["deviation"]
        elif isinstance(value, list) and len(value) == 2 and not isinstance(file.contexts[name], Categorical):
            mean, deviation = value
            raise InputError(
                f"distribution of {name!r} is two numbers. A mean with a deviation is "
                f'"{mean}±{deviation}"; a sample has three values or more.'
            )
    return found


def check_bounds(file: StudyFile, name: str, forecast: Mapping[str, Any]) -> None:
    """An InputError where a forecast lies beyond the bounds."""
    mean, deviation = forecast["mean"], forecast["deviation"] or 0.0
    refuse_beyond(file.contexts[name], mean - deviation, mean + deviation, f"the forecast of {name!r}")


def example(file: StudyFile, name: str) -> str:
    """``--known weekday=mon``."""
    parameter = file.contexts[name]
    value = parameter.choices[0] if isinstance(parameter, Categorical) else "..."
    return f"--known {name}={value}"


class MissingKnownError(InputError):
    """Something that is known before each decision, as the file says, was not said."""

    def __init__(self, file: StudyFile, names: Sequence[str]) -> None:
        self.names = tuple(names)
        options = " ".join(example(file, name) for name in names)
        super().__init__(f"say what is known before the decision, as {file.path.name} wants it:  {options}")


def refuse_missing(file: StudyFile, given: Beforehand) -> None:
    """A MissingKnownError where something that is known before each decision was not said."""
    names = [name for name in file.known if name not in given.known and name not in given.forecast]
    if names:
        raise MissingKnownError(file, names)


def shown(file: StudyFile, name: str, forecast: Mapping[str, Any]) -> str:
    """``80±15 kg``."""
    parts = [figure(float(part)) for part in (forecast["mean"], forecast["deviation"]) if part is not None]
    return f"{'±'.join(parts)} {file.quantities.get(name, Quantity()).unit}".rstrip()


def exact(forecast: Mapping[str, Any]) -> str:
    """``80±15``, with every digit."""
    parts = (forecast["mean"], forecast["deviation"])
    return "±".join(str(float(part)).removesuffix(".0") for part in parts if part is not None)


def words(file: StudyFile, given: Beforehand) -> str:
    """``weekday sat, demand forecast 80±15 kg``; empty where nothing was said."""
    known = [f"{name} {value}" for name, value in file.show(given.known).items()]
    forecast = [f"{name} forecast {shown(file, name, row)}" for name, row in given.forecast.items()]
    return ", ".join([*known, *forecast])
