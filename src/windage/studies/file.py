"""The study file: what is decided, what is met, which way is up, and where the study is kept.

Read with the standard library alone; every fault names the key and says what to do.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from windage.errors import ConfigurationError, InputError, WindageError, near_match
from windage.methods import AUTO, get_method
from windage.settings import Settings
from windage.space import ContextSpace, DecisionSpace, Real, number
from windage.studies.axes import Axes

STORAGE = "WINDAGE_STORAGE"
"""The variable of the environment that overrides the file's storage."""
LEASE_DAYS = 7.0
TOP = ("name", "direction", "method", "seed", "initial", "storage", "lease_days", "value", "decisions")
TABLES = {
    "value": ("unit", "description"),
    "decisions": ("low", "high", "log", "step", "integer", "choices", "unit", "description"),
    "contexts": ("low", "high", "log", "outside", "unit", "description"),
}


def figure(value: Any) -> str:
    """A number as people write it: six digits or more, and no powers of ten but for the very large."""
    if not isinstance(value, float):
        return str(value)
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.6g}"
    places = max(0, 5 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True)
class Quantity:
    """How people speak of a number."""

    unit: str = ""
    description: str = ""

    def show(self, value: Any) -> str:
        """A value with its unit."""
        return f"{figure(value)} {self.unit}".rstrip()


