"""Conditions known in part, forecast or changing: the tables of docs/conditions.md.

    python benchmarks/conditions.py known --out results/conditions
    python benchmarks/conditions.py useless --out results/conditions --seeds 0-9
    python benchmarks/conditions.py change --out results/conditions
    python benchmarks/conditions.py stable --out results/conditions --seeds 0-9
    python benchmarks/conditions.py alarms
    python benchmarks/conditions.py speed

Each prints its tables. The first four keep their runs in ``--out`` and continue what was stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from measure import timed
from windage import Optimizer
from windage.bench.conditions import KINDS, alarms, change, known
from windage.bench.conditions.runs import Run, Task, by_problem, play_to, problem_of, said_on, sweep
from windage.bench.wide.scores import ratio
from windage.contexts.shift import FALSE_ALARM

DECISIONS = 80
"""Of a run with a known part."""
BARS = {"known": 0.6, "useless": 1.05, "change": 0.5, "stable": 1.03, "found": 0.8, "speed": 1.5}
"""What was aimed at; ratios at most, the share of shifts that is found at least."""
TIMED, REPEATS = ("shop", "bakery", "calls", "half"), 9
"""Problems whose asks are timed, and how often each ask is."""


def show(run: Run, number: int, of: int) -> None:
    """A line of progress, beside the tables."""
    task = run.task
    print(f"{number}/{of} {task.problem} {task.arm} {task.seed}: {np.mean(run.regret):.3f}", file=sys.stderr)


def seeds_of(text: str) -> list[int]:
    """``0-2`` or ``0,4``."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(seed) for seed in text.split(",")]


def runs_of(
    given: argparse.Namespace, names: Sequence[str], arms: Sequence[str], decisions: int
) -> list[Run]:
    """The runs of these problems and arms, played where they are missing."""
    chosen = [name for name in names if not given.problems or name.partition("/")[0] in given.problems]
    tasks = [
        Task(name, arm, seed, given.decisions or decisions)
        for seed in seeds_of(given.seeds)
        for name in chosen
        for arm in arms
    ]
    return sweep(Path(given.out), tasks, show)


def note(given: argparse.Namespace, runs: Sequence[Run]) -> str:
    """What a table stands on."""
    commits = ", ".join(sorted({run.version[:12] for run in runs}))
    count = len({run.task.problem for run in runs})
    return f"{count} problems, seeds {given.seeds}, {runs[0].task.decisions} decisions; commit {commits}."


def mean_line(a: dict[str, float], b: dict[str, float], bar: float) -> str:
    """The geometric mean of the ratios, its interval, and the bar."""
    mean, low, high = ratio(a, b)
    word = "kept" if mean <= bar else "missed"
    return f"{mean:.3f} ({low:.3f}–{high:.3f}); at most {bar:g} was aimed at: {word}"


def known_table(runs: Sequence[Run], bar: float) -> Iterator[str]:
    """Regret with and without the knowledge, problem by problem."""
    half = runs[0].task.decisions // 2
    scores = {arm: by_problem(runs, arm) for arm in ("with", "without")}
    late = {arm: by_problem(runs, arm, half) for arm in ("with", "without")}
    columns = ["problem", "known", "variables, contexts", "noise", "worth", "without", "with", "ratio"]
    yield f"| {' | '.join(columns)} | from {half + 1} on |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, without in scores["without"].items():
        problem, found = problem_of(name), scores["with"][name]
        yield (
            f"| {name} | {problem.kind} | {len(problem.decisions)}, {len(problem.contexts)} "
            f"| {problem.noise:.0%} | {problem.worth:.2f} | {without:.3f} | {found:.3f} "
            f"| {found / without:.2f} | {late['with'][name] / late['without'][name]:.2f} |"
        )
    yield ""
    yield f"Geometric mean of the ratios (95 %) {mean_line(scores['with'], scores['without'], bar)}."
    second = ratio(late["with"], late["without"])
    yield f"From decision {half + 1} on: {second[0]:.3f} ({second[1]:.3f}–{second[2]:.3f})."


