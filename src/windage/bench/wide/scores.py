"""Scores of the wide suite, over problems: each counts once, however large its outcomes are.

Regret is a share of a random decision's: 0 is the optimum, 1 a random decision. ``earn`` is its mean over all
decisions of a run. ``learn`` is that of the recommendation at a checkpoint. A problem's score is the mean
over its seeds. Intervals are bootstrapped over families: problems of one family are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windage.bench.tables import Cell, Sheet
from windage.bench.wide.sweep import CHECKPOINTS, WideRun
from windage.errors import ConfigurationError
from windage.space import Array

OFF = 0.05
"""A recommendation is off where its regret is more than this share of a random decision's."""
FLOOR = 1e-3
"""Regrets below a thousandth of a random decision's count as that in ratios and geometric means: which of two
decisions a thousandth from the best is nearer matters to nobody, and the geometric mean would see nothing
else."""
BOOTSTRAPS, BOOTSTRAP_SEED = 2000, 0
"""Draws of families for an interval: its ends are then sure to a hundredth."""
WORST = 0.1
"""The share of runs that the worst tenth is."""


@dataclass(frozen=True)
class Runs:
    """The runs of one method, problem by problem."""

    method: str
    by_problem: Mapping[str, tuple[WideRun, ...]]

    @classmethod
    def of(cls, method: str, runs: Sequence[WideRun]) -> Runs:
        """Those of this method that did not fail."""
        mine = [run for run in runs if run.task.method == method and not run.error]
        names = dict.fromkeys(run.task.problem for run in mine)
        return cls(method, {name: tuple(r for r in mine if r.task.problem == name) for name in names})

    @property
    def all(self) -> list[WideRun]:
        """In one list."""
        return [run for runs in self.by_problem.values() for run in runs]

    def score(self, of: Callable[[WideRun], float]) -> dict[str, float]:
        """The mean over the seeds, by problem."""
        return {name: float(np.mean([of(run) for run in runs])) for name, runs in self.by_problem.items()}


def earned(run: WideRun) -> float:
    """Mean regret a decision."""
    return float(np.mean(run.regret))


def learnt(after: int) -> Callable[[WideRun], float]:
    """Regret of the recommendation after so many decisions."""
    return lambda run: next(p.regret for p in run.checkpoints if p.after == after)


def geometric(values: Array) -> float:
    """The geometric mean, with the floor."""
    return float(np.exp(np.log(np.maximum(values, FLOOR)).mean(axis=-1)))


def interquartile(values: Array) -> float:
    """The mean of the middle half."""
    ordered = np.sort(values)
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def bootstrap(scores: Mapping[str, float], statistic: Callable[[Array], float]) -> tuple[float, float]:
    """The 95 % interval of a statistic of scores by problem; whole families are drawn."""
    families: dict[str, list[float]] = {}
    for problem, value in scores.items():
        families.setdefault(problem.partition("+")[0], []).append(value)
    groups = [np.array(values) for values in families.values()]
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    drawn = rng.integers(0, len(groups), (BOOTSTRAPS, len(groups)))
    found = np.array([statistic(np.concatenate([groups[i] for i in row])) for row in drawn])
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def ratio(a: Mapping[str, float], b: Mapping[str, float]) -> tuple[float, float, float]:
    """Geometric mean over problems of a / b, paired, and its 95 % interval; NaN where they share none."""
    shares = {name: max(a[name], FLOOR) / max(b[name], FLOOR) for name in a if name in b}
    if not shares:
        return math.nan, math.nan, math.nan
    logs = {name: math.log(share) for name, share in shares.items()}
    low, high = bootstrap(logs, lambda v: float(v.mean()))
    return math.exp(float(np.mean(list(logs.values())))), math.exp(low), math.exp(high)


def common(runs: Sequence[WideRun], methods: Sequence[str]) -> list[WideRun]:
    """The runs of these methods that did not fail, on the problems and seeds that all of them have.

    A method that fails on hard problems must not look better for it.
    """
    mine = [run for run in runs if run.task.method in methods and not run.error]
    if len({run.task.budget for run in mine}) > 1:
        raise ConfigurationError("these runs are of several budgets, and do not compare: give --budget.")
    pairs = [{(r.task.problem, r.task.seed) for r in mine if r.task.method == method} for method in methods]
    shared = set.intersection(*pairs) if pairs else set()
    return [run for run in mine if (run.task.problem, run.task.seed) in shared]


def off(runs: Sequence[WideRun], after: int) -> float:
    """The share of runs whose recommendation is off."""
    return float(np.mean([learnt(after)(run) > OFF for run in runs]))


