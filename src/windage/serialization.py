"""An optimizer's state as plain JSON values, and back. The one place that knows the format."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from windage.configuration import Configuration
from windage.errors import ConfigurationError, WindageError
from windage.gp import KERNELS, Fit, Hyperparameters, KernelName, Key
from windage.methods import continued, get_method
from windage.methods.settings import THEOREM
from windage.observations import Observations
from windage.pending import PendingTrials
from windage.space import Categorical, DecisionSpace, Integer, Parameter, Real, whole

FORMAT = 1
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
    kind: Configuration, observations: Observations, pending: PendingTrials, fits: Mapping[Key, Fit]
) -> dict[str, Any]:
    """The whole state."""
    rows = zip(observations.decisions, observations.contexts, observations.values, strict=True)
    return {
        "format": FORMAT,
        "decisions": space_to_dict(kind.decisions.parameters),
        "contexts": space_to_dict(kind.contexts.parameters),
        "method": kind.method.name,
        "direction": kind.direction,
        "seed": kind.seed,
        "initial": kind.initial,
        "settings": kind.settings.changed(),
        "observations": [{"decision": dict(d), "context": dict(c), "value": v} for d, c, v in rows],
        "pending": [{"number": number, "decision": dict(d)} for number, d in pending.decisions.items()],
        "asked": pending.asked,
        "fits": fits_to_dict(fits),
    }


def configuration_from_dict(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of an ``Optimizer``.

    Settings that the method does not use are left out: earlier versions took and saved them without a word.
    """
    method = continued(saved["method"])
    used, settings = get_method(method).used, saved["settings"]
    if settings.get("sqrt_beta") != THEOREM:
        used -= {"lipschitz"}
    return {
        "decisions": space_from_dict(saved["decisions"]),
        "contexts": space_from_dict(saved["contexts"]),
        "method": method,
        "direction": saved["direction"],
        "seed": whole(saved["seed"], "seed"),
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


def pending_from_dict(saved: Mapping[str, Any], space: DecisionSpace) -> PendingTrials:
    """The pending trials, each once and asked for."""
    asked = whole(saved["asked"], "asked")
    decisions: dict[int, dict[str, Any]] = {}
    for row in saved["pending"]:
        index = whole(row["number"], "the number of a pending trial")
        if index in decisions or index >= asked:
            raise ConfigurationError(f"pending trial {index} was never asked for, or stands twice.")
        decisions[index] = space.check(row["decision"])
    return PendingTrials(space, asked, decisions, frozenset(decisions))


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
            "mean": hyper.mean,
            "log_posterior": hyper.log_posterior,
            "curvature": [list(row) for row in hyper.inverse_hessian],
        }
    return plain


def fits_from_dict(saved: Mapping[str, Any], kind: Configuration) -> dict[Key, Fit]:
    """The inverse of ``fits_to_dict``.

    Fits of outcomes in logs, which earlier versions made, are left out: they are fitted again.
    """
    dx, dc = kind.decisions.blocks[-1].stop, len(kind.contexts.names)
    variables, fits = len(kind.decisions.names), {}
    for name, row in saved.items():
        if float(row.get("knee", 0.0)):
            continue
        gp, _, kernel = name.partition(" ")
        x, c = (tuple(map(float, row[key])) for key in ("x", "c"))
        inverse = tuple(tuple(map(float, line)) for line in row.get("curvature", ()))
        noise, mean, value = (float(row[key]) for key in ("noise", "mean", "log_posterior"))
        hyper = Hyperparameters(x, c, noise, mean, value, inverse)
        known: dict[str, KernelName] = {name: name for name in KERNELS}
        right = gp in _GPS.values() and kernel in known
        right &= (len(x), len(c)) == (dx, dc if gp == _GPS[True] else 0)
        right &= all(0 < s < math.inf for s in (*x, *c, hyper.noise)) and math.isfinite(hyper.mean)
        right &= all(len(line) == len(inverse) and all(map(math.isfinite, line)) for line in inverse)
        right &= len(inverse) in (0, variables + (len(c) + 1)) and int(row["count"]) >= 1
        if not right:
            raise ConfigurationError(f"its fit {name!r} does not belong to this study.")
        fits[Key(gp == _GPS[True], known[kernel])] = Fit(int(row["count"]), hyper)
    return fits