def change_table(runs: Sequence[Run], kinds: Sequence[str], first: int, bar: float) -> Iterator[str]:
    """Regret of the decisions from ``first`` on with forget=None → "auto", and their ratio."""
    yield f"| problem | variables, contexts | noise | {' | '.join(kinds)} |"
    yield "|---" * (3 + len(kinds)) + "|"
    scores = {}
    for kind in kinds:
        mine = [run for run in runs if run.task.problem.endswith(f"/{kind}")]
        scores[kind] = [by_problem(mine, arm, first) for arm in ("auto", "none")]
    for base in dict.fromkeys(run.task.problem.partition("/")[0] for run in runs):
        problem = problem_of(f"{base}/{kinds[0]}")
        pairs = [[one[f"{base}/{kind}"] for one in scores[kind]] for kind in kinds]
        cells = " | ".join(f"{none:.3f} → {auto:.3f}: {auto / none:.2f}" for auto, none in pairs)
        size = f"{len(problem.decisions)}, {len(problem.contexts)}"
        yield f"| {base} | {size} | {problem.noise:.0%} | {cells} |"
    yield ""
    for kind in kinds:
        yield f"- {kind}: geometric mean of the ratios (95 %) {mean_line(*scores[kind], bar)}."


def known_command(given: argparse.Namespace) -> Iterator[str]:
    """With and without the knowledge."""
    runs = runs_of(given, list(known.PROBLEMS), ("without", "with"), DECISIONS)
    yield f"{note(given, runs)}\n"
    yield from known_table(runs, BARS["known"])


def useless_command(given: argparse.Namespace) -> Iterator[str]:
    """The same where what is known says nothing: each problem in a few words."""
    names = [name + known.USELESS for name in known.PROBLEMS]
    runs = runs_of(given, names, ("without", "with"), DECISIONS)
    found, without = (by_problem(runs, arm) for arm in ("with", "without"))
    yield f"{note(given, runs)} Without → with: their ratio.\n"
    each = [
        f"{name.removesuffix(known.USELESS)} {before:.3f} → {found[name]:.3f}: {found[name] / before:.2f}"
        for name, before in without.items()
    ]
    for start in range(0, len(each), 4):
        yield ", ".join(each[start : start + 4]) + ("," if start + 4 < len(each) else ".")
    yield f"\nGeometric mean of the ratios (95 %) {mean_line(found, without, BARS['useless'])}."


def change_command(given: argparse.Namespace) -> Iterator[str]:
    """After a shift, in a drift, in a season."""
    kinds = given.kinds.split(",")
    names = [name for kind in kinds for name in change.changing(kind)]
    runs = runs_of(given, names, ("none", "auto"), change.DECISIONS)
    half = runs[0].task.decisions // 2
    yield f'forget=None → "auto": their ratio, from decision {half + 1} on. {note(given, runs)}\n'
    yield from change_table(runs, kinds, half, BARS["change"])


def stable_command(given: argparse.Namespace) -> Iterator[str]:
    """Where nothing changes, over all decisions."""
    runs = runs_of(given, change.stable(), ("none", "auto"), change.DECISIONS)
    half = runs[0].task.decisions // 2
    yield f'forget=None → "auto": their ratio, all decisions. {note(given, runs)}\n'
    yield from change_table(runs, [change.STABLE], 0, BARS["stable"])
    late = [by_problem(runs, arm, half) for arm in ("auto", "none")]
    more = 100 * np.mean([late[0][name] - late[1][name] for name in late[0]])
    yield (
        f"- from decision {half + 1} on: {ratio(*late)[0]:.2f}; "
        f"the difference is {more:+.2f} % of a random decision's regret."
    )


def share(count: int, of: int) -> str:
    """So many of so many, with the 95 % interval of the binomial."""
    ends = binomtest(count, of).proportion_ci()
    return f"{count} of {of} ({count / of:.1%}, 95 %: {ends.low:.1%}–{ends.high:.1%})"


