"""Does windage find what the plain way finds? Random data sets, each judged by the plain function.

    python benchmarks/values.py        # 20 data sets, every method; half an hour and more
    python benchmarks/values.py --sets 3 --methods sbo-kde drbo-kde

Each data set has a random number of observations (10 to 40) of Ackley with its one context, at random
decisions. Settings are the paper's on both sides. "lost" is what windage's value lacks of the plain way's,
relative to it; a set fails above 1e-6.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import track

import plain
import windage
from measure import keep
from windage.bench import problems, study
from windage.bench.configuration import PAPER_METHODS
from windage.gp import Training
from windage.methods import Settings, get_method
from windage.proposal import KNOWN_STARTS
from windage.search import maximize
from windage.threads import one_thread

TOLERANCE = 1e-6


def data_set(problem: problems.Problem, seed: int) -> windage.Optimizer:
    """A study of random decisions."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(10, 41))
    low, high = np.array([(p.low, p.high) for p in problem.decisions.values()]).T
    x, c = rng.uniform(low, high, (count, len(low))), problem.sample_contexts(count, rng)
    optimizer = windage.Optimizer(problem.decisions, problem.contexts, seed=seed)
    for decision, context, value in zip(x, c, problem.observe(x, c, rng), strict=True):
        optimizer.tell(
            dict(zip(problem.decisions, map(float, decision), strict=True)),
            context=dict(zip(problem.contexts, map(float, context), strict=True)),
            value=float(value),
        )
    return optimizer


def compare(optimizer: windage.Optimizer, method: str, seed: int) -> dict[str, Any]:
    """What both find on one data set."""
    settings, data = Settings(), study.dataset(optimizer)
    training = Training.of(data, get_method(method).uses_context)
    model = plain.fit(training)
    fast = plain.acquisition(method, data, plain.mirrored(training, model), seed, settings)
    slow, blocks = plain.twin(fast, model), data.decisions.blocks
    known = data.x[np.argsort(-data.y, kind="stable")[:KNOWN_STARTS]]
    with one_thread():
        mine = maximize(fast, blocks, settings.raw_samples, settings.restarts, seed, known).point
    theirs = plain.maximise(slow, data.x.shape[1], settings.raw_samples, settings.restarts)
    values = plain.value(slow, np.stack([mine, theirs])).tolist()
    return {
        "method": method,
        "seed": seed,
        "observations": len(data.y),
        "windage_value": values[0],
        "plain_value": values[1],
        "lost": (values[1] - values[0]) / max(abs(values[1]), 1e-12),
    }


def main() -> None:
    """Measure, print, keep, and check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--problem", default="ackley")
    parser.add_argument("--methods", nargs="+", default=PAPER_METHODS, choices=PAPER_METHODS)
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="where the JSON is kept")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    problem = problems.get(arguments.problem)
    cases = [(method, seed) for method in arguments.methods for seed in range(arguments.sets)]
    console = Console(stderr=True)
    rows = [compare(data_set(problem, seed), method, seed) for method, seed in track(cases, console=console)]
    failed = 0
    for method in arguments.methods:
        lost = [row["lost"] for row in rows if row["method"] == method]
        below = sum(x > TOLERANCE for x in lost)
        above = sum(x < -TOLERANCE for x in lost)
        print(
            f"{method:17} {len(lost)} sets: lost at most {max(max(lost), 0):.0e}; "
            f"windage is lower by more than {TOLERANCE:.0e} in {below}, higher in {above}"
        )
        failed += below
    keep(arguments.out, "values", rows)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
