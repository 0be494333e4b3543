"""The study file: decision variables, contexts, direction, and where the study is kept.

It is read with the standard library alone. Every fault names the key and says what to do.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from windage.errors import ConfigurationError, InputError, WindageError, near_match
from windage.space import ContextSpace, DecisionSpace, Direction, Real, number
from windage.studies.axes import Axes, Axis
from windage.studies.quantities import Quantity, typed
from windage.studies.rows import check_kinds, context, days, distribution, whole

if TYPE_CHECKING:
    from windage.methods import Method

T = TypeVar("T")
STORAGE = "WINDAGE_STORAGE"
"""The environment variable that overrides the file's storage."""
LEASE_DAYS = 7.0
KEYS = (
    "name", "direction", "aim", "budget", "method", "seed", "initial", "storage", "lease_days",
    "value", "decisions", "contexts", "settings",
)  # fmt: skip
EXPORTED = ("number", "told")
"""Columns of an export beside the decision variables, the contexts and the value."""
TOP = ("aim", "budget")
"""Keywords of ``windage.Optimizer`` that every study may have an opinion on: lines of their own."""
TABLES = {
    "value": ("unit", "description"),
    "decisions": ("low", "high", "log", "step", "integer", "choices", "unit", "description"),
    "contexts": ("low", "high", "log", "outside", "unit", "description"),
}


