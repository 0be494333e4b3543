"""Kernel density estimate of the context (paper, Eq. 2; docs/methods.md), on the unit box.

    p̂(c) = Σ_i w_i Π_d φ((c_d - c_id) / h_d) / h_d,     φ the standard normal density.

(The paper prints exp(-‖x‖²) for its kernel; exp(-‖x‖²/2) is meant.) At a bound that the user stated, the
distribution is clamped (mass beyond the bound sits on it, as clipped data do), reflected (truly bounded
data), or left alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtr, ndtri

from windage.contexts.bandwidth import RULES
from windage.contexts.nodes import Nodes
from windage.dataset import Dataset
from windage.search import sobol
from windage.space import Array, one_of, positive

Bandwidth = Literal["rule-of-thumb", "silverman", "isj", "held-out"]
Boundary = Literal["clamp", "reflect", "none", "held-out"]
BANDWIDTHS, BOUNDARIES = get_args(Bandwidth), get_args(Boundary)
HELD_OUT = "held-out"
"""Chooses a bandwidth rule, or a boundary, by the likelihood of contexts held out."""
MIN_BANDWIDTH = 1e-3
"""In the unit box, where all contexts are equal: they still get a kernel of some width."""
CELLS: Mapping[int, int] = {1: 64, 2: 20}
"""Cells a side of the deterministic nodes; from three dimensions on they are Sobol points."""
SOBOL_NODES = 512
"""More move the decision by about a thousandth of the box (docs/speed.md, four contexts)."""
NEGLIGIBLE = 1e-9
"""Cells of less probability than this are dropped."""
UNIFORM = 5.0
"""Ranges: a reflected kernel of this width is uniform to the last digit; a wider one only takes longer."""
HELD_OUT_CONTEXTS, LEAST_DENSITY = 512, 1e-12
"""How many of the contexts are held out, one at a time, and below which a density counts as this."""


@dataclass(frozen=True)
class Kde:
    """A Gaussian KDE with a diagonal bandwidth."""

    centres: Array
    """n × Dc."""
    bandwidth: Array
    """Dc."""
    lower: Array
    """Dc; -∞ where there is no bound."""
    upper: Array
    """Dc; ∞ where there is no bound."""
    boundary: str = "clamp"

    @classmethod
    def of(
        cls,
        contexts: Array,
        bandwidth: Bandwidth | float = "rule-of-thumb",
        boundary: Boundary = "clamp",
        lower: Array | None = None,
        upper: Array | None = None,
    ) -> Kde:
        """The estimate from the contexts seen, n × Dc; "held-out" chooses by ``held_out``."""
        infinite = np.full(contexts.shape[1], math.inf)
        lower = -infinite if lower is None else lower
        upper = infinite if upper is None else upper
        widths = [_widths(contexts, rule) for rule in (RULES if bandwidth == HELD_OUT else (bandwidth,))]
        boundaries = ("clamp", "reflect") if boundary == HELD_OUT else (boundary,)
        found = []
        for name in boundaries:
            most = UNIFORM * (upper - lower) if name == "reflect" else infinite
            found += [cls(contexts, np.minimum(h, most), lower, upper, name) for h in widths]
        return found[0] if len(found) == 1 else max(found, key=lambda kde: kde.held_out())

    @cached_property
    def _images(self) -> list[list[tuple[float, float]]]:
        """For each dimension the maps c ↦ sign·c + shift whose kernels add up: mirrors at the bounds.

        Between two mirrors a kernel has images of images; those further than nine bandwidths add nothing.
        """
        images = []
        ends = zip(self.lower.tolist(), self.upper.tolist(), self.bandwidth.tolist(), strict=True)
        for low, high, h in ends:
            bounds = [bound for bound in (low, high) if math.isfinite(bound)]
            maps = [(1.0, 0.0)]
            if self.boundary == "reflect" and len(bounds) == 1:
                maps.append((-1.0, 2 * bounds[0]))
            elif self.boundary == "reflect" and bounds:
                period = 2 * (high - low)
                count = math.ceil(9 * h / period) + 1
                turns = [k * period for k in range(-count, count + 1)]
                maps = [(1.0, turn) for turn in turns] + [(-1.0, 2 * low + turn) for turn in turns]
            images.append(maps)
        return images

    def marginal(self, d: int) -> Kde:
        """The distribution of one coordinate."""
        lower, upper = self.lower[d : d + 1], self.upper[d : d + 1]
        return Kde(self.centres[:, d : d + 1], self.bandwidth[d : d + 1], lower, upper, self.boundary)

    def held_out(self) -> float:
        """The mean log likelihood of each context under the estimate from the others.

        The density counts inside the bounds and the probability on them. Contexts that lie on a bound speak
        for clamping, which alone has probability there; if none does, reflection is likelier.
        """
        n = len(self.centres)
        if n < 2:
            return 0.0
        some = np.linspace(0, n - 1, min(n, HELD_OUT_CONTEXTS)).astype(np.intp)
        product = np.ones((len(some), n))
        for d, h in enumerate(self.bandwidth):
            points = self.centres[some, d]
            kernels = self._kernels(points, d)
            for bound, side in ((self.lower[d], 1), (self.upper[d], -1)):
                on = points == bound
                if on.any():
                    tail = ndtr(side * (bound - self.centres[:, d]) / h)
                    kernels[on] = tail if self.boundary == "clamp" else 0.0
            product *= kernels
        product[np.arange(len(some)), some] = 0
        return float(np.log(np.maximum(product.sum(axis=1) / (n - 1), LEAST_DENSITY)).mean())

    def _kernels(self, points: Array, d: int) -> Array:
        """Each centre's share of the density of one coordinate at points, m × n."""
        h = self.bandwidth[d]
        total = np.zeros((len(points), len(self.centres)))
        for sign, shift in self._images[d]:
            scaled = (points[:, None] - (sign * self.centres[:, d] + shift)) / h
            total += np.exp(-0.5 * scaled**2)
        return np.asarray(total / (h * math.sqrt(2 * math.pi)))

    def pdf(self, points: Array) -> Array:
        """The density at points, m × Dc → m. Clamped mass is atoms on the bounds and no part of it."""
        product = np.ones((len(points), len(self.centres)))
        for d in range(len(self.bandwidth)):
            product *= self._kernels(points[:, d], d)
        density = product.mean(axis=1)
        if self.boundary == "none":
            return np.asarray(density)
        inside = ((points >= self.lower) & (points <= self.upper)).all(axis=1)
        return np.where(inside, density, 0.0)

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Draws: resample a centre, add h·N(0, 1), then clamp or reflect; count × Dc."""
        chosen = generator.integers(len(self.centres), size=count)
        noise = generator.standard_normal((count, self.centres.shape[1]))
        return self._bounded(self.centres[chosen] + self.bandwidth * noise)

    def monte_carlo(self, count: int, generator: np.random.Generator) -> Nodes:
        """The paper's M draws of equal weight (sample average approximation)."""
        return Nodes.equal(self.sample(count, generator))

    def nodes(self, seed: int = 0) -> Nodes:
        """Deterministic nodes: exact masses of cells in one or two dimensions, Sobol points beyond."""
        dimensions = self.centres.shape[1]
        return self.cells(CELLS[dimensions]) if dimensions in CELLS else self.quasi(SOBOL_NODES, seed)

    def quasi(self, count: int, seed: int = 0) -> Nodes:
        """Quasi-Monte Carlo draws of equal weight."""
        # one coordinate picks the centre (sorted, so that near means near), the others the normal
        u = np.clip(sobol(count, self.centres.shape[1] + 1, seed), 1e-12, 1 - 1e-12)
        order = np.argsort(self.centres[:, 0], kind="stable")
        chosen = order[np.minimum((u[:, 0] * len(order)).astype(np.intp), len(order) - 1)]
        return Nodes.equal(self._bounded(self.centres[chosen] + self.bandwidth * ndtri(u[:, 1:])))

    def _bounded(self, points: Array) -> Array:
        if self.boundary == "none":
            return points
        if self.boundary == "reflect":
            both = np.isfinite(self.upper - self.lower)
            low, width = np.where(both, self.lower, 0.0), np.where(both, self.upper - self.lower, 1.0)
            folded = low + width - np.abs(np.mod(points - low, 2 * width) - width)
            points = np.where(both, folded, points)
            points = np.where(points < self.lower, 2 * self.lower - points, points)
            points = np.where(points > self.upper, 2 * self.upper - points, points)
        return np.minimum(np.maximum(points, self.lower), self.upper)

    def cells(self, count: int) -> Nodes:
        """Exact KDE mass of each cell of a grid; in two dimensions the product form Aᵀ diag(1/n) B."""
        axes = [self._axis(d, count) for d in range(len(self.bandwidth))]
        if len(axes) == 1:
            points, weights = axes[0].points, axes[0].masses.mean(axis=0)
        else:
            first, second = axes
            pairs = np.meshgrid(first.points[:, 0], second.points[:, 0], indexing="ij")
            points = np.stack(pairs, axis=-1).reshape(-1, 2)
            weights = (first.masses.T @ second.masses / len(self.centres)).reshape(-1)
        keep = weights > NEGLIGIBLE
        return Nodes(points[keep], weights[keep] / weights[keep].sum())

    def _axis(self, d: int, count: int) -> _Axis:
        """The cells of one dimension. A clamped bound is a point of its own that holds the tail beyond it."""
        h, centre = self.bandwidth[d], self.centres[:, d]
        low, high = centre.min() - 4 * h, centre.max() + 4 * h
        if self.boundary != "none":
            low, high = max(low, self.lower[d]), min(high, self.upper[d])
        edges = low + (high - low) * np.linspace(0, 1, count + 1)
        points = (edges[1:] + edges[:-1]) / 2
        mass = np.zeros((len(centre), count))
        for sign, shift in self._images[d]:
            mass += np.diff(ndtr((edges - (sign * centre + shift)[:, None]) / h), axis=1)
        lower_tail, upper_tail = ndtr((edges[0] - centre) / h), ndtr((centre - edges[-1]) / h)
        if self.boundary == "clamp":
            points = np.concatenate([edges[:1], points, edges[-1:]])
            mass = np.concatenate([lower_tail[:, None], mass, upper_tail[:, None]], axis=1)
        elif self.boundary == "none":
            mass[:, 0] += lower_tail
            mass[:, -1] += upper_tail
        return _Axis(points[:, None], mass)


def estimate(data: Dataset, bandwidth: Bandwidth | float, boundary: Boundary) -> Kde | None:
    """The distribution of the contexts of a dataset; None where it has no context."""
    if not data.contexts.names:
        return None
    return Kde.of(data.boxed_c, bandwidth, boundary, data.scale.lower, data.scale.upper)


@dataclass(frozen=True)
class _Axis:
    """The cells of one dimension: their points, cells × 1, and each centre's mass in them, n × cells."""

    points: Array
    masses: Array


def check_rules(bandwidth: object, boundary: object) -> None:
    """A ConfigurationError where a bandwidth or a boundary is none."""
    one_of(boundary, "boundary", BOUNDARIES)
    if isinstance(bandwidth, str):
        one_of(bandwidth, "bandwidth", BANDWIDTHS)
    else:
        positive(bandwidth, "bandwidth")


def _widths(contexts: Array, rule: str | float) -> Array:
    """The bandwidth by a rule, or the number itself."""
    if not isinstance(rule, str):
        return np.full(contexts.shape[1], float(rule))
    widths = RULES[rule](contexts)
    return np.where(widths > 1e-12, widths, MIN_BANDWIDTH)
