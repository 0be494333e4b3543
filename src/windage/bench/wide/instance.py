"""An instance of a family: a problem with a computed optimum, made from a seed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from windage.bench.problems import Optimum
from windage.bench.wide.contexts import ContextDistribution
from windage.space import Array, Categorical, Integer, Parameter, Real

SCAN, STARTS, ROUNDS = 2**13, 24, 40
"""Decisions scored for the optimum, from how many of them to climb, and how far over integers and choices."""
CHUNK = 2**22
"""Values computed at a time."""
SLOPE_STEP = 1e-6
"""Of the unit box, for slopes by central differences."""

Split = Literal["development", "validation"]


@dataclass(frozen=True)
class Instance:
    """One problem, to be maximised. It has the attributes of ``windage.bench.problems.Problem``.

    Arrays are on the problem's own scale, n × Dx and n × Dc → n. The column of a ``Categorical`` decision
    variable holds the position of the choice.
    """

    name: str
    decisions: Mapping[str, Parameter]
    distribution: ContextDistribution
    """Of the context; hidden from the methods."""
    function: Callable[[Array, Array], Array]
    """x[..., Dx] and c[..., Dc], leading dimensions broadcast → values. A method ``average(c)`` of it,
    a map from decisions n × Dx to the mean over contexts m × Dc, is taken in place of a plain mean."""
    noise: float = 0.0
    """Standard deviation of the noise, as a share of the outcome's spread."""
    growing: bool = False
    """Whether the noise is larger where the outcome is larger; ``noise`` is then its share at the median."""
    names: tuple[str, ...] = ()
    """Of the contexts; c1, c2, … unless given."""
    scan: int = SCAN
    """Decisions scored for the optimum."""
    starts: int = STARTS
    """From how many of them to climb."""

    @cached_property
    def contexts(self) -> Mapping[str, Real]:
        """What a study is told of the contexts."""
        return self.distribution.contexts(*self.names)

    def evaluate(self, x: Array, c: Array) -> Array:
        """f(x, c), row by row, without noise."""
        return np.asarray(self.function(np.asarray(x, float), np.asarray(c, float)), dtype=float)

    def observe(self, x: Array, c: Array, rng: np.random.Generator) -> Array:
        """f(x, c) with noise."""
        values = self.evaluate(x, c)
        if not self.noise:
            return values
        low, middle, spread = self._outcomes
        share = np.clip((values - low) / (middle - low), 0.1, 4) if self.growing else 1.0
        return np.asarray(values + self.noise * spread * share * rng.standard_normal(len(values)))

    def sample_contexts(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts from the true distribution, n × Dc."""
        return self.distribution.sample(n, rng)

    def expected(self, x: Array) -> Array:
        """E f(x, c) under the true distribution: the mean over ``ContextDistribution.nodes``."""
        return self._average(np.asarray(x, dtype=float).reshape(-1, len(self.decisions)))

    @cached_property
    def random(self) -> float:
        """The mean of E f(x, c) over decisions at random."""
        return float(self.expected(self._scanned).mean())

    @cached_property
    def optimum(self) -> Optimum:
        """max_x E f(x, c): the best of many climbs."""
        values = self.expected(self._scanned)
        starts = self._scanned[np.argsort(-values, kind="stable")[: self.starts]]
        tops = [self._climb(start) for start in starts]
        best = max(tops, key=lambda top: top.value)
        return best if best.value >= values.max() else Optimum(starts[0], float(values.max()))

    def regret_share(self, x: Array) -> Array:
        """(optimum - E f(x, c)) / (optimum - a random decision's): 0 is the optimum, 1 a random decision."""
        top = self.optimum.value
        return np.asarray((top - self.expected(x)) / (top - self.random))

    def row(self, decision: Mapping[str, Any]) -> Array:
        """A decision as a row, 1 × Dx."""
        columns = [
            p.choices.index(decision[name]) if isinstance(p, Categorical) else decision[name]
            for name, p in self.decisions.items()
        ]
        return np.array([columns], dtype=float)

    def valid(self, unit: Array) -> Array:
        """Points of the unit box, n × Dx, as valid decisions on the problem's scale."""
        low, high = self.box
        found = low + (high - low) * unit
        levels = np.clip(np.floor(low + (high - low + 1) * unit), low, high)
        return np.where(self._whole, levels, found)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """The bounds of the decision variables, Dx each; of choices, their positions."""
        ends = [
            (0, len(p.choices) - 1) if isinstance(p, Categorical) else (p.low, p.high)
            for p in self.decisions.values()
        ]
        low, high = np.array(ends, dtype=float).T
        return low, high

    @cached_property
    def _whole(self) -> Array:
        return np.array([isinstance(p, Integer | Categorical) for p in self.decisions.values()])

    @cached_property
    def _average(self) -> Callable[[Array], Array]:
        own = getattr(self.function, "average", None)
        nodes = self.distribution.nodes
        if own is not None:
            result: Callable[[Array], Array] = own(nodes)
            return result
        step = max(1, CHUNK // len(nodes))

        def average(x: Array) -> Array:
            parts = [x[i : i + step, None, :] for i in range(0, len(x), step)]
            means = [self.evaluate(part, nodes[None]).mean(axis=1) for part in parts]
            return np.concatenate(means) if means else np.zeros(0)

        return average

    @cached_property
    def _scanned(self) -> Array:
        seed = zlib.crc32(self.name.encode())
        return self.valid(qmc.Sobol(len(self.decisions), seed=seed).random(self.scan))

    @property
    def outcomes_deviation(self) -> float:
        """The standard deviation of outcomes of random decisions."""
        return self._outcomes[2]

    @cached_property
    def _outcomes(self) -> tuple[float, float, float]:
        """The 1 % quantile, the median and the standard deviation of outcomes of random decisions."""
        nodes = self.distribution.nodes
        mixed = np.random.default_rng(0).permutation(len(nodes))  # both are sequences, which would keep step
        values = self.evaluate(self._scanned[: len(nodes)], nodes[mixed][: len(self._scanned)])
        low, middle = np.quantile(values, [0.01, 0.5])
        return float(low), float(max(middle, low + 1e-9)), float(values.std())

    def _climb(self, start: Array) -> Optimum:
        """Climb the real variables, step to the best neighbour of the others, and again."""
        best = self._climb_reals(start)
        for _ in range(ROUNDS if self._whole.any() else 0):
            others = self._neighbours(best.decision)
            values = self.expected(others)
            step = int(values.argmax())
            if values[step] <= best.value + 1e-12 * abs(best.value):
                break
            best = self._climb_reals(others[step])
        return best

    def _neighbours(self, x: Array) -> Array:
        """Decisions that differ in one integer by 1 or 2, or in one choice, n × Dx."""
        low, high = self.box
        found = []
        for d, parameter in enumerate(self.decisions.values()):
            if not self._whole[d]:
                continue
            choice = isinstance(parameter, Categorical)
            levels = np.arange(low[d], high[d] + 1) if choice else x[d] + np.array([-2, -1, 1, 2])
            for level in levels[(levels >= low[d]) & (levels <= high[d]) & (levels != x[d])]:
                other = x.copy()
                other[d] = level
                found.append(other)
        return np.stack(found)

    def _climb_reals(self, start: Array) -> Optimum:
        low, high = self.box
        real = np.flatnonzero(np.logical_not(self._whole))
        value = float(self.expected(start[None])[0])
        if not len(real):
            return Optimum(start, value)
        width = (high - low)[real]
        steps = SLOPE_STEP * np.concatenate([np.eye(len(real)), -np.eye(len(real)), np.zeros((1, len(real)))])

        def losing(unit: Array) -> tuple[float, Array]:
            points = np.repeat(start[None], len(steps), axis=0)
            points[:, real] = low[real] + width * (unit + steps)
            values = self.expected(points)
            n = len(real)
            return -float(values[-1]), -(values[:n] - values[n:-1]) / (2 * SLOPE_STEP)

        unit = (start[real] - low[real]) / width
        inner = [(SLOPE_STEP, 1 - SLOPE_STEP)] * len(real)
        found = minimize(losing, unit, jac=True, method="L-BFGS-B", bounds=inner)
        top = start.copy()
        top[real] = low[real] + width * found.x
        return Optimum(top, -float(found.fun)) if -found.fun > value else Optimum(start, value)


@dataclass(frozen=True)
class Family:
    """A generator of instances."""

    name: str
    summary: str
    split: Split
    """Which half it belongs to. Methods are chosen on development; validation is for reports alone."""
    make: Callable[[str, int, np.random.Generator], Instance]
    """Name, number and generator → an instance. The number says which noise and distribution it has."""

    def instance(self, number: int) -> Instance:
        """Instance ``number``, the same in every process."""
        seed = [zlib.crc32(self.name.encode()), number]
        return self.make(f"{self.name}+{number}", number, np.random.default_rng(seed))


NOISES = (0.0, 0.05, 0.2)
"""Noise by the number of an instance, as a share of the outcome's spread."""


def noise_of(number: int) -> float:
    """0, 5 and 20 % in turn."""
    return NOISES[number % len(NOISES)]
