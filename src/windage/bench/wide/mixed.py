"""Choices, integers and real numbers together: recipes, and a plant of several units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windage.bench.wide import contexts
from windage.bench.wide.instance import Family, Instance, noise_of
from windage.bench.wide.shapes import REACH, squared_distance
from windage.bench.wide.units import stretched
from windage.space import Array, Categorical, Integer, Parameter, Real


@dataclass(frozen=True, eq=False)
class Recipes:
    """A hill of each choice's own, that moves with the context; x = (choice, x₁, …).

    level_k + slope_k·(c - ½) + height_k exp(-½ |(x - a_k - B_k (c - ½)) / w_k|²).
    """

    level: Array
    height: Array
    slope: Array
    """K × Dc."""
    centre: Array
    """K × (Dx - 1)."""
    shift: Array
    """K × (Dx - 1) × Dc."""
    width: Array

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        k = x[..., 0].astype(int)
        away = squared_distance(x[..., 1:], c, self.centre[k], self.shift[k], self.width[k])
        found = self.level[k] + self.height[k] * np.exp(-0.5 * away)
        for e in range(c.shape[-1]):
            found = found + self.slope[k][..., e] * (np.clip(c[..., e], *REACH) - 0.5)
        return np.asarray(found)


def _mixed_recipes(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("heavy", "unbounded", "humps")[number % 3]
    reals, dc = ((1, 1), (2, 1), (2, 2))[number % 3]
    choices = ("acid", "base", "enzyme", "ferment", "salt")[: 3 + number % 3]
    count = len(choices)
    function = Recipes(
        level=rng.uniform(0, 0.3, count),
        height=rng.uniform(0.7, 1.1, count),
        slope=rng.uniform(-2, 2, (count, dc)),
        centre=rng.uniform(0.2, 0.8, (count, reals)),
        shift=rng.uniform(0.5, 1, (count, reals, dc)) * rng.choice([-1, 1], (count, reals, dc)),
        width=rng.uniform(0.12, 0.3, (count, reals)),
    )
    decisions: dict[str, Parameter] = {"recipe": Categorical(choices), "dose": Real(0, 1)}
    if reals == 2:
        decisions["stirring"] = Real(0, 1)
    return Instance(name, decisions, contexts.draw(kind, dc, rng), function, noise_of(number))


@dataclass(frozen=True, eq=False)
class Plant:
    """Daily profit of a plant, x = (fuel, units, feed[, setting]), at a demand and an outdoor temperature c.

    Output n q (1 - exp(-feed / (n q))) of n units, times the efficiency of the fuel, which falls off with
    the square of the distance from its best outdoor temperature; a setting moves that temperature. Sold up to
    the demand; the rest is stored at a cost.
    """

    capacity: Array
    """q by fuel."""
    fixed: Array
    """Of a unit, by fuel."""
    fuel: Array
    """Of the feed, by fuel."""
    best: Array
    """°C, by fuel."""
    tolerance: Array
    """K, by fuel."""
    price: float
    storage: float

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        k, units, feed = x[..., 0].astype(int), x[..., 1], x[..., 2]
        most = units * self.capacity[k]
        made = most * -np.expm1(-feed / most)
        best = self.best[k] + (x[..., 3] if x.shape[-1] > 3 else 0)
        away = (np.clip(c[..., 1], -60, 80) - best) / self.tolerance[k]
        output = made / (1 + away * away)
        sold = np.minimum(output, np.maximum(c[..., 0], 0))
        spent = units * self.fixed[k] + feed * self.fuel[k]
        return np.asarray((self.price + self.storage) * sold - self.storage * output - spent)


def _mixed_plant(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("atoms", "correlated", "unbounded")[number % 3]
    choices = ("gas", "oil", "wood", "straw")[: (3, 4, 3)[number % 3]]
    count = len(choices)
    distribution = stretched(contexts.draw(kind, 2, rng), (10.0, 90.0), (-15.0, 35.0))
    function = Plant(
        capacity=rng.uniform(8, 14, count),
        fixed=rng.uniform(10, 22, count),
        fuel=rng.uniform(1.5, 3, count),
        best=rng.permutation(np.linspace(-5, 25, count)) + rng.uniform(-5, 5, count),
        tolerance=rng.uniform(15, 35, count),
        price=rng.uniform(9, 12),
        storage=rng.uniform(1, 4),
    )
    decisions: dict[str, Parameter] = {
        "fuel": Categorical(choices),
        "units": Integer(1, 10),
        "feed": Real(5, 150),
    }
    if number % 3 == 2:
        decisions["preheating"] = Real(-30, 30)
    return Instance(
        name, decisions, distribution, function, noise_of(number), names=("demand", "outdoor_temperature")
    )


FAMILIES: tuple[Family, ...] = (
    Family("mixed-recipes", "one of 3 to 5 recipes, dose and stirring", "development", _mixed_recipes),
    Family("mixed-plant", "fuel, units and feed of a plant", "validation", _mixed_plant),
)
