"""The study file: decision variables, contexts, direction, and where the study is kept.

It is read with the standard library alone. Every fault names the key and says what to do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from optuna.distributions import (
    BaseDistribution,
    FloatDistribution,
)

from windage.errors import ConfigurationError, WindageError, near_match
from windage.space import Direction
from windage.studies import rows
from windage.studies.beforehand import for_good
from windage.studies.checks import slip
from windage.studies.description import StudyFile
from windage.studies.quantities import Quantity, places_of
from windage.studies.url import study_url

__all__ = ["CHANGE", "DATE", "EXPORTED", "FORECAST", "FORGOTTEN", "StudyFile", "load"]
T = TypeVar("T")
LEASE_DAYS = 7.0
KEYS = (
    "name", "direction", "aim", "budget", "method", "seed", "initial", "storage", "lease_days",
    "forget", "drift", "value", "decisions", "contexts", "settings",
)  # fmt: skip
EXPORTED = ("number", "told")
"""Columns of an export beside the decision variables, the contexts and the value."""
DATE = "date"
"""The column of a table that says when a row happened, unless a variable of the study has this name."""
CHANGE, FORGOTTEN = "change", "forgotten"
"""The column of an export that says what was changed, under the same condition, and how that begins where a
row no longer counts."""
FORECAST = " forecast"
"""How a column ends that says what was forecast for a context, under the same condition."""
TOP = ("aim", "budget", "forget", "drift")
"""Keywords of ``windage.Optimizer`` that every study may have an opinion on: lines of their own."""
TABLES = {
    "value": ("unit", "description"),
    "decisions": ("low", "high", "log", "step", "integer", "choices", "unit", "description"),
    "contexts": (
        *("low", "high", "log", "outside", "integer", "choices", "known", "optional"),
        *("unit", "description"),
    ),
}


def load(path: Path) -> StudyFile:
    """The study that a file describes, or a ConfigurationError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        there = near_match(path.name, [other.name for other in path.parent.glob("*.toml")])
        raise ConfigurationError(
            f"there is no study file {path}: write one with  windage init {path}{there and '.' + there}"
        ) from error
    except IsADirectoryError as error:
        inside = sorted(other.name for other in path.glob("*.toml"))
        such = f", such as {path / (inside[0] if inside else 'shop.toml')}"
        raise ConfigurationError(f"{path} is a folder: name the study file in it{such}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the study file {path} cannot be read: it is no text in UTF-8.") from error
    except OSError as error:
        raise ConfigurationError(f"the study file {path} cannot be read: {error}") from error
    except ValueError as error:  # of TOML, or a number of thousands of digits
        words = slip(path, str(error))
        raise ConfigurationError(f"the study file {path} is not right: {words}") from error
    except RecursionError:
        raise ConfigurationError(f"the study file {path} is not right: too many brackets.") from None
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
    every = {**decisions, **contexts, "value": _table(table, "value")}
    space = {name: _wrapped(f"decisions.{name}", rows.distribution, row) for name, row in decisions.items()}
    found = StudyFile(
        path=path,
        name=str(table.get("name", path.stem)),
        direction=_direction(table.get("direction", "maximize")),
        method=str(table.get("method", "auto")),
        storage=study_url(path, table.get("storage", f"sqlite:///{path.stem}.db")),
        space=space,
        contexts={name: _wrapped(f"contexts.{name}", rows.context, row) for name, row in contexts.items()},
        known=tuple(name for name, row in contexts.items() if row.get("known", False)),
        optional=tuple(name for name, row in contexts.items() if row.get("optional", False)),
        quantities={name: _quantity(row, space.get(name)) for name, row in every.items()},
        lease=rows.days(table.get("lease_days", LEASE_DAYS), "lease_days"),
        seed=rows.whole(table, "seed", 2**32 - 1),
        initial=rows.whole(table, "initial"),
        settings={**settings, **_top(table)},
    )
    if "distribution" in settings:
        distribution = for_good(found, settings["distribution"])
        found = replace(found, settings={**found.settings, "distribution": distribution})
    _ = found.context_space  # checks the names of contexts against those of decision variables
    return found


def _top(table: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of ``windage.Optimizer`` that stand above the tables."""
    found = {key: table[key] for key in TOP if key in table}
    if not isinstance(found.get("drift", False), bool):
        raise ConfigurationError(f"drift must be true or false, not {found['drift']!r}.")
    return {**found, "forget": rows.forget(found["forget"])} if "forget" in found else found


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
    rows.check_kinds(row, key)
    return dict(row)


def _section(table: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    found = table.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
        raise ConfigurationError(f"{key} must be tables: [{key}.NAME] with one line each.")
    return {name: _table({f"{key}.{name}": row}, f"{key}.{name}") for name, row in found.items()}


def _quantity(row: Mapping[str, Any], kind: BaseDistribution | None) -> Quantity:
    places = None
    if isinstance(kind, FloatDistribution):
        places = places_of(kind.low, kind.high, kind.step, kind.log)
    return Quantity(row.get("unit", ""), row.get("description", ""), places)


def _wrapped(label: str, build: Callable[[dict[str, Any]], T], row: dict[str, Any]) -> T:
    try:
        return build(row)
    except (WindageError, ValueError, TypeError) as error:
        raise ConfigurationError(f"[{label}]: {error}") from error
