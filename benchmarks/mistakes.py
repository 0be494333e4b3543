"""How often honest results look mistyped, what a mistyped one does, and how many single outcomes are covered.

    python benchmarks/mistakes.py --jobs 2

prints the tables of docs/mistakes.md, on both halves of the wide suite. All studies are of ``auto``. Their
decisions are its own, or Sobol points, which are cheap and reach more of the outcomes' tails.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from windage import Optimizer, Prediction
from windage.bench.runner import pool, through
from windage.bench.wide.families import FAMILIES, family_of, instance, problems
from windage.bench.wide.instance import Instance
from windage.bench.wide.sweep import CHECKPOINTS, decision_of, meet
from windage.errors import WindageWarning
from windage.observations import FEWEST_TO_JUDGE as FEWEST
from windage.search import sobol
from windage.space import Categorical, Decision

HALVES = ("development", "validation")
FRESH = 1000
"""Outcomes simulated to see how many an interval holds."""
OBSERVATIONS, NEAR = 30, 0.05
"""Of a study with a slip; a recommendation that moves by less, as a share of a variable's range, stays."""
FIRST_NUMBER = 3
"""Of the instances with slips: the suite itself has 0 to 2."""
SLIPS: dict[str, Callable[[float], float]] = {
    "times ten": lambda value: 10 * value,
    "a tenth": lambda value: value / 10,
    "the other sign": lambda value: -value,
}
LEFT_OUT = "left out"
"""No slip: the row is missing. What the best of all screens would do."""


@dataclass(frozen=True)
class Honest:
    """A study in which nothing is mistyped."""

    problem: str
    chooser: str
    seed: int
    budget: int
    values: int = 0
    """Values that ``tell`` warned about."""
    contexts: int = 0
    """Contexts that ``tell`` warned about."""
    told_contexts: int = 0
    """Contexts told from the fifth observation on."""
    suspects: int = 0
    """Rows that are kept out of the fit at the end."""
    covered: tuple[tuple[int, float], ...] = ()
    """After so many observations: the share of fresh outcomes inside of ``outcome.interval``."""
    regret: float = 0.0
    """Of the recommendation at the end, more than with screen=False; as a share of a random decision's."""
    earned: float = 0.0
    """The same of all decisions on average, where ``auto`` chose them."""
    touched: bool = False
    """Whether a row was ever suspect; if not, screen=False is the same to the last bit."""


@dataclass(frozen=True)
class Slipped:
    """A study with one mistyped value, beside the same study without it."""

    problem: str
    slip: str
    number: int = 0
    suspected: bool = False
    """Whether it is among ``suspects``."""
    moved: float = 0.0
    """How far the recommendation moves, as a share of a variable's range."""
    moved_unscreened: float = 0.0
    """The same with screen=False."""


def optimizer_of(problem: Instance, stream: int, screen: bool = True) -> Optimizer:
    """A study of ``auto``."""
    return Optimizer(problem.decisions, problem.contexts, seed=stream % 2**31, screen=screen)


def play_honest(task: Honest) -> Honest:
    """The study from beginning to end."""
    problem = instance(task.problem)
    stream = zlib.crc32(f"{task.problem} {task.seed}".encode())
    study, covered, names, touched = optimizer_of(problem, stream), [], [], False
    for step in range(task.budget):
        names += take(problem, study, task, step, stream)
        if task.chooser == "auto":
            touched |= bool(study.suspects)
        if step + 1 in CHECKPOINTS and (task.chooser == "auto" or task.seed == 0):
            share = inside(problem, study.recommend(), np.random.default_rng([stream, step]))
            covered.append((step + 1, share))
    found = replace(
        task,
        values=names.count("value"),
        contexts=len(names) - names.count("value"),
        told_contexts=(task.budget - FEWEST) * len(problem.contexts),
        suspects=len(study.suspects),
        covered=tuple(covered),
    )
    if not touched and not study.suspects:
        return found
    off = optimizer_of(problem, stream, screen=False)
    for step in range(task.budget):
        take(problem, off, task, step, stream)
    rows = [problem.row(one.recommend().decision) for one in (study, off)]
    on, without = problem.regret_share(np.concatenate(rows))
    taken = [np.concatenate([problem.row(d) for d in one.observations.decisions]) for one in (study, off)]
    earned = problem.regret_share(taken[0]).mean() - problem.regret_share(taken[1]).mean()
    return replace(found, regret=float(on - without), earned=float(earned), touched=True)


