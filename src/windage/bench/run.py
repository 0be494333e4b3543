"""One run: a method on a problem for a seed, step by step, continued where it was left.

Every number of a step follows from the seed and the step, and the optimizer's state from the steps before
it, so a run that was killed and continued equals an uninterrupted one bit for bit.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from windage import __version__
from windage.bench import steps
from windage.bench.configuration import Task, new_optimizer
from windage.bench.files import lock, write_whole
from windage.bench.problems import Problem
from windage.space import Array

CONTEXT, NOISE = 1, 2
"""The streams of a seed: contexts and noise, the same for every method."""
_ONE_AT_A_TIME = threading.Lock()
"""A cluster's process may have several threads: one run at a time, so that its seconds are its own."""


@dataclass(frozen=True)
class Result:
    """How a run ended: finished, or failed with a traceback."""

    name: str
    error: str | None = None


def execute(task: Task) -> Result:
    """Do what is left of a run and score it; a fault of the problem or the method is recorded, not raised."""
    with _ONE_AT_A_TIME, _locked(steps.with_ending(task.path, steps.LOCK)):
        try:
            problem = task.find_problem()
            if not steps.with_ending(task.path, steps.RUN).exists():
                _run(task, problem)
            if not steps.with_ending(task.path, steps.SCORES).exists():
                score(task.path, problem)
        except steps.StorageError:
            raise
        except Exception as error:
            return record_failure(task, f"{type(error).__name__}: {error}", traceback.format_exc())
        with steps.storage(task.path):
            for ending in (steps.STEPS, steps.FAILED, steps.LOCK):  # a finished run needs them no more
                steps.with_ending(task.path, ending).unlink(missing_ok=True)
    return Result(task.name)


def record_failure(task: Task, error: str, text: str = "") -> Result:
    """Keep why a run failed, beside it."""
    record = {"run": task.name, "error": " ".join(error.split()), "traceback": text}
    failed = steps.with_ending(task.path, steps.FAILED)
    with steps.storage(failed):
        write_whole(failed, json.dumps(record, indent=2).encode())
        steps.with_ending(task.path, steps.LOCK).unlink(missing_ok=True)
    return Result(task.name, record["error"])


def _run(task: Task, problem: Problem) -> None:
    done, size = steps.read_steps(task.path)
    optimizer = _restored(new_optimizer(problem, task.method, task.seed, task.configuration), done)
    with steps.appending(task.path, size) as append:
        for step in range(len(done), task.configuration.budget):
            start = time.perf_counter()
            trial = optimizer.ask()
            seconds = time.perf_counter() - start
            context, value = _meet(problem, task.seed, step, trial.decision)
            optimizer.tell(trial, context=context, value=value)
            record = {
                "step": step,
                "decision": trial.decision,
                "context": context,
                "value": value,
                "ask_seconds": seconds,
                "fits": optimizer.fits_to_dict(),
                "inputs": dict(task.inputs),
            }
            append(record)
            done.append(record)
    frame = steps.frame_of(done)
    metadata = {
        "problem": task.problem,
        "method": task.method,
        "seed": task.seed,
        "configuration": task.configuration.to_dict(),
        "inputs": dict(task.inputs),
        "seconds_per_ask": statistics.fmean(frame["ask_seconds"]),
        **made_by(),
    }
    steps.write_table(steps.with_ending(task.path, steps.RUN), frame, metadata)


def _restored(optimizer: Any, done: list[dict[str, Any]]) -> Any:
    """The optimizer as it was after these steps."""
    if not done:
        return optimizer
    saved = {
        **optimizer.to_dict(),
        "observations": [{key: s[key] for key in ("decision", "context", "value")} for s in done],
        "asked": len(done),
        "fits": done[-1]["fits"],
    }
    return type(optimizer).from_dict(saved)


def _meet(problem: Problem, seed: int, step: int, decision: dict[str, Any]) -> tuple[dict[str, float], float]:
    """The context of this step and the value that comes out: the same context for every method."""
    c = context_at(problem, seed, step)[None]
    x = np.array([[decision[name] for name in problem.decisions]])
    value = problem.observe(x, c, np.random.default_rng([seed, NOISE, step]))[0]
    return {name: float(v) for name, v in zip(problem.contexts, c[0], strict=True)}, float(value)


def context_at(problem: Problem, seed: int, step: int) -> Array:
    """The context that every method meets at this step of a run with this seed, Dc."""
    found: Array = problem.sample_contexts(1, np.random.default_rng([seed, CONTEXT, step]))[0]
    return found


def score(path: Path, problem: Problem) -> None:
    """The exact expectation of each decision of a finished run, in a file beside it."""
    frame, _ = steps.read_run(path)
    expected = problem.expected(frame[list(problem.decisions)].to_numpy())
    scores = frame[["step"]].assign(expected=expected)
    steps.write_table(steps.with_ending(path, steps.SCORES), scores, {"expectation_of": path.name})


@cache
def made_by() -> dict[str, Any]:
    """The version, the commit where there is one, and the machine."""
    import scipy

    return {
        "version": __version__,
        "commit": _commit(),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
    }


def _commit() -> str | None:
    """The commit of a working copy, marked where it was changed since; None for an installed package."""
    here = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) not in here.parents or not git("ls-files", __file__):
            return None
        changed = git("status", "--porcelain", "--untracked-files=no", "--", str(here.parent))
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """No two processes work on one run, should the command be given twice or a worker outlive it."""
    with steps.storage(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        held = lock(path)
        held.acquire()  # whoever holds it is finishing this very run
    try:
        yield
    finally:
        held.release()
