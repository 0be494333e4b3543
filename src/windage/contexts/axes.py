"""The kernel of one coordinate of a KDE: of a real number, a whole number, a choice, or a value that is
known.

Symbols: n centres, m points, J cells. All are on the unit box; a choice is the place of its level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr

from windage.space import Array


class Cells(NamedTuple):
    """Cells of one coordinate: their points, J, and each centre's probability in them, n × J."""

    points: Array
    masses: Array


class Axis(Protocol):
    """The kernel about centres along one coordinate."""

    @property
    def size(self) -> int:
        """How many cells it has by itself; 0 where they can be as many as are wanted."""
        ...

    def kernels(self, points: Array, centres: Array) -> Array:
        """The density, or the probability of a level, at points about each centre, m × n."""
        ...

    def chances(self, points: Array, centres: Array) -> Array:
        """The same; on a bound that holds what lies beyond it, the probability of the bound."""
        ...

    def cells(self, centres: Array, count: int) -> Cells:
        """The probability of cells, exactly: ``count`` of them where it has none of its own."""
        ...

    def draw(self, centres: Array, normal: Array) -> Array:
        """Draws about centres, k, made of standard normal ones, k."""
        ...


@dataclass(frozen=True)
class RealAxis:
    """A normal kernel: clamped at the bounds, reflected there, or left alone."""

    width: float
    lower: float
    """-∞ where there is no bound."""
    upper: float
    """∞ where there is no bound."""
    boundary: str
    size: int = 0

    @cached_property
    def images(self) -> list[tuple[float, float]]:
        """The maps c ↦ sign·c + shift whose kernels add up: mirrors at the bounds.

        Between two mirrors a kernel has images of images; those further than nine bandwidths add nothing.
        """
        bounds = [bound for bound in (self.lower, self.upper) if math.isfinite(bound)]
        if self.boundary != "reflect" or not bounds:
            return [(1.0, 0.0)]
        if len(bounds) == 1:
            return [(1.0, 0.0), (-1.0, 2 * bounds[0])]
        period = 2 * (self.upper - self.lower)
        count = math.ceil(9 * self.width / period) + 1
        turns = [k * period for k in range(-count, count + 1)]
        return [(1.0, turn) for turn in turns] + [(-1.0, 2 * self.lower + turn) for turn in turns]

    def kernels(self, points: Array, centres: Array) -> Array:
        """The density, m × n."""
        total = np.zeros((len(points), len(centres)))
        for sign, shift in self.images:
            scaled = (points[:, None] - (sign * centres + shift)) / self.width
            total += np.exp(-0.5 * scaled**2)
        return np.asarray(total / (self.width * math.sqrt(2 * math.pi)))

    def chances(self, points: Array, centres: Array) -> Array:
        """The density, and the probability on a bound."""
        found = self.kernels(points, centres)
        for bound, side in ((self.lower, 1), (self.upper, -1)):
            on = points == bound
            if on.any():
                tail = ndtr(side * (bound - centres) / self.width)
                found[on] = tail if self.boundary == "clamp" else 0.0
        return found

    def cells(self, centres: Array, count: int) -> Cells:
        """Equal cells. A clamped bound is a point of its own that holds the tail beyond it."""
        h = self.width
        low, high = centres.min() - 4 * h, centres.max() + 4 * h
        if self.boundary != "none":
            low, high = max(low, self.lower), min(high, self.upper)
        edges = low + (high - low) * np.linspace(0, 1, count + 1)
        points = (edges[1:] + edges[:-1]) / 2
        mass = np.zeros((len(centres), count))
        for sign, shift in self.images:
            mass += np.diff(ndtr((edges - (sign * centres + shift)[:, None]) / h), axis=1)
        lower_tail, upper_tail = ndtr((edges[0] - centres) / h), ndtr((centres - edges[-1]) / h)
        if self.boundary == "clamp":
            points = np.concatenate([edges[:1], points, edges[-1:]])
            mass = np.concatenate([lower_tail[:, None], mass, upper_tail[:, None]], axis=1)
        elif self.boundary == "none":
            mass[:, 0] += lower_tail
            mass[:, -1] += upper_tail
        return Cells(points, mass)

    def draw(self, centres: Array, normal: Array) -> Array:
        """c + h·normal, then clamped or reflected."""
        points = centres + self.width * normal
        if self.boundary == "none":
            return points
        if self.boundary == "reflect":
            if math.isfinite(self.upper - self.lower):
                low, width = self.lower, self.upper - self.lower
                points = low + width - np.abs(np.mod(points - low, 2 * width) - width)
            points = np.where(points < self.lower, 2 * self.lower - points, points)
            points = np.where(points > self.upper, 2 * self.upper - points, points)
        return np.asarray(np.minimum(np.maximum(points, self.lower), self.upper))


