"""Kernel density estimate of the context (paper, Eq. 2; docs/methods.md), on the unit box.

    p̂(c) = Σ_i w_i Π_d φ((c_d - c_id) / h_d) / h_d,     φ the standard normal density.

(The paper prints exp(-‖x‖²) for its kernel; exp(-‖x‖²/2) is meant.) At a bound that the user stated, the
law is clamped (mass beyond the bound sits on it, as clipped data do), reflected (truly bounded data), or
left alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from windage.density.bandwidth import RULES
from windage.density.nodes import Nodes, sobol

MIN_BANDWIDTH = 1e-3
"""In the unit box, where all contexts are equal: they still get a kernel of some width."""
CELLS: Mapping[int, int] = {1: 64, 2: 20}
"""Cells a side of the deterministic nodes; from three dimensions on they are Sobol points."""
SOBOL_NODES = 512
NEGLIGIBLE = 1e-9
"""Cells of less probability than this are dropped."""
HELD_OUT, BOUNDARIES = "held-out", ("clamp", "reflect")
"""What chooses a rule or a handling of the bounds by the likelihood of contexts held out, and among which."""
HELD_OUT_CONTEXTS, LEAST_DENSITY = 512, 1e-12
"""How many of the contexts are held out, one at a time, and below which a density counts as this."""


@dataclass(frozen=True)
class Kde:
    """A Gaussian KDE with a diagonal bandwidth.

    centres: n × Dc. bandwidth: Dc. lower, upper: Dc, infinite where there is no bound.
    """

    centres: Tensor
    bandwidth: Tensor
    lower: Tensor
    upper: Tensor
    boundary: str = "clamp"

    @classmethod
    def of(
        cls,
        contexts: Tensor,
        bandwidth: str | float = "rule-of-thumb",
        boundary: str = "clamp",
        lower: Tensor | None = None,
        upper: Tensor | None = None,
    ) -> Kde:
        """The estimate from the contexts seen, n × Dc; "held-out" chooses by ``held_out``."""
        infinite = torch.full((contexts.shape[1],), math.inf, dtype=contexts.dtype)
        lower = -infinite if lower is None else lower
        upper = infinite if upper is None else upper
        widths = [_widths(contexts, rule) for rule in (RULES if bandwidth == HELD_OUT else (bandwidth,))]
        handlings = BOUNDARIES if boundary == HELD_OUT else (boundary,)
        found = [cls(contexts, h, lower, upper, handling) for handling in handlings for h in widths]
        return found[0] if len(found) == 1 else max(found, key=lambda kde: kde.held_out())

    @cached_property
    def _images(self) -> list[list[tuple[float, float]]]:
        """For each dimension the maps c ↦ sign·c + shift whose kernels add up: mirrors at the bounds.

        Between two mirrors a kernel has images of images; those further than nine bandwidths add nothing.
        """
        images = []
        for low, high, h in zip(
            self.lower.tolist(), self.upper.tolist(), self.bandwidth.tolist(), strict=True
        ):
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
        """The law of one coordinate."""
        lower, upper = self.lower[d : d + 1], self.upper[d : d + 1]
        return Kde(self.centres[:, d : d + 1], self.bandwidth[d : d + 1], lower, upper, self.boundary)

    def held_out(self) -> float:
        """The mean log likelihood of each context under the estimate from the others.

        The density counts inside the bounds and the probability on them: contexts that lie on a bound speak
        for a clamped law, which alone has probability there; if none does, a reflected law is likelier.
        """
        n = len(self.centres)
        if n < 2:
            return 0.0
        some = torch.linspace(0, n - 1, min(n, HELD_OUT_CONTEXTS)).long()
        product = self.centres.new_ones(len(some), n)
        for d in range(len(self.bandwidth)):
            points = self.centres[some, d]
            kernels = self._kernels(points, d)
            for bound, side in ((self.lower[d], 1), (self.upper[d], -1)):
                on = points == bound
                tail = torch.special.ndtr(side * (bound - self.centres[:, d]) / self.bandwidth[d])
                kernels[on] = tail if self.boundary == "clamp" else 0.0
            product *= kernels
        product[torch.arange(len(some)), some] = 0
        return float((product.sum(1) / (n - 1)).clamp_min(LEAST_DENSITY).log().mean())

    def _kernels(self, points: Tensor, d: int) -> Tensor:
        """Each centre's share of the density of one coordinate at points, m × n."""
        h = self.bandwidth[d]
        total = points.new_zeros(len(points), len(self.centres))
        for sign, shift in self._images[d]:
            scaled = (points[:, None] - (sign * self.centres[:, d] + shift)) / h
            total += (-0.5 * scaled.square()).exp()
        return total / (h * math.sqrt(2 * math.pi))

    def pdf(self, points: Tensor) -> Tensor:
        """The density at points, m × Dc → m. Clamped mass is atoms on the bounds and no part of it."""
        product = points.new_ones(len(points), len(self.centres))
        for d in range(len(self.bandwidth)):
            product *= self._kernels(points[:, d], d)
        density = product.mean(1)
        if self.boundary == "none":
            return density
        inside = ((points >= self.lower) & (points <= self.upper)).all(1)
        return torch.where(inside, density, torch.zeros_like(density))

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws: resample a centre, add h·N(0, 1), then clamp or reflect; count × Dc."""
        chosen = torch.randint(len(self.centres), (count,), generator=generator)
        noise = torch.randn(count, self.centres.shape[1], generator=generator, dtype=self.centres.dtype)
        return self._bounded(self.centres[chosen] + self.bandwidth * noise)

    def monte_carlo(self, count: int, generator: torch.Generator) -> Nodes:
        """The paper's M draws of equal weight (SAA)."""
        return Nodes.equal(self.sample(count, generator))

    def nodes(self, seed: int = 0, coarse: bool = False) -> Nodes:
        """Deterministic nodes: exact masses of cells in one or two dimensions, Sobol points beyond.

        ``coarse``: half as many a dimension.
        """
        dimensions, part = self.centres.shape[1], 2 if coarse else 1
        if dimensions in CELLS:
            return self.cells(CELLS[dimensions] // part)
        return self.quasi(SOBOL_NODES // part, seed)

    def quasi(self, count: int, seed: int = 0) -> Nodes:
        """Quasi-Monte Carlo draws of equal weight."""
        # one coordinate picks the centre (sorted, so that near means near), the others the normal
        u = sobol(count, self.centres.shape[1] + 1, seed).clamp(1e-12, 1 - 1e-12)
        order = self.centres[:, 0].argsort()
        chosen = order[(u[:, 0] * len(order)).long().clamp_max(len(order) - 1)]
        normal = torch.special.ndtri(u[:, 1:])
        return Nodes.equal(self._bounded(self.centres[chosen] + self.bandwidth * normal))

    def _bounded(self, points: Tensor) -> Tensor:
        if self.boundary == "reflect":
            width = self.upper - self.lower
            folded = self.lower + width - ((points - self.lower).remainder(2 * width) - width).abs()
            points = torch.where(torch.isfinite(width), folded, points)
            points = torch.where(points < self.lower, 2 * self.lower - points, points)
            points = torch.where(points > self.upper, 2 * self.upper - points, points)
        if self.boundary != "none":
            points = torch.minimum(torch.maximum(points, self.lower), self.upper)
        return points

    def cells(self, count: int) -> Nodes:
        """Exact KDE mass of each cell of a grid; in two dimensions the product form Aᵀ diag(1/n) B."""
        positions, masses = zip(*(self._axis(d, count) for d in range(len(self.bandwidth))), strict=True)
        if len(positions) == 1:
            points, weights = positions[0][:, None], masses[0].mean(0)
        else:
            points = torch.cartesian_prod(*positions)
            weights = (masses[0].mT @ masses[1] / len(self.centres)).reshape(-1)
        keep = weights > NEGLIGIBLE
        weights = weights[keep]
        return Nodes(points[keep], weights / weights.sum())

    def _axis(self, d: int, count: int) -> tuple[Tensor, Tensor]:
        """Positions of the cells of one dimension, and each centre's mass in them, n × cells.

        A clamped bound is a position of its own that holds the kernel's tail beyond it.
        """
        h, centre = self.bandwidth[d], self.centres[:, d]
        reach = 4 * h
        low, high = centre.min() - reach, centre.max() + reach
        if self.boundary != "none":
            low, high = torch.maximum(low, self.lower[d]), torch.minimum(high, self.upper[d])
        edges = low + (high - low) * torch.linspace(0, 1, count + 1, dtype=centre.dtype)
        positions = (edges[1:] + edges[:-1]) / 2
        mass = torch.zeros(len(centre), count, dtype=centre.dtype)
        for sign, shift in self._images[d]:
            below = torch.special.ndtr((edges - (sign * centre + shift)[:, None]) / h)
            mass += below.diff(dim=1)
        lower_tail = torch.special.ndtr((edges[0] - centre) / h)
        upper_tail = torch.special.ndtr((centre - edges[-1]) / h)
        if self.boundary == "clamp":
            positions = torch.cat([edges[:1], positions, edges[-1:]])
            mass = torch.cat([lower_tail[:, None], mass, upper_tail[:, None]], dim=1)
        elif self.boundary == "none":
            mass[:, 0] += lower_tail
            mass[:, -1] += upper_tail
        return positions, mass


def _widths(contexts: Tensor, rule: str | float) -> Tensor:
    """The bandwidth by a rule, or the number itself."""
    if not isinstance(rule, str):
        return torch.full((contexts.shape[1],), float(rule), dtype=contexts.dtype)
    widths = RULES[rule](contexts)
    return torch.where(widths > 1e-12, widths, MIN_BANDWIDTH)
