"""One decision of the default method beside one SBO-KDE decision done the plain BoTorch way, in one run.

    python benchmarks/decision.py

For each problem of the suite ``later``: a study of the default method of so many observations, then one more
ask of it (the median of several, before and after the plain way), and BoTorch's fit and climb for SBO-KDE on
the same observations. One process, one thread, processor seconds; 1,024 raw samples and 50 restarts on both
sides, M = 1,024 samples for SBO-KDE.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

import plain
import windage
from measure import timed
from windage.bench import problems, study
from windage.bench.configuration import SUITES
from windage.bench.display import show
from windage.bench.tables import Cell, Sheet
from windage.gp import Training
from windage.methods import AUTO, Settings


def ask(saved: dict[str, Any]) -> float:
    """Seconds of one ask of a study that was saved."""
    optimizer = windage.Optimizer.from_dict(saved)
    return timed(optimizer.ask)[0]


def compare(name: str, observations: int, repeats: int, seed: int) -> tuple[float, float]:
    """Seconds of the default's ask and of the plain SBO-KDE decision on the same observations."""
    optimizer = study.play(problems.get(name), AUTO, observations, seed)
    saved = optimizer.to_dict()
    saved["settings"].pop("screen")  # as people have it: what looks mistyped is looked for
    ask(saved)  # warm up
    mine = [ask(saved) for _ in range(repeats)]
    settings, data = Settings(), study.dataset(optimizer)
    training = Training.of(data, joint=True)
    fit, model = timed(lambda: plain.fit(training))
    fast = plain.acquisition("sbo-kde", data, plain.mirrored(training, model), seed, settings)
    slow, dx = plain.twin(fast, model), training.x.shape[1]
    climb, _ = timed(lambda: plain.maximise(slow, dx, settings.raw_samples, settings.restarts))
    mine += [ask(saved) for _ in range(repeats)]
    return statistics.median(mine), fit + climb


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", default=list(SUITES["later"].problems))
    parser.add_argument("--observations", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5, help="asks before and after; the median counts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/decision"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in arguments.problems:
        Console(stderr=True).print(f"{name}, t = {arguments.observations}", highlight=False)
        mine, theirs = compare(name, arguments.observations, arguments.repeats, arguments.seed)
        cells = (f"{mine:.3f}", mine), (f"{theirs:.1f}", theirs), (f"1/{theirs / mine:.0f}", mine / theirs)
        rows.append((name, tuple(Cell(text, values=(value,)) for text, value in cells)))
    sheet = Sheet(
        "decision",
        f"One decision after {arguments.observations} observations, processor seconds of one thread",
        ("problem", f"windage, {AUTO}", "plain SBO-KDE", "share"),
        tuple(rows),
        ("value",),
    )
    show(sheet, arguments.out)


if __name__ == "__main__":
    main()