def worst(runs: Sequence[WideRun], after: int) -> float:
    """The mean regret of the recommendation over the worst tenth of the runs."""
    found = np.sort([learnt(after)(run) for run in runs])
    return float(found[-max(1, round(WORST * len(found))) :].mean())


def coverage(runs: Sequence[WideRun], after: int) -> tuple[float, float]:
    """How often the 95 % interval held the truth: of the recommendation, and of random decisions."""
    points = [p for run in runs for p in run.checkpoints if p.after == after and p.covered is not None]
    if not points:
        return float("nan"), float("nan")
    return float(np.mean([p.covered for p in points])), float(np.mean([p.random_covered for p in points]))


def checkpoints(runs: Sequence[WideRun]) -> list[int]:
    """Those that all runs have."""
    budget = min(run.task.budget for run in runs)
    return sorted({after for after in CHECKPOINTS if after <= budget} | {budget})


def sheets(runs: Sequence[WideRun], methods: Sequence[str], against: Sequence[str]) -> list[Sheet]:
    """Regret a decision, regret of recommendations, and how sure: three tables of methods.

    ``against``: the methods that ratios are to; recommendations are compared with the first alone.
    """
    there = {run.task.method for run in runs if not run.error}
    chosen = [method for method in dict.fromkeys([*methods, *against]) if method in there]
    runs = common(runs, chosen)
    if not runs:
        return []
    each = [Runs.of(method, runs) for method in methods if method in chosen]
    references = [Runs.of(method, runs) for method in against if method in chosen]
    afters = checkpoints(runs)
    problems = len(each[0].by_problem)
    note = f"{problems} problems, {len(each[0].all)} runs of each method, {afters[-1]} decisions"
    learn = {f"after {after}": learnt(after) for after in afters}
    return [
        _regret("wide-earn", "Regret of a decision", {"all decisions": earned}, each, references, note),
        _regret("wide-learn", "Regret of the recommendation", learn, each, references[:1], note),
        _sureness(each, afters, note),
    ]


def _regret(
    name: str,
    what: str,
    columns: Mapping[str, Callable[[WideRun], float]],
    each: Sequence[Runs],
    references: Sequence[Runs],
    note: str,
) -> Sheet:
    """Methods × scores: geometric mean, middle half, and a ratio to each reference."""
    head = ["method"]
    for column in columns:
        head += [column, "middle half", *(f"/ {reference.method}" for reference in references)]
    rows = []
    for found in each:
        cells: list[Cell] = []
        for of in columns.values():
            scores = found.score(of)
            values = np.array(list(scores.values()))
            mean, middle = geometric(values), interquartile(values)
            low, high = bootstrap(scores, geometric)
            cells.append(Cell(f"{mean:.3f} ({low:.3f}–{high:.3f})", values=(mean, low, high)))
            cells.append(Cell(f"{middle:.3f}", values=(middle, *bootstrap(scores, interquartile))))
            for reference in references:
                share, low, high = ratio(scores, reference.score(of))
                cells.append(Cell(f"{share:.2f} ({low:.2f}–{high:.2f})", values=(share, low, high)))
        rows.append((found.method, tuple(cells)))
    title = (
        f"{what}: geometric mean (95 %), middle half, paired ratios. Shares of a random decision's. {note}"
    )
    return Sheet(name, title, tuple(head), tuple(rows), ("estimate", "low", "high"))


def _sureness(each: Sequence[Runs], afters: Sequence[int], note: str) -> Sheet:
    head = ["method", *(f"off after {a}" for a in afters), f"worst tenth after {afters[-1]}"]
    head += [f"covered after {a}" for a in afters] + ["seconds an ask"]
    rows = []
    for found in each:
        runs = found.all
        shares = [off(runs, after) for after in afters]
        cells = [Cell(f"{share:.0%}", values=(share, np.nan)) for share in shares]
        tail = worst(runs, afters[-1])
        cells.append(Cell(f"{tail:.2f}", values=(tail, np.nan)))
        for after in afters:
            pair = coverage(runs, after)
            cells.append(Cell("–" if np.isnan(pair[0]) else f"{pair[0]:.1%} / {pair[1]:.1%}", values=pair))
        seconds = float(np.mean([run.ask_seconds for run in runs]))
        cells.append(Cell(f"{seconds:.3f}", values=(seconds, np.nan)))
        rows.append((found.method, tuple(cells)))
    title = f"Off by more than {OFF:.0%}; coverage of the 95 % interval: recommended / random. {note}"
    return Sheet("wide-sureness", title, tuple(head), tuple(rows), ("estimate", "second"))
