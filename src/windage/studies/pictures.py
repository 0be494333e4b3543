"""Pictures of a study for the web page, in the user's names and units: plotly figures.

Four of them: the law of the contexts, the expected value over each decision, the same under the worst law
near the estimate, and how the recommendation came to be.
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution

from windage.errors import missing_extra
from windage.plots import ACCENT, BAND, INK, PALE, SOFT
from windage.studies.file import StudyFile

if TYPE_CHECKING:
    from windage.optimizer import Optimizer
    from windage.recommendation import Prediction, Recommendation
    from windage.studies.axes import Axes
    from windage.studies.sampler import ContextSampler, Known

POINTS = 101
"""Of a curve."""
HEIGHT = 420
"""Pixels: the page's panels cut off what is higher."""
FEW = 5
"""The first intervals, wide as they are, do not set the history's scale."""
WORST = "worst law near the estimate"
ALL_UNTIL, GROWTH = 12, 1.1
"""The history has every count of observations up to the first, then a tenth part more each time."""


@dataclass(frozen=True)
class Engine:
    """A study's file, its decisions between Optuna and windage, and windage with all that was told."""

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
    found = {f"windage-density-{i}": density(engine, name) for i, name in enumerate(engine.file.contexts)}
    for i, name in enumerate(engine.file.space):
        part = _slice(engine, best, name)
        found[f"windage-expected-{i}"] = expected(engine, best, part)
        if engine.file.contexts:
            found[f"windage-worst-case-{i}"] = worst_case(engine, best, part)
    return found


@dataclass(frozen=True)
class Slice:
    """Predictions along one decision, the others as recommended."""

    name: str
    line: list[Any]
    found: list[Prediction]
    choices: bool
    """Words rather than numbers."""


def _slice(engine: Engine, best: Recommendation, name: str) -> Slice:
    distribution = engine.file.space[name]
    line = _values(distribution)
    found = engine.predict([{**best.decision, name: value} for value in line])
    choices = isinstance(distribution, CategoricalDistribution)
    return Slice(name, [str(v) for v in line] if choices else line, found, choices)


def _values(distribution: BaseDistribution) -> list[Any]:
    """Values of a decision from one end to the other."""
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    d: Any = distribution
    if d.low == d.high:
        return [d.low]
    line = np.geomspace(d.low, d.high, POINTS) if d.log else np.linspace(d.low, d.high, POINTS)
    line[[0, -1]] = d.low, d.high
    if d.step is None:
        return [float(v) for v in line]
    steps = sorted({round((v - d.low) / d.step) for v in line})
    found = [d.low + k * d.step for k in steps]
    return [v for v in found if v <= d.high]


