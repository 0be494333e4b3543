"""How one method stands against the others and against what was published, on the suite ``later``.

The published figures are of the works that this protocol comes from (docs/reproduction.md): mean cumulative
regret over the seeds 100 to 109, recomputed from their published decisions against the exact optimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from windage.bench import problems
from windage.bench.configuration import SUITES
from windage.bench.tables import BEST, LEVEL, Cell, Sheet, spread
from windage.errors import ConfigurationError
from windage.space import Array

if TYPE_CHECKING:
    import pandas

PUBLISHED_METHODS = (
    *("gp-ucb", "stableopt", "drbo-mmd", "drbo-mmd-minimax", "sbo-kde", "drbo-kde"),
    *("erbo", "wdrbo", "ledrbo"),
)
PUBLISHED: Mapping[str, Mapping[int, tuple[float, ...]]] = {
    "ackley@0.2": {
        100: (344, 759, 567, 621, 356, 419, 300, 451, 225),
        200: (598, 1428, 859, 1136, 633, 678, 504, 702, 343),
    },
    "branin@0.2": {
        100: (938, 2181, 1027, 1216, 771, 914, 723, 874, 733),
        200: (1419, 4793, 1502, 2153, 1059, 1304, 925, 1050, 1087),
    },
    "hartmann@0.2": {
        100: (103, 196, 158, 163, 70, 86, 63, 61, 59),
        200: (158, 370, 222, 295, 75, 113, 64, 63, 59),
    },
    "hartmann-complicated": {
        100: (110, 155, 147, 148, 81, 92, 64, 78, 59),
        200: (191, 294, 241, 244, 116, 145, 76, 93, 71),
    },
    "newsvendor": {
        100: (12.5, 43.8, 38.6, 47.8, 9.2, 10.8, 9.7, 10.7, 6.9),
        200: (14.5, 85.8, 54.9, 83.8, 13.5, 17.5, 14.9, 15.4, 7.2),
    },
}
"""By decisions made, in the order of ``PUBLISHED_METHODS``."""
INITIAL = SUITES["later"].initial or 0
"""The protocol's first decisions, which a method may choose itself."""
LAST = 10
"""The decisions over which the regret at the end is taken."""
STUCK = 0.1
"""A run is stuck in a local optimum if it ends with more regret than this share of the range of E f."""
SCANNED = 4096
"""Decisions among which the worst expectation is sought."""


def sheets(table: pandas.DataFrame, method: str) -> list[Sheet]:
    """Beside the published figures; against each other method, seed by seed, with and without the first
    decisions; what those cost; and at the end of the runs."""
    found = list(dict.fromkeys(table["method"]))
    if method not in found:
        raise ConfigurationError(f"no run of {method!r} is there; the methods run are {', '.join(found)}.")
    later = table[table["step"] >= INITIAL]
    what = f"cumulative regret after the first {INITIAL} decisions"
    against = [paired(table, method), paired(later, method, "paired-later", what)] if len(found) > 1 else []
    return [
        published(table, method),
        *against,
        first(table),
        ends(table, {name: expectation_range(name) for name in dict.fromkeys(table["problem"])}),
    ]


def published(table: pandas.DataFrame, method: str) -> Sheet:
    """The method's mean cumulative regret after 100 and 200 decisions beside the published ones."""
    rows = []
    own = table[table["method"] == method]
    for problem, by_count in PUBLISHED.items():
        runs = own[own["problem"] == problem]
        for count, figures in by_count.items():
            if runs.empty or runs["step"].max() + 1 < count:
                continue
            first = runs[runs["step"] < count]
            cell = spread([*first.groupby("seed")["regret"].sum()])
            best = min(figures)
            mean = cell.values[0]
            share = Cell(f"{mean / best:.2f}", values=(mean / best,))
            others = [Cell(f"{f:g}", BEST if f == best else "", (f,)) for f in figures]
            own_cell = Cell(cell.text, values=(mean,))
            rows.append((f"{problem}, {count} decisions", (own_cell, share, *others)))
    title = (
        f"Mean cumulative regret of {method} (± standard error over {own['seed'].nunique()} seeds), as a "
        "share of the best published, and as published (bold: the best of these)"
    )
    head = ("problem", method, "share", *(f"{name}, published" for name in PUBLISHED_METHODS))
    return Sheet("published", title, head, tuple(rows), ("mean",))


