"""Problems with a forecast of stated skill: as a mean with a deviation, a sample, or a distribution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from windage.bench.conditions.days import Problem, Words
from windage.bench.conditions.varying import (
    DRAWS,
    LEVELS,
    SKILL,
    as_pairs,
    at_random,
    classic,
    drawn,
    first_that_matters,
    given,
    newsvendor,
    normal,
    of,
    outlooks,
    pair,
    queue,
    situations,
    waves,
)
from windage.bench.wide.classics import log_rosenbrock
from windage.space import Array, Integer, Parameter, Real

SIDE = 6
"""Forecasts of each of two contexts."""
BIAS = 1.2
"""What a biased forecast is multiplied by."""


def calls() -> Problem:
    """Servers of two shifts, both arrivals forecast."""
    quantiles = of(stats.gamma(9, 0, 10)), of(stats.gamma(4, 0, 15))
    levels = [(a, b) for a in outlooks(SIDE) for b in outlooks(SIDE)]
    spreads = [drawn(*(given(q, v) for q, v in zip(quantiles, level, strict=True))) for level in levels]
    decisions = {"servers_day": Integer(1, 24), "servers_night": Integer(1, 24)}
    names = ["arrivals_day", "arrivals_night"]
    made = situations("calls", decisions, queue(2), names, spreads)
    contexts: dict[str, Parameter] = {name: Real(low=0) for name in names}
    return Problem("calls", "forecast", made, contexts, at_random(SIDE**2), as_pairs(made, *names))


def turbine() -> Problem:
    """Energy promised against a beta-distributed production; 5 % noise."""
    quantiles = of(stats.beta(2, 3, 0, 100))
    spreads = [drawn(given(quantiles, level)) for level in outlooks()]
    function = newsvendor((10, 6, 2, 3))
    made = situations("turbine", {"promise": Real(0, 100)}, function, ["production"], spreads)
    contexts: dict[str, Parameter] = {"production": Real(0, 100)}
    return Problem(
        "turbine", "forecast", made, contexts, at_random(LEVELS), as_pairs(made, "production"), 0.05
    )


def market() -> Problem:
    """A log-normal demand, the forecast is a sample; 20 % noise."""
    quantiles = of(stats.lognorm(0.6, 0, 60))
    spreads = [drawn(given(quantiles, level)) for level in outlooks()]
    function = newsvendor((12, 5, 2, 0))
    made = situations("market", {"stock": Real(0, 250)}, function, ["demand"], spreads)

    def words(number: int, rng: np.random.Generator) -> Words:
        return Words(forecast={"demand": spreads[number].sample(DRAWS, rng)[:, 0]})

    return Problem("market", "forecast", made, {"demand": Real(low=0)}, at_random(LEVELS), words, 0.2)


def biased() -> Problem:
    """A normal demand, forecast a fifth too high; 5 % noise."""
    spreads = [drawn(given(normal(80, 25, 0), level)) for level in outlooks()]
    function = newsvendor((10, 4, 1, 0))
    made = situations("biased", {"stock": Real(0, 200)}, function, ["demand"], spreads)

    def words(number: int, _: np.random.Generator) -> Words:
        mean, deviation = pair(made[number], "demand")
        return Words(forecast={"demand": (BIAS * mean, deviation)})

    return Problem("biased", "forecast", made, {"demand": Real(low=0)}, at_random(LEVELS), words, 0.05)


def half() -> Problem:
    """A random function of one decision variable and two contexts, one of them forecast; 5 % noise."""
    quantiles = normal(0.5, 0.15)
    spreads = [drawn(given(quantiles, level), normal(0.5, 0.1)) for level in outlooks()]
    pooled = np.concatenate([one.nodes for one in spreads])
    contexts: dict[str, Parameter] = {"wind": Real(), "load": Real()}

    def make(rng: np.random.Generator) -> Problem:
        made = situations("half", {"x": Real(0, 1)}, waves(1, pooled, rng), ["wind", "load"], spreads)
        return Problem("half", "forecast", made, contexts, at_random(LEVELS), as_pairs(made, "wind"), 0.05)

    return first_that_matters("half", make)


def valley() -> Problem:
    """Rosenbrock's function of two decision variables, the forecast is a distribution; 20 % noise."""
    levels = outlooks()
    spreads = [drawn(given(normal(0.5, 0.15), level)) for level in levels]
    pooled: Array = np.concatenate([one.nodes for one in spreads])
    rest = 0.15 * float(np.sqrt(1 - SKILL**2))

    def words(number: int, _: np.random.Generator) -> Words:
        return Words(forecast={"wind": stats.norm(0.5 + 0.15 * levels[number], rest)})

    def make(rng: np.random.Generator) -> Problem:
        function = classic(log_rosenbrock, 0.3, 3.0, 2, pooled, rng)
        made = situations("valley", {"x1": Real(0, 1), "x2": Real(0, 1)}, function, ["wind"], spreads)
        return Problem("valley", "forecast", made, {"wind": Real()}, at_random(LEVELS), words, 0.2)

    return first_that_matters("valley", make)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "calls": calls,
    "turbine": turbine,
    "market": market,
    "biased": biased,
    "half": half,
    "valley": valley,
}