def take(problem: Instance, study: Optimizer, task: Honest, step: int, stream: int) -> list[str]:
    """One decision and its outcome; the names of what ``tell`` warned about."""
    if task.chooser == "auto":
        trial: Any = study.ask()
        decision = trial.decision
    else:
        unit = sobol(task.budget, len(problem.decisions), seed=stream)[[step]]
        trial = decision = decision_of(problem, problem.valid(unit)[0])
    return warned(study, trial, *meet(problem, [stream, step], problem.row(decision)))


def warned(study: Optimizer, trial: Any, context: dict[str, float], value: float) -> list[str]:
    """Tell, and the names of what it warned about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WindageWarning)
        study.tell(trial, context, value)
    return [str(warning.message).split()[0] for warning in caught]


def inside(problem: Instance, best: Prediction, rng: np.random.Generator) -> float:
    """The share of fresh outcomes of a decision that its interval of single outcomes holds."""
    x = np.repeat(problem.row(best.decision), FRESH, axis=0)
    found = problem.observe(x, problem.sample_contexts(FRESH, rng), rng)
    low, high = best.outcome.interval
    return float(((low <= found) & (found <= high)).mean())


def retold(
    problem: Instance, study: Optimizer, stream: int, screen: bool, wrong: tuple[int, float] | None = None
) -> Optimizer:
    """A new study of the same observations, one of them perhaps wrong."""
    again, told = optimizer_of(problem, stream, screen), study.observations
    for number, decision, context, value in zip(
        told.numbers, told.decisions, told.contexts, told.values, strict=True
    ):
        right = wrong is None or number != wrong[0]
        warned(again, decision, dict(context), value if right else wrong[1])
    return again


def play_slips(number: int) -> list[Slipped]:
    """A study of ``auto``, and what each slip in one of its values would do."""
    family = list(FAMILIES)[number % len(FAMILIES)]
    name = f"{family}+{FIRST_NUMBER + number}"
    problem, stream = instance(name), zlib.crc32(f"{name} slip".encode())
    study = optimizer_of(problem, stream)
    for step in range(OBSERVATIONS):
        trial = study.ask()
        warned(study, trial, *meet(problem, [stream, step], problem.row(trial.decision)))
    row = int(np.random.default_rng(stream).integers(OBSERVATIONS))
    value = study.observations.values[row]
    on, off = (retold(problem, study, stream, screen) for screen in (True, False))
    before = [one.recommend().decision for one in (on, off)]
    found = []
    for slip, change in SLIPS.items():
        studies = [retold(problem, study, stream, screen, (row, change(value))) for screen in (True, False)]
        moved = [distance(problem, a, b.recommend().decision) for a, b in zip(before, studies, strict=True)]
        found.append(Slipped(name, slip, number, row in studies[0].suspects, *moved))
    for one in (on, off):
        one.forget(row)
    moved = [distance(problem, a, b.recommend().decision) for a, b in zip(before, (on, off), strict=True)]
    return [*found, Slipped(name, LEFT_OUT, number, True, *moved)]


def distance(problem: Instance, a: Decision, b: Decision) -> float:
    """The largest move of a decision variable, as a share of its range; 1 for another choice."""
    moves = []
    for name, parameter in problem.decisions.items():
        if isinstance(parameter, Categorical):
            moves.append(float(a[name] != b[name]))
        else:
            moves.append(abs(a[name] - b[name]) / (parameter.high - parameter.low))
    return max(moves)


def rate(count: int, of: int) -> str:
    """So many of so many, and per thousand."""
    return f"{count:,} of {of:,} ({1000 * count / max(of, 1):.2f} in 1,000)"


def alarms(found: Sequence[Honest]) -> Iterator[str]:
    """Honest values and contexts that ``tell`` warned about, and honest rows that were kept out."""
    yield "| half | decisions | studies | values warned about | contexts warned about | rows left out |"
    yield "|---|---|---|---|---|---|"
    for half, chooser in product((*HALVES, "both"), ("sobol", "auto", "all")):
        some = [h for h in found if in_half(h.problem, half) and chooser in (h.chooser, "all")]
        told = sum(h.budget - FEWEST for h in some)
        yield (
            f"| {half} | {chooser} | {len(some)} | {rate(sum(h.values for h in some), told)} "
            f"| {rate(sum(h.contexts for h in some), sum(h.told_contexts for h in some))} "
            f"| {rate(sum(h.suspects for h in some), sum(h.budget for h in some))} |"
        )


def cost(found: Sequence[Honest]) -> Iterator[str]:
    """What the screen adds to the regret where nothing is mistyped."""
    yield "| half | decisions | studies | with a suspect | the recommendation's | a decision's |"
    yield "|---|---|---|---|---|---|"
    for half, chooser in product((*HALVES, "both"), ("sobol", "auto")):
        some = [h for h in found if in_half(h.problem, half) and h.chooser == chooser]
        touched = sum(h.touched for h in some)
        more = [h.regret for h in some], [h.earned for h in some]
        cells = [mean_and_error(more[0]), mean_and_error(more[1]) if chooser == "auto" else "–"]
        yield f"| {half} | {chooser} | {len(some)} | {touched} | {' | '.join(cells)} |"


def mean_and_error(values: Sequence[float]) -> str:
    """In percent, with the standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{100 * np.mean(values):+.2f} % ± {100 * error:.2f} %"