def percent(flags: Sequence[bool]) -> str:
    """The share of those that are true."""
    return f"{np.mean(flags):.1%}"


def alarms_command(given: argparse.Namespace) -> Iterator[str]:
    """False alarms, and shifts that are found."""
    still = [alarms.stable(number) for number in range(given.studies)]
    moved = [alarms.shifted(number) for number in range(given.studies)]
    within = f"within {alarms.WITHIN}"
    yield f"| distribution | stable: at the end | at some look | shifted: {within} | by the last look |"
    yield "|---" * 5 + "|"
    for name in (*dict.fromkeys(s.source for s in still), "all"):
        some, others = ([s for s in group if name in (s.source, "all")] for group in (still, moved))
        cells = [percent([s.at_end for s in some]), percent([s.ever for s in some])]
        if others:
            cells += [percent([s.after is not None for s in others]), percent([s.at_end for s in others])]
        else:
            cells += ["–", "–"]
        yield f"| {name} | {' | '.join(cells)} |"
    false, found = sum(s.at_end for s in still), sum(s.after is not None for s in moved)
    chance = binomtest(false, len(still), FALSE_ALARM).pvalue
    yield (
        f"\n- False alarms of a look at the end: {share(false, len(still))}; "
        f"{FALSE_ALARM:.0%} is stated, p = {chance:.2f}."
    )
    word = "kept" if found >= BARS["found"] * len(moved) else "missed"
    yield f"- Found {within}: {share(found, len(moved))}; at least {BARS['found']:.0%} was aimed at: {word}."
    dates = [abs(s.since - s.before) for s in moved if s.since is not None]
    yield f"- Where it is found, the date given is off by {np.median(dates):.0f} (median)."


def speed_command(given: argparse.Namespace) -> Iterator[str]:
    """Processor seconds of an ask with the words of a day beside one without, in turn, of the same study."""
    names = [name for name in TIMED if not given.problems or name in given.problems]
    yield "| problem | known | observations | ordinary, ms | with it, ms | ratio |"
    yield "|---|---|---|---|---|---|"
    worst = 0.0
    for name in names:
        for count in given.observations:
            study, day = play_to(Task(name, "with", 0, count))
            seconds: dict[bool, list[float]] = {False: [], True: []}
            for turn in range(2 * given.repeats):
                fresh, words = Optimizer.from_dict(study), said_on(day) if turn % 2 else {}
                seconds[bool(words)].append(timed(lambda f=fresh, w=words: f.ask(**w))[0])
            plain, with_words = (1000 * float(np.median(seconds[key])) for key in (False, True))
            worst = max(worst, with_words / plain)
            kind = problem_of(name).kind
            yield f"| {name} | {kind} | {count} | {plain:.0f} | {with_words:.0f} | {with_words / plain:.2f} |"
    word = "kept" if worst <= BARS["speed"] else "missed"
    yield f"\nAt most {BARS['speed']:g} was aimed at; the largest is {worst:.2f}: {word}."


COMMANDS: dict[str, Callable[[argparse.Namespace], Iterator[str]]] = {
    "known": known_command,
    "useless": useless_command,
    "change": change_command,
    "stable": stable_command,
    "alarms": alarms_command,
    "speed": speed_command,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in COMMANDS:
        one = commands.add_parser(name)
        one.add_argument("--problems", nargs="*", default=[], help="the first word of their names")
        if name == "alarms":
            one.add_argument("--studies", type=int, default=500)
        elif name == "speed":
            one.add_argument("--observations", type=int, nargs="*", default=[50, 100])
            one.add_argument("--repeats", type=int, default=REPEATS)
        else:
            one.add_argument("--out", required=True)
            one.add_argument("--seeds", default="0-2")
            one.add_argument("--decisions", type=int, default=0, help="fewer, to see that it runs")
            one.add_argument("--kinds", default=",".join(KINDS))
    given = parser.parse_args()
    for line in COMMANDS[given.command](given):
        print(line, flush=True)


if __name__ == "__main__":
    main()
