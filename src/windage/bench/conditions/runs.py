"""Runs on these problems: one line of JSON a run, in a file that the same command continues."""

from __future__ import annotations

import json
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from windage.bench.conditions import change, known
from windage.bench.conditions.days import Day, Problem
from windage.bench.run import made_by
from windage.errors import ConfigurationError, WindageWarning
from windage.observations import Trial
from windage.optimizer import Optimizer

RUNS = "runs.jsonl"


@dataclass(frozen=True)
class Arm:
    """A way to play: the keywords of ``Optimizer``, and whether it says what is known of a day."""

    settings: Mapping[str, Any]
    says: bool = False


ARMS: dict[str, Arm] = {
    "with": Arm({}, says=True),
    "without": Arm({}),
    "auto": Arm({"forget": "auto"}),
    "none": Arm({"forget": None}),
}
"""The first two differ in what ``ask`` is given, the others in ``forget``; all else is the default."""


@dataclass(frozen=True)
class Task:
    """One run."""

    problem: str
    arm: str
    seed: int
    decisions: int

    @property
    def key(self) -> str:
        """What tells runs apart."""
        return json.dumps((self.problem, self.arm, self.seed, self.decisions))


@dataclass(frozen=True)
class Run:
    """What came of a run."""

    task: Task
    regret: tuple[float, ...]
    """Of every decision, as a share of a random decision's."""
    seconds: float
    """An ask, on average."""
    version: str
    """The commit."""


def problem_of(name: str) -> Problem:
    """A problem of either kind by its name."""
    kind = name.partition("/")[2]
    return change.get(name) if kind in (*change.KINDS, change.STABLE) else known.get(name)


def said_on(day: Day) -> dict[str, Any]:
    """The keywords of an ``ask`` that says what is known of a day."""
    words = {"known": day.words.known, "forecast": day.words.forecast}
    return {name: dict(given) for name, given in words.items() if given}


def play(task: Task, version: str = "") -> Run:
    """A run, from beginning to end."""
    problem, arm, optimizer = problem_of(task.problem), ARMS[task.arm], _optimizer(task)
    regret, seconds = [], 0.0
    for step in range(task.decisions):
        day = problem.day(task.seed, step)
        start = time.perf_counter()
        trial = optimizer.ask(**said_on(day) if arm.says else {})
        seconds += time.perf_counter() - start
        _tell(optimizer, trial, problem, day)
        regret.append(problem.regret(trial.decision, day))
    return Run(task, tuple(regret), seconds / task.decisions, version)


def play_to(task: Task) -> tuple[dict[str, Any], Day]:
    """The study after a run, saved, and the day that comes next."""
    problem, arm, optimizer = problem_of(task.problem), ARMS[task.arm], _optimizer(task)
    for step in range(task.decisions):
        day = problem.day(task.seed, step)
        trial = optimizer.ask(**said_on(day) if arm.says else {})
        _tell(optimizer, trial, problem, day)
    return optimizer.to_dict(), problem.day(task.seed, task.decisions)


def _optimizer(task: Task) -> Optimizer:
    problem = problem_of(task.problem)
    seed = (zlib.crc32(task.problem.encode()) + task.seed) % 2**31
    return Optimizer(problem.decisions, problem.contexts, seed=seed, **ARMS[task.arm].settings)


def _tell(optimizer: Optimizer, trial: Trial, problem: Problem, day: Day) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WindageWarning)  # nothing is typed here
        optimizer.tell(trial, dict(day.context), problem.value(trial.decision, day))


def read(folder: Path) -> dict[str, Run]:
    """The runs of a folder by their keys; a torn last line of a killed process does not count."""
    file = folder / RUNS
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    found: dict[str, Run] = {}
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            continue
        try:
            raw = json.loads(line)
            run = Run(Task(**raw.pop("task")), tuple(raw.pop("regret")), **raw)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ConfigurationError(
                f"line {number} of {file} is no run. Delete that line, or choose another --out."
            ) from None
        found[run.task.key] = run
    return found


def sweep(folder: Path, tasks: Sequence[Task], show: Callable[[Run, int, int], None]) -> list[Run]:
    """Do what is left of the tasks; all runs of them."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / RUNS
    done = read(folder)
    if file.exists() and not (text := file.read_text()).endswith("\n"):
        file.write_text(text[: text.rfind("\n") + 1])
    version = str(made_by()["commit"])
    left = [task for task in tasks if task.key not in done]
    for number, task in enumerate(left, 1):
        done[task.key] = play(task, version)
        with file.open("a") as out:
            out.write(json.dumps(asdict(done[task.key])) + "\n")
        show(done[task.key], number, len(left))
    return [done[task.key] for task in tasks]


def by_problem(runs: Sequence[Run], arm: str, first: int = 0) -> dict[str, float]:
    """The mean regret of the decisions from ``first`` on, over seeds, by problem."""
    names = dict.fromkeys(run.task.problem for run in runs)
    return {
        name: float(np.mean([r.regret[first:] for r in runs if r.task.problem == name and r.task.arm == arm]))
        for name in names
    }