@dataclass(frozen=True)
class StudyFile:
    """A study as its file describes it."""

    path: Path
    """Of the file."""
    name: str
    """Of the study in its storage."""
    direction: Direction
    method: str
    """A row of ``windage methods``. Checked by ``engine_method``, which needs the engine."""
    storage: str
    """The URL of the database."""
    space: Mapping[str, BaseDistribution]
    """The decision variables by name, in the order of the file."""
    contexts: Mapping[str, Real]
    """The contexts by name, in the order of the file."""
    quantities: Mapping[str, Quantity]
    """Units and descriptions: of the decision variables, of the contexts, and of ``value``."""
    lease: float
    """Seconds for which a decision that was asked for and not told counts as under way."""
    seed: int | None
    """Of everything random; None: one made of the study's name."""
    initial: int | None
    """How many first decisions come from a Sobol sequence; None: the method's own number."""
    settings: Mapping[str, Any]
    """Keywords of ``windage.Optimizer``."""

    @cached_property
    def axes(self) -> Axes:
        """The decision variables between Optuna and windage."""
        return Axes.of(self.space)

    @cached_property
    def context_space(self) -> ContextSpace:
        """The contexts, to check what is told."""
        return ContextSpace.of(dict(self.contexts), DecisionSpace.of(self.axes.decisions))

    def engine_method(self) -> Method:
        """The method to use: that of the file, or what continues one that is gone, with a warning.

        A ConfigurationError where it is unknown, or needs a context that is not there.
        """
        from windage.methods import continued, get_method

        try:
            method = get_method(continued(self.method))
        except WindageError as error:
            raise ConfigurationError(f"{self.path}: {error}") from error
        if method.uses_context and not self.contexts:
            raise ConfigurationError(
                f"{self.path}: method {method.name!r} needs a context: add one, such as [contexts.demand], "
                'or use method = "gp-ucb".'
            )
        return method

    def show(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Values with their units."""
        return {name: self.quantities.get(name, Quantity()).show(value) for name, value in values.items()}

    def ordered(self, decision: Mapping[str, Any]) -> dict[str, Any]:
        """A decision in the order of the file; names that the file does not know come last."""
        return {name: decision[name] for name in (*self.space, *decision) if name in decision}

    def check_decision(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A decision in the user's words as Optuna's parameters, or an InputError."""
        for name in given:
            if name not in self.space:
                known = ", ".join(self.space)
                raise InputError(
                    f"there is no decision variable {name!r}; there is {known}.{near_match(name, self.space)}"
                )
        for name in self.space:
            if name not in given:
                raise InputError(f"the decision variable {name!r} is missing.")
        return {name: _checked(name, axis, given[name]) for name, axis in self.axes.axes.items()}

    def check_context(self, given: Mapping[str, Any]) -> dict[str, float]:
        """The contexts met as numbers, or an InputError."""
        return self.context_space.check({k: typed(v, f"context {k!r}") for k, v in given.items()})

    def check_value(self, given: Any) -> float:
        """The outcome as a number, or an InputError."""
        return number(typed(given, "value"), "value")


def _checked(name: str, axis: Axis, value: Any) -> Any:
    """The value of one decision variable as Optuna's, or an InputError."""
    kind, label = axis.distribution, f"decision variable {name!r}"
    if isinstance(kind, CategoricalDistribution):
        match = [choice for choice in kind.choices if choice == value or str(choice) == str(value)]
        if not match:
            choices = ", ".join(map(str, kind.choices))
            raise InputError(f"{label} is {value!r}, but must be one of {choices}.")
        return match[0]
    given = number(typed(value, label), label)
    integer = isinstance(kind, IntDistribution) and given == int(given)
    found = int(given) if integer else given
    if not axis.holds(found):
        low, high = kind.low, kind.high  # type: ignore[attr-defined]
        step = getattr(kind, "step", None)
        steps = f" in steps of {step:g}" if step else ""
        remedy = "" if low <= given <= high else " Correct it, or widen the bounds in the file."
        raise InputError(f"{label} is {given:g}, but must be {low:g} to {high:g}{steps}.{remedy}")
    return found


def load(path: Path) -> StudyFile:
    """The study that a file describes, or a ConfigurationError."""
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
    _check_keys(table, KEYS, "")
    decisions, contexts = _section(table, "decisions"), _section(table, "contexts")
    _check_names(decisions, contexts)
    settings = table.get("settings", {})
    if not isinstance(settings, dict):
        raise ConfigurationError("settings must be a table: [settings] with one line each.")
    for key in TOP:
        if key in settings:
            raise ConfigurationError(
                f"{key!r} in [settings] stands above the tables: put it on top of the file."
            )
    rows = {**decisions, **contexts, "value": _table(table, "value")}
    found = StudyFile(
        path=path,
        name=str(table.get("name", path.stem)),
        direction=_direction(table.get("direction", "maximize")),
        method=str(table.get("method", "auto")),
        storage=_storage(path, table.get("storage", f"sqlite:///{path.stem}.db")),
        space={name: _wrapped(f"decisions.{name}", distribution, row) for name, row in decisions.items()},
        contexts={name: _wrapped(f"contexts.{name}", context, row) for name, row in contexts.items()},
        quantities={name: _quantity(row) for name, row in rows.items()},
        lease=days(table.get("lease_days", LEASE_DAYS), "lease_days"),
        seed=whole(table, "seed", 2**32 - 1),
        initial=whole(table, "initial"),
        settings={**settings, **{key: table[key] for key in TOP if key in table}},
    )
    _ = found.context_space  # checks the names of contexts against those of decision variables
    return found


def _check_keys(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in given:
        if key not in known:
            if key in TOP:
                raise ConfigurationError(
                    f"{key!r}{where} stands above the tables: put it on top of the file."
                )
            if _is_setting(key):
                raise ConfigurationError(f"{key!r}{where} is a setting of the method: put it in [settings].")
            keys = ", ".join(known)
            raise ConfigurationError(
                f"unknown key {key!r}{where}; the keys are {keys}.{near_match(key, known)}"
            )


def _is_setting(key: str) -> bool:
    from windage.methods.settings import NAMES

    return key in NAMES


def _check_names(decisions: Mapping[str, Any], contexts: Mapping[str, Any]) -> None:
    if not decisions:
        raise ConfigurationError(
            "there is no decision variable: add one, such as [decisions.stock] with low and high."
        )
    if "value" in decisions or "value" in contexts:
        raise ConfigurationError('"value" is the name of the outcome: give the variable another.')
    for name in (*decisions, *contexts):
        if name in EXPORTED:
            raise ConfigurationError(f'"{name}" is a column of every export: give the variable another name.')
        if "=" in name:
            raise ConfigurationError(f'the name "{name}" has "=" in it, which ends a name: leave it out.')
    if "context" in contexts:
        raise ConfigurationError('a context cannot be named "context": say what it is, such as "demand".')


def _direction(given: Any) -> Direction:
    for known in get_args(Direction):
        if given == known:
            return known  # type: ignore[no-any-return]
    hint = near_match(given, get_args(Direction))
    raise ConfigurationError(f'direction must be "maximize" or "minimize", not {given!r}.{hint}')


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    row = table.get(key, {})
    if not isinstance(row, dict):
        raise ConfigurationError(f"{key} must be a table: [{key}] with one line each.")
    _check_keys(row, TABLES[key.split(".")[0]], f" in [{key}]")
    check_kinds(row, key)
    return dict(row)


def _section(table: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    rows = table.get(key, {})
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise ConfigurationError(f"{key} must be tables: [{key}.NAME] with one line each.")
    return {name: _table({f"{key}.{name}": row}, f"{key}.{name}") for name, row in rows.items()}


def _quantity(row: Mapping[str, Any]) -> Quantity:
    return Quantity(**{f.name: row[f.name] for f in fields(Quantity) if f.name in row})


def _wrapped(label: str, build: Callable[[dict[str, Any]], T], row: dict[str, Any]) -> T:
    try:
        return build(row)
    except (WindageError, ValueError, TypeError) as error:
        raise ConfigurationError(f"[{label}]: {error}") from error


def _storage(path: Path, given: Any) -> str:
    """The URL of the storage; a relative SQLite file lies beside the study file."""
    url = os.environ.get(STORAGE) or given
    if not isinstance(url, str) or "://" not in url:
        raise ConfigurationError(
            f'storage must be a URL such as "sqlite:///{path.stem}.db" or "postgresql+psycopg://user@host/db".'
        )
    scheme, _, rest = url.partition("://")
    if scheme.startswith("sqlite") and (not rest.startswith("/") or rest.strip("/") in ("", ":memory:")):
        raise ConfigurationError(
            f'storage = "{url}" names no file: write "sqlite:///{path.stem}.db", with three slashes.'
        )
    if url.startswith("sqlite:///") and not url.startswith("sqlite:////"):
        return f"sqlite:///{(path.parent / url.removeprefix('sqlite:///')).resolve()}"
    return url