def robustness(found: Sequence[Slipped]) -> Iterator[str]:
    """How often the recommendation stays."""
    yield "| half | slip | studies | noticed | stays, with screen | stays, screen=False |"
    yield "|---|---|---|---|---|---|"
    for half, slip in product((*HALVES, "both"), (*SLIPS, LEFT_OUT)):
        some = [s for s in found if in_half(s.problem, half) and s.slip == slip]
        if some:
            on = np.mean([s.moved < NEAR for s in some])
            off = np.mean([s.moved_unscreened < NEAR for s in some])
            noticed = "–" if slip == LEFT_OUT else f"{np.mean([s.suspected for s in some]):.0%}"
            yield f"| {half} | {slip} | {len(some)} | {noticed} | {on:.0%} | {off:.0%} |"


def coverage(found: Sequence[Honest]) -> Iterator[str]:
    """The share of single outcomes inside of their interval, the mean over studies, and its lowest tenth."""
    afters = sorted({after for h in found for after, _ in h.covered})
    yield f"| half | decisions | studies | {' | '.join(f'after {after}' for after in afters)} |"
    yield "|---|---|---|" + "---|" * len(afters)
    for half, chooser in product((*HALVES, "both"), ("sobol", "auto")):
        some = [h for h in found if in_half(h.problem, half) and h.chooser == chooser and h.covered]
        shares = [[share for h in some for at, share in h.covered if at == after] for after in afters]
        cells = [f"{np.mean(s):.1%} (lowest tenth {np.quantile(s, 0.1):.0%})" if s else "–" for s in shares]
        yield f"| {half} | {chooser} | {len(some)} | {' | '.join(cells)} |"


def in_half(problem: str, half: str) -> bool:
    """Whether a problem belongs to a half, or to both."""
    return half in (family_of(problem).split, "both")


def plan(quick: bool) -> list[Honest]:
    """The honest studies: many of Sobol points, one of ``auto`` a problem."""
    names = ["newsvendor-costs+1", "cliffs+2"] if quick else problems()
    seeds, budget = (1, 20) if quick else (8, 80)
    sobols = [Honest(name, "sobol", seed, budget) for name in names for seed in range(seeds)]
    return [*sobols, *(Honest(name, "auto", 0, budget) for name in names)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--studies", type=int, default=100, help="with a mistyped value")
    parser.add_argument("--quick", action="store_true", help="two problems, to see that it runs")
    given = parser.parse_args()
    start, numbers = time.monotonic(), range(2 if given.quick else given.studies)
    honest = list(through(pool(given.jobs), play_honest, plan(given.quick), given.jobs))
    slipped = [s for some in through(pool(given.jobs), play_slips, numbers, given.jobs) for s in some]
    tables = {
        "Honest results that look mistyped": alarms(honest),
        "Regret that the screen adds where nothing is mistyped (mean ± standard error)": cost(honest),
        f"One value of {OBSERVATIONS} mistyped: the recommendation moves by less than {NEAR:.0%}": robustness(
            slipped
        ),
        "Single outcomes inside of their 95 % interval, at the recommended decision": coverage(honest),
    }
    for title, lines in tables.items():
        print(f"{title}\n")
        print("\n".join(lines), end="\n\n")
    print(f"{(time.monotonic() - start) / 60:.1f} minutes, {given.jobs} processes.")


if __name__ == "__main__":
    main()
