"""Outcomes and contexts that look mistyped: noticed when they are told, and kept out of the fit.

A surprise is how many standard deviations an outcome lies from what a GP of the other observations expects at
its decision and context (math of leave-one-out residuals: Rasmussen & Williams 2006, Section 5.4.2):

    z_i = [K⁻¹(y - m)]_i / sqrt([K⁻¹]_ii)

What lies among the others' outcomes is never odd: a cliff or a narrow peak may be there. A mistyped outcome
also spoils the fit that would judge it. So the rows with the least and the largest outcome are each judged by
a GP that was fitted without them, as relevance pursuit does (Ament et al. 2024); but where that gives a row a
noise of its own, here it is left out. Its context still counts: it was met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from windage.dataset import Dataset
from windage.gp import Contexts, ProductGP, Training, contexts_of, fit, row_contexts
from windage.observations import FEWEST_TO_JUDGE, Context
from windage.space import Array, Decision, OutcomeScale
from windage.space.outcome import ROUNDING

ASK, LEAVE, FREEDOM = 1e-4, 1e-3, 7
"""A surprise is beyond Student's two-sided quantile of such a chance, with so many degrees of freedom at
most: no model is quite right, and normal quantiles would cry wolf. The first chance is for a warning, which
costs a person's time, the second for leaving out a row that is better than all others. How often both happen
to honest values, and what that costs: docs/mistakes.md."""
BLOCK = 100
"""Observations that are judged by each other: a fit to them takes a hundredth of a second."""
GLANCE = 0.5
"""Of the doubt that leaves a row out: below it, by a GP that lacks both ends, no GP of its own is fitted."""
SHARE = 0.1
"""Of the observations may be suspect; beyond that it is the model that is wrong."""


Rows = NDArray[np.intp]
Judge = tuple[ProductGP, OutcomeScale]
"""A GP of some rows, and how their outcomes are standardised."""


@dataclass(frozen=True)
class Oddity:
    """Something told that is far from all that was seen before."""

    name: str
    """The context, or ``value``."""
    told: float
    low: float
    """The least seen before."""
    high: float
    """The most seen before."""
    surprise: float
    """In standard deviations of what was to be expected."""

    def words(self, show: Callable[[float], str] = "{:.4g}".format) -> str:
        """A sentence, with numbers as ``show`` writes them."""
        beyond = self.high if self.told > self.high else self.low
        most = "most" if self.told > self.high else "least"
        times = self.told / beyond if beyond else 0.0
        if times >= 2:
            return f"{self.name} {show(self.told)} is {times:.0f} times the {most} so far, {show(beyond)}."
        so_far = f"{show(self.low)} to {show(self.high)}"
        return f"{self.name} {show(self.told)} is far from all that was seen so far, {so_far}."


def limit(count: int, chance: float) -> float:
    """The surprise that so many honest observations exceed with this chance."""
    return float(stdtrit(min(max(count - 1, 1), FREEDOM), 1 - chance / 2))


def oddities(data: Dataset, decision: Decision, context: Context, value: float) -> list[Oddity]:
    """What is odd about a new observation: outside of all that was seen, and far beyond what was expected.

    A context that was not seen is not odd.
    """
    if len(data) < FEWEST_TO_JUDGE:
        return []
    met = data.contexts.numbers([context])[0]
    found = [
        odd
        for d, name in enumerate(data.contexts.names)
        if not data.scale.kinds[d].choice
        and (odd := _odd_context(name, data.seen[:, d], float(met[d]))) is not None
    ]
    low, high = float(data.values.min()), float(data.values.max())
    if _outside(data.values, value):
        x, unit = data.decisions.encode([decision]), data.unit_contexts(met[None])
        near = _nearest(data, x, data.code(unit))
        now = np.array([data.now]) if data.drift else None
        context_now = row_contexts(unit, data.boxed_c, data.scale.kinds, data.code, now)
        surprise = _surprise(_model(data, near), x, context_now, value).from_gp
        if abs(surprise) > limit(len(near), ASK):
            found.append(Oddity("value", value, low, high, surprise))
    return found


def odd_rows(data: Dataset, rows: Collection[int]) -> dict[int, list[Oddity]]:
    """Of some rows of a dataset, those that are odd to all others; they are not there for the rest."""
    found: dict[int, list[Oddity]] = {}
    left = list(range(len(data.observations)))
    while True:
        for row in sorted(_extremes(data, left) & {*rows}):
            told = data.observations
            others = replace(data, observations=told.take([other for other in left if other != row]))
            odd = oddities(others, told.decisions[row], told.contexts[row], told.values[row])
            if odd:
                found[row] = odd
                left.remove(row)
                break
        else:
            return found


def _extremes(data: Dataset, rows: Sequence[int]) -> set[int]:
    """The rows with the least and the largest value and contexts: no other can be beyond all the rest."""
    if not rows:
        return set()
    columns = np.column_stack([data.seen[rows], np.array(data.observations.values)[rows]])
    low, high = (np.where(np.isnan(columns), end, columns) for end in (np.inf, -np.inf))
    return {rows[i] for i in (*low.argmin(axis=0).tolist(), *high.argmax(axis=0).tolist())}


def _odd_context(name: str, seen: Array, met: float) -> Oddity | None:
    """A context is compared with the mean and the deviation of those seen."""
    seen = seen[~np.isnan(seen)]
    if math.isnan(met) or len(seen) < FEWEST_TO_JUDGE:
        return None
    low, high, count = float(seen.min()), float(seen.max()), len(seen)
    size = max(abs(low), abs(high), abs(met)) or 1.0  # squares neither overflow nor vanish
    deviation = float((seen / size).std(ddof=1)) * math.sqrt(1 + 1 / count)
    if low <= met <= high or deviation == 0:
        return None
    surprise = (met / size - float((seen / size).mean())) / deviation
    return Oddity(name, met, low, high, surprise) if abs(surprise) > limit(count, ASK) else None


def suspects(data: Dataset, trusted: Collection[int] = ()) -> tuple[int, ...]:
    """The rows of a dataset, none of them suspect yet, whose outcomes no GP of the other rows can explain.

    ``trusted`` rows are never suspect: somebody has looked at them again.
    """
    found: list[int] = []
    for block in np.array_split(np.arange(len(data)), math.ceil(len(data) / BLOCK) or 1):
        found += _suspects_among(data, block, trusted)
    return tuple(sorted(found))


def _suspects_among(data: Dataset, rows: Rows, trusted: Collection[int]) -> list[int]:
    found: list[int] = []
    while len(rows) > FEWEST_TO_JUDGE and len(found) < max(1, SHARE * (len(rows) + len(found))):
        values = data.values[rows]
        both = sorted({int(rows[values.argmin()]), int(rows[values.argmax()])})
        middle, ends = rows[~np.isin(rows, both)], [row for row in both if row not in trusted]
        if len(rows) > BLOCK // 2 and ends:  # a large block: a glance first
            model = _model(data, middle)
            ends = [row for row in ends if _doubt(data, rows[rows != row], row, model) > GLANCE]
        doubts = {row: _doubt(data, rows[rows != row], row) for row in ends}
        row = max(doubts, key=lambda r: doubts[r], default=-1)
        if row < 0 or doubts[row] <= 1:
            break
        found.append(row)
        rows = rows[rows != row]
    return found


def _doubt(data: Dataset, others: Rows, row: int, model: Judge | None = None) -> float:
    """The surprise of a row by its limit: beyond 1 it is left out.

    A row better than all others is what a search would chase, so it is left out more readily. One worse than
    all others warns of a region: it must be far from the mean of the others too.
    """
    value, seen = float(data.values[row]), data.values[others]
    if not _outside(seen, value):
        return 0.0
    context = contexts_of(data, [row])
    found = _surprise(model or _model(data, others), data.x[[row]], context, value)
    if (value > seen.max()) == data.maximize:
        return abs(found.from_gp) / limit(len(others), LEAVE)
    return min(abs(found.from_gp), abs(found.from_mean)) / limit(len(others), ASK)


def _outside(seen: Array, value: float) -> bool:
    """Whether an outcome lies outside of those seen; no, where they are all equal and tell of no scale."""
    low, high = float(seen.min()), float(seen.max())
    return high - low > ROUNDING * max(abs(low), abs(high)) and not low <= value <= high


class Surprise(NamedTuple):
    """How many standard deviations an outcome lies from what others say."""

    from_gp: float
    """From what their GP expects at its decision and context."""
    from_mean: float
    """From their mean."""


def _surprise(judge: Judge, x: Array, c: Contexts, value: float) -> Surprise:
    """Of an outcome at (x, c), 1 × d and 1 × Dc, given the GP of others."""
    model, scale = judge
    k = model.covariance(x, c, model.data.x, model.data.c)[0]
    variance = 1 - k @ model.precision @ k + model.hyperparameters.noise
    told = float(scale.standardise(np.array([value]))[0])
    away = told - model.mean - k @ model.alpha
    from_gp = float(away / math.sqrt(max(variance, model.hyperparameters.noise)))
    return Surprise(from_gp, told / math.sqrt(1 + 1 / len(model.data.y)))


def _model(data: Dataset, rows: Rows) -> Judge:
    """The GP of some rows, with outcomes standardised by themselves."""
    values = data.values[rows]
    scale = OutcomeScale.of(values, data.maximize)
    every = Training.of(data, joint=True, kernel="matern", member=True)
    training = replace(every, x=data.x[rows], c=every.c[rows], y=scale.standardise(values))
    return ProductGP(training, fit(training)), scale


def _nearest(data: Dataset, x: Array, c: Array) -> Rows:
    """The rows nearest to (x, c) on the unit boxes, in the contexts that both have seen."""
    away = ((data.x - x) ** 2).sum(axis=1) + np.nansum((data.c - c) ** 2, axis=1)
    return np.sort(np.argsort(away, kind="stable")[:BLOCK])
