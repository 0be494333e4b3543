"""Shapes that are hard for smooth models, and many variables: steps, cliffs, narrow peaks, many hills.

Decisions and contexts are on unit boxes; contexts beyond are clipped where a shape has no meaning there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from windage.bench.wide import contexts
from windage.bench.wide.instance import Family, Instance, noise_of
from windage.space import Array, Real

REACH = (-1.0, 2.0)
"""Contexts act as if they were between these: the shapes are about the unit box."""


def unit_box(count: int) -> dict[str, Real]:
    """Decision variables x1, x2, … between 0 and 1."""
    return {f"x{d + 1}": Real(0, 1) for d in range(count)}


def squared_distance(x: Array, c: Array, centre: Array, shift: Array, width: Array) -> Array:
    """Σ_d ((x_d - centre_d - Σ_e shift_de (c_e - ½)) / width_d)²; the leading dimensions broadcast.

    centre[..., Dx], shift[..., Dx, Dc], width[..., Dx]. Multiplied out, so that only products of a number of
    the decision and one of the context are computed for every pair.
    """
    z, slope = (x - centre) / width, shift / width[..., None]
    c = np.clip(c, *REACH) - 0.5
    total = np.sum(z**2, axis=-1)
    for e in range(c.shape[-1]):
        for other in range(e + 1):
            both = np.sum(slope[..., e] * slope[..., other], axis=-1) * (1 if other == e else 2)
            total = total + both * (c[..., e] * c[..., other])
    for e in range(c.shape[-1]):
        total = total - 2 * np.sum(z * slope[..., e], axis=-1) * c[..., e]
    return np.asarray(np.maximum(total, 0))


@dataclass(frozen=True, eq=False)
class Steps:
    """A smooth trend of the middle of the cell that (x, c) lies in: plateaus with jumps between them.

    The trend is a hill that moves with the context, a wave across both, and a slope in the context.
    """

    cells: Array
    """Of each decision variable."""
    context_cells: Array
    target: Array
    shift: Array
    """Dx × Dc: how far the hill moves."""
    weight: Array
    wave: float
    slope: Array

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        return self._trend(x, self._middle(c))

    def average(self, nodes: Array) -> Callable[[Array], Array]:
        """The mean over the nodes, from the cells that they fill."""
        middles, counts = np.unique(self._middle(nodes), axis=0, return_counts=True)
        share = counts / counts.sum()
        return lambda x: np.asarray(self._trend(x[:, None], middles[None]) @ share)

    def _middle(self, c: Array) -> Array:
        cell = np.floor(np.clip(c, *REACH) * self.context_cells)
        cell = np.where(c == 1, cell - 1, cell)  # the end of the box belongs to its last cell
        return np.asarray((cell + 0.5) / self.context_cells)

    def _trend(self, x: Array, c: Array) -> Array:
        middle = (np.minimum(np.floor(x * self.cells), self.cells - 1) + 0.5) / self.cells
        found = self.wave * np.sin(2 * math.pi * (middle[..., 0] + c[..., 0])) + c @ self.slope
        for d, weight in enumerate(self.weight):
            moved = self.target[d] + (c - 0.5) @ self.shift[d]
            found = found - weight * (middle[..., d] - moved) ** 2
        return np.asarray(found)


def _steps(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("humps", "atoms", "unbounded")[number % 3]
    dx, dc = ((1, 1), (2, 2), (3, 1))[number % 3]
    function = Steps(
        cells=rng.integers(6, 11, dx).astype(float) + (4 if dx == 1 else 0),
        context_cells=rng.integers(4, 8, dc).astype(float),
        target=rng.uniform(0.25, 0.75, dx),
        shift=rng.uniform(0.5, 1, (dx, dc)) * rng.choice([-1, 1], (dx, dc)),
        weight=rng.uniform(1, 3, dx),
        wave=rng.uniform(0.2, 0.4),
        slope=rng.uniform(1, 2, dc) * rng.choice([-1, 1], dc),
    )
    return Instance(name, unit_box(dx), contexts.draw(kind, dc, rng), function, noise_of(number))


@dataclass(frozen=True, eq=False)
class Cliff:
    """Reward Σ_d gain_d √x_d (1 + price·c) up to a limit in load·x that depends on c; beyond it, -loss."""

    gain: Array
    load: Array
    price: Array
    limit: float
    slope: Array
    loss: float

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        return np.where(x @ self.load <= self._limit(c), self._gained(x) * self._price(c), -self.loss)

    def average(self, nodes: Array) -> Callable[[Array], Array]:
        """The mean over the nodes, from sums in the order of their limits."""
        order = np.argsort(self._limit(nodes))
        limits = self._limit(nodes)[order]
        above = np.append(np.cumsum(self._price(nodes)[order][::-1])[::-1], 0.0)

        def mean(x: Array) -> Array:
            fallen = np.searchsorted(limits, x @ self.load)
            return np.asarray((self._gained(x) * above[fallen] - self.loss * fallen) / len(nodes))

        return mean

    def _gained(self, x: Array) -> Array:
        return np.sqrt(np.maximum(x, 0)) @ self.gain

    def _price(self, c: Array) -> Array:
        return 1 + np.clip(c, *REACH) @ self.price

    def _limit(self, c: Array) -> Array:
        return self.limit + np.clip(c, *REACH) @ self.slope


def _cliffs(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("heavy", "humps", "unbounded")[number % 3]
    dx, dc = ((1, 1), (2, 1), (2, 2))[number % 3]
    load = rng.uniform(0.6, 1.4, dx)
    slope = rng.uniform(0.4, 0.8, dc) * rng.choice([-1, 1], dc) * load.sum() / dc
    function = Cliff(
        gain=rng.uniform(0.6, 1.4, dx),
        load=load,
        price=rng.uniform(-0.3, 0.6, dc) / dc,
        limit=float(rng.uniform(0.45, 0.65) * load.sum() - 0.5 * slope.sum()),
        slope=slope,
        loss=rng.uniform(0.3, 0.8),
    )
    return Instance(name, unit_box(dx), contexts.draw(kind, dc, rng), function, noise_of(number))


@dataclass(frozen=True, eq=False)
class Bumps:
    """Σ_k height_k exp(-½ |(x - a_k) / u_k|²) exp(-½ |(c - b_k) / v_k|²)."""

    height: Array
    centre: Array
    """K × Dx."""
    width: Array
    """K, in x."""
    context: Array
    """K × Dc: the centres in c."""
    context_width: Array

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        high, near = self._of_decision(x), self._of_context(c)
        return np.asarray(sum(high[..., k] * near[..., k] for k in range(len(self.height))))

    def average(self, nodes: Array) -> Callable[[Array], Array]:
        """The mean over the nodes: each bump is a product."""
        near = self._of_context(nodes).mean(axis=0)
        return lambda x: np.asarray(self._of_decision(x) @ near)

    def _of_decision(self, x: Array) -> Array:
        away = np.sum((x[..., None, :] - self.centre) ** 2, axis=-1)
        return np.asarray(self.height * np.exp(-0.5 * away / self.width**2))

    def _of_context(self, c: Array) -> Array:
        away = np.sum((np.clip(c, *REACH)[..., None, :] - self.context) ** 2, axis=-1)
        return np.asarray(np.exp(-0.5 * away / self.context_width**2))


def _narrow_peaks(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("correlated", "skewed", "normal")[number % 3]
    dx, dc = ((2, 2), (2, 1), (3, 2))[number % 3]
    count = 6
    distribution = contexts.draw(kind, dc, rng)
    spread = distribution.nodes.std(axis=0).mean()
    narrow = 0.08 if dx == 2 else 0.14  # 8 % of the box or more is within two widths
    function = Bumps(
        height=np.append(rng.uniform(0.4, 0.8, count - 1), rng.uniform(1.4, 1.8)),
        centre=rng.uniform(0.15, 0.85, (count, dx)),
        width=np.append(rng.uniform(0.15, 0.3, count - 1), narrow),
        context=distribution.sample(count, rng),
        context_width=spread * np.append(rng.uniform(0.7, 2, count - 1), 1.0),
    )
    return Instance(name, unit_box(dx), distribution, function, noise_of(number))


@dataclass(frozen=True, eq=False)
class Hills:
    """Hills that move with the context, Σ_k height_k g(|(x - a_k - B_k (c - ½)) / w|²) + slope·c.

    g(q) is exp(-q/2), or 1 / (1 + q), whose sides are felt from afar.
    """

    height: Array
    centre: Array
    """K × Dx."""
    shift: Array
    """K × Dx × Dc."""
    width: Array
    """Dx: wide where a variable matters little."""
    slope: Array
    far: bool = False
    """Whether g is 1 / (1 + q)."""

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        found = np.clip(c, *REACH) @ self.slope
        for height, centre, shift in zip(self.height, self.centre, self.shift, strict=True):
            away = squared_distance(x, c, centre, shift, self.width)
            found = found + (height / (1 + away) if self.far else height * np.exp(-0.5 * away))
        return np.asarray(found)


def _hills(count: int, width: Array, dc: int, rng: np.random.Generator, far: bool) -> Hills:
    dx = len(width)
    shift = rng.uniform(0.4, 1.2, (count, dx, dc)) * rng.choice([-1, 1], (count, dx, dc)) / math.sqrt(dc)
    return Hills(
        height=np.sort(rng.uniform(0.5, 1, count)) + np.append(np.zeros(count - 1), 0.2),
        centre=0.5 + rng.uniform(0.1, 0.35, (count, dx)) * rng.choice([-1, 1], (count, dx)),
        shift=shift,
        width=width,
        slope=rng.uniform(0.3, 1, dc) * rng.choice([-1, 1], dc),
        far=far,
    )


def _many_variables(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("humps", "atoms", "heavy")[number % 3]
    dc = 1 if number % 3 == 0 else 2
    much, some, little = rng.uniform(0.3, 0.45, 3), rng.uniform(0.6, 1, 3), rng.uniform(2, 4, 2)
    width = rng.permutation(np.concatenate([much, some, little]))
    function = _hills((2, 3, 2)[number % 3], width, dc, rng, far=False)
    return Instance(name, unit_box(8), contexts.draw(kind, dc, rng), function, noise_of(number))


def _four_conditions(name: str, number: int, rng: np.random.Generator) -> Instance:
    kind = ("normal", "skewed", "correlated")[number % 3]
    dx = (2, 3, 2)[number % 3]
    function = _hills(2, rng.uniform(0.15, 0.3, dx), 4, rng, far=True)
    return Instance(name, unit_box(dx), contexts.draw(kind, 4, rng), function, noise_of(number))


FAMILIES: tuple[Family, ...] = (
    Family("steps", "a trend in plateaus", "development", _steps),
    Family("cliffs", "a reward that falls at a limit", "validation", _cliffs),
    Family("narrow-peaks", "bumps, the highest of them narrow", "development", _narrow_peaks),
    Family("many-variables", "8 decision variables, some matter little", "validation", _many_variables),
    Family("four-conditions", "4 contexts", "development", _four_conditions),
)
