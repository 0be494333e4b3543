"""How much the forecasts of a context have been worth so far, and what is made of the next one.

A forecast is kept with what came. From then on three distributions compete for the next context, by how
likely each made those that came (the sum of logarithms, one step ahead):

- the forecast *as given*;
- its mean plus a KDE of its *past errors*;
- the KDE of the contexts without it: the forecast is then *not used*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from windage.contexts.bandwidth import rule_of_thumb
from windage.contexts.conditioning import Marginal
from windage.contexts.forecasts import POINTS, Forecast, normal_points
from windage.space import Array, Categorical, ContextScale

Use = Literal["as given", "with its past errors", "not used"]
AS_GIVEN: Use = "as given"
ERRORS: Use = "with its past errors"
NOT_USED: Use = "not used"
SMOOTH = 0.125
"""Width about each of them, in deviations: with it their variance is that of the distribution again."""
MOST = 256
"""Values of a sample that are used: more are thinned to equal steps of probability."""
FEWEST_ERRORS = 3
NEW = 0.02
"""The chance of a context unlike all before, spread over the unit box: one miss decides nothing."""
LATEST = 200
"""Rows with a forecast that count: the latest."""


@dataclass(frozen=True)
class ForecastSkill:
    """How much the forecasts of a context have been worth."""

    name: str
    count: int
    """Rows with a forecast and the context that came."""
    used: Use

    def words(self) -> str:
        """A sentence."""
        rows = "1 forecast" if self.count == 1 else f"{self.count} forecasts"
        if self.used == NOT_USED:
            return f"The forecast of {self.name} has not helped in {rows}: it is not used."
        how = "as it is given" if self.used == AS_GIVEN else "together with its past errors"
        return f"The forecast of {self.name} is used {how} ({rows} so far)."


@dataclass(frozen=True)
class Track:
    """Past forecasts of one context beside what came, on the unit box."""

    came: Array
    """n."""
    means: Array
    """n."""
    deviations: Array
    """n; nan where none was given."""
    places: Array
    """n: how many contexts had been seen before each of them."""

    @property
    def errors(self) -> Array:
        """What came, less the forecast."""
        return self.came - self.means


def judge(track: Track, seen: Array) -> Use:
    """Which of the three made what came likeliest. ``seen``: contexts of all rows, in the order told."""
    scores: dict[Use, float] = dict.fromkeys((AS_GIVEN, ERRORS, NOT_USED), 0.0)
    for i in range(len(track.came)):
        past, errors = seen[: int(track.places[i])], track.errors[:i]
        spread = float(past.std()) if len(past) > 1 else 0.25
        own = track.deviations[i]
        width = float(spread if math.isnan(own) else own)
        given = _log_density(track.came[i], track.means[i : i + 1], max(width, 1e-3))
        scores[AS_GIVEN] += given
        learnt = _kde_log_density(track.errors[i], errors) if i >= FEWEST_ERRORS else given
        scores[ERRORS] += learnt
        scores[NOT_USED] += _kde_log_density(track.came[i], past) if len(past) >= FEWEST_ERRORS else given
    return max(scores, key=lambda use: scores[use])


def _kde_log_density(at: float, centres: Array) -> float:
    width = max(float(rule_of_thumb(centres[:, None])[0]), 1e-3)
    return _log_density(at, centres, width)


def _log_density(at: float, centres: Array, width: float) -> float:
    kernels = np.exp(-0.5 * ((at - centres) / width) ** 2) / (width * math.sqrt(2 * math.pi))
    return math.log((1 - NEW) * float(kernels.mean()) + NEW)


def to_marginal(
    forecast: Forecast, scale: ContextScale, d: int, track: Track, use: Use, spread: float
) -> Marginal:
    """A forecast that is used, on the unit box; ``spread``: the deviation of the contexts seen."""
    parameter = scale.parameters[d]
    if isinstance(parameter, Categorical):
        cumulative = np.cumsum(forecast.probabilities)
        marks = (np.arange(POINTS) + 0.5) / POINTS * cumulative[-1]
        places = np.array([parameter.choices.index(level) for level in forecast.values], dtype=float)
        return Marginal(places[np.searchsorted(cumulative, marks)], 0.0)
    low, high = math.exp(-700) if getattr(parameter, "log", False) else -math.inf, math.inf
    low = low if parameter.low is None else float(parameter.low)
    high = high if parameter.high is None else float(parameter.high)
    one = scale.marginal(d)
    if use == ERRORS:
        mean = one.to_unit(np.clip(np.array([[forecast.mean]], dtype=float), low, high))[0, 0]
        width = max(float(rule_of_thumb(track.errors[:, None])[0]), 1e-3)
        return Marginal(mean + track.errors, width)
    values = np.sort(np.clip(np.array(forecast.values), low, high))
    points = one.to_unit(values[:, None])[:, 0]
    if len(points) == 1:
        return Marginal(points + spread * np.array(normal_points(0.0, 1.0)), max(SMOOTH * spread, 1e-3))
    if len(points) > MOST:
        points = points[((np.arange(MOST) + 0.5) / MOST * len(points)).astype(int)]
    width = SMOOTH * points.std() if forecast.smooth else float(rule_of_thumb(points[:, None])[0])
    return Marginal(points, max(float(width), 1e-3))


def track_of(rows: Sequence[tuple[int, float, Any]], scale: ContextScale, d: int) -> Track:
    """Past forecasts of a number: how many contexts were seen before, what came on the unit box, and the
    forecast's mean and deviation in the user's units."""
    one = scale.marginal(d)
    parameter = scale.parameters[d]
    least = math.exp(-700) if getattr(parameter, "log", False) else -math.inf
    came, means, deviations = [], [], []
    for _, value, (mean, deviation) in rows[-LATEST:]:
        ends = [mean] if deviation is None else [mean, mean - deviation, mean + deviation]
        unit = one.to_unit(np.maximum(np.array(ends, dtype=float), least)[:, None])[:, 0]
        came.append(value)
        means.append(float(unit[0]))
        deviations.append(math.nan if deviation is None else float(unit[2] - unit[1]) / 2)
    places = np.array([place for place, _, _ in rows[-LATEST:]], dtype=float)
    return Track(np.array(came), np.array(means), np.array(deviations), places)
