"""An optimizer's state as plain JSON values, and back. The one place that knows the format."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from windage.data import Observations
from windage.errors import ConfigurationError, WindageError
from windage.settings import KERNELS
from windage.space import Categorical, Integer, Parameter, Real, whole
from windage.surrogate import Hyperparameters

FORMAT = 1
_KINDS: dict[str, type[Real] | type[Integer] | type[Categorical]] = {
    "real": Real,
    "integer": Integer,
    "categorical": Categorical,
}


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
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"the saved optimizer is damaged ({error}).") from error


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


def observations_to_list(observations: Observations) -> list[dict[str, Any]]:
    """One object an observation."""
    rows = zip(observations.decisions, observations.contexts, observations.values, strict=True)
    return [{"decision": dict(d), "context": dict(c), "value": v} for d, c, v in rows]


def pending_from_list(rows: list[dict[str, Any]], asked: int) -> dict[int, Any]:
    """Decisions of pending trials by number, each once and asked for."""
    pending: dict[int, Any] = {}
    for row in rows:
        index = whole(row["number"], "the number of a pending trial")
        if index in pending or index >= asked:
            raise ConfigurationError(f"pending trial {index} was never asked for, or stands twice.")
        pending[index] = row["decision"]
    return pending


def fits_to_dict(fits: Mapping[tuple[bool, str], tuple[int, Hyperparameters]]) -> dict[str, Any]:
    """The last fitted hyper-parameters: of the GPs on (x, c) and of those on x alone, by kernel."""
    names = {True: "joint", False: "decisions"}
    plain = {}
    for (joint, kernel), (count, hyper) in fits.items():
        row = asdict(hyper)
        lists = {"x": list(hyper.x), "c": list(hyper.c), "curvature": list(map(list, hyper.curvature))}
        plain[f"{names[joint]} {kernel}"] = {"count": count, **row, **lists}
    return plain


def fits_from_dict(
    saved: Mapping[str, Any], dx: int, dc: int, free: int
) -> dict[tuple[bool, str], tuple[int, Hyperparameters]]:
    """The inverse of ``fits_to_dict``, for so many coordinates of x and of c; ``free`` decisions."""
    fits = {}
    for name, row in saved.items():
        kind, _, kernel = name.partition(" ")
        numbers = {key: float(row[key]) for key in ("noise", "mean", "log_posterior")}
        x, c = (tuple(map(float, row[key])) for key in ("x", "c"))
        known = tuple(tuple(map(float, line)) for line in row.get("curvature", ()))
        knee = float(row.get("knee", 0.0))
        hyper = Hyperparameters(
            x, c, numbers["noise"], numbers["mean"], numbers["log_posterior"], known, knee
        )
        right = (len(x), len(c)) == (dx, dc if kind == "joint" else 0) and kernel in KERNELS
        right &= all(0 < s < math.inf for s in (*x, *c, hyper.noise)) and math.isfinite(hyper.mean)
        right &= all(len(line) == len(known) and all(map(math.isfinite, line)) for line in known)
        right &= 0 <= knee < math.inf
        right &= len(known) in (0, free + (len(c) + 1)) and int(row["count"]) >= 1
        if not right:
            raise ConfigurationError(f"its fit {name!r} does not belong to this study.")
        fits[kind == "joint", kernel] = (int(row["count"]), hyper)
    return fits
