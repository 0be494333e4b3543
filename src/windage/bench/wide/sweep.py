"""The runs of the wide suite: one line of JSON a run, in a file that the same command continues."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from windage import __version__
from windage.bench.configuration import load_plugin
from windage.bench.files import lock
from windage.bench.run import CONTEXT, NOISE, made_by
from windage.bench.runner import pool, through
from windage.bench.steps import storage
from windage.bench.wide.families import instance as find_instance
from windage.bench.wide.instance import Instance
from windage.bench.wide.players import INITIAL, Player, player
from windage.errors import ConfigurationError, WindageError
from windage.space import Array, Categorical, Decision, Integer

RUNS, LOCK = "runs.jsonl", "runs.lock"
CHECKPOINTS = (20, 40, 80)
"""After how many decisions a recommendation is judged."""
RANDOM_DECISIONS = 32
"""Decisions at random whose intervals are judged at each checkpoint."""
DECISIONS = 3
"""The stream of a seed for them, beside those of contexts and noise."""


@dataclass(frozen=True)
class WideTask:
    """One run: an instance, a method and a seed."""

    problem: str
    method: str
    seed: int
    budget: int
    settings: tuple[tuple[str, Any], ...] = ()
    """Keywords of ``Optimizer``."""
    origin: str = ""
    """The digest of the plugin that the method comes from; empty for windage's own."""
    plugins: tuple[str, ...] = ()
    """Files that register methods; not a part of what a run is."""

    @property
    def key(self) -> str:
        """What tells runs apart."""
        return json.dumps((self.problem, self.method, self.seed, self.budget, self.settings, self.origin))


@dataclass(frozen=True)
class Checkpoint:
    """The recommendation after so many decisions."""

    after: int
    regret: float
    """As a share of a random decision's."""
    covered: bool | None
    """Whether the 95 % interval holds the true expectation; None: there is no interval."""
    random_covered: float | None
    """The share of random decisions whose interval holds the true expectation."""


@dataclass(frozen=True)
class WideRun:
    """What came of a run."""

    task: WideTask
    regret: list[float]
    """Of every decision, as a share of a random decision's."""
    checkpoints: list[Checkpoint]
    ask_seconds: float
    """A decision, the mean after the first ones."""
    error: str = ""
    """Why it failed; empty if it did not."""
    version: dict[str, Any] = field(default_factory=dict)
    """Of windage, and the commit, where there is one."""


@lru_cache(maxsize=8)
def _instance(name: str) -> Instance:
    found = find_instance(name)
    _ = found.optimum
    return found


def play(task: WideTask) -> WideRun:
    """A run, from beginning to end."""
    for path in task.plugins:
        load_plugin(path)
    problem = _instance(task.problem)
    stream = zlib.crc32(task.problem.encode())  # problems meet different contexts
    one = player(task.method, problem, (task.seed + stream) % 2**31, task.budget, dict(task.settings))
    rng = np.random.default_rng([task.seed, DECISIONS, stream])
    anywhere = problem.valid(rng.random((RANDOM_DECISIONS, len(problem.decisions))))
    rows, checkpoints, seconds = [], [], []
    for step in range(task.budget):
        start = time.perf_counter()
        decision = one.ask()
        seconds.append(time.perf_counter() - start)
        rows.append(problem.row(decision))
        one.tell(*meet(problem, [task.seed, stream, step], rows[-1]))
        if step + 1 in CHECKPOINTS or step + 1 == task.budget:
            checkpoints.append(_checkpoint(one, problem, anywhere, step + 1))
    regret = problem.regret_share(np.concatenate(rows))
    asking = float(np.mean(seconds[INITIAL:] or seconds))
    return WideRun(task, [float(r) for r in regret], checkpoints, asking)


def meet(problem: Instance, stream: list[int], x: Array) -> tuple[dict[str, float], float]:
    """The context of this step, and the value that comes out: the same context for everyone."""
    c = problem.sample_contexts(1, np.random.default_rng([CONTEXT, *stream]))
    value = problem.observe(x, c, np.random.default_rng([NOISE, *stream]))[0]
    return {name: float(v) for name, v in zip(problem.contexts, c[0], strict=True)}, float(value)


