"""The surrogates of a method that follow the evidence: which kernels, on which scale, and with what fits.

Fits are by (whether on (x, c) or on x alone, kernel). ``Fits`` is what a study remembers and saves; what is
``Fitted`` only saves work.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from windage.evidence import Evidence
from windage.methods import Method
from windage.surrogate import (
    Fitted,
    Hyperparameters,
    ProductGP,
    ensemble,
    fit_in_logs,
    follow,
    likeliest,
)

DECIDED = 500
"""Observations after which the likeliest kernel and its fit stand for all."""
ON_A_LINE = 2
"""How many times as many members a method has with one decision, where they cost little."""
LOGS_BY, LOGS_UNTIL = "matern", 30
"""The kernel whose fit decides whether outcomes are seen in logs, if the method has it; and up to how many
observations: later ones are mostly of the best decision's neighbourhood, which needs no logs."""
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
    knee = 0.0
    if method.logs and members:
        knee = _knee(evidence, (joint, LOGS_BY if LOGS_BY in kernels else kernels[0]), fits, done)
    fitted = []
    for key in ((joint, kernel) for kernel in kernels):
        found = done.get(key)
        if found is None or (len(found.model.data.y), found.model.data.knee) != (len(evidence), knee):
            data = evidence.training(*key, member=members > 0).in_logs(knee)
            found = done[key] = follow(data, fits.get(key), found)
        fitted.append(found.model)
    return ensemble(fitted, members, seed) if members else fitted


def _knee(evidence: Evidence, key: Key, fits: Fits, done: MutableMapping[Key, Fitted]) -> float:
    """Of the logs in which outcomes are seen, 0 for none: by the first observations."""
    count, last, found = len(evidence), fits.get(key), done.get(key)
    if last is not None and (last[0] == count or count > LOGS_UNTIL):
        return last[1].knee
    if found is None or found.count != count:
        data = evidence.training(*key, member=True)
        hyper = fit_in_logs(data, None if last is None else last[1])
        found = done[key] = Fitted(count, hyper, ProductGP(data.in_logs(hyper.knee), hyper))
    return found.hyperparameters.knee
