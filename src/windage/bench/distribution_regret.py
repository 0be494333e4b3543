"""What the estimate of the distribution alone costs: the regret of decisions best under it, f known.

A run of the bench also pays for learning f. Here f is known, and every decision is the best one on nodes of
the estimated distribution: so the rules for the density can be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from windage.bench.configuration import LATER_PROBLEMS
from windage.bench.problems import Problem, get
from windage.bench.run import context_at
from windage.bench.tables import BEST, Cell, Sheet, spread
from windage.contexts import Kde, Nodes
from windage.contexts.kde import Bandwidth, Boundary
from windage.search import sobol
from windage.space import Array

ESTIMATES: Mapping[str, tuple[Bandwidth, Boundary]] = {
    "rule of thumb, clamp": ("rule-of-thumb", "clamp"),
    "rule of thumb, reflect": ("rule-of-thumb", "reflect"),
    "Silverman, clamp": ("silverman", "clamp"),
    "ISJ, clamp": ("isj", "clamp"),
    "ISJ, reflect": ("isj", "reflect"),
    "held-out choice": ("held-out", "held-out"),
}
EMPIRICAL = "the contexts seen"
DECISIONS, NEAR = 2048, (0.3, 0.1, 0.03, 0.01)
"""Decisions to choose from: so many in the whole box, and as many around the optimum at each width."""
STEPS = 15
"""Steps at which the regret is computed; between them it is taken as that of the last one."""


def candidates(problem: Problem) -> Array:
    """Decisions to choose from, dense where the best ones lie."""
    low, high = problem.box
    unit = sobol(DECISIONS, len(low), 0)
    top = (problem.optimum.decision - low) / (high - low)
    near = [np.clip(top + width * (unit - 0.5), 0, 1) for width in NEAR]
    return np.asarray(low + (high - low) * np.concatenate([unit, *near]))


def regrets(problem: Problem, seed: int, budget: int, initial: int) -> Iterator[tuple[str, float]]:
    """(estimate, cumulative regret after the initial decisions) on the contexts of a run with this seed."""
    seen = np.array([context_at(problem, seed, step) for step in range(budget)])
    lower = np.array([p.low for p in problem.contexts.values()])
    upper = np.array([p.high for p in problem.contexts.values()])
    unit = np.clip((seen - lower) / (upper - lower), 0, 1)
    points = candidates(problem)
    lost = problem.optimum.value - problem.expected(points)
    at = np.unique(np.geomspace(initial, budget, STEPS + 1).round().astype(int))
    box = np.zeros(unit.shape[1]), np.ones(unit.shape[1])
    for name in (EMPIRICAL, *ESTIMATES):
        total = 0.0
        for first, after in pairwise(at):
            known = unit[:first]
            if name == EMPIRICAL:
                nodes = Nodes.equal(known)
            else:
                nodes = Kde.of(known, *ESTIMATES[name], *box).nodes(seed)
            contexts = lower + (upper - lower) * nodes.points
            values = [
                problem.function(part[:, None, :], contexts[None]) @ nodes.weights
                for part in np.array_split(points, max(1, len(points) * len(contexts) // 2**20))
            ]
            total += (after - first) * float(lost[np.concatenate(values).argmax()])
        yield name, total


def measure(
    seeds: Sequence[int], budget: int = 200, initial: int = 5, names: Sequence[str] = LATER_PROBLEMS
) -> Iterator[tuple[str, int, str, float]]:
    """(problem, seed, estimate, cumulative regret) of each problem of the suite ``later``."""
    for name in names:
        problem = get(name)
        for seed in seeds:
            for estimate, regret in regrets(problem, seed, budget, initial):
                yield name, seed, estimate, regret


def sheet(rows: Sequence[tuple[str, int, str, float]], budget: int) -> Sheet:
    """Problems × estimates."""
    estimates = list(dict.fromkeys(estimate for _, _, estimate, _ in rows))
    lines = []
    for problem in dict.fromkeys(problem for problem, *_ in rows):
        cells = [spread([r for p, _, e, r in rows if (p, e) == (problem, name)]) for name in estimates]
        least = min(cell.values[0] for cell in cells)
        marked = [Cell(c.text, BEST if c.values[0] == least else "", c.values) for c in cells]
        lines.append((problem, tuple(marked)))
    seeds = len({seed for _, seed, _, _ in rows})
    title = (
        f"Cumulative regret up to {budget} decisions of those best under the estimated distribution, f "
        f"known: mean ± standard error over {seeds} seeds (bold: the least)"
    )
    return Sheet("distribution-regret", title, ("problem", *estimates), tuple(lines))
