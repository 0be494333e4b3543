"""Families of the wide suite: draws from Gaussian processes on decisions and contexts together.

A draw is a sum of cosines with random frequencies, random Fourier features (Rahimi & Recht 2007): normal
frequencies give the squared exponential kernel, Student's t frequencies a Matérn kernel. The mean over
contexts of such a sum is exact and cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from windage.bench.wide.contexts import ContextDistribution, draw
from windage.bench.wide.instance import Family, Instance, noise_of
from windage.space import Array, Real

SMOOTH, ROUGH, TERM = 500, 1000, 100
"""Cosines of a smooth draw, of a rough one (its frequencies spread wider), and of one term of a sum."""
BLOCK = 2**10
"""Decisions whose cosines are computed at a time: 16 MB with ``ROUGH``."""
TRIES, COARSE, MARGIN, LEVELS = 40, 2**9, 0.03, np.linspace(0, 1, 41)
"""Draws at most, decisions and contexts of a rough look at one, and how near a bound counts as at it."""
CONTEXT_WEIGHT = 1.5
"""Of the terms with a context in a sum, beside 1 of those without: else these outnumber them."""
CONTEXT_LENGTHS = (1.2, 2.0)
"""Lengthscales of the contexts, in standard deviations of the context times √Dc. At 1.5 the context makes
about a quarter of the variance of a smooth draw, whatever the distribution and the number of contexts."""


@dataclass(frozen=True, eq=False)
class Waves:
    """Σ_j a_j cos(p_j·w(x) + q_j·c + b_j) + s·x + t·c for J cosines, w a power of each decision variable."""

    amplitudes: Array
    """a, J."""
    decision_frequencies: Array
    """p, Dx × J."""
    context_frequencies: Array
    """q, Dc × J."""
    phases: Array
    """b, J."""
    decision_slopes: Array
    """s, Dx."""
    context_slopes: Array
    """t, Dc."""
    powers: Array
    """Dx; a: w = x^a, fast at the upper end; -a: w = 1 - (1 - x)^a, fast at the lower end."""

    def __call__(self, x: Array, c: Array) -> Array:
        """x[..., Dx] and c[..., Dc] → values, by cos(u + v) = cos u cos v - sin u sin v."""
        v = c @ self.context_frequencies
        waves = np.einsum("...j,...j->...", self._features(x), np.concatenate([np.cos(v), np.sin(v)], -1))
        return np.asarray(waves + x @ self.decision_slopes + c @ self.context_slopes)

    def average(self, nodes: Array) -> Callable[[Array], Array]:
        """Contexts m × Dc → a map from decisions n × Dx to their mean values, n."""
        v = nodes @ self.context_frequencies
        means = np.concatenate([np.cos(v).mean(axis=0), np.sin(v).mean(axis=0)])
        level = float(nodes.mean(axis=0) @ self.context_slopes)

        def averaged(x: Array) -> Array:
            parts = [x[i : i + BLOCK] for i in range(0, len(x), BLOCK)]
            waves = [self._features(part) @ means for part in parts]
            return np.concatenate([*waves, np.zeros(0)]) + x @ self.decision_slopes + level

        return averaged

    def _features(self, x: Array) -> Array:
        """a cos u and -a sin u at the phases u of the decisions, [..., 2 J]."""
        u = self._warp(x) @ self.decision_frequencies + self.phases
        return np.concatenate([self.amplitudes * np.cos(u), -self.amplitudes * np.sin(u)], axis=-1)

    def _warp(self, x: Array) -> Array:
        if np.all(self.powers == 1):
            return x
        inside = np.clip(x, 0, 1)  # a step for a slope may leave the box by a rounding error
        up, down = inside ** np.abs(self.powers), 1 - (1 - inside) ** np.abs(self.powers)
        return np.where(self.powers > 0, up, down)


def smooth(name: str, number: int, rng: np.random.Generator) -> Instance:
    """Squared exponential kernel, lengthscales 0.2 to 0.5 of the box."""
    dx, dc, kind = ((1, 1, "normal"), (2, 2, "correlated"), (3, 1, "humps"))[number % 3]
    distribution = draw(kind, dc, rng)
    scales = _lengths(dx, distribution, (0.2, 0.5), rng)

    def one() -> Waves:
        return _waves(_normal(SMOOTH, rng), rng.standard_normal((dx + dc, SMOOTH)) / scales[:, None], dx, rng)

    return _instance(name, number, distribution, dx, rng, one)


def rough(name: str, number: int, rng: np.random.Generator) -> Instance:
    """Matérn kernels with ν = 3/2, 1/2 and 3/2: t frequencies with 2ν degrees of freedom."""
    dx, dc, kind = ((1, 2, "skewed"), (2, 1, "heavy"), (3, 1, "atoms"))[number % 3]
    freedom = (3, 1, 3)[number % 3]
    distribution = draw(kind, dc, rng)
    scales = _lengths(dx, distribution, (0.4, 0.8), rng)  # longer than a smooth draw's: its waves are shorter

    def one() -> Waves:
        shrink = np.sqrt(rng.chisquare(freedom, ROUGH) / freedom)
        frequencies = rng.standard_normal((dx + dc, ROUGH)) / scales[:, None] / shrink
        return _waves(_normal(ROUGH, rng), frequencies, dx, rng)

    return _instance(name, number, distribution, dx, rng, one)


def additive(name: str, number: int, rng: np.random.Generator) -> Instance:
    """A sum of smooth draws: of each decision variable, of some pairs, and of each with a context."""
    dx, dc, kind = ((4, 1, "skewed"), (5, 2, "unbounded"), (6, 3, "normal"))[number % 3]
    distribution = draw(kind, dc, rng)
    scales = _lengths(dx, distribution, (0.3, 0.7), rng)
    order = [int(d) for d in rng.permutation(dx)]
    pairs = list(zip(order[::2], order[1::2], strict=False))
    terms = [*((d,) for d in range(dx)), *pairs, *((d, dx + i % dc) for i, d in enumerate(order))]
    weights = np.repeat([CONTEXT_WEIGHT if max(term) >= dx else 1.0 for term in terms], TERM)

    def one() -> Waves:
        frequencies = np.concatenate([_term(term, scales, rng) for term in terms], axis=1)
        return _waves(weights * np.sqrt(len(terms)) * _normal(len(weights), rng), frequencies, dx, rng)

    return _instance(name, number, distribution, dx, rng, one)


def nonstationary(name: str, number: int, rng: np.random.Generator) -> Instance:
    """A smooth draw of powers of the decision variables: fast at one end, nearly flat at the other."""
    dx, dc, kind = ((1, 1, "atoms"), (2, 2, "humps"), (3, 1, "unbounded"))[number % 3]
    distribution = draw(kind, dc, rng)
    scales = _lengths(dx, distribution, (0.25, 0.5) if dx < 3 else (0.3, 0.6), rng)

    def one() -> Waves:
        powers = rng.choice([-1.0, 1.0], dx) * rng.uniform(1.8, 3.0, dx)
        frequencies = rng.standard_normal((dx + dc, SMOOTH)) / scales[:, None]
        return _waves(_normal(SMOOTH, rng), frequencies, dx, rng, powers=powers)

    return _instance(name, number, distribution, dx, rng, one)


def periodic(name: str, number: int, rng: np.random.Generator) -> Instance:
    """A few cosines with whole frequencies over the box, which contexts shift, and a slope."""
    dx, dc, kind = ((1, 1, "humps"), (2, 1, "heavy"), (4, 2, "correlated"))[number % 3]
    distribution = draw(kind, dc, rng)
    count = 3 * dx

    def one() -> Waves:
        whole = np.zeros((dx + dc, count))
        for j in range(count):  # each variable three times, at times with another; most with a context
            whole[j % dx, j] = rng.integers(1, 4 if dx == 1 else 3)
            if dx > 1 and rng.random() < 0.5:
                whole[(j + 1) % dx, j] = rng.choice([-1, 1])
            if j:
                whole[dx + j % dc, j] = rng.choice([-1, 1])
        amplitudes = rng.uniform(0.5, 1.0, count) / np.sqrt(count)
        # Over the box a slope adds about as much as one cosine does.
        slopes = rng.choice([-1.0, 1.0], dx + dc) * rng.uniform(0.4, 0.8, dx + dc) / np.sqrt(count)
        return _waves(amplitudes, 2 * np.pi * whole, dx, rng, slopes)

    return _instance(name, number, distribution, dx, rng, one)


def _inside(
    distribution: ContextDistribution, dx: int, rng: np.random.Generator, one: Callable[[], Waves]
) -> Waves:
    """The first of ``TRIES`` draws whose best decision is at a bound in at most a third of its variables.

    A stationary draw favours the bounds of a box, the more the more variables; a box set by people does not.
    """
    nodes = rng.choice(distribution.nodes, COARSE, replace=False)
    found = one()
    for _ in range(TRIES - 1):
        best = _coarse_best(found.average(nodes), dx, rng)
        if np.sum((best < MARGIN) | (best > 1 - MARGIN)) <= dx // 3:
            break
        found = one()
    return found


def _coarse_best(average: Callable[[Array], Array], dx: int, rng: np.random.Generator) -> Array:
    """The best of random decisions, then four sweeps over the variables, each on ``LEVELS``, Dx."""
    points = rng.random((COARSE, dx))
    best: Array = points[average(points).argmax()]
    for d in [*range(dx)] * 4:
        line = np.repeat(best[None], len(LEVELS), axis=0)
        line[:, d] = LEVELS
        best = line[average(line).argmax()]
    return best


def _lengths(
    dx: int, distribution: ContextDistribution, ends: tuple[float, float], rng: np.random.Generator
) -> Array:
    """Lengthscales, Dx + Dc: of the decisions between the ends, of the contexts by their spread."""
    spread = distribution.nodes.std(axis=0)
    contexts = rng.uniform(*CONTEXT_LENGTHS, len(spread)) * np.sqrt(len(spread)) * spread
    return np.concatenate([rng.uniform(*ends, dx), contexts])


def _term(term: Iterable[int], scales: Array, rng: np.random.Generator) -> Array:
    """Frequencies of a draw over those variables alone, (Dx + Dc) × ``TERM``."""
    found = np.zeros((len(scales), TERM))
    for d in term:
        found[d] = rng.standard_normal(TERM) / scales[d]
    return found


def _waves(
    amplitudes: Array,
    frequencies: Array,
    dx: int,
    rng: np.random.Generator,
    slopes: Array | None = None,
    powers: Array | None = None,
) -> Waves:
    """With random phases; ``frequencies`` and ``slopes`` of the decisions first, then of the contexts."""
    phases = rng.uniform(0, 2 * np.pi, len(amplitudes))
    slopes = np.zeros(len(frequencies)) if slopes is None else slopes
    powers = np.ones(dx) if powers is None else powers
    return Waves(amplitudes, frequencies[:dx], frequencies[dx:], phases, slopes[:dx], slopes[dx:], powers)


def _normal(count: int, rng: np.random.Generator) -> Array:
    """Amplitudes of a draw with variance 1."""
    return np.asarray(np.sqrt(2 / count) * rng.standard_normal(count))


def _instance(
    name: str,
    number: int,
    distribution: ContextDistribution,
    dx: int,
    rng: np.random.Generator,
    one: Callable[[], Waves],
) -> Instance:
    decisions = {f"x{d + 1}": Real(0.0, 1.0) for d in range(dx)}
    return Instance(name, decisions, distribution, _inside(distribution, dx, rng, one), noise_of(number))


FAMILIES: tuple[Family, ...] = (
    Family("gp-smooth", "a draw with the squared exponential kernel", "development", smooth),
    Family("gp-rough", "a draw with a Matérn kernel, ν = 3/2 or 1/2", "validation", rough),
    Family("gp-additive", "a sum of draws over single variables and pairs", "development", additive),
    Family("gp-nonstationary", "a draw that varies faster at one end", "validation", nonstationary),
    Family("gp-periodic", "cosines with whole frequencies, and a slope", "development", periodic),
)
