"""Table 1 of the paper with the plain BoTorch + CVXPY way beside windage: seconds for 100 decisions.

    python benchmarks/runtime.py --out docs/reproduction        # many minutes: the plain way is slow

windage's runs are those of ``windage bench runtime``. The plain way takes minutes to hours; one ask of it is
measured at a few numbers of observations, on windage's own studies, and the sum over all decisions is
interpolated between them. Seconds are the processor's, on one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

import plain
from measure import timed
from windage.bench import problems, runtime, study
from windage.bench.configuration import PAPER_METHODS
from windage.bench.display import show
from windage.bench.runtime import PAPER_SECONDS, Timing
from windage.bench.tables import Sheet
from windage.gp import Training
from windage.methods import INITIAL, Settings, get_method
from windage.optimizer import Optimizer

PLAIN_AT = (15, 55, 99)


def plain_ask(optimizer: Optimizer, method: str) -> float:
    """Seconds of one ask: fit, acquisition, maximisation, all the plain way."""
    settings, data = Settings(), study.dataset(optimizer)
    training = Training.of(data, get_method(method).uses_context)
    fitting, model = timed(lambda: plain.fit(training))
    # for its nodes, weights and radius
    fast = plain.acquisition(method, data, plain.mirrored(training, model), 0, settings)
    making, slow = timed(lambda: plain.twin(fast, model))
    dx = training.x.shape[1]
    climbing, _ = timed(lambda: plain.maximise(slow, dx, settings.raw_samples, settings.restarts))
    return fitting + making + climbing


def plain_seconds(asks: Mapping[int, float], budget: int) -> float:
    """The sum over all decisions of a run, straight lines between the measured asks."""
    at = sorted(asks)
    asked = np.arange(min(INITIAL, budget), budget)
    return float(np.interp(asked, at, [asks[n] for n in at]).sum())


def sheet(timings: Sequence[Timing], asks: Mapping[str, Mapping[int, float]]) -> Sheet:
    """Methods × (windage, plain, ratio, paper)."""
    rows = []
    for timing in timings:
        fast = runtime.seconds_cell(timing)
        slow = plain_seconds(asks[timing.method], timing.budget)
        paper = runtime.number(PAPER_SECONDS.get(timing.method), 2)
        cells = (fast, runtime.number(slow, 0), runtime.number(slow / fast.values[0], 0), paper)
        rows.append((timing.method, cells))
    at = ", ".join(map(str, sorted(next(iter(asks.values())))))
    base = runtime.sheet(timings)
    title = f"{base.title}; the plain way from single asks at {at} observations"
    head = ("method", "windage", "plain BoTorch + CVXPY", "ratio", "paper (its machine)")
    return Sheet(base.name, title, head, tuple(rows), base.numbers)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=PAPER_METHODS, choices=PAPER_METHODS)
    parser.add_argument("--budget", type=int, default=100, help="decisions a run")
    parser.add_argument("--repeats", type=int, default=3, help="runs of windage for each method")
    parser.add_argument(
        "--plain",
        nargs="+",
        type=int,
        default=PLAIN_AT,
        help="observations at which one plain ask is measured",
    )
    parser.add_argument("--out", type=Path, default=Path("results/runtime"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    problem, console = problems.get("ackley"), Console(stderr=True)
    timings, asks = [], {}
    for method in arguments.methods:
        console.print(method)
        timings.append(runtime.measure(method, arguments.budget, arguments.repeats))
        plain_ask(study.play(problem, get_method(method), INITIAL + 2), method)  # warm up
        studies = {n: study.play(problem, get_method(method), n) for n in arguments.plain}
        asks[method] = {n: plain_ask(played, method) for n, played in studies.items()}
    show(sheet(timings, asks), arguments.out)


if __name__ == "__main__":
    main()
