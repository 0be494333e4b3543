"""Table 1 of the paper: seconds for 100 decisions on Ackley, windage beside the plain BoTorch + CVXPY way.

windage's time is measured whole: ask and tell, all decisions. The plain way takes minutes to hours; one ask
of it is measured at a few numbers of observations, on windage's own studies, and the sum over all decisions
is interpolated between them. Seconds are the processor's, on one thread: on an idle machine they are those
of the clock, on a busy one they still compare.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from windage.acquisition import BoundAcquisition
from windage.bench import problems, study
from windage.bench.tables import Cell, Sheet, mean_and_error
from windage.methods import METHODS, Situation
from windage.optimizer import Optimizer
from windage.proposal import INITIAL, one_thread
from windage.settings import Settings

PAPER_SECONDS = {
    "gp-ucb": 11.35,
    "drbo-mmd": 5254.65,
    "drbo-mmd-minimax": 119.04,
    "stableopt": 32.75,
    "sbo-kde": 30.57,
    "drbo-kde": 180.61,
}
"""As printed in the paper's Table 1 (100 evaluations on Ackley, its machine is not stated)."""
PLAIN_AT = (15, 55, 99)


@dataclass(frozen=True)
class Timing:
    """One method: windage's seconds for each run, and the plain way's for one ask at some observations."""

    method: str
    budget: int
    seconds: tuple[float, ...]
    plain_asks: dict[int, float]

    @property
    def plain_seconds(self) -> float | None:
        """The plain way's sum over all decisions, straight lines between the measured asks; None without."""
        if not self.plain_asks:
            return None
        at = sorted(self.plain_asks)
        asked = np.arange(min(INITIAL, self.budget), self.budget)
        return float(np.interp(asked, at, [self.plain_asks[n] for n in at]).sum())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return {
            **asdict(self),
            "plain_seconds": self.plain_seconds,
            "paper_seconds": PAPER_SECONDS.get(self.method),
        }


def measure(
    method: str,
    budget: int = 100,
    repeats: int = 3,
    plain_at: Sequence[int] = PLAIN_AT,
    report: Callable[[str], None] = lambda _: None,
) -> Timing:
    """Time a method on Ackley; the first few asks of the process are not counted."""
    problem = problems.get("ackley")
    first = study.play(problem, method, INITIAL + 2, 0)  # imports and first calls do not count
    if plain_at:
        _plain_ask(first, method)
    seconds = []
    plain: dict[int, float] = {}
    for repeat in range(repeats):
        report(f"{method}: {budget} decisions, {repeat + 1} of {repeats}")
        start = time.process_time()
        study.play(problem, method, budget, repeat)
        seconds.append(time.process_time() - start)
    for count in (n for n in plain_at if n <= budget):
        report(f"{method}: one plain ask at {count} observations")
        plain[count] = _plain_ask(study.play(problem, method, count, 0), method)
    return Timing(method, budget, tuple(seconds), plain)


def _plain_ask(optimizer: Optimizer, method: str) -> float:
    """Seconds of one ask: fit, acquisition, maximisation, all the plain way."""
    from windage.bench import plain

    settings = Settings()
    evidence = study.evidence(optimizer)
    with one_thread():
        data = evidence.training(METHODS[method].uses_context)
        start = time.process_time()
        model = plain.fit(data.x, data.c, data.y)
        fitted = time.process_time() - start
        situation = Situation(plain.mirrored(data, model), evidence.law_contexts, evidence.kde, settings, 0)
        build = METHODS[method].build
        assert build is not None
        fast = build(situation)  # for its nodes, weights and radius
        assert isinstance(fast, BoundAcquisition)
        start = time.process_time()
        slow = plain.twin(fast, model)
        plain.maximise(slow, data.x.shape[1], settings.raw_samples, settings.restarts)
        return fitted + time.process_time() - start


def _single(number: float | None, places: int) -> Cell:
    """A number without an error, or nothing."""
    nan = float("nan")
    return (
        Cell("", values=(nan, nan)) if number is None else Cell(f"{number:,.{places}f}", values=(number, nan))
    )


def sheet(timings: Sequence[Timing]) -> Sheet:
    """Methods × (windage, plain, ratio, paper)."""
    rows = []
    for timing in timings:
        mean, error = mean_and_error(timing.seconds)
        slow, paper = timing.plain_seconds, PAPER_SECONDS.get(timing.method)
        cells = (
            Cell(f"{mean:.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}"), values=(mean, error)),
            _single(slow, 0),
            _single(slow and slow / mean, 0),
            _single(paper, 2),
        )
        rows.append((timing.method, cells))
    budget = timings[0].budget
    at = sorted(timings[0].plain_asks)
    how = f"; the plain way from single asks at {', '.join(map(str, at))} observations" if at else ""
    title = f"Processor seconds for {budget} decisions on Ackley, one thread, one run of this command{how}"
    head = ("method", "windage", "plain BoTorch + CVXPY", "ratio", "paper (its machine)")
    return Sheet("runtime", title, head, tuple(rows), ("mean", "standard_error"))
