"""An optimizer's state as plain JSON values, and back. The one place that knows the format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, get_args

from windage.changes import Change, Kind, Record, check
from windage.configuration import Configuration
from windage.contexts import NOTHING, Forecast, Given
from windage.errors import ConfigurationError, WindageError
from windage.gp import KERNELS, Fit, Hyperparameters, KernelName, Key
from windage.methods import continued, get_method
from windage.methods.settings import THEOREM
from windage.observations import Observations, Row
from windage.pending import PendingTrials
from windage.space import Categorical, Integer, Parameter, Real, number, whole
from windage.space.checks import MOST_SEED

FORMAT = 1
LARGEST = 1e100
"""No fit has a hyper-parameter beyond it, and their squares do not overflow."""
_KINDS: dict[str, type[Real] | type[Integer] | type[Categorical]] = {
    "real": Real,
    "integer": Integer,
    "categorical": Categorical,
}
_GPS = {True: "joint", False: "decisions"}
"""The names of the GPs on (x, c) and on x alone."""


@contextmanager
def reading(saved: object) -> Iterator[None]:
    """Any fault of what was saved becomes one ConfigurationError that says where."""
    if isinstance(saved, str | bytes):
        raise ConfigurationError("a saved optimizer is a dictionary, not text: json.loads(...) it first.")
    if not isinstance(saved, Mapping) or saved.get("format") != FORMAT:
        raise ConfigurationError(
            f"this is not a saved optimizer of format {FORMAT}: give what Optimizer.to_dict() returned."
        )
    try:
        yield
    except KeyError as error:
        raise ConfigurationError(f"the saved optimizer lacks {error}: it is not complete.") from error
    except WindageError as error:
        raise ConfigurationError(f"the saved optimizer is damaged: {error}") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ConfigurationError(f"the saved optimizer is damaged ({error}).") from error


def to_dict(
    kind: Configuration, record: Record, pending: PendingTrials, fits: Mapping[Key, Fit]
) -> dict[str, Any]:
    """The whole state: observations as they were told, and every change of them."""
    told = record.told
    return {
        "format": FORMAT,
        "decisions": space_to_dict(kind.decisions.parameters),
        "contexts": space_to_dict(kind.contexts.parameters),
        "method": kind.method.name,
        "direction": kind.direction,
        "seed": kind.seed,
        "initial": kind.initial,
        "settings": settings_to_dict(kind.settings.changed()),
        "observations": rows_to_dict(told),
        "changes": [change.to_dict() for change in record.changes],
        "pending": [
            {"number": number, "decision": dict(d), **given_to_dict(pending.given.get(number, NOTHING))}
            for number, d in pending.decisions.items()
        ],
        "asked": pending.asked,
        "fits": fits_to_dict(fits),
    }


def settings_to_dict(changed: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as plain values."""
    plain = dict(changed)
    if plain.get("distribution"):
        plain["distribution"] = {name: f.to_dict() for name, f in plain["distribution"].items()}
    return plain


def rows_to_dict(told: Observations) -> list[dict[str, Any]]:
    """Observations as plain values, without what nobody said."""
    rows = zip(told.decisions, told.contexts, told.values, told.times, told.forecasts, strict=True)
    found = []
    for decision, context, value, time, forecast in rows:
        row = {"decision": dict(decision), "context": dict(context), "value": value}
        if time is not None:
            row["time"] = time
        if forecast:
            row["forecast"] = {n: list(f) if isinstance(f, tuple) else dict(f) for n, f in forecast.items()}
        found.append(row)
    return found


def rows_from_dict(rows: list[dict[str, Any]], kind: Configuration) -> list[Row]:
    """The inverse of ``rows_to_dict``."""
    found = []
    for row in rows:
        said = {n: tuple(f) if isinstance(f, list) else f for n, f in row.get("forecast", {}).items()}
        forecasts = kind.given(None, said, past=True).forecast
        found.append(
            Row(
                kind.decisions.recall(row["decision"]),
                *kind.check_result(row["context"], row["value"]),
                None if row.get("time") is None else number(row["time"], "time"),
                {name: forecast.summary for name, forecast in forecasts.items()},
            )
        )
    return found


def given_to_dict(given: Given) -> dict[str, Any]:
    """What was known of a context, as plain values; empty where nothing was."""
    found: dict[str, Any] = {"known": dict(given.known)} if given.known else {}
    if given.forecast:
        found["forecast"] = {name: forecast.to_dict() for name, forecast in given.forecast.items()}
    return found


def given_from_dict(row: Mapping[str, Any], kind: Configuration) -> Given:
    """The inverse of ``given_to_dict``."""
    parameters = kind.contexts.parameters
    said = row.get("forecast", {})
    forecasts = {n: Forecast.from_dict(f, parameters[n], f"the forecast of {n!r}") for n, f in said.items()}
    return kind.given(row.get("known"), forecasts, past=True)


