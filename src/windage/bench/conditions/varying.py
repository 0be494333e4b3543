"""Distributions that follow a situation, forecasts of stated skill, and functions drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from windage.bench.conditions.days import POINTS, SCAN, STARTS, Problem, Words
from windage.bench.wide.classics import Mixed, Sum
from windage.bench.wide.contexts import ContextDistribution, Quantiles
from windage.bench.wide.gp_draws import Waves
from windage.bench.wide.instance import Instance
from windage.bench.wide.operations import Newsvendor, Queue
from windage.space import Array, Parameter

SKILL = 0.9
"""The correlation of a forecast with what comes, on the normal scale."""
LEVELS = 32
"""Different forecasts of one context: equally likely."""
DRAWS = 40
"""In a forecast that is a sample."""
COSINES = 300
"""Of a random function."""
TRIES = 50
"""Random functions drawn at most, until one is found for which the situations matter."""
MATTERS = 0.1
"""A problem with a random function is one whose ``worth`` is at least this share of a random decision's."""


def drawn(*quantiles: Quantiles, correlation: float = 0.0) -> ContextDistribution:
    """Coordinates with these quantiles."""
    matrix = correlation + (1 - correlation) * np.eye(len(quantiles)) if correlation else None
    return ContextDistribution(quantiles, matrix, None, POINTS)


def fixed(value: float) -> Quantiles:
    """Of a context that is always the same."""
    return lambda uniform: np.full(uniform.shape, value)


def of(distribution: Any, low: float = -np.inf, high: float = np.inf, step: float = 0.0) -> Quantiles:
    """The quantiles of a frozen distribution, clipped, and rounded to a step where there is one."""

    def quantiles(uniform: Array) -> Array:
        found = np.clip(distribution.ppf(uniform), low, high)
        return np.asarray(np.rint(found / step) * step if step else found)

    return quantiles


def normal(mean: float, deviation: float, low: float = -np.inf, high: float = np.inf) -> Quantiles:
    """Of a normal distribution, clipped."""
    return of(stats.norm(mean, deviation), low, high)


def outlooks(levels: int = LEVELS) -> Array:
    """Equally likely forecasts on the normal scale, of deviation ``SKILL``."""
    middles = ndtri((0.5 + np.arange(levels)) / levels)
    return np.asarray(SKILL * middles / middles.std())


def given(quantiles: Quantiles, outlook: float) -> Quantiles:
    """The quantiles of a context once its forecast is known: Q(Φ(outlook + √(1 - skill²) Φ⁻¹(u)))."""
    rest = np.sqrt(1 - SKILL**2)
    return lambda uniform: quantiles(ndtr(outlook + rest * ndtri(uniform)))


def pair(instance: Instance, name: str) -> tuple[float, float]:
    """The mean and the deviation of a context in a situation."""
    column = instance.distribution.nodes[:, instance.names.index(name)]
    return float(column.mean()), float(column.std())


def situations(
    name: str,
    decisions: Mapping[str, Parameter],
    function: Callable[[Array, Array], Array],
    names: Sequence[str],
    spreads: Sequence[ContextDistribution],
) -> tuple[Instance, ...]:
    """An instance for each distribution; one for those that are the same object."""
    made = {
        id(one): Instance(name, decisions, one, function, names=tuple(names), scan=SCAN, starts=STARTS)
        for one in spreads
    }
    return tuple(made[id(one)] for one in spreads)


def as_pairs(problem: tuple[Instance, ...], *names: str) -> Callable[[int, np.random.Generator], Words]:
    """Forecasts as means with deviations."""
    said = [Words(forecast={name: pair(one, name) for name in names}) for one in problem]
    return lambda number, _: said[number]


def at_random(count: int) -> Callable[[int, np.random.Generator], int]:
    """Situations in no order."""
    return lambda _, rng: int(rng.integers(count))


def in_turn(count: int) -> Callable[[int, np.random.Generator], int]:
    """One situation after the other, and again."""
    return lambda step, _: step % count


def newsvendor(*products: tuple[float, float, float, float]) -> Newsvendor:
    """Products by price, cost, salvage value and penalty of a shortage."""
    price, cost, salvage, shortage = np.array(products, dtype=float).T
    return Newsvendor(price, cost, salvage, shortage)


def queue(shifts: int) -> Queue:
    """Servers of one or two shifts, 24 at most, each for 8 customers an hour."""
    wages = np.array([24.0, 28.0][:shifts])
    return Queue(wages, 8.0, waiting=18, lost=6, room=20, crew=14.0 * shifts, overtime=1, most=24)


def waves(dx: int, nodes: Array, rng: np.random.Generator) -> Waves:
    """A draw from a GP with a squared exponential kernel, lengthscales 0.2 to 0.5 of the unit box.

    Those of the contexts are 0.7 to 1.2 of the deviation of ``nodes`` times √Dc.
    """
    dc = nodes.shape[1]
    lengths = np.concatenate(
        [rng.uniform(0.2, 0.5, dx), rng.uniform(0.7, 1.2, dc) * nodes.std(axis=0) * np.sqrt(dc)]
    )
    frequencies = rng.standard_normal((dx + dc, COSINES)) / lengths[:, None]
    return Waves(
        rng.standard_normal(COSINES) * np.sqrt(2 / COSINES),
        frequencies[:dx],
        frequencies[dx:],
        rng.uniform(0, 2 * np.pi, COSINES),
        np.zeros(dx),
        np.zeros(dc),
        np.ones(dx),
    )


def classic(
    function: Sum, origin: float, width: float, dx: int, nodes: Array, rng: np.random.Generator
) -> Mixed:
    """A classic function of z = x A + c B + o, decisions on the unit box, rotated with the contexts.

    A context's deviation counts as much as 0.3 of the box of a decision variable.
    """
    dc = nodes.shape[1]
    turned, _ = np.linalg.qr(rng.standard_normal((dx + dc, dx + dc)))
    turned = width * turned * rng.uniform(0.6, 1.4, dx + dc)
    a, b = turned[:dx], turned[dx:] * (0.3 / nodes.std(axis=0))[:, None]
    offset = origin - rng.uniform(0.3, 0.7, dx) @ a - nodes.mean(axis=0) @ b
    return Mixed(function, a, b, offset)


def first_that_matters(name: str, make: Callable[[np.random.Generator], Problem]) -> Problem:
    """The first draw of a problem whose situations matter: chosen before any method sees it."""
    for number in range(TRIES):
        problem = make(np.random.default_rng([number, *name.encode()]))
        if problem.worth >= MATTERS:
            return problem
    raise AssertionError(f"{name}: no draw of {TRIES} matters")