@dataclass(frozen=True)
class IntegerAxis:
    """Whole numbers: the normal kernel's probability of each cell, what lies beyond on the last ones."""

    width: float
    size: int
    """How many whole numbers there are, from 0 to 1 on the unit box."""

    def kernels(self, points: Array, centres: Array) -> Array:
        """The probability of the whole numbers at points, m × n."""
        step = 1 / (self.size - 1)
        level = np.round(points / step) * step
        below = np.where(level <= 0, -np.inf, level - step / 2)[:, None]
        above = np.where(level >= 1 - step / 2, np.inf, level + step / 2)[:, None]
        return np.asarray(ndtr((above - centres) / self.width) - ndtr((below - centres) / self.width))

    chances = kernels

    def cells(self, centres: Array, count: int) -> Cells:
        """The whole numbers themselves."""
        points = np.linspace(0, 1, self.size)
        return Cells(points, self.kernels(points, centres).T)

    def draw(self, centres: Array, normal: Array) -> Array:
        """The nearest whole number to c + h·normal."""
        last = self.size - 1
        return np.asarray(np.clip(np.round((centres + self.width * normal) * last), 0, last) / last)


@dataclass(frozen=True)
class ChoiceAxis:
    """Choices (Aitchison & Aitken 1976): 1 - λ on the same level, λ/(L - 1) on each other one."""

    width: float
    """λ, from 0 to (L - 1)/L, where all levels are alike."""
    size: int
    """L."""

    def kernels(self, points: Array, centres: Array) -> Array:
        """The probability of the levels at points, m × n."""
        same = np.round(points)[:, None] == centres
        return np.where(same, 1 - self.width, self.width / (self.size - 1))

    chances = kernels

    def cells(self, centres: Array, count: int) -> Cells:
        """The levels themselves."""
        points = np.arange(self.size, dtype=float)
        return Cells(points, self.kernels(points, centres).T)

    def draw(self, centres: Array, normal: Array) -> Array:
        """The level itself, or with probability λ one of the others."""
        if not self.width:
            return centres
        beyond = (ndtr(normal) - (1 - self.width)) / self.width * (self.size - 1)
        turn = np.where(beyond < 0, 0, np.minimum(np.floor(beyond), self.size - 2) + 1)
        return np.asarray(np.mod(centres + turn, self.size))


@dataclass(frozen=True)
class KnownAxis:
    """A context that is known: all centres are that value."""

    size: int = 1

    def kernels(self, points: Array, centres: Array) -> Array:
        """1 at the value that is known, 0 elsewhere."""
        return np.where(points[:, None] == centres, 1.0, 0.0)

    chances = kernels

    def cells(self, centres: Array, count: int) -> Cells:
        """The value."""
        return Cells(centres[:1], np.ones((len(centres), 1)))

    def draw(self, centres: Array, normal: Array) -> Array:
        """The value."""
        return centres


def integer_axis(width: float, levels: int, most: int) -> Axis:
    """Whole numbers one by one; where there are more than ``most``, as a real number."""
    return IntegerAxis(width, levels) if levels <= most else RealAxis(width, 0.0, 1.0, "clamp")
