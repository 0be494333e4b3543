"""Fourteen problems with a known part: a weekday, a season, a feedstock, a temperature, or a forecast.

Those with a forecast are in ``forecast.py``. ``useless``: the same, but what is known says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import stats

from windage.bench.conditions import forecast
from windage.bench.conditions.days import Problem, Words
from windage.bench.conditions.varying import (
    at_random,
    classic,
    drawn,
    first_that_matters,
    fixed,
    in_turn,
    newsvendor,
    normal,
    of,
    queue,
    situations,
    waves,
)
from windage.bench.wide.classics import levy
from windage.bench.wide.kinetics import Reaction
from windage.errors import ConfigurationError
from windage.space import Array, Categorical, Integer, Parameter, Real

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKS, PHASES = 52, 40
"""Of a year, and decisions in a season of the random function."""
USELESS = "/useless"
"""Ends the name of a problem whose known part says nothing."""


def shop() -> Problem:
    """One product, demand 60 to 110 by weekday."""
    spreads = [drawn(normal(mean, 12, 0, 200)) for mean in (60, 60, 60, 65, 75, 110, 90)]
    made = situations("shop", {"stock": Real(0, 200)}, newsvendor((10, 5, 1, 0)), ["demand"], spreads)
    contexts: dict[str, Parameter] = {"weekday": Categorical(DAYS), "demand": Real(0, 200)}
    return Problem("shop", "weekday", made, contexts, in_turn(7), lambda k, _: Words({"weekday": DAYS[k]}))


def bakery() -> Problem:
    """Two products, correlated gamma demands, three kinds of day; 5 % noise."""
    means = {"weekday": (40.0, 25.0), "sat": (80.0, 30.0), "sun": (30.0, 60.0)}
    kinds = {
        kind: drawn(*(of(stats.gamma(4, 0, mean / 4)) for mean in pair), correlation=0.5)
        for kind, pair in means.items()
    }
    week = ("weekday",) * 5 + ("sat", "sun")
    prices = newsvendor((9, 4, 0.5, 1), (6, 2, 1, 0))
    decisions = {"bread": Real(0, 200), "cake": Real(0, 150)}
    names = ["bread_demand", "cake_demand"]
    made = situations("bakery", decisions, prices, names, [kinds[kind] for kind in week])
    contexts: dict[str, Parameter] = {
        "day": Categorical(list(means)),
        **{name: Real(low=0) for name in names},
    }
    return Problem(
        "bakery", "weekday", made, contexts, in_turn(7), lambda k, _: Words({"day": week[k]}), 0.05
    )


def kiosk() -> Problem:
    """Whole pieces, a demand that follows the year, the week is known; 20 % noise."""
    medians = [60 * math.exp(0.6 * math.cos(2 * math.pi * (week - 27) / WEEKS)) for week in range(WEEKS)]
    spreads = [drawn(of(stats.lognorm(0.35, 0, median), 0, 300, 1)) for median in medians]
    made = situations("kiosk", {"stock": Integer(0, 200)}, newsvendor((6, 2.5, 0, 0)), ["demand"], spreads)
    contexts: dict[str, Parameter] = {"week": Integer(1, WEEKS), "demand": Integer(0, 300)}
    return Problem(
        "kiosk", "season", made, contexts, in_turn(WEEKS), lambda k, _: Words({"week": k + 1}), 0.2
    )


def clinic() -> Problem:
    """Servers of a queue, arrivals 40 to 120 an hour by weekday; 5 % noise."""
    means = (120, 100, 90, 90, 80, 40)
    spreads = [drawn(of(stats.gamma(25, 0, mean / 25))) for mean in means]
    made = situations("clinic", {"servers": Integer(1, 24)}, queue(1), ["arrivals"], spreads)
    contexts: dict[str, Parameter] = {"weekday": Categorical(DAYS[:6]), "arrivals": Real(low=0)}
    return Problem(
        "clinic", "weekday", made, contexts, in_turn(6), lambda k, _: Words({"weekday": DAYS[k]}), 0.05
    )


def season() -> Problem:
    """A random function of two decision variables, a context that follows a season of 40 decisions."""
    phases = np.arange(PHASES) / PHASES
    spreads = [drawn(normal(0.5 + 0.25 * math.sin(2 * math.pi * phase), 0.08)) for phase in phases]
    pooled = np.concatenate([one.nodes for one in spreads])
    contexts: dict[str, Parameter] = {"season": Real(0, 1), "warmth": Real()}

    def words(number: int, _: np.random.Generator) -> Words:
        return Words({"season": float(phases[number])})

    def make(rng: np.random.Generator) -> Problem:
        decisions = {"x1": Real(0, 1), "x2": Real(0, 1)}
        made = situations("season", decisions, waves(2, pooled, rng), ["warmth"], spreads)
        return Problem("season", "season", made, contexts, in_turn(PHASES), words)

    return first_that_matters("season", make)


def crews() -> Problem:
    """Levy's function of three decision variables, a context that one of four crews shifts; 5 % noise."""
    names = ("north", "south", "east", "west")
    spreads = [drawn(normal(mean, 0.1)) for mean in (0.2, 0.4, 0.6, 0.8)]
    pooled = np.concatenate([one.nodes for one in spreads])

    def make(rng: np.random.Generator) -> Problem:
        decisions = {f"x{d}": Real(0, 1) for d in (1, 2, 3)}
        made = situations("crews", decisions, classic(levy, 1.0, 8.0, 3, pooled, rng), ["skill"], spreads)
        contexts: dict[str, Parameter] = {"crew": Categorical(names), "skill": Real()}
        return Problem(
            "crews", "choice", made, contexts, at_random(4), lambda k, _: Words({"crew": names[k]}), 0.05
        )

    return first_that_matters("crews", make)