def configuration_from_dict(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of an ``Optimizer``.

    Settings that the method does not use are left out: earlier versions took and saved them without a word.
    """
    method = continued(saved["method"])
    used, settings = get_method(method).used, dict(saved["settings"])
    contexts = space_from_dict(saved["contexts"])
    if settings.get("distribution"):
        said = settings["distribution"].items()
        settings["distribution"] = {
            n: Forecast.from_dict(f, contexts[n], f"distribution {n!r}") for n, f in said
        }
    if settings.get("sqrt_beta") != THEOREM:
        used -= {"lipschitz"}
    return {
        "decisions": space_from_dict(saved["decisions"]),
        "contexts": contexts,
        "method": method,
        "direction": saved["direction"],
        "seed": whole(saved["seed"], "seed", most=MOST_SEED),
        "initial": whole(saved["initial"], "initial"),
        **{name: value for name, value in settings.items() if name in used},
    }


def space_to_dict(parameters: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    """Parameters in order; a list, because some JSON writers sort the keys of an object."""
    rows = []
    for name, parameter in parameters.items():
        kind = next(k for k, cls in _KINDS.items() if isinstance(parameter, cls))
        fields = asdict(parameter)
        if isinstance(parameter, Categorical):
            fields = {"choices": list(parameter.choices)}
        rows.append({"name": name, "kind": kind, **fields})
    return rows


def space_from_dict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The inverse of ``space_to_dict``."""
    parameters = {}
    for row in rows:
        if row["kind"] not in _KINDS:
            raise ConfigurationError(f"{row['name']!r} is of the unknown kind {row['kind']!r}.")
        fields = {k: v for k, v in row.items() if k not in ("name", "kind")}
        parameters[row["name"]] = _KINDS[row["kind"]](**fields)
    return parameters


def changes_from_dict(saved: Mapping[str, Any], kind: Configuration) -> tuple[Change, ...]:
    """The changes, each checked; none in what earlier versions saved."""
    found: list[Change] = []
    made: defaultdict[int, list[Change]] = defaultdict(list)  # by observation: a long history is read quickly
    numbers = range(len(saved["observations"]))
    for row in saved.get("changes", ()):
        change = Change(**{**row, "number": whole(row["number"], "the number of a change")})
        if change.kind not in get_args(Kind):
            raise ConfigurationError(f"{change.kind!r} is no change.")
        if change.kind == "correct":
            parts = kind.check_parts(change.decision, change.context, change.value, past=True)
            change = Change(change.number, "correct", *parts, change.why, change.time)
        check(change, numbers, made[change.number], f"{len(numbers)} were told")
        made[change.number].append(change)
        found.append(change)
    return tuple(found)


def pending_from_dict(saved: Mapping[str, Any], kind: Configuration) -> PendingTrials:
    """The pending trials, each once and asked for."""
    asked, space = whole(saved["asked"], "asked"), kind.decisions
    decisions: dict[int, dict[str, Any]] = {}
    given: dict[int, Given] = {}
    for row in saved["pending"]:
        index = whole(row["number"], "the number of a pending trial")
        if index in decisions or index >= asked:
            raise ConfigurationError(f"pending trial {index} was never asked for, or stands twice.")
        decisions[index] = space.recall(row["decision"])
        if "known" in row or "forecast" in row:
            given[index] = given_from_dict(row, kind)
    return PendingTrials(space, asked, decisions, given, frozenset(decisions))


def fits_to_dict(fits: Mapping[Key, Fit]) -> dict[str, Any]:
    """The last fitted hyper-parameters: of the GPs on (x, c) and of those on x alone, by kernel."""
    plain = {}
    for key, fit in fits.items():
        hyper = fit.hyperparameters
        plain[f"{_GPS[key.joint]} {key.kernel}"] = {
            "count": fit.count,
            "x": list(hyper.x),
            "c": list(hyper.c),
            "noise": hyper.noise,
            **({"scale": hyper.scale} if hyper.scale != 1 else {}),
            "mean": hyper.mean,
            "log_posterior": hyper.log_posterior,
            "curvature": [list(row) for row in hyper.inverse_hessian],
        }
    return plain


def fits_from_dict(saved: Mapping[str, Any], kind: Configuration) -> dict[Key, Fit]:
    """The inverse of ``fits_to_dict``.

    Fits of outcomes in logs, which earlier versions made, are left out: they are fitted again.
    """
    dx, dc = kind.decisions.blocks[-1].stop, kind.coded_contexts
    variables, fits = len(kind.decisions.names), {}
    for name, row in saved.items():
        if float(row.get("knee", 0.0)):
            continue
        gp, _, kernel = name.partition(" ")
        x, c = (tuple(map(float, row[key])) for key in ("x", "c"))
        inverse = tuple(tuple(map(float, line)) for line in row.get("curvature", ()))
        noise, mean, value = (float(row[key]) for key in ("noise", "mean", "log_posterior"))
        scale = float(row.get("scale", 1.0))
        hyper = Hyperparameters(x, c, noise, mean, value, inverse, scale)
        known: dict[str, KernelName] = {name: name for name in KERNELS}
        right = gp in _GPS.values() and kernel in known
        right &= len(x) == dx and len(c) <= (dc if gp == _GPS[True] else 0)  # fewer: one was not seen yet
        right &= all(1 / LARGEST < s < LARGEST for s in (*x, *c, noise, scale)) and abs(hyper.mean) < LARGEST
        right &= all(len(line) == len(inverse) and all(abs(v) < LARGEST for v in line) for line in inverse)
        own = len(c) + (1 if kind.settings.surrogate is None else 2)
        most = variables + own  # fewer, where the levels of a choice share a lengthscale
        right &= (not inverse or variables < len(inverse) <= most) and int(row["count"]) >= 1
        if not right:
            raise ConfigurationError(f"its fit {name!r} does not belong to this study.")
        fits[Key(gp == _GPS[True], known[kernel])] = Fit(int(row["count"]), hyper)
    return fits
