"""Operations in the wide suite: stock for an unknown demand, staff of a queue, replenished inventory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from scipy.special import ndtr

from windage.bench.distributions import Mixture
from windage.bench.wide import contexts
from windage.bench.wide.contexts import ContextDistribution, Quantiles
from windage.bench.wide.instance import Family, Instance, noise_of
from windage.bench.wide.units import stretched
from windage.space import Array, Integer, Parameter, Real

PIECES = 200
"""The largest stock of a product, and the largest demand where it is bounded."""
APART = 5.0
"""Orders are this many days apart or more: one a working week."""


@dataclass(frozen=True, eq=False)
class Newsvendor:
    """Profit of stocks x against demands c, with a penalty on what is spent above a budget.

    Σ_i (p_i min(x_i, c_i) + s_i (x_i - c_i)⁺ - k_i x_i - b_i (c_i - x_i)⁺) - e ((Σ_i k_i x_i - B)⁺)² / B.
    With one product and no budget the best stock is the quantile (p + b - k) / (p + b - s) of the demand
    (Arrow, Harris and Marschak, 1951).
    """

    price: Array
    cost: Array
    salvage: Array
    shortage: Array
    budget: float = math.inf
    excess: float = 0.0
    """Penalty e: what is lost for each unit of money where twice the budget is spent."""

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        profit = self._of_stock(x) - c @ self.shortage
        for d, gain in enumerate(self._gain):
            profit = profit + gain * np.minimum(x[..., d], c[..., d])
        return np.asarray(profit)

    def average(self, nodes: Array) -> Callable[[Array], Array]:
        """The mean over the nodes: E min(x, demand) from sums of the sorted demands."""
        demands = np.sort(nodes, axis=0)
        sums = np.concatenate([np.zeros((1, nodes.shape[1])), np.cumsum(demands, axis=0)])
        unsold = float((nodes @ self.shortage).mean())

        def mean(x: Array) -> Array:
            profit = self._of_stock(x) - unsold
            for d, gain in enumerate(self._gain):
                below = np.searchsorted(demands[:, d], x[:, d])
                sold = (sums[below, d] + (len(nodes) - below) * x[:, d]) / len(nodes)
                profit = profit + gain * sold
            return np.asarray(profit)

        return mean

    @property
    def _gain(self) -> Array:
        return self.price - self.salvage + self.shortage

    def _of_stock(self, x: Array) -> Array:
        kept = x @ (self.salvage - self.cost)
        if not self.excess:
            return np.asarray(kept)
        over = np.maximum(0, x @ self.cost - self.budget)
        return np.asarray(kept - self.excess * over**2 / self.budget)


def _prices(count: int, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Price, cost, salvage and shortage penalty of products."""
    price = rng.uniform(8, 20, count)
    cost = price * rng.uniform(0.35, 0.65, count)
    return price, cost, cost * rng.uniform(0, 0.5, count), price * rng.uniform(0, 0.3, count)


def _gamma(rng: np.random.Generator) -> Quantiles:
    shape = rng.uniform(2, 5)
    distribution = stats.gamma(shape, 0, rng.uniform(50, 100) / shape)
    return lambda u: np.asarray(distribution.ppf(u))


def _lognormal(rng: np.random.Generator) -> Quantiles:
    distribution = stats.lognorm(rng.uniform(0.4, 0.7), 0, rng.uniform(50, 90))
    return lambda u: np.asarray(distribution.ppf(u))


def _humped(rng: np.random.Generator) -> Quantiles:
    low = stats.norm(rng.uniform(35, 60), rng.uniform(8, 15))
    return Mixture((low, stats.norm(rng.uniform(110, 150), rng.uniform(10, 20)))).ppf


def _newsvendor_costs(name: str, number: int, rng: np.random.Generator) -> Instance:
    quantile = (_gamma, _lognormal, _humped)[number % 3](rng)
    bounds = None if number % 3 == 1 else ((0.0, float(PIECES)),)
    stock: Parameter = Integer(0, PIECES) if number % 3 == 2 else Real(0, PIECES)
    return Instance(
        name,
        {"stock": stock},
        ContextDistribution((quantile,), None, bounds),
        Newsvendor(*_prices(1, rng)),
        noise_of(number),
        names=("demand",),
    )


