"""Prices against a rival and a consecutive reaction: rates and shares that are exponentials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import exprel

from windage.bench.wide import contexts
from windage.bench.wide.instance import Family, Instance, noise_of
from windage.bench.wide.units import stretched
from windage.space import Array, Real

GROWING = 0.1
"""Noise of the instances whose noise grows with the outcome, as a share of the spread at the median."""
GAS = 8.314e-3
"""The gas constant, kJ / (mol K)."""
REFERENCE = 363.0
"""Kelvin at which the rates are given: 90 °C."""
STEEPEST = 50.0
"""Mood and the rival's attraction stay within e^±50, so that no context overflows."""


@dataclass(frozen=True, eq=False)
class Pricing:
    """Profit of prices and advertising, x = (price_1, …, advertising), at mood and a rival's price c.

    Multinomial logit (McFadden, 1974): buyers take product i with weight exp(a_i - b p_i + g √advertising +
    mood), the rival's with exp(a_0 - b p_0 + mood), and nothing with weight 1.
    """

    attraction: Array
    cost: Array
    rival: float
    slope: float
    reach: float
    market: float

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        price, advertising = x[..., :-1], x[..., -1]
        lift = self.reach * np.sqrt(np.maximum(advertising, 0))
        weight = np.exp(self.attraction - self.slope * price + lift[..., None])
        mood = np.clip(c[..., 0], -STEEPEST, STEEPEST)
        other = np.clip(self.rival - self.slope * c[..., 1], -STEEPEST, STEEPEST)
        earned = self.market * np.sum((price - self.cost) * weight, axis=-1)
        return np.asarray(earned / (np.exp(-mood) + np.exp(other) + weight.sum(axis=-1)) - advertising)


def _pricing(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("normal", "humps", "unbounded")[number % 3]
    products = 1 if number % 3 == 0 else 2
    distribution = stretched(contexts.draw(kind, 2, rng), (-6.0, 6.0), (2.0, 26.0))
    slope = rng.uniform(0.35, 0.55)
    function = Pricing(
        attraction=slope * rng.uniform(9, 13, products),
        cost=rng.uniform(3, 5, products),
        rival=slope * rng.uniform(9, 13),
        slope=slope,
        reach=rng.uniform(0.3, 0.6),
        market=rng.uniform(4, 7),
    )
    prices = ("price",) if products == 1 else ("price1", "price2")
    growing = number % 3 == 1
    return Instance(
        name,
        {**{price: Real(5, 25) for price in prices}, "advertising": Real(0, 20)},
        distribution,
        function,
        GROWING if growing else noise_of(number),
        growing,
        names=("mood", "rival_price"),
    )


@dataclass(frozen=True, eq=False)
class Reaction:
    """Worth of B in A → B → C after a time at a temperature, x = (°C, hours[, catalyst]), minus costs.

    Rates k_i exp(E_i/R (1/T₀ - 1/T)) (Arrhenius); the share of B is k₁ (e^{-k₁t} - e^{-k₂t}) / (k₂ - k₁)
    (Levenspiel, Chemical Reaction Engineering, 1999, ch. 8). c: purity of the feed, whose rest is lost and
    poisons the catalyst, and the difference in K between the vessel and its setting.
    """

    rates: tuple[float, float]
    energies: tuple[float, float]
    poison: float
    """Share of the first rate that is lost at purity 0."""
    worth: float
    heat: float
    hour: float
    catalyst: float
    """Costs: of 100 K, of an hour, and of a unit of catalyst."""

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        purity = np.clip(c[..., 0], 0, 1)
        time = x[..., 1]
        kelvin = np.clip(x[..., 0] + c[..., 1] + 273.0, 250.0, 550.0)
        cold = (1 / REFERENCE - 1 / kelvin) / GAS
        first = self.rates[0] * (1 - self.poison * (1 - purity)) * np.exp(self.energies[0] * cold) * time
        second = self.rates[1] * np.exp(self.energies[1] * cold) * time
        spent = (x[..., 0] - 40) / 100 * self.heat + self.hour * time
        if x.shape[-1] > 2:
            first = first * np.sqrt(x[..., 2])
            spent = spent + self.catalyst * x[..., 2]
        # of the two exponentials the slower leads: no overflow, and no division by 0 at equal rates
        share = first * np.exp(-np.minimum(first, second)) * exprel(-np.abs(first - second))
        return np.asarray(self.worth * purity * share - spent)


def _kinetics(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("normal", "heavy", "atoms")[number % 3]
    distribution = stretched(contexts.draw(kind, 2, rng), (0.2, 1.0), (-40.0, 40.0))
    function = Reaction(
        rates=(rng.uniform(0.5, 1.0), rng.uniform(0.08, 0.2)),
        energies=(rng.uniform(45, 65), rng.uniform(85, 115)),
        poison=rng.uniform(0.5, 0.9),
        worth=100.0,
        heat=rng.uniform(5, 12),
        hour=rng.uniform(2, 5),
        catalyst=rng.uniform(4, 10),
    )
    decisions = {"temperature": Real(40, 140), "time": Real(0.2, 8), "catalyst": Real(0.1, 3)}
    if number % 3 == 0:
        del decisions["catalyst"]
    growing = number % 3 == 1
    noise = GROWING if growing else noise_of(number)
    return Instance(
        name, decisions, distribution, function, noise, growing, names=("purity", "ambient_shift")
    )


FAMILIES: tuple[Family, ...] = (
    Family("pricing", "prices and advertising against a rival", "validation", _pricing),
    Family("kinetics", "temperature, time and catalyst of a reaction", "development", _kinetics),
)
