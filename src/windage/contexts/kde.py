"""Kernel density estimate of the context (paper, Eq. 2; docs/methods.md), on the unit box.

    p̂(c) = Σ_i w_i Π_d K_d(c_d, c_id)

K_d is normal of width h_d, φ((c_d - c_id) / h_d) / h_d, for a real number; ``windage.contexts.axes`` has it
for whole numbers and choices. (The paper prints exp(-‖x‖²) for its kernel; exp(-‖x‖²/2) is meant.) At a bound
that the user stated, the distribution is clamped (mass beyond the bound sits on it, as clipped data do),
reflected (truly bounded data), or left alone. The weights w_i are equal unless old contexts are forgotten
(``forgetting``) or a part of the context is known (``conditioning``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from windage.contexts import discrete
from windage.contexts.axes import Axis, ChoiceAxis, KnownAxis, RealAxis, integer_axis
from windage.contexts.bandwidth import RULES
from windage.contexts.nodes import Nodes
from windage.search import sobol
from windage.space import Array, ContextKind, one_of, positive

Bandwidth = Literal["rule-of-thumb", "silverman", "isj", "held-out"]
Boundary = Literal["clamp", "reflect", "none", "held-out"]
BANDWIDTHS, BOUNDARIES = get_args(Bandwidth), get_args(Boundary)
HELD_OUT = "held-out"
"""Chooses a bandwidth rule, or a boundary, by the likelihood of contexts held out."""
MIN_BANDWIDTH = 1e-3
"""In the unit box, where all contexts are equal: they still get a kernel of some width."""
CELLS: Mapping[int, int] = {1: 64, 2: 20}
"""Cells a side of the deterministic nodes, by the number of numbers; from three on they are Sobol points."""
SOBOL_NODES = 512
"""More move the decision by about a thousandth of the box (docs/speed.md, four contexts)."""
MOST_CELLS, FEWEST_CELLS = 640, 12
"""Nodes in all where choices multiply them, and cells a side, below which Sobol points are better."""
NEGLIGIBLE = 1e-9
"""Cells of less probability than this are dropped."""
UNIFORM = 5.0
"""Ranges: a reflected kernel of this width is uniform to the last digit; a wider one only takes longer."""
HELD_OUT_CONTEXTS, LEAST_DENSITY = 512, 1e-12
"""How many of the contexts are held out, one at a time, and below which a density counts as this."""


@dataclass(frozen=True)
class Kde:
    """A KDE with a width for each coordinate."""

    centres: Array
    """n × Dc."""
    bandwidth: Array
    """Dc: h of a number, λ of a choice."""
    lower: Array
    """Dc; -∞ where there is no bound."""
    upper: Array
    """Dc; ∞ where there is no bound."""
    boundary: str = "clamp"
    weights: Array | None = None
    """n, of sum 1; None: all are equal."""
    kinds: tuple[ContextKind, ...] = ()
    """What values each coordinate has; empty: all are real numbers."""
    known: frozenset[int] = frozenset()
    """Coordinates whose value is known: it is that of every centre."""
    seen: float | None = None
    """From how many contexts the distribution is known; None: from as many as the weights say."""

    @classmethod
    def of(
        cls,
        contexts: Array,
        bandwidth: Bandwidth | float = "rule-of-thumb",
        boundary: Boundary = "clamp",
        lower: Array | None = None,
        upper: Array | None = None,
        weights: Array | None = None,
        kinds: tuple[ContextKind, ...] = (),
    ) -> Kde:
        """The estimate from the contexts seen, n × Dc; "held-out" chooses by ``held_out``."""
        infinite = np.full(contexts.shape[1], math.inf)
        lower = -infinite if lower is None else lower
        upper = infinite if upper is None else upper
        rules = RULES if bandwidth == HELD_OUT else (bandwidth,)
        widths = [_widths(contexts, rule, weights, kinds) for rule in rules]
        boundaries = ("clamp", "reflect") if boundary == HELD_OUT else (boundary,)
        found = []
        for name in boundaries:
            most = UNIFORM * (upper - lower) if name == "reflect" else infinite
            found += [cls(contexts, np.minimum(h, most), lower, upper, name, weights, kinds) for h in widths]
        best = found[0] if len(found) == 1 else max(found, key=lambda kde: kde.held_out())
        if not any(kind.levels for kind in kinds):
            return best
        return replace(
            best, bandwidth=discrete.widths(best.axes, contexts, best.shares, best.bandwidth, kinds)
        )

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The kernel of each coordinate."""
        return tuple(self.axis(d, float(h)) for d, h in enumerate(self.bandwidth))

    def axis(self, d: int, width: float) -> Axis:
        """The kernel of one coordinate, of this width."""
        kind = self.kinds[d] if self.kinds else ContextKind()
        if d in self.known:
            return KnownAxis()
        if kind.choice:
            return ChoiceAxis(width, kind.levels)
        if kind.levels:
            return integer_axis(width, kind.levels, CELLS[1])
        return RealAxis(width, float(self.lower[d]), float(self.upper[d]), self.boundary)

    @cached_property
    def shares(self) -> Array:
        """The weights, n, of sum 1."""
        return np.full(len(self.centres), 1 / len(self.centres)) if self.weights is None else self.weights

    @property
    def count(self) -> float:
        """From how many contexts it is known: n, or n_eff = 1/Σw² where weights differ."""
        if self.seen is not None:
            return self.seen
        return float(len(self.centres) if self.weights is None else 1 / (self.weights**2).sum())

    def marginal(self, d: int) -> Kde:
        """The distribution of one coordinate."""
        one = slice(d, d + 1)
        return replace(
            self,
            centres=self.centres[:, one],
            bandwidth=self.bandwidth[one],
            lower=self.lower[one],
            upper=self.upper[one],
            kinds=self.kinds[one],
            known=frozenset({0} if d in self.known else ()),
        )

    def held_out(self) -> float:
        """The mean log likelihood of each context under the estimate from the others.

        The density counts inside the bounds and the probability on them. Contexts that lie on a bound speak
        for clamping, which alone has probability there; if none does, reflection is likelier.
        """
        n = len(self.centres)
        if n < 2:
            return 0.0
        some = np.linspace(0, n - 1, min(n, HELD_OUT_CONTEXTS)).astype(np.intp)
        product = np.tile(self.shares, (len(some), 1))
        for d, axis in enumerate(self.axes):
            product *= axis.chances(self.centres[some, d], self.centres[:, d])
        product[np.arange(len(some)), some] = 0
        left = 1 - self.shares[some]
        logs = np.log(np.maximum(product.sum(axis=1) / left, LEAST_DENSITY))
        return float(logs @ (self.shares[some] / self.shares[some].sum()))

    def pdf(self, points: Array) -> Array:
        """The density at points, m × Dc → m. Clamped mass is atoms on the bounds and no part of it."""
        product = np.tile(self.shares, (len(points), 1))
        for d, axis in enumerate(self.axes):
            product *= axis.kernels(points[:, d], self.centres[:, d])
        density = product.sum(axis=1)
        if self.boundary == "none":
            return np.asarray(density)
        inside = ((points >= self.lower) & (points <= self.upper)).all(axis=1)
        return np.where(inside, density, 0.0)

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Draws: resample a centre, add h·N(0, 1), then clamp or reflect; count × Dc."""
        if self.weights is None:
            chosen = generator.integers(len(self.centres), size=count)
        else:
            chosen = generator.choice(len(self.centres), size=count, p=self.weights)
        return self._drawn(chosen, generator.standard_normal((count, self.centres.shape[1])))

    def _drawn(self, chosen: NDArray[np.intp], normal: Array) -> Array:
        """About chosen centres, from standard normal draws, k × Dc."""
        pairs = zip(self.axes, self.centres[chosen].T, normal.T, strict=True)
        return np.stack([axis.draw(centres, own) for axis, centres, own in pairs], axis=1)

    def monte_carlo(self, count: int, generator: np.random.Generator) -> Nodes:
        """The paper's M draws of equal weight (sample average approximation)."""
        return Nodes.equal(self.sample(count, generator))

    def nodes(self, seed: int = 0) -> Nodes:
        """Deterministic nodes: exact masses of cells with up to two numbers, Sobol points beyond."""
        numbers = sum(axis.size == 0 for axis in self.axes)
        levels = math.prod(axis.size for axis in self.axes if axis.size)
        if not numbers and levels <= MOST_CELLS:
            return self.cells(1)
        if numbers in CELLS:
            room = CELLS[numbers] if levels == 1 else int((MOST_CELLS / levels) ** (1 / numbers))
            if room >= FEWEST_CELLS:
                return self.cells(min(room, CELLS[numbers]))
        return self.quasi(SOBOL_NODES, seed)

    def quasi(self, count: int, seed: int = 0) -> Nodes:
        """Quasi-Monte Carlo draws of equal weight."""
        # one coordinate picks the centre (sorted, so that near means near), the others the normal
        u = np.clip(sobol(count, self.centres.shape[1] + 1, seed), 1e-12, 1 - 1e-12)
        first = next((d for d in range(self.centres.shape[1]) if d not in self.known), 0)
        order = np.argsort(self.centres[:, first], kind="stable")
        if self.weights is None:
            place = (u[:, 0] * len(order)).astype(np.intp)
        else:
            place = np.searchsorted(self.weights[order].cumsum(), u[:, 0])
        return Nodes.equal(self._drawn(order[np.minimum(place, len(order) - 1)], ndtri(u[:, 1:])))

    def cells(self, count: int) -> Nodes:
        """Exact KDE mass of each cell of a grid: Σ_i w_i Π_d of the masses of each coordinate's cells."""
        sides = [axis.cells(c, count) for axis, c in zip(self.axes, self.centres.T, strict=True)]
        *firsts, last = sides
        masses = self.shares[:, None]
        for side in firsts:
            masses = (masses[:, :, None] * side.masses[:, None, :]).reshape(len(masses), -1)
        weights = (masses.T @ last.masses).reshape(-1)
        pairs = np.meshgrid(*(side.points for side in sides), indexing="ij")
        points = np.stack(pairs, axis=-1).reshape(-1, len(sides))
        keep = weights > NEGLIGIBLE
        return Nodes(points[keep], weights[keep] / weights[keep].sum())


def check_rules(bandwidth: object, boundary: object) -> None:
    """A ConfigurationError where a bandwidth or a boundary is none."""
    one_of(boundary, "boundary", BOUNDARIES)
    if isinstance(bandwidth, str):
        one_of(bandwidth, "bandwidth", BANDWIDTHS)
    else:
        positive(bandwidth, "bandwidth")


def _widths(
    contexts: Array, rule: str | float, weights: Array | None, kinds: tuple[ContextKind, ...]
) -> Array:
    """The bandwidth of the numbers by a rule, or the number itself; of choices, where ``discrete`` starts."""
    found = np.array([discrete.START * (k.levels - 1) / k.levels if k.choice else 0.0 for k in kinds])
    found = found if kinds else np.zeros(contexts.shape[1])
    numbers = [d for d in range(contexts.shape[1]) if not (kinds and kinds[d].choice)]
    if not numbers:
        return found
    if isinstance(rule, str):
        widths = RULES[rule](contexts[:, numbers], weights)
        found[numbers] = np.where(widths > 1e-12, widths, MIN_BANDWIDTH)
    else:
        found[numbers] = float(rule)
    return found
