"""Table 2 of the paper: how far the estimated density of the context is from the true one.

The distance is ∫|p̂ - p| over the whole line, of contexts that are not clipped; the paper calls it total
variation, without the factor ½.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from windage.bench.distributions import Marginal
from windage.bench.problems import COMPLICATED
from windage.bench.tables import BEST, Cell, Sheet, spread
from windage.contexts import Kde
from windage.contexts.kde import Bandwidth
from windage.space import Array

DISTRIBUTIONS: Mapping[str, Marginal] = {"normal": stats.norm(0.5, 0.1), "complicated": COMPLICATED}
COUNTS = (10, 100, 200, 300)
RULES: tuple[Bandwidth, ...] = ("rule-of-thumb", "silverman")
PAPER: Mapping[str, tuple[str, ...]] = {
    "normal": ("0.3222 ± 0.0327", "0.1315 ± 0.0088", "0.1156 ± 0.0079", "0.0962 ± 0.0083"),
    "complicated": ("0.6216 ± 0.0190", "0.5380 ± 0.0333", "0.4853 ± 0.0233", "0.4724 ± 0.0258"),
}
"""As printed in the paper's Table 2."""
FINEST, REACH, POINTS = 1e-2, 1e8, 20_001
CHUNK, NEGLIGIBLE = 128, 9.0
"""Points at a time, and the distance in bandwidths from which a kernel adds nothing."""


def line() -> Array:
    """Points of the line, dense near the middle and ever wider apart: Cauchy draws lie far out."""
    end = np.arcsinh(REACH / FINEST)
    return np.asarray(0.5 + FINEST * np.sinh(np.linspace(-end, end, POINTS)))


def distance(truth: Marginal, contexts: Array, rule: Bandwidth) -> float:
    """∫|p̂ - p| for the KDE of these contexts (n)."""
    kde = Kde.of(contexts[:, None], rule, boundary="none")
    # a kernel far out is narrow beside the line's steps: its own points are needed there
    h, base = float(kde.bandwidth[0]), line()
    gaps = np.interp(contexts, base, np.gradient(base))
    near = (contexts[gaps > h / 8, None] + h * np.linspace(-6, 6, 49)).reshape(-1)
    points = np.unique(np.concatenate([base, near]))
    parts = [_pdf(kde, points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
    return float(np.trapezoid(np.abs(np.concatenate(parts) - truth.pdf(points)), points))


def _pdf(kde: Kde, points: Array) -> Array:
    """The estimate at points in order, from the centres that are near enough to matter."""
    reach = NEGLIGIBLE * kde.bandwidth
    near = ((kde.centres > points[0] - reach) & (kde.centres < points[-1] + reach)).all(axis=1)
    if not near.any():
        return np.zeros_like(points)
    return np.asarray(near.mean() * replace(kde, centres=kde.centres[near]).pdf(points[:, None]))


def measure(
    repetitions: int = 20,
    counts: Sequence[int] = COUNTS,
    rules: Sequence[Bandwidth] = RULES,
    seed: int = 0,
) -> Iterator[tuple[str, str, int, float]]:
    """(distribution, rule, n, distance) for each repetition; every rule sees the same contexts."""
    for which, (name, truth) in enumerate(DISTRIBUTIONS.items()):
        for repetition in range(repetitions):
            rng = np.random.default_rng([seed, which, repetition])
            contexts = truth.rvs(size=max(counts), random_state=rng)
            for rule in rules:
                for n in counts:
                    yield name, rule, n, distance(truth, contexts[:n], rule)


def sheet(rows: Sequence[tuple[str, str, int, float]]) -> Sheet:
    """Distributions and rules × counts, beside the paper's figures."""
    counts = list(dict.fromkeys(n for _, _, n, _ in rows))
    rules = list(dict.fromkeys(rule for _, rule, _, _ in rows))
    repetitions = len(rows) // max(len(counts) * len(rules) * len(DISTRIBUTIONS), 1)
    lines = []
    for name in DISTRIBUTIONS:
        if tuple(counts) == COUNTS:
            printed = tuple(Cell(text, values=_numbers(text)) for text in PAPER[name])
            lines.append((f"{name}, paper", printed))
        cells = {
            rule: [spread([d for a, b, m, d in rows if (a, b, m) == (name, rule, n)], 4) for n in counts]
            for rule in rules
        }
        for rule in rules:
            marked = []
            for k, cell in enumerate(cells[rule]):
                best = min(rules, key=lambda r: cells[r][k].values[0])
                marked.append(Cell(cell.text, BEST if rule == best and len(rules) > 1 else "", cell.values))
            lines.append((f"{name}, {rule}", tuple(marked)))
    title = (
        f"∫|estimated - true density of the context|, mean ± standard error over {repetitions} repetitions "
        "(bold: the better bandwidth)"
    )
    head = ("distribution, bandwidth", *(f"n = {n}" for n in counts))
    return Sheet("density", title, head, tuple(lines))


def _numbers(text: str) -> tuple[float, ...]:
    mean, error = text.split(" ± ")
    return (float(mean), float(error), 20)