@dataclass(frozen=True)
class StudyFile:
    """A study as its file describes it."""

    path: Path
    name: str
    direction: str
    method: str
    storage: str
    space: Mapping[str, BaseDistribution]
    contexts: Mapping[str, Real]
    quantities: Mapping[str, Quantity]
    """Of the decisions, of the contexts, and of ``value``."""
    lease: float
    """Seconds."""
    seed: int | None
    initial: int | None
    settings: Mapping[str, Any]

    @property
    def axes(self) -> Axes:
        """The decisions between Optuna and windage."""
        return Axes.of(self.space)

    def context_space(self) -> ContextSpace:
        """The contexts, to check what is told."""
        return ContextSpace.of(dict(self.contexts), DecisionSpace.of(self.axes.decisions))

    def show(self, names: Mapping[str, Any]) -> dict[str, str]:
        """Values with their units."""
        return {name: self.quantities.get(name, Quantity()).show(value) for name, value in names.items()}

    def check_decision(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A decision in the user's words as Optuna's parameters, or an InputError."""
        _known(given, self.space, "decision", InputError)
        found = {}
        for name, axis in self.axes.axes.items():
            value = given[name]
            distribution = axis.distribution
            if isinstance(distribution, CategoricalDistribution):
                match = [c for c in distribution.choices if c == value or str(c) == str(value)]
                if not match:
                    choices = ", ".join(map(str, distribution.choices))
                    raise InputError(f"decision {name!r} is {value!r}, but must be one of {choices}.")
                found[name] = match[0]
                continue
            figure = number(_figure(value, f"decision {name!r}"), f"decision {name!r}")
            whole = isinstance(distribution, IntDistribution)
            found[name] = int(figure) if whole and figure == int(figure) else figure
            if not axis.holds(found[name]):
                low, high = distribution.low, distribution.high  # type: ignore[attr-defined]
                step = getattr(distribution, "step", None)
                steps = f" in steps of {step:g}" if step else ""
                raise InputError(f"decision {name!r} is {figure:g}, but must be {low:g} to {high:g}{steps}.")
        return found

    def check_context(self, given: Mapping[str, Any]) -> dict[str, float]:
        """The contexts met as numbers, or an InputError."""
        return self.context_space().check({k: _figure(v, f"context {k!r}") for k, v in given.items()})

    def check_value(self, given: Any) -> float:
        """The outcome as a number, or an InputError."""
        return number(_figure(given, "value"), "value")


def _known(given: Mapping[str, Any], known: Mapping[str, Any], what: str, kind: type[WindageError]) -> None:
    for name in given:
        if name not in known:
            raise kind(f"there is no {what} {name!r}; there is {', '.join(known)}.{near_match(name, known)}")
    missing = [name for name in known if name not in given]
    if missing:
        raise kind(f"the {what} {missing[0]!r} is missing.")


def _figure(value: Any, label: str) -> Any:
    """What was typed, as a number; other things are left to the checks that follow."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        hint = f" Write {pointed(value)}, with a point." if pointed(value) else ""
        raise InputError(f"{label} is {value!r}, which is no number.{hint}") from None


def pointed(text: str) -> str:
    """A number with a decimal comma as one with a point; empty where it is none."""
    candidate = text.replace(",", ".")
    return candidate if re.fullmatch(r"[+-]?\d+\.\d+", candidate) and "," in text else ""


def load(path: Path) -> StudyFile:
    """The study that a file describes."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"there is no study file {path}: write one with  windage init {path}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the study file {path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"the study file {path} is not right: {error}") from error
    try:
        return _study(path, table)
    except WindageError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def _study(path: Path, table: dict[str, Any]) -> StudyFile:
    known = (*TOP, "contexts", "settings")
    for key in table:
        if key not in known:
            raise ConfigurationError(
                f"unknown key {key!r}; the keys are {', '.join(known)}.{near_match(key, known)}"
            )
    decisions, contexts = _section(table, "decisions"), _section(table, "contexts")
    if not decisions:
        raise ConfigurationError(
            "there is no decision: add one, such as [decisions.stock] with low and high."
        )
    space = {name: _wrapped(f"decisions.{name}", _distribution, row) for name, row in decisions.items()}
    met = {name: _wrapped(f"contexts.{name}", _context, row) for name, row in contexts.items()}
    direction = table.get("direction", "maximize")
    if direction not in ("maximize", "minimize"):
        raise ConfigurationError(f'direction must be "maximize" or "minimize", not {direction!r}.')
    method = table.get("method", AUTO)
    if get_method(method).uses_context and not met:
        raise ConfigurationError(
            f"method {method!r} needs a context: add one, such as [contexts.demand], "
            'or use method = "gp-ucb".'
        )
    settings = table.get("settings", {})
    if not isinstance(settings, dict):
        raise ConfigurationError("settings must be a table: [settings] with one line each.")
    Settings.of(settings)
    if "value" in decisions or "value" in contexts:
        raise ConfigurationError('"value" is the name of the outcome: give the decision or context another.')
    if "context" in contexts:
        raise ConfigurationError('a context cannot be named "context": say what it is, such as "demand".')
    rows = {**decisions, **contexts, "value": _table(table, "value")}
    quantities = {
        name: Quantity(**{f.name: str(row[f.name]) for f in fields(Quantity) if f.name in row})
        for name, row in rows.items()
    }
    found = StudyFile(
        path=path,
        name=str(table.get("name", path.stem)),
        direction=direction,
        method=method,
        storage=_storage(path, table.get("storage", f"sqlite:///{path.stem}.db")),
        space=space,
        contexts=met,
        quantities=quantities,
        lease=86400 * _positive(table, "lease_days", LEASE_DAYS),
        seed=_whole(table, "seed", 2**32 - 1),
        initial=_whole(table, "initial"),
        settings=settings,
    )
    found.context_space()  # names that stand twice, and the like
    return found


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    row = table.get(key, {})
    if not isinstance(row, dict):
        raise ConfigurationError(f"{key} must be a table: [{key}] with one line each.")
    for name in row:
        if name not in TABLES[key.split(".")[0]]:
            keys = TABLES[key.split(".")[0]]
            raise ConfigurationError(
                f"unknown key {name!r} in [{key}]; the keys are {', '.join(keys)}.{near_match(name, keys)}"
            )
    return dict(row)


def _section(table: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    rows = table.get(key, {})
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise ConfigurationError(f"{key} must be tables: [{key}.NAME] with one line each.")
    return {name: _table({f"{key}.{name}": row}, f"{key}.{name}") for name, row in rows.items()}


def _wrapped(label: str, build: Any, row: dict[str, Any]) -> Any:
    try:
        return build(row)
    except (WindageError, ValueError, TypeError) as error:
        raise ConfigurationError(f"[{label}]: {error}") from error


def _distribution(row: dict[str, Any]) -> BaseDistribution:
    if "choices" in row:
        choices = row["choices"]
        if not isinstance(choices, list) or len(choices) < 2 or len(set(map(str, choices))) < len(choices):
            raise ConfigurationError('choices must be a list of two or more, such as ["red", "blue"].')
        if not all(isinstance(choice, str | int | float | bool) for choice in choices):
            raise ConfigurationError('choices must be words or numbers, such as ["07:00", "08:00"].')
        return CategoricalDistribution(choices)
    for side in ("low", "high"):
        if side not in row:
            raise ConfigurationError(f"{side} is missing: a decision needs both bounds, or choices.")
    low, high = (number(row[side], side) for side in ("low", "high"))
    log, step = bool(row.get("log", False)), row.get("step")
    if row.get("integer", False):
        if low != int(low) or high != int(high):
            raise ConfigurationError("an integer decision needs whole bounds.")
        if step is not None and number(step, "step") != int(step):
            raise ConfigurationError("an integer decision needs a whole step.")
        return IntDistribution(int(low), int(high), log=log, step=1 if step is None else int(step))
    Real(low, high, log=log)
    return FloatDistribution(low, high, log=log, step=None if step is None else number(step, "step"))


def _context(row: dict[str, Any]) -> Real:
    return Real(**{key: row[key] for key in ("low", "high", "log", "outside") if key in row})


def _positive(table: Mapping[str, Any], key: str, default: float) -> float:
    value = number(table.get(key, default), key)
    if value <= 0:
        raise ConfigurationError(f"{key} must be above 0, not {value:g}.")
    return value


def _whole(table: Mapping[str, Any], key: str, most: int = 10**6) -> int | None:
    value = table.get(key)
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most
    ):
        raise ConfigurationError(f"{key} must be a whole number, 0 to {most}, not {value!r}.")
    return value


def _storage(path: Path, given: Any) -> str:
    """The URL of the storage; a relative SQLite file lies beside the study file."""
    url = os.environ.get(STORAGE) or given
    if not isinstance(url, str) or "://" not in url:
        raise ConfigurationError(
            f'storage must be a URL such as "sqlite:///{path.stem}.db" or "postgresql+psycopg://user@host/db".'
        )
    if url.startswith("sqlite:///") and not url.startswith("sqlite:////"):
        return f"sqlite:///{(path.parent / url.removeprefix('sqlite:///')).resolve()}"
    return url


def without_password(text: str, url: str) -> str:
    """The text with the passwords of a storage's URL blotted out, however they are written."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):  # no URL at all: whatever looks like a password
        return re.sub(r"(://[^:/]*):.*@", r"\1:***@", text)
    hidden = [parts.password, *(v for k, v in parts.query.items() if "password" in k)]
    secrets = {piece for found in hidden if found for piece in ([found] if isinstance(found, str) else found)}
    for secret in sorted(secrets, key=len, reverse=True):
        for written in {secret, quote(secret, safe=""), quote(secret), quote_plus(secret)}:
            text = text.replace(written, "***")
    return text