def density(engine: Engine, name: str) -> Any:
    """The contexts seen, one mark each, and their estimated density."""
    file, optimizer, real = engine.file, engine.optimizer, engine.file.contexts[name]
    seen = optimizer.observations.context_array((name,))[:, 0]
    law = optimizer.density.marginal(name)
    scaled = np.log(seen) if real.log else seen
    reach = 0.1 * np.ptp(scaled) if real.log else 4 * law.bandwidth[name]
    ends = np.linspace(scaled.min() - reach, scaled.max() + reach, 2 * POINTS)
    line = np.exp(ends) if real.log else ends
    curve = law.pdf(line)
    line, curve = line[curve > 0], curve[curve > 0]
    counts, edges = np.histogram(seen, bins=min(20, 5 + len(seen) // 4), density=True)
    bars = {"type": "bar", "x": _plain((edges[1:] + edges[:-1]) / 2), "width": _plain(np.diff(edges))}
    rug = {"symbol": "line-ns-open", "size": 9, "color": SOFT}
    return _figure(
        f"Estimated law of {named(file, name)}",
        [
            {**bars, "y": _plain(counts), "name": "seen", "marker": {"color": PALE}},
            _line(_plain(line), _plain(curve), "estimated", INK),
            _marks(_plain(seen), [0.0] * len(seen), "each time", rug),
        ],
        {"title": {"text": html.escape(named(file, name))}, "type": "log" if real.log else "linear"},
        {"title": {"text": "density"}, "rangemode": "tozero"},
    )


def expected(engine: Engine, best: Recommendation, part: Slice) -> Any:
    """The expected value over one decision with its 95 % band, and single results."""
    file, seen = engine.file, engine.optimizer.observations
    low, high = ([_round(p.interval[k]) for p in part.found] for k in (0, 1))
    middle = [_round(p.expected) for p in part.found]
    if part.choices:
        bars = {"array": _minus(high, middle), "arrayminus": _minus(middle, low), "color": INK}
        drawn = _marks(part.line, middle, "expected, 95 % interval", {"color": INK, "size": 7})
        traces = [{**drawn, "error_y": {"type": "data", **bars}}]
    else:
        traces = [*_band(part.line, low, high), _line(part.line, middle, "expected", INK)]
    taken = [engine.axes.to_optuna(d)[part.name] for d in seen.decisions]
    shown = [str(v) for v in taken] if part.choices else _plain(taken)
    traces.append(_marks(shown, _plain(seen.values), "single results", {"color": SOFT, "size": 4}))
    traces.append(_recommended(part, best, best.expected))
    title = f"Expected {named(file, 'value')} over {named(file, part.name)}"
    return _figure(title, traces, _axis(file, part.name), _axis(file, "value"))


def worst_case(engine: Engine, best: Recommendation, part: Slice) -> Any:
    """The expected value over one decision if the law were the worst one near the estimate."""
    file = engine.file
    traces = [
        _line(part.line, [_round(p.expected) for p in part.found], "as estimated", SOFT),
        _line(part.line, [_round(p.worst_case) for p in part.found], WORST, ACCENT),
    ]
    if part.choices:
        traces = [{**trace, "mode": "markers"} for trace in traces]
    traces.append(_recommended(part, best, best.worst_case))
    title = f"Worst case of {named(file, 'value')} over {named(file, part.name)}"
    return _figure(title, traces, _axis(file, part.name), _axis(file, "value"))


def history(file: StudyFile, points: Mapping[int, Recommendation]) -> dict[str, Any]:
    """What was recommended after how many observations, and what was expected of it; by their ids."""
    counts = sorted(points)
    found = [points[n] for n in counts]
    low, high = ([_round(p.interval[k]) for p in found] for k in (0, 1))
    both = {"mode": "lines+markers", "marker": {"size": 5}}
    traces = [
        *_band(counts, low, high),
        {**_line(counts, [_round(p.expected) for p in found], "expected", INK), **both},
    ]
    if file.contexts:
        traces.append({**_line(counts, [_round(p.worst_case) for p in found], WORST, ACCENT), **both})
    along = {"title": {"text": "observations"}}
    title = f"Expected {named(file, 'value')} of the recommendation"
    settled = [v for n, p in points.items() if n >= FEW for v in (*p.interval, p.worst_case)]
    up = {**_axis(file, "value"), **_range(settled)}
    drawn = {"windage-history": _figure(title, traces, along, up)}
    for i, name in enumerate(file.space):
        chosen = [p.decision[name] for p in found]
        words = isinstance(file.space[name], CategoricalDistribution)
        line = _line(counts, [str(v) for v in chosen] if words else _plain(chosen), name, INK)
        title = f"Recommended {named(file, name)}"
        drawn[f"windage-history-{i}"] = _figure(title, [{**line, **both}], along, _axis(file, name))
    return drawn


def marks(count: int) -> list[int]:
    """The counts of observations of which the history tells."""
    found = list(range(1, min(count, ALL_UNTIL) + 1))
    while found and found[-1] < count:
        found.append(min(count, int(found[-1] * GROWTH) + 1))
    return found


class History:
    """Recommendations after so many observations, each computed once."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Recommendation] = {}

    def missing(self, sampler: ContextSampler, file: StudyFile, axes: Axes, known: Known) -> Iterator[int]:
        """Compute what is missing, one after the other; how many are still missing after each."""
        wanted = [key for key in _digests(known.observations) if key not in self._found]
        for i, (count, digest) in enumerate(wanted):
            part = replace(known, observations=known.observations[:count], pending=[], fits={})
            engine = Engine(file, axes, sampler.optimizer(axes, file.direction, part, count))
            self._found[count, digest] = engine.recommend()
            yield len(wanted) - i - 1

    def points(self, known: Known) -> dict[int, Recommendation]:
        """Those that are computed of these observations."""
        keys = _digests(known.observations)
        return {count: self._found[count, d] for count, d in keys if (count, d) in self._found}


def _digests(observations: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """The marks, each with a digest of the observations up to it."""
    wanted, running, found = set(marks(len(observations))), hashlib.sha256(), []
    for count, row in enumerate(observations, start=1):
        running.update(json.dumps(row, sort_keys=True).encode())
        if count in wanted:
            found.append((count, running.hexdigest()))
    return found


def _figure(title: str, traces: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any]) -> Any:
    """A figure that fits the page's panels, which are all of one size."""
    try:
        from plotly.graph_objects import Figure
    except ImportError as error:
        raise missing_extra("plotly", "dashboard", "the pictures of the web page") from error
    axis = {"gridcolor": "#ececec", "zeroline": False, "linecolor": SOFT, "automargin": True}
    layout = {
        "title": {
            "text": html.escape(title),
            "font": {"size": 15},
            "x": 0.03,
            "y": 0.88,
        },  # below the page's buttons
        "template": "none",
        "height": HEIGHT,
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "font": {"color": "#222222"},
        "legend": {"orientation": "h", "y": -0.22, "yanchor": "top"},
        "margin": {"l": 70, "r": 30, "t": 75, "b": 60},
        "xaxis": {**axis, **x},
        "yaxis": {**axis, **y},
    }
    return Figure(data=traces, layout=layout)


def _axis(file: StudyFile, name: str) -> dict[str, Any]:
    d = file.space.get(name)
    kind = "log" if getattr(d, "log", False) else "linear"
    if isinstance(d, CategoricalDistribution):
        places = {"categoryorder": "array", "categoryarray": [str(c) for c in d.choices]}
        return {"title": {"text": html.escape(named(file, name))}, "type": "category", **places}
    return {"title": {"text": html.escape(named(file, name))}, "type": kind}


def _range(values: list[float]) -> dict[str, Any]:
    """An axis that shows these; of itself where there are none."""
    if not values:
        return {}
    margin = 0.05 * (max(values) - min(values) or 1.0)
    return {"range": [_round(min(values) - margin), _round(max(values) + margin)]}


def _recommended(part: Slice, best: Recommendation, height: float) -> dict[str, Any]:
    where = best.decision[part.name]
    marker = {"color": INK, "size": 11, "symbol": "diamond", "line": {"color": "white", "width": 1}}
    return _marks([str(where) if part.choices else _round(where)], [_round(height)], "recommended", marker)


def _band(x: list[Any], low: list[float], high: list[float]) -> list[dict[str, Any]]:
    under = {**_line(x, low, "", BAND), "showlegend": False, "hoverinfo": "skip"}
    return [under, {**_line(x, high, "95 % interval", BAND), "fill": "tonexty", "fillcolor": BAND}]


def _line(x: list[Any], y: list[Any], name: str, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "name": name,
        "line": {"color": colour, "width": 2},
    }


def _marks(x: list[Any], y: list[Any], name: str, marker: dict[str, Any]) -> dict[str, Any]:
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "marker": marker}


def named(file: StudyFile, name: str) -> str:
    """A name with its unit; the outcome by its description, since it has no other name."""
    quantity = file.quantities[name]
    words = (quantity.description or "value") if name == "value" else name
    return f"{words} [{quantity.unit}]" if quantity.unit else words


def _minus(a: list[float], b: list[float]) -> list[float]:
    return [_round(p - q) for p, q in zip(a, b, strict=True)]


def _plain(values: Any) -> list[float]:
    return [_round(v) for v in values]


def _round(value: Any) -> float:
    """Six digits: what a picture shows, in little space."""
    return float(f"{float(value):.6g}")