def _newsvendor_several(name: str, number: int, rng: np.random.Generator) -> Instance:
    count = 2 + number % 3
    makers = (_gamma, _lognormal) if number % 3 == 1 else (_gamma, _humped)
    quantiles = tuple(makers[d % 2](rng) for d in range(count))
    loading = rng.uniform(0.6, 0.9, count) * np.where(rng.random(count) < 0.3, -1, 1)
    correlation = np.outer(loading, loading) + np.diag(1 - loading**2)
    bounds = None if number % 3 == 1 else ((0.0, float(PIECES)),) * count
    distribution = ContextDistribution(quantiles, correlation, bounds)
    prices = _prices(count, rng)
    budget = float(rng.uniform(0.7, 1.0) * distribution.nodes.mean(axis=0) @ prices[1])
    return Instance(
        name,
        {f"stock{d + 1}": Real(0, PIECES) for d in range(count)},
        distribution,
        Newsvendor(*prices, budget, rng.uniform(0.2, 0.6)),
        noise_of(number),
        names=tuple(f"demand{d + 1}" for d in range(count)),
    )


def erlang_c(load: Array, most: int) -> Array:
    """The chance of waiting with 1, …, ``most`` servers; load[...] → [..., most] (Erlang, 1917).

    By the recursion B_s = a B_{s-1} / (s + a B_{s-1}) of the chance of loss; 1 where load ≥ servers.
    """
    loss = np.ones_like(load)
    found = []
    for servers in range(1, most + 1):
        loss = load * loss / (servers + load * loss)
        stable = np.minimum(load, servers)
        found.append(
            np.where(load < servers, loss / np.maximum(1 - stable / servers * (1 - loss), 1e-300), 1.0)
        )
    return np.stack(found, axis=-1)


@dataclass(frozen=True, eq=False)
class Queue:
    """Minus the hourly cost of servers x against arrivals an hour c, in shifts that share a crew.

    Wages, waiting customers by Erlang's C formula, customers lost where the load is above the servers, and
    overtime for servers beyond the crew. The queue has room for ``room`` customers: L room / (L + room).
    """

    wages: Array
    """An hour of a server, by shift."""
    served: float
    """Customers an hour of one server."""
    waiting: float
    """Cost of one customer waiting for an hour."""
    lost: float
    """Cost of a customer who is turned away."""
    room: float
    crew: float
    overtime: float
    """Cost of the square of a server beyond the crew."""
    most: int
    """Servers of a shift at most."""

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        cost = self._of_staff(x)
        for d in range(x.shape[-1]):
            table = self._of_arrivals(c[..., d])
            position = x[..., d].astype(int)[..., None] - 1
            shape = np.broadcast_shapes(table.shape[:-1], position.shape[:-1])
            cells = np.broadcast_to(table, (*shape, self.most)), np.broadcast_to(position, (*shape, 1))
            cost = cost + np.take_along_axis(*cells, axis=-1)[..., 0]
        return np.asarray(-cost)

    def average(self, nodes: Array) -> Callable[[Array], Array]:
        """The mean over the nodes, from a table of each shift's mean cost by servers."""
        tables = [self._of_arrivals(arrivals).mean(axis=0) for arrivals in nodes.T]

        def mean(x: Array) -> Array:
            columns = x.astype(int).T - 1
            found = [table[column] for table, column in zip(tables, columns, strict=True)]
            return np.asarray(-self._of_staff(x) - np.sum(found, axis=0))

        return mean

    def _of_staff(self, x: Array) -> Array:
        return np.asarray(x @ self.wages + self.overtime * np.maximum(0, x.sum(axis=-1) - self.crew) ** 2)

    def _of_arrivals(self, arrivals: Array) -> Array:
        """Cost of the customers of a shift with 1, …, most servers; [...] → [..., most]."""
        load = np.maximum(arrivals, 0)[..., None] / self.served
        servers = np.arange(1, self.most + 1)
        busy = erlang_c(load[..., 0], self.most) * load
        queue = busy * self.room / (busy + self.room * np.maximum(0, servers - load))
        return self.waiting * queue + self.lost * self.served * np.maximum(0, load - servers)


