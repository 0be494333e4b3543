"""Parts of plotly figures as plain dictionaries, and the figure that fits the web page's panels."""

from __future__ import annotations

import html
from typing import Any

from optuna.distributions import CategoricalDistribution

from windage.errors import missing_extra
from windage.plots import BAND, SOFT
from windage.studies.file import StudyFile

HEIGHT = 420
"""Pixels: the page's panels cut off what is higher."""


def figure(title: str, traces: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any]) -> Any:
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


def axis_of(file: StudyFile, name: str) -> dict[str, Any]:
    """The axis of a decision variable, a context or the value, with its unit."""
    d = file.space.get(name)
    kind = "log" if getattr(d, "log", False) else "linear"
    if isinstance(d, CategoricalDistribution):
        order = {"categoryorder": "array", "categoryarray": [str(c) for c in d.choices]}
        return {"title": {"text": html.escape(named(file, name))}, "type": "category", **order}
    return {"title": {"text": html.escape(named(file, name))}, "type": kind}


def range_of(values: list[float]) -> dict[str, Any]:
    """An axis that shows these values; plotly chooses where there are none."""
    if not values:
        return {}
    margin = 0.05 * (max(values) - min(values) or 1.0)
    return {"range": [short(min(values) - margin), short(max(values) + margin)]}


def band(x: list[Any], low: list[float], high: list[float]) -> list[dict[str, Any]]:
    """A filled band between two lines."""
    under = {**line(x, low, "", BAND), "showlegend": False, "hoverinfo": "skip"}
    return [under, {**line(x, high, "95 % interval", BAND), "fill": "tonexty", "fillcolor": BAND}]


def line(x: list[Any], y: list[Any], name: str, colour: str) -> dict[str, Any]:
    """A line."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "name": name,
        "line": {"color": colour, "width": 2},
    }


def markers(x: list[Any], y: list[Any], name: str, marker: dict[str, Any]) -> dict[str, Any]:
    """Single marks."""
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "marker": marker}


def named(file: StudyFile, name: str) -> str:
    """A name with its unit; the outcome by its description, since it has no other name."""
    quantity = file.quantities[name]
    words = (quantity.description or "value") if name == "value" else name
    return f"{words} [{quantity.unit}]" if quantity.unit else words


def differences(a: list[float], b: list[float]) -> list[float]:
    """a - b."""
    return [short(p - q) for p, q in zip(a, b, strict=True)]


def plain(values: Any) -> list[float]:
    """Numbers as a list, each of six digits."""
    return [short(v) for v in values]


def short(value: Any) -> float:
    """Six digits: what a picture shows, in little space."""
    return float(f"{float(value):.6g}")
