"""Families of the wide suite: classic test functions, negated, with some coordinates as contexts.

Decisions on the unit box and contexts in units of their own spread are rotated together at random and each
rotated coordinate is stretched, so that the best decision depends on the context. The formulas are those of
Surjanovic & Bingham's Virtual Library of Simulation Experiments, on a region with a handful of local optima.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from windage.bench.wide.contexts import draw
from windage.bench.wide.instance import Family, Instance, noise_of
from windage.space import Array, Real

BLOCK = 2**15
"""Values computed at a time in a mean over contexts: they stay in the processor's cache."""
STRETCH = (0.6, 1.4)
"""Factors of the rotated coordinates. Without them a round function would not couple x and c."""
CENTRE = (0.25, 0.75)
"""Where the function's origin lies in the unit box of the decisions."""

Sum = Callable[[Array, Array], Array]
"""u[..., D] and v[..., D] → a function of z = u + v. What depends on u or on v alone is computed once."""


def levy(u: Array, v: Array) -> Array:
    """sin²(πw₁) + Σ_{i<D} (w_i - 1)²(1 + 10 sin²(πw_i + 1)) + (w_D - 1)²(1 + sin²(2πw_D)), w = 1 + (z - 1)/4.

    The minimum is 0 at z = (1, …, 1). sin² a = (1 - cos 2a)/2.
    """
    p, q = (u - 1) / 4, v / 4
    total = 0.5 - 0.5 * _cos(2 * math.pi * p[..., 0], 2 * math.pi * q[..., 0])
    for i in range(u.shape[-1] - 1):
        wave = _cos(2 * math.pi * p[..., i] + 2, 2 * math.pi * q[..., i])
        total = total + (p[..., i] + q[..., i]) ** 2 * (6 - 5 * wave)
    last = _cos(4 * math.pi * p[..., -1], 4 * math.pi * q[..., -1])
    return np.asarray(total + (p[..., -1] + q[..., -1]) ** 2 * (1.5 - 0.5 * last))


def styblinski_tang(u: Array, v: Array) -> Array:
    """½ Σ_i (z_i⁴ - 16 z_i² + 5 z_i): -39.16617 D at z = (-2.903534, …)."""
    total = np.zeros(())
    for i in range(u.shape[-1]):
        z = u[..., i] + v[..., i]
        square = z * z
        total = total + square * (square - 16) + 5 * z
    return np.asarray(0.5 * total)


def log_rosenbrock(u: Array, v: Array) -> Array:
    """log(1 + Σ_i [100 (z_{i+1} - z_i²)² + (1 - z_i)²]): 0 at z = (1, …, 1). The sum reaches thousands."""
    total = np.zeros(())
    z = u[..., 0] + v[..., 0]
    for i in range(1, u.shape[-1]):
        following = u[..., i] + v[..., i]
        total = total + 100 * (following - z * z) ** 2 + (1 - z) ** 2
        z = following
    return np.log1p(total)


def griewank(u: Array, v: Array) -> Array:
    """1 + Σ_i z_i²/4000 - Π_i cos(z_i/√i): 0 at z = 0."""
    squares, product = np.zeros(()), np.ones(())
    for i in range(u.shape[-1]):
        squares = squares + (u[..., i] + v[..., i]) ** 2
        product = product * _cos(u[..., i] / math.sqrt(i + 1), v[..., i] / math.sqrt(i + 1))
    return np.asarray(1 + squares / 4000 - product)


def michalewicz(u: Array, v: Array) -> Array:
    """-Σ_i sin(z_i) sin⁸(i z_i²/π), power 2m with m = 4: about -1.80 at z = (2.20, π/2) for D = 2."""
    total = np.zeros(())
    for i in range(u.shape[-1]):
        square = np.sin((i + 1) / math.pi * (u[..., i] + v[..., i]) ** 2) ** 2
        fourth = square * square
        total = total - _cos(u[..., i] - math.pi / 2, v[..., i]) * fourth * fourth
    return np.asarray(total)