def _queue_staffing(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("skewed", "unbounded", "correlated")[number % 3]
    count, most = (1, 2, 3)[number % 3], 24
    served = rng.uniform(6, 12)
    unit = contexts.draw(kind, count, rng)
    # a shift has half of the largest number of servers at work on a usual day; beta contexts are low
    peaks = served * most * rng.uniform(0.8, 1.1, count) * (2 if kind == "skewed" else 1)
    distribution = stretched(unit, *((0.0, float(peak)) for peak in peaks))
    usual = float(distribution.nodes.mean(axis=0).sum()) / served
    function = Queue(
        wages=rng.uniform(18, 30, count),
        served=served,
        waiting=rng.uniform(10, 25),
        lost=rng.uniform(4, 8),
        room=rng.uniform(10, 30),
        crew=rng.uniform(0.9, 1.2) * usual,
        overtime=rng.uniform(0.5, 1.5),
        most=most,
    )
    shifts = ("morning", "evening", "night")[:count]
    return Instance(
        name,
        {f"servers_{shift}": Integer(1, most) for shift in shifts},
        distribution,
        function,
        noise_of(number),
        names=tuple(f"arrivals_{shift}" for shift in shifts),
    )


@dataclass(frozen=True, eq=False)
class Inventory:
    """Minus the daily cost of an (s, S) policy, x = (s, S), at a daily demand and a lead time c.

    Hadley and Whitin's approximation (1963) where what is short is lost, with Q = S - s of five days' demand
    or more, and a demand over the lead time that is normal: K λ/Q + h (Q/2 + E (s - X)⁺) + b E (X - s)⁺ λ/Q.
    """

    order: float
    """K, an order."""
    holding: float
    """h, a piece held for a day."""
    shortage: float
    """b, a piece that is short."""
    spread: float
    """Variance of the demand by its mean."""

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        rate = np.maximum(c[..., 0], 0.1)
        mean = rate * np.maximum(c[..., 1], 0.1)
        deviation = np.sqrt(self.spread * mean)
        z = (x[..., 0] - mean) / deviation
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        left = deviation * (density + z * ndtr(z))
        short = np.maximum(0, left - (x[..., 0] - mean))
        quantity = np.maximum(x[..., 1] - x[..., 0], APART * rate)
        orders = (self.order + self.shortage * short) * rate / quantity
        return np.asarray(-orders - self.holding * (0.5 * quantity + left))


def _inventory(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("humps", "skewed", "correlated")[number % 3]
    unit = contexts.draw(kind, 2, rng)
    if unit.correlation is not None:  # suppliers are slow when demand is high
        unit = replace(unit, correlation=np.abs(unit.correlation))
    high = 2.0 if kind == "skewed" else 1.0  # beta contexts are low
    distribution = stretched(unit, (1.0, 16.0 * high), (1.0, 20.0 * high))
    function = Inventory(rng.uniform(80, 250), rng.uniform(0.2, 0.6), rng.uniform(3, 8), rng.uniform(1.5, 4))
    whole = number % 3 == 1
    decisions: dict[str, Parameter] = {
        "reorder_point": Integer(0, 200) if whole else Real(0, 200),
        "order_up_to": Integer(50, 400) if whole else Real(50, 400),
    }
    names = ("daily_demand", "lead_time")
    return Instance(name, decisions, distribution, function, noise_of(number), names=names)


FAMILIES: tuple[Family, ...] = (
    Family("newsvendor-costs", "stock of one product", "development", _newsvendor_costs),
    Family("newsvendor-several", "stocks of 2 to 4 products, one budget", "validation", _newsvendor_several),
    Family("queue-staffing", "servers in 1 to 3 shifts", "validation", _queue_staffing),
    Family("inventory", "reorder point and order-up-to level", "development", _inventory),
)