def paired(
    table: pandas.DataFrame, method: str, name: str = "paired", what: str = "cumulative regret"
) -> Sheet:
    """The difference of the other methods' summed regret from the method's on the same seeds.

    p is of Wilcoxon's signed-rank test that the other is no worse, corrected by Holm for all the table's
    tests.
    """
    by_run = _by_run(table)
    pairs = {}
    for (problem, other), runs in by_run.items():
        mine = by_run.get((problem, method), {})
        both = [seed for seed in runs if seed in mine]
        if other != method and both:
            pairs[problem, other] = np.array([runs[seed] - mine[seed] for seed in both])
    corrected = dict(zip(pairs, holm([_worse(d) for d in pairs.values()]), strict=True))
    others = list(dict.fromkeys(other for _, other in pairs))
    rows = []
    for problem in dict.fromkeys(problem for problem, _ in pairs):
        cells = []
        for other in others:
            if (problem, other) not in pairs:
                cells.append(Cell("", values=(math.nan, math.nan, 0, math.nan)))
                continue
            difference, p = pairs[problem, other], corrected[problem, other]
            mean = spread([*difference])
            words = f"{mean.text}, {int((difference > 0).sum())} of {len(difference)}, p {p:.3f}"
            cells.append(Cell(words, BEST if p <= LEVEL else "", (*mean.values, p)))
        rows.append((problem, tuple(cells)))
    title = (
        f"By how much the other methods' {what} is above {method}'s on the same seeds: mean ± "
        f"standard error, on how many seeds, and Wilcoxon's p with Holm's correction for {len(pairs)} tests "
        f"(bold: at most {LEVEL:g})"
    )
    return Sheet(name, title, ("problem", *others), tuple(rows), ("mean", "standard_error", "runs", "p"))


def first(table: pandas.DataFrame) -> Sheet:
    """Problems × methods: what the first decisions cost."""
    by_run = _by_run(table[table["step"] < INITIAL])
    methods = list(dict.fromkeys(table["method"]))
    rows = []
    for problem in dict.fromkeys(table["problem"]):
        found = [[*by_run.get((problem, method), {}).values()] for method in methods]
        empty = Cell("", values=(math.nan, math.nan, 0))
        rows.append((problem, tuple(spread(values) if values else empty for values in found)))
    title = f"Cumulative regret of the first {INITIAL} decisions, mean ± standard error over the seeds"
    return Sheet("first", title, ("problem", *methods), tuple(rows))


def _by_run(table: pandas.DataFrame, how: str = "sum") -> dict[tuple[str, str], dict[int, float]]:
    """The regret of each run, summed or its mean: (problem, method) → seed → it."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for (problem, method, seed), value in (
        table.groupby(["problem", "method", "seed"], sort=False)["regret"].agg(how).items()
    ):
        found.setdefault((problem, method), {})[seed] = float(value)
    return found


def _worse(difference: Array) -> float:
    """p that differences are not above 0."""
    if not difference.any():
        return 1.0
    return float(stats.wilcoxon(difference, alternative="greater").pvalue)


def holm(ps: list[float]) -> list[float]:
    """Holm's corrected p values, in the same order."""
    order = np.argsort(ps)
    raised = np.maximum.accumulate([(len(ps) - k) * ps[i] for k, i in enumerate(order)])
    found = np.empty(len(ps))
    found[order] = np.minimum(raised, 1.0)
    return [float(p) for p in found]


def ends(table: pandas.DataFrame, ranges: Mapping[str, float]) -> Sheet:
    """Problems × methods: how far the worst seed is from the best decision at the end, and who is stuck."""
    last = table[table["step"] > table["step"].max() - LAST]
    by_run = _by_run(last, "mean")
    methods = list(dict.fromkeys(table["method"]))
    rows = []
    for problem, whole in ranges.items():
        cells = [Cell(f"{STUCK * whole:.3g}", values=(STUCK * whole, 0))]
        for method in methods:
            found = by_run.get((problem, method), {}).values()
            if not found:
                cells.append(Cell("", values=(math.nan, 0)))
                continue
            stuck = sum(value > STUCK * whole for value in found)
            cells.append(Cell(f"{max(found):.3g}, {stuck} of {len(found)}", values=(max(found), stuck)))
        rows.append((problem, tuple(cells)))
    title = (
        f"Regret of the worst seed, mean over the last {LAST} decisions, and how many seeds end above a "
        "tenth of the range of the expectation"
    )
    return Sheet(
        "ends", title, ("problem", "a tenth of the range", *methods), tuple(rows), ("worst", "stuck")
    )


def expectation_range(name: str) -> float:
    """max - min over the decisions of E f(x, c), the minimum among Sobol points and corners."""
    problem = problems.get(name)
    low, high = problem.box
    unit = stats.qmc.Sobol(len(low), seed=0).random(SCANNED)
    points = low + (high - low) * np.concatenate([unit, unit.round()])
    return problem.optimum.value - float(problem.expected(points).min())
