"""The surrogates of a method that follow the evidence: which kernels, on which scale, and with what fits.

Fits are by (whether on (x, c) or on x alone, kernel). ``Fits`` is what a study remembers and saves; what is
``Fitted`` only saves work.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace

from windage.evidence import Evidence
from windage.methods import Method
from windage.surrogate import (
    Fitted,
    Hyperparameters,
    ProductGP,
    Training,
    ensemble,
    fit_in_logs,
    follow,
    likeliest,
    likeliest_grain,
)
from windage.surrogate.grain import SCALE

DECIDED = 500
"""Observations after which the likeliest kernel and its fit stand for all."""
ON_A_LINE = 2
"""How many times as many members a method has with one decision, where they cost little."""
LOGS_BY, LOGS_UNTIL = "matern", 30
"""The kernel whose fit decides whether outcomes are seen in logs, if the method has it; and up to how many
observations: later ones are mostly of the best decision's neighbourhood, which needs no logs."""
LOGS_DOUBT = 2.0
"""At the last of these, by how much the log posterior must speak against logs: without them a study that is
on a lesser peak by then would stay there."""
Key = tuple[bool, str]
Fits = dict[Key, tuple[int, Hyperparameters]]


def surrogates(
    method: Method, evidence: Evidence, joint: bool, fits: Fits, done: MutableMapping[Key, Fitted], seed: int
) -> list[ProductGP]:
    """The GPs of all observations, given the last fits; ``done`` keeps what is found for each kernel."""
    settings = evidence.settings
    kernels = method.kernels if settings.kernel is None else (settings.kernel,)
    own = method.members * (ON_A_LINE if len(evidence.decisions.blocks) == 1 else 1)
    members = own if settings.members is None else settings.members
    if members and len(evidence) > DECIDED:
        kernels, members = likeliest(kernels, joint, fits), 1
    first = joint, LOGS_BY if LOGS_BY in kernels else kernels[0]
    grain = _grain(evidence, first, fits) if method.grain and members else 0.0
    knee = _knee(evidence, first, grain, fits, done) if method.logs and members else 0.0
    fitted = []
    for key in ((joint, kernel) for kernel in kernels):
        found = done.get(key)
        if found is None or _seen(found.model.data) != (len(evidence), knee, grain):
            data = replace(evidence.training(*key, member=members > 0).in_logs(knee), grain=grain)
            found = done[key] = follow(data, fits.get(key), found)
        fitted.append(found.model)
    return ensemble(fitted, members, seed) if members else fitted


def _seen(data: Training) -> tuple[int, float, float]:
    """How many observations, and how they are seen."""
    return len(data.y), data.knee, data.grain


def _grain(evidence: Evidence, key: Key, fits: Fits) -> float:
    """Of the noise, 0 for none: by the observations under the last fit. Two real numbers or more have one."""
    blocks = evidence.decisions.blocks
    if len(blocks) == 1 or any(block.levels for block in blocks):
        return 0.0
    if key not in fits:
        return SCALE
    hyper = fits[key][1]
    return likeliest_grain(evidence.training(*key, member=True).in_logs(hyper.knee), hyper)


def _knee(evidence: Evidence, key: Key, grain: float, fits: Fits, done: MutableMapping[Key, Fitted]) -> float:
    """Of the logs in which outcomes are seen, 0 for none: by the first observations."""
    count, last, found = len(evidence), fits.get(key), done.get(key)
    if last is not None and (last[0] == count or last[0] >= LOGS_UNTIL):
        return last[1].knee
    if found is None or found.count != count:
        data = replace(evidence.training(*key, member=True), grain=grain)
        doubt = LOGS_DOUBT if count >= LOGS_UNTIL else 0.0
        hyper = fit_in_logs(data, None if last is None else last[1], doubt)
        found = done[key] = Fitted(count, hyper, ProductGP(data.in_logs(hyper.knee), hyper))
    return found.hyperparameters.knee