def feed() -> Problem:
    """Temperature and time of a reaction; four feedstocks differ in purity and in the heat they bring."""
    kinds = {"river": (0.45, -25), "mine": (0.6, -5), "bought": (0.75, 10), "refined": (0.95, 30)}
    spreads = [drawn(normal(purity, 0.05, 0, 1), normal(heat, 6)) for purity, heat in kinds.values()]
    function = Reaction((0.8, 0.12), (55.0, 100.0), poison=0.8, worth=100, heat=8, hour=3, catalyst=6)
    decisions = {"temperature": Real(40, 140), "time": Real(0.2, 8)}
    made = situations("feed", decisions, function, ["purity", "heat"], spreads)
    contexts: dict[str, Parameter] = {"feed": Categorical(list(kinds)), "purity": Real(0, 1), "heat": Real()}
    return Problem(
        "feed", "choice", made, contexts, at_random(4), lambda k, _: Words({"feed": list(kinds)[k]})
    )


@dataclass(frozen=True, eq=False)
class Ice:
    """Profit of a price and a stock of ice, x, at a temperature and a mood, c."""

    temperature: float | None = None
    """Where it does not matter: what it counts as."""

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        warm = c[..., 0] if self.temperature is None else self.temperature
        wanted = np.maximum(10, 80 + 6 * (warm - 20)) * np.exp(-0.4 * (x[..., 0] - 3) + 0.25 * c[..., 1])
        return np.asarray(x[..., 0] * np.minimum(x[..., 1], wanted) - 1.2 * x[..., 1])


def ice(temperature: float | None = None) -> Problem:
    """Price and stock at a known temperature, which bears on the outcome itself; 5 % noise."""
    levels = [round(float(v), 1) for v in stats.norm(20, 6).ppf((0.5 + np.arange(24)) / 24)]
    spreads = [drawn(fixed(level), normal(0, 1)) for level in levels]
    decisions = {"price": Real(1, 6), "stock": Real(0, 300)}
    made = situations("ice", decisions, Ice(temperature), ["temperature", "mood"], spreads)
    contexts: dict[str, Parameter] = {"temperature": Real(), "mood": Real()}
    return Problem(
        "ice",
        "temperature",
        made,
        contexts,
        at_random(24),
        lambda k, _: Words({"temperature": levels[k]}),
        0.05,
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "shop": shop,
    "bakery": bakery,
    "kiosk": kiosk,
    "clinic": clinic,
    "season": season,
    "crews": crews,
    "feed": feed,
    "ice": ice,
    **forecast.PROBLEMS,
}


def known_problems() -> list[str]:
    """Names."""
    return list(PROBLEMS)


@cache
def get(name: str) -> Problem:
    """A problem by its name; with ``/useless`` at its end, the one in which the known part says nothing."""
    base = name.removesuffix(USELESS)
    if base not in PROBLEMS:
        raise ConfigurationError(f"there is no problem {base!r}. There are: {', '.join(PROBLEMS)}.")
    if base == name:
        return PROBLEMS[name]()
    problem = ice(20.0) if base == "ice" else get(base)
    return replace(problem, name=name, useless=True)
