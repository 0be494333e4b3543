"""Weights of contexts by their age: the distribution of the context may change.

Context i of n has weight w_i ∝ γ^age_i, its age in observations or in days. With ``"auto"`` the rate is
learnt by dynamic model averaging (Raftery, Kárný & Ettler 2010) over a bank of rates γ_k. Each is judged by
how likely its KDE of the contexts before made the next one,

    π_k ← π_k^α · p_k^(1-α) · p̂_k(c_t | c_<t), normalised.

The prior p favours never to forget. (Raftery et al. have an equal one, with which old contexts are forgotten
where nothing changes.) The mixture Σ_k π_k p̂_k is again a weighted KDE.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from windage.contexts.bandwidth import reference
from windage.errors import ConfigurationError
from windage.space import Array, ContextKind
from windage.space.checks import brief

Forget = float | str | None
AUTO: Literal["auto"] = "auto"
RATES = (1.0, 0.995, 0.98, 0.95, 0.9, 0.8)
"""γ_k: half-lives of all observations, 138, 34, 14, 7 and 3 (Raftery et al. have .99 and .95)."""
NEVER = 0.9
"""The prior chance of the first rate, that nothing is forgotten; the others share the rest."""
ALPHA = 0.99
"""How much of what was learnt of the rates is kept at each context (Raftery et al.)."""
NEW = 0.02
"""The chance of a context unlike all before, spread over the unit box: one outlier decides nothing."""
LATEST = 500
"""Contexts by which the rates are judged: the latest."""
LEAST_WIDTH = 1e-3
DAYS = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(d|day|days)\s*")
WORDS = '"auto", None, a half-life in observations such as 30, or in days such as "30 days"'


def half_life(forget: object) -> tuple[float, bool] | None:
    """A half-life, and whether it is in days; None where there is none; or a ConfigurationError."""
    if forget is None or (isinstance(forget, str) and forget == AUTO):
        return None
    days = DAYS.fullmatch(forget) if isinstance(forget, str) else None
    found = float(days[1]) if days else forget
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < math.inf:
        raise ConfigurationError(f"forget must be {WORDS}, not {brief(forget)}.")
    return float(found), days is not None


def by_half_life(ages: Array, half: float) -> Array:
    """The weights of contexts of these ages, n, of sum 1."""
    logs = -math.log(2) * (ages - ages.min()) / half
    weights = np.exp(logs)
    return np.asarray(weights / weights.sum())


def learnt(contexts: Array, kinds: Sequence[ContextKind]) -> Array:
    """The weights of contexts in the order seen, n × Dc on the unit box, by dynamic model averaging; n."""
    ages = np.arange(len(contexts))[::-1].astype(float)
    bank = np.array(RATES)[:, None] ** ages
    bank /= bank.sum(axis=1, keepdims=True)
    return np.asarray(rate_chances(contexts[-LATEST:], kinds) @ bank)


def rate_chances(contexts: Array, kinds: Sequence[ContextKind]) -> Array:
    """π, one a rate."""
    logs = one_step_ahead(contexts, kinds, RATES)
    prior = np.log([NEVER, *[(1 - NEVER) / (len(RATES) - 1)] * (len(RATES) - 1)])
    found = prior
    for row in logs:
        found = ALPHA * found + (1 - ALPHA) * prior + row
        found -= np.logaddexp.reduce(found)
    return np.asarray(np.exp(found))


def one_step_ahead(contexts: Array, kinds: Sequence[ContextKind], rates: Sequence[float]) -> Array:
    """log p̂_k(c_t | c_<t) of each context from the second on and each rate, (n - 1) × rates."""
    n, numbers = len(contexts), [d for d, kind in enumerate(kinds) if not kind.choice]
    choices = [(d, kind.levels) for d, kind in enumerate(kinds) if kind.choice]
    lags = np.subtract.outer(np.arange(n), np.arange(n)) - 1.0
    past, found = lags >= 0, np.empty((n - 1, len(rates)))
    for k, rate in enumerate(rates):
        weights = np.where(past, rate ** np.maximum(lags, 0), 0.0)[1:]
        weights /= weights.sum(axis=1, keepdims=True)
        effective = 1 / (weights**2).sum(axis=1)
        product = weights
        for d in numbers:
            column = contexts[:, d]
            mean = weights @ column
            spread = np.sqrt(np.maximum(weights @ column**2 - mean**2, 0))
            width = np.maximum(reference_widths(effective, len(numbers)) * spread, LEAST_WIDTH)[:, None]
            scaled = np.subtract.outer(column[1:], column) / width
            product = product * (np.exp(-0.5 * scaled**2) / (width * math.sqrt(2 * math.pi)))
        for d, levels in choices:
            same = contexts[1:, d, None] == contexts[:, d]
            other = (levels - 1) / (effective + levels)[:, None]  # as if each level had been seen once more
            product = product * np.where(same, 1 - other, other / (levels - 1))
        box = math.prod(1 / levels for _, levels in choices)
        found[:, k] = np.log((1 - NEW) * product.sum(axis=1) + NEW * box)
    return found


def reference_widths(effective: Array, dimensions: int) -> Array:
    """The rule of thumb's width for a deviation of 1, for each number of contexts."""
    return np.array([reference(n, dimensions) for n in effective])