def schwefel(u: Array, v: Array) -> Array:
    """Σ_i [418.9829 - z_i sin √|z_i|]: 0 at z = (420.9687, …), within [-500, 500]. Beyond, a square is added.

    Without the square the function has ever deeper minima outside, where rotated corners would reach.
    """
    total = np.zeros(())
    for i in range(u.shape[-1]):
        z = u[..., i] + v[..., i]
        size = np.abs(z)
        total = total + 418.9828872724338 - z * np.sin(np.sqrt(size)) + 0.01 * np.maximum(size - 500, 0) ** 2
    return np.asarray(total)


def _cos(u: Array, v: Array) -> Array:
    """cos(u + v), with cosines and sines of u and of v alone."""
    return np.asarray(np.cos(u) * np.cos(v) - np.sin(u) * np.sin(v))


@dataclass(frozen=True, eq=False)
class Mixed:
    """-s(z) with z = x A + c B + o."""

    classic: Sum
    decision_matrix: Array
    """A, Dx × D."""
    context_matrix: Array
    """B, Dc × D."""
    offset: Array
    """o, D."""

    def __call__(self, x: Array, c: Array) -> Array:
        """x[..., Dx] and c[..., Dc] → values."""
        return -self.classic(x @ self.decision_matrix + self.offset, c @ self.context_matrix)

    def average(self, nodes: Array) -> Callable[[Array], Array]:
        """Contexts m × Dc → a map from decisions n × Dx to their mean values, n: a plain mean, in blocks."""
        v = (nodes @ self.context_matrix)[None]
        step = max(1, BLOCK // len(nodes))

        def averaged(x: Array) -> Array:
            u = (x @ self.decision_matrix + self.offset)[:, None]
            parts = [-self.classic(u[i : i + step], v).mean(axis=1) for i in range(0, len(x), step)]
            return np.concatenate([*parts, np.zeros(0)])

        return averaged


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """-Σ_i z_i² with z = x A + c B + o. The mean over contexts is exact: z_i² has mean (E z_i)² + var z_i."""

    decision_matrix: Array
    """A, Dx × D."""
    context_matrix: Array
    """B, Dc × D."""
    offset: Array
    """o, D."""

    def __call__(self, x: Array, c: Array) -> Array:
        """x[..., Dx] and c[..., Dc] → values."""
        u, v = x @ self.decision_matrix + self.offset, c @ self.context_matrix
        return np.asarray(-sum((u[..., i] + v[..., i]) ** 2 for i in range(u.shape[-1])))

    def average(self, nodes: Array) -> Callable[[Array], Array]:
        """Contexts m × Dc → a map from decisions n × Dx to their mean values, n."""
        v = nodes @ self.context_matrix
        mean, spare = v.mean(axis=0) + self.offset, float(v.var(axis=0).sum())
        return lambda x: np.asarray(-np.sum((x @ self.decision_matrix + mean) ** 2, axis=1) - spare)


@dataclass(frozen=True)
class Region:
    """Which part of a classic function a family shows, and its instances."""

    origin: float
    """z_i at the centre."""
    width: float
    """Of z_i over the unit box, before the stretch."""
    spread: float
    """Standard deviation of a context after its scaling; that of a uniform decision is 0.29."""
    box: tuple[float, float]
    """Of each decision variable, as a study sees it."""
    sizes: tuple[tuple[int, int, str], ...]
    """Dx, Dc and the kind of distribution, by the number of the instance."""


def _maker(classic: Sum, region: Region) -> Callable[[str, int, np.random.Generator], Instance]:
    def make(name: str, number: int, rng: np.random.Generator) -> Instance:
        dx, dc, kind = region.sizes[number % len(region.sizes)]
        distribution = draw(kind, dc, rng)
        factors = region.width * rng.uniform(*STRETCH, dx + dc)
        a, b, offset = _mixing(distribution.nodes, region.spread, region.box, dx, factors, rng)
        decisions = {f"x{d + 1}": Real(*region.box) for d in range(dx)}
        function = Mixed(classic, a, b, region.origin + offset)
        return Instance(name, decisions, distribution, function, noise_of(number))

    return make


def ellipsoid(name: str, number: int, rng: np.random.Generator) -> Instance:
    """A quadratic with axes of curvature 1 to 100, and six to eight decision variables."""
    dx, kind = ((6, "normal"), (7, "skewed"), (8, "humps"))[number % 3]
    distribution = draw(kind, 2, rng)
    factors = np.logspace(0, 1, dx + 2)
    a, b, offset = _mixing(distribution.nodes, 0.25, (-5.0, 5.0), dx, factors, rng)
    decisions = {f"x{d + 1}": Real(-5.0, 5.0) for d in range(dx)}
    return Instance(name, decisions, distribution, Ellipsoid(a, b, offset), noise_of(number))


def _mixing(
    nodes: Array, spread: float, box: tuple[float, float], dx: int, factors: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """A, B and o of z = x A + c B + o: units, a shift, a random rotation, a factor for each coordinate."""
    low, high = box
    normal, upper = np.linalg.qr(rng.standard_normal((len(factors), len(factors))))
    rotation = normal * np.sign(np.diag(upper)) * factors  # the signs make it uniform over rotations
    mean, deviation = nodes.mean(axis=0), nodes.std(axis=0)
    a = rotation[:dx] / (high - low)
    b = rotation[dx:] * (spread / deviation)[:, None]
    centre = low + (high - low) * rng.uniform(*CENTRE, dx)
    return a, b, -centre @ a - mean @ b


LEVY = Region(1.0, 10.0, 0.25, (-10.0, 10.0), ((2, 1, "heavy"), (3, 3, "correlated"), (4, 1, "atoms")))
STYBLINSKI = Region(-1.5, 7.0, 0.15, (-5.0, 5.0), ((2, 1, "humps"), (3, 2, "normal"), (4, 1, "heavy")))
ROSENBROCK = Region(0.3, 3.0, 0.2, (-2.0, 2.0), ((2, 1, "skewed"), (3, 1, "unbounded"), (4, 2, "normal")))
GRIEWANK = Region(0.0, 7.0, 0.15, (0.0, 1.0), ((1, 2, "atoms"), (2, 1, "unbounded"), (3, 1, "skewed")))
MICHALEWICZ = Region(1.6, 2.5, 0.18, (0.0, 3.0), ((2, 2, "humps"), (3, 1, "normal"), (4, 1, "skewed")))
SCHWEFEL = Region(360.0, 400.0, 0.15, (0.0, 1.0), ((1, 2, "correlated"), (2, 2, "heavy"), (3, 1, "humps")))
"""Widths and spreads by trial: the mean over contexts keeps some local optima, and is not flat."""

FAMILIES: tuple[Family, ...] = (
    Family("levy", "Levy's function: ripples in a bowl", "development", _maker(levy, LEVY)),
    Family(
        "styblinski-tang",
        "two valleys a variable",
        "validation",
        _maker(styblinski_tang, STYBLINSKI),
    ),
    Family("rosenbrock", "a bent valley, as a logarithm", "development", _maker(log_rosenbrock, ROSENBROCK)),
    Family("griewank", "a product of cosines in a flat bowl", "validation", _maker(griewank, GRIEWANK)),
    Family("michalewicz", "plains with steep valleys", "development", _maker(michalewicz, MICHALEWICZ)),
    Family("schwefel", "far apart valleys of similar depth", "validation", _maker(schwefel, SCHWEFEL)),
    Family("ellipsoid", "an ill-conditioned rotated quadratic", "development", ellipsoid),
)
