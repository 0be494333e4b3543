"""Pictures of a study for the web page, in the user's names and units: plotly figures.

- the estimated distribution of each context;
- the expected value over each decision variable;
- the same in the worst case: under the worst distribution near the estimate;
- what was recommended after how many observations.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution

from windage.plots import ACCENT, INK, PALE, SOFT
from windage.space import Categorical, Integer, Real
from windage.studies.file import StudyFile
from windage.studies.plotly_parts import (
    axis_of,
    band,
    differences,
    figure,
    line,
    markers,
    named,
    plain,
    range_of,
    short,
)

if TYPE_CHECKING:
    from windage import Optimizer, Prediction, Recommendation
    from windage.studies.axes import Axes

POINTS = 101
"""Of a curve."""
FEW = 5
"""The first intervals, wide as they are, do not set the history's scale."""
WORST = "worst distribution near the estimate"


@dataclass(frozen=True)
class Engine:
    """A study file, its parameters between Optuna and windage, and windage's optimizer."""

    file: StudyFile
    axes: Axes
    optimizer: Optimizer

    def predict(self, rows: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """What is to be expected of decisions in the user's words."""
        return self.optimizer.predict([self.axes.to_windage(row) for row in rows])

    def recommend(self) -> Recommendation:
        """The recommendation, in the user's words."""
        best = self.optimizer.recommend()
        return replace(best, decision=self.axes.to_optuna(best.decision))


def overview(engine: Engine, best: Recommendation) -> dict[str, Any]:
    """The pictures of what is known now, by their ids."""
    rows = engine.optimizer.observations.contexts
    found = {
        f"windage-density-{i}": density(engine, name)
        for i, name in enumerate(engine.file.contexts)
        if any(row[name] is not None for row in rows)
    }
    for i, name in enumerate(engine.file.space):
        part = _slice(engine, best, name)
        found[f"windage-expected-{i}"] = expected(engine, best, part)
        if engine.file.contexts:
            found[f"windage-worst-case-{i}"] = worst_case(engine, best, part)
    return found


@dataclass(frozen=True)
class Slice:
    """Predictions along one decision variable, the others as recommended."""

    name: str
    values: list[Any]
    found: list[Prediction]
    choices: bool
    """Words rather than numbers."""


def _slice(engine: Engine, best: Recommendation, name: str) -> Slice:
    distribution = engine.file.space[name]
    values = values_of(distribution)
    found = engine.predict([{**best.decision, name: value} for value in values])
    choices = isinstance(distribution, CategoricalDistribution)
    return Slice(name, [str(v) for v in values] if choices else values, found, choices)


def values_of(distribution: BaseDistribution, points: int = POINTS) -> list[Any]:
    """Values of a decision variable from one end to the other."""
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    d: Any = distribution
    if d.low == d.high:
        return [d.low]
    line = np.geomspace(d.low, d.high, points) if d.log else np.linspace(d.low, d.high, points)
    line[[0, -1]] = d.low, d.high
    if d.step is None:
        return [float(v) for v in line]
    steps = sorted({round((v - d.low) / d.step) for v in line})
    found = [d.low + k * d.step for k in steps]
    return [v for v in found if v <= d.high]


def density(engine: Engine, name: str) -> Any:
    """The contexts seen, one mark each, and their estimated density."""
    file, optimizer, real = engine.file, engine.optimizer, engine.file.contexts[name]
    if not isinstance(real, Real):
        return _shares(engine, name, real)
    seen = optimizer.observations.context_array((name,))[:, 0]
    seen = seen[~np.isnan(seen)]
    estimate = optimizer.density.marginal(name)
    scaled = np.log(seen) if real.log else seen
    reach = 0.1 * np.ptp(scaled) if real.log else 4 * estimate.bandwidth[name]
    ends = np.linspace(scaled.min() - reach, scaled.max() + reach, 2 * POINTS)
    at = np.exp(ends) if real.log else ends
    curve = estimate.pdf(at)
    at, curve = at[curve > 0], curve[curve > 0]
    counts, edges = np.histogram(seen, bins=min(20, 5 + len(seen) // 4), density=True)
    bars = {"type": "bar", "x": plain((edges[1:] + edges[:-1]) / 2), "width": plain(np.diff(edges))}
    rug = {"symbol": "line-ns-open", "size": 9, "color": SOFT}
    return figure(
        f"Estimated distribution of {named(file, name)}",
        [
            {**bars, "y": plain(counts), "name": "seen", "marker": {"color": PALE}},
            line(plain(at), plain(curve), "estimated", INK),
            markers(plain(seen), [0.0] * len(seen), "each time", rug),
        ],
        {"title": {"text": html.escape(named(file, name))}, "type": "log" if real.log else "linear"},
        {"title": {"text": "density"}, "rangemode": "tozero"},
    )


def _shares(engine: Engine, name: str, kind: Integer | Categorical) -> Any:
    """How often each choice, or each whole number, was seen, and its estimated probability."""
    file, optimizer = engine.file, engine.optimizer
    met = [row[name] for row in optimizer.observations.contexts if row[name] is not None]
    estimate = optimizer.density.marginal(name)
    if isinstance(kind, Categorical):
        levels: Sequence[Any] = kind.choices
    else:
        levels = sorted(set(met)) if kind.high - kind.low > POINTS else range(kind.low, kind.high + 1)
    names = [str(level) for level in levels]
    shares = plain([met.count(level) / len(met) for level in levels])
    likely = plain([estimate.pdf(level) for level in levels])
    bars = {"type": "bar", "x": names, "y": shares, "name": "seen", "marker": {"color": PALE}}
    marks = markers(names, likely, "estimated", {"color": INK, "size": 7})
    along = {"type": "category", "categoryorder": "array", "categoryarray": names}
    return figure(
        f"Estimated distribution of {named(file, name)}",
        [bars, marks],
        {"title": {"text": html.escape(named(file, name))}, **along},
        {"title": {"text": "probability"}, "rangemode": "tozero"},
    )


def expected(engine: Engine, best: Recommendation, part: Slice) -> Any:
    """The expected value over one decision variable with its 95 % band, and single results."""
    file, seen = engine.file, engine.optimizer.observations
    low, high = ([short(p.interval[k]) for p in part.found] for k in (0, 1))
    middle = [short(p.expected) for p in part.found]
    if part.choices:
        bars = {"array": differences(high, middle), "arrayminus": differences(middle, low), "color": INK}
        drawn = markers(part.values, middle, "expected, 95 % interval", {"color": INK, "size": 7})
        traces = [{**drawn, "error_y": {"type": "data", **bars}}]
    else:
        traces = [*band(part.values, low, high), line(part.values, middle, "expected", INK)]
    taken = [engine.axes.to_optuna(d)[part.name] for d in seen.decisions]
    shown = [str(v) for v in taken] if part.choices else plain(taken)
    traces.append(markers(shown, plain(seen.values), "single results", {"color": SOFT, "size": 4}))
    traces.append(_recommended(part, best, best.expected))
    title = f"Expected {named(file, 'value')} over {named(file, part.name)}"
    return figure(title, traces, axis_of(file, part.name), axis_of(file, "value"))


def worst_case(engine: Engine, best: Recommendation, part: Slice) -> Any:
    """The expected value over one decision variable under the worst distribution near the estimate."""
    file = engine.file
    traces = [
        line(part.values, [short(p.expected) for p in part.found], "as estimated", SOFT),
        line(part.values, [short(p.worst_case) for p in part.found], WORST, ACCENT),
    ]
    if part.choices:
        traces = [{**trace, "mode": "markers"} for trace in traces]
    traces.append(_recommended(part, best, best.worst_case))
    title = f"Worst case of {named(file, 'value')} over {named(file, part.name)}"
    return figure(title, traces, axis_of(file, part.name), axis_of(file, "value"))


def history(file: StudyFile, points: Mapping[int, Recommendation]) -> dict[str, Any]:
    """What was recommended after how many observations, and what was expected of it; by their ids."""
    counts = sorted(points)
    found = [points[n] for n in counts]
    low, high = ([short(p.interval[k]) for p in found] for k in (0, 1))
    both = {"mode": "lines+markers", "marker": {"size": 5}}
    traces = [
        *band(counts, low, high),
        {**line(counts, [short(p.expected) for p in found], "expected", INK), **both},
    ]
    if file.contexts:
        traces.append({**line(counts, [short(p.worst_case) for p in found], WORST, ACCENT), **both})
    along = {"title": {"text": "observations"}}
    title = f"Expected {named(file, 'value')} of the recommendation"
    settled = [v for n, p in points.items() if n >= FEW for v in (*p.interval, p.worst_case)]
    up = {**axis_of(file, "value"), **range_of(settled)}
    drawn = {"windage-history": figure(title, traces, along, up)}
    for i, name in enumerate(file.space):
        chosen = [p.decision[name] for p in found]
        words = isinstance(file.space[name], CategoricalDistribution)
        curve = line(counts, [str(v) for v in chosen] if words else plain(chosen), name, INK)
        title = f"Recommended {named(file, name)}"
        drawn[f"windage-history-{i}"] = figure(title, [{**curve, **both}], along, axis_of(file, name))
    return drawn


def _recommended(part: Slice, best: Recommendation, height: float) -> dict[str, Any]:
    where = best.decision[part.name]
    marker = {"color": INK, "size": 11, "symbol": "diamond", "line": {"color": "white", "width": 1}}
    return markers([str(where) if part.choices else short(where)], [short(height)], "recommended", marker)