def _checkpoint(one: Player, problem: Instance, anywhere: Array, after: int) -> Checkpoint:
    decision, interval = one.recommend()
    x = problem.row(decision)
    truth = float(problem.expected(x)[0])
    covered = None if interval is None else interval[0] <= truth <= interval[1]
    intervals = one.intervals([decision_of(problem, row) for row in anywhere])
    share = None
    if intervals is not None:
        low, high = np.array(intervals).T
        expected = problem.expected(anywhere)
        share = float(((low <= expected) & (expected <= high)).mean())
    return Checkpoint(after, float(problem.regret_share(x)[0]), covered, share)


def decision_of(problem: Instance, row: Array) -> Decision:
    """A row as a decision."""
    found: dict[str, Any] = {}
    for (name, parameter), value in zip(problem.decisions.items(), row.tolist(), strict=True):
        if isinstance(parameter, Categorical):
            found[name] = parameter.choices[int(value)]
        else:
            found[name] = int(value) if isinstance(parameter, Integer) else value
    return found


def _safely(task: WideTask) -> WideRun:
    try:
        return play(task)
    except Exception as error:
        return WideRun(task, [], [], 0.0, error=" ".join(f"{type(error).__name__}: {error}".split()))


def read(folder: Path) -> list[WideRun]:
    """The runs of a folder, the last of each; a torn last line of a killed process does not count."""
    file = folder / RUNS
    with storage(folder, "read"):
        lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    found: dict[str, WideRun] = {}
    for number, line in enumerate(lines, 1):
        try:
            run = _from_json(line)
        except (ValueError, TypeError, KeyError, AttributeError):
            if _torn(lines, number):
                continue
            raise ConfigurationError(
                f"line {number} of {file} is no run of this suite. Delete that line, or choose another --out."
            ) from None
        found[run.task.key] = run
    return list(found.values())


def _torn(lines: Sequence[bytes], number: int) -> bool:
    """Whether a line was cut off by a kill: the last one, or one with the mark that the next sweep set."""
    cut = number == len(lines) and not lines[-1].endswith(b"\n")
    return cut or lines[number - 1].endswith(TORN)


TORN = b"#\n"
"""What ends a line that a killed process left: no JSON ends so."""


def _from_json(line: bytes) -> WideRun:
    raw = json.loads(line)
    given = raw.pop("task")
    settings = tuple((name, value) for name, value in given.pop("settings"))
    task = WideTask(**{**given, "settings": settings, "plugins": tuple(given.get("plugins", ()))})
    return WideRun(task=task, checkpoints=[Checkpoint(**p) for p in raw.pop("checkpoints")], **raw)


def sweep(
    folder: Path, tasks: Sequence[WideTask], jobs: int, show: Callable[[WideRun, int, int], None]
) -> list[WideRun]:
    """Do what is left of the tasks; all runs of them. A run that failed is tried again by the next sweep."""
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
        held = lock(folder / LOCK)
        try:
            held.acquire(timeout=0)
        except TimeoutError:
            raise ConfigurationError(
                f"another `windage bench wide` works in {folder}: wait for it."
            ) from None
    try:
        done = {run.task.key: run for run in read(folder) if not run.error}
        _same_version(folder, done.values())
        made = {key: made_by()[key] for key in ("version", "commit")}  # of now, not of when a run ends
        left = [task for task in tasks if task.key not in done]
        for number, run in enumerate(_played(left, jobs), 1):
            done[run.task.key] = replace(run, version=made)
            _append(folder / RUNS, done[run.task.key])
            show(run, number, len(left))
    finally:
        held.release()
    return [done[task.key] for task in tasks]


def _same_version(folder: Path, runs: Any) -> None:
    others = {run.version.get("version", __version__) for run in runs} - {__version__}
    if others:
        raise ConfigurationError(
            f"{folder} has runs of windage {', '.join(sorted(others))}, and this is {__version__}. "
            "Results are not mixed: choose another --out."
        )


def _played(tasks: Sequence[WideTask], jobs: int) -> Iterator[WideRun]:
    """Results as they come, from processes of one thread each."""
    if not tasks:
        return
    try:
        yield from through(pool(jobs), _safely, tasks, jobs)
    except BrokenProcessPool as error:
        raise WindageError(
            "a working process was killed (too little memory?). Finished runs are safe; the same command, "
            "perhaps with fewer --jobs, goes on."
        ) from error


def _append(file: Path, run: WideRun) -> None:
    line = json.dumps(asdict(run), separators=(",", ":")) + "\n"
    with storage(file), file.open("ab+") as out:
        end = out.seek(0, os.SEEK_END)
        out.seek(max(end - 1, 0))
        torn = end > 0 and out.read(1) != b"\n"
        out.write((TORN if torn else b"") + line.encode())
