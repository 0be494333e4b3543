"""Table 2 of the paper: how far the estimated density of the context is from the true one.

The distance is ∫|p̂ - p| over the whole line, of contexts that are not clipped; the paper calls it total
variation, without the factor ½.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from scipy import stats

from windage.bench.laws import Marginal
from windage.bench.problems import COMPLICATED
from windage.bench.tables import BEST, Cell, Sheet, spread
from windage.density import Kde
from windage.space import Array

LAWS: Mapping[str, Marginal] = {"normal": stats.norm(0.5, 0.1), "complicated": COMPLICATED}
COUNTS = (10, 100, 200, 300)
RULES = ("rule-of-thumb", "silverman")
PAPER: Mapping[str, tuple[str, ...]] = {
    "normal": ("0.3222 ± 0.0327", "0.1315 ± 0.0088", "0.1156 ± 0.0079", "0.0962 ± 0.0083"),
    "complicated": ("0.6216 ± 0.0190", "0.5380 ± 0.0333", "0.4853 ± 0.0233", "0.4724 ± 0.0258"),
}
"""As printed in the paper's Table 2."""
FINEST, REACH, POINTS = 1e-2, 1e8, 20_001


def line() -> Array:
    """Points of the line, dense near the laws' middle and ever wider apart: Cauchy draws lie far out."""
    end = np.arcsinh(REACH / FINEST)
    return np.asarray(0.5 + FINEST * np.sinh(np.linspace(-end, end, POINTS)))


def distance(law: Marginal, contexts: Array, rule: str) -> float:
    """∫|p̂ - p| for the KDE of these contexts (n)."""
    centres = torch.from_numpy(np.ascontiguousarray(contexts))[:, None]
    kde = Kde.of(centres, rule, boundary="none")
    # the estimate is narrow where a far draw lies: its own points are needed there
    h = float(kde.bandwidth[0])
    near = (contexts[:, None] + h * np.linspace(-6, 6, 49)).reshape(-1)
    points = np.unique(np.concatenate([line(), near]))
    parts = [torch.from_numpy(points[i : i + 8192])[:, None] for i in range(0, len(points), 8192)]
    estimate = torch.cat([kde.pdf(part) for part in parts]).numpy()
    return float(np.trapezoid(np.abs(estimate - law.pdf(points)), points))


def measure(
    repetitions: int = 20,
    counts: Sequence[int] = COUNTS,
    rules: Sequence[str] = RULES,
    seed: int = 0,
) -> Iterator[tuple[str, str, int, float]]:
    """(law, rule, n, distance) for each repetition; every rule sees the same contexts."""
    for which, (name, law) in enumerate(LAWS.items()):
        for repetition in range(repetitions):
            contexts = law.rvs(
                size=max(counts), random_state=np.random.default_rng([seed, which, repetition])
            )
            for rule in rules:
                for n in counts:
                    yield name, rule, n, distance(law, contexts[:n], rule)


def sheet(rows: Sequence[tuple[str, str, int, float]]) -> Sheet:
    """Laws and rules × counts, beside the paper's figures."""
    counts = list(dict.fromkeys(n for _, _, n, _ in rows))
    rules = list(dict.fromkeys(rule for _, rule, _, _ in rows))
    repetitions = len(rows) // max(len(counts) * len(rules) * len(LAWS), 1)
    lines = []
    for law in LAWS:
        if tuple(counts) == COUNTS:
            printed = tuple(Cell(text, values=_numbers(text)) for text in PAPER[law])
            lines.append((f"{law}, paper", printed))
        cells = {
            rule: [spread([d for a, b, m, d in rows if (a, b, m) == (law, rule, n)], 4) for n in counts]
            for rule in rules
        }
        for rule in rules:
            marked = []
            for k, cell in enumerate(cells[rule]):
                best = min(rules, key=lambda r: cells[r][k].values[0])
                marked.append(Cell(cell.text, BEST if rule == best and len(rules) > 1 else "", cell.values))
            lines.append((f"{law}, {rule}", tuple(marked)))
    title = (
        f"∫|estimated - true density of the context|, mean ± standard error over {repetitions} repetitions "
        "(bold: the better bandwidth)"
    )
    return Sheet("density", title, ("law, bandwidth", *(f"n = {n}" for n in counts)), tuple(lines))


def _numbers(text: str) -> tuple[float, ...]:
    mean, error = text.split(" ± ")
    return (float(mean), float(error), 20)
