"""Table 1 of the paper: seconds for 100 decisions on Ackley, beside those that the paper prints.

A run is measured whole: ask and tell, all decisions. Seconds are the processor's, on one thread: on an idle
machine they are those of the clock, on a busy one they still compare. ``benchmarks/runtime.py`` puts the
plain BoTorch + CVXPY way beside them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from windage.bench import problems, study
from windage.bench.tables import Cell, Sheet, mean_and_error
from windage.methods import INITIAL, get_method

PAPER_SECONDS = {
    "gp-ucb": 11.35,
    "drbo-mmd": 5254.65,
    "drbo-mmd-minimax": 119.04,
    "stableopt": 32.75,
    "sbo-kde": 30.57,
    "drbo-kde": 180.61,
}
"""As printed in the paper's Table 1 (100 evaluations on Ackley, its machine is not stated)."""

PAPER_BUDGET = 100


@dataclass(frozen=True)
class Timing:
    """One method: the seconds of each run."""

    method: str
    budget: int
    seconds: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return {**asdict(self), "paper_seconds": PAPER_SECONDS.get(self.method)}


def measure(
    method: str,
    budget: int = 100,
    repeats: int = 3,
    report: Callable[[str], None] = lambda _: None,
) -> Timing:
    """Time a method on Ackley; the first few asks of the process are not counted."""
    problem, chosen = problems.get("ackley"), get_method(method)
    study.play(problem, chosen, INITIAL + 2)  # imports and first calls do not count
    seconds = []
    for repeat in range(repeats):
        report(f"{method}: {budget} decisions, {repeat + 1} of {repeats}")
        start = time.process_time()
        study.play(problem, chosen, budget, repeat)
        seconds.append(time.process_time() - start)
    return Timing(method, budget, tuple(seconds))


def number(value: float | None, decimals: int) -> Cell:
    """A number without an error, or nothing."""
    if value is None:
        return Cell("", values=(float("nan"), float("nan")))
    return Cell(f"{value:,.{decimals}f}", values=(value, float("nan")))


def seconds_cell(timing: Timing) -> Cell:
    """Mean ± standard error of the runs."""
    mean, error = mean_and_error(timing.seconds)
    return Cell(f"{mean:.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}"), values=(mean, error))


def sheet(timings: Sequence[Timing]) -> Sheet:
    """Methods × (windage, paper)."""
    rows = [(t.method, (seconds_cell(t), number(PAPER_SECONDS.get(t.method), 2))) for t in timings]
    budget = timings[0].budget
    title = f"Processor seconds for {budget} decisions on Ackley, one thread, one run of this command"
    head = ("method", "windage", f"paper ({PAPER_BUDGET} decisions, its machine)")
    name = "runtime" if budget == PAPER_BUDGET else f"runtime-{budget}"
    return Sheet(name, title, head, tuple(rows), ("mean", "standard_error"))
