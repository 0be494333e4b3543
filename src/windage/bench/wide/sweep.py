"""The runs of the wide suite: one line of JSON a run, in a file that the same command continues."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from windage.bench.configuration import load_plugin
from windage.bench.files import lock
from windage.bench.run import CONTEXT, NOISE
from windage.bench.wide.families import instance as find_instance
from windage.bench.wide.instance import Instance
from windage.bench.wide.players import INITIAL, Player, player
from windage.errors import ConfigurationError
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
    plugins: tuple[str, ...] = ()
    """Files that register methods; not a part of what a run is."""

    @property
    def key(self) -> str:
        """What tells runs apart."""
        parts = (self.problem, self.method, self.seed, self.budget, self.settings)
        return json.dumps(parts)


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
        one.tell(*_meet(problem, [task.seed, stream, step], rows[-1]))
        if step + 1 in CHECKPOINTS or step + 1 == task.budget:
            checkpoints.append(_checkpoint(one, problem, anywhere, step + 1))
    regret = problem.regret_share(np.concatenate(rows))
    return WideRun(
        task, [float(r) for r in regret], checkpoints, float(np.mean(seconds[INITIAL:] or seconds))
    )


def _meet(problem: Instance, stream: list[int], x: Array) -> tuple[dict[str, float], float]:
    """The context of this step, and the value that comes out: the same context for everyone."""
    c = problem.sample_contexts(1, np.random.default_rng([CONTEXT, *stream]))
    value = problem.observe(x, c, np.random.default_rng([NOISE, *stream]))[0]
    return {name: float(v) for name, v in zip(problem.contexts, c[0], strict=True)}, float(value)


def _checkpoint(one: Player, problem: Instance, anywhere: Array, after: int) -> Checkpoint:
    decision, interval = one.recommend()
    x = problem.row(decision)
    truth = float(problem.expected(x)[0])
    covered = None if interval is None else interval[0] <= truth <= interval[1]
    intervals = one.intervals([_decision(problem, row) for row in anywhere])
    share = None
    if intervals is not None:
        low, high = np.array(intervals).T
        expected = problem.expected(anywhere)
        share = float(((low <= expected) & (expected <= high)).mean())
    return Checkpoint(after, float(problem.regret_share(x)[0]), covered, share)


def _decision(problem: Instance, row: Array) -> Decision:
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
    """The finished runs of a folder; a torn last line of a killed process does not count."""
    file = folder / RUNS
    found: dict[str, WideRun] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            raw = json.loads(line)
        except ValueError:
            continue
        given = raw.pop("task")
        settings = tuple((name, value) for name, value in given.pop("settings"))
        task = WideTask(**{**given, "settings": settings, "plugins": tuple(given.get("plugins", ()))})
        points = [Checkpoint(**point) for point in raw.pop("checkpoints")]
        found[task.key] = WideRun(task=task, checkpoints=points, **raw)
    return list(found.values())


def sweep(
    folder: Path, tasks: Sequence[WideTask], jobs: int, show: Callable[[WideRun, int, int], None]
) -> list[WideRun]:
    """Do what is left of the tasks; all runs of them. A run that failed is tried again by the next sweep."""
    folder.mkdir(parents=True, exist_ok=True)
    held = lock(folder / LOCK)
    try:
        held.acquire(timeout=0)
    except TimeoutError:
        raise ConfigurationError(f"another `windage bench wide` works in {folder}: wait for it.") from None
    try:
        done = {run.task.key: run for run in read(folder) if not run.error}
        left = [task for task in tasks if task.key not in done]
        for number, run in enumerate(_played(left, jobs), 1):
            _append(folder / RUNS, run)
            done[run.task.key] = run
            show(run, number, len(left))
    finally:
        held.release()
    return [done[task.key] for task in tasks]


def _played(tasks: Sequence[WideTask], jobs: int) -> Iterator[WideRun]:
    if jobs == 1:
        yield from map(_safely, tasks)
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = [pool.submit(_safely, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _append(file: Path, run: WideRun) -> None:
    from windage.bench.run import made_by

    record: Mapping[str, Any] = {**asdict(run), "version": {k: made_by()[k] for k in ("version", "commit")}}
    line = json.dumps(record, separators=(",", ":")) + "\n"
    with file.open("ab+") as out:
        end = out.seek(0, os.SEEK_END)
        out.seek(max(end - 1, 0))
        torn = end > 0 and out.read(1) != b"\n"  # a line that a killed process left
        out.write((b"\n" if torn else b"") + line.encode())
