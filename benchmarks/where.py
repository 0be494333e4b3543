"""Where the time of an ask goes: a table of shares.

    python benchmarks/where.py                     # every method, Ackley, t = 100
    python benchmarks/where.py --observations 300 --contexts 4

Shares of the profiler's time of whole asks as they come in a study. The profiler makes many small calls
dearer than they are, so the bookkeeping looks larger than it is.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import windage
from bench import PROBLEMS, saved_study
from windage.bench.configuration import PAPER_METHODS

PARTS = {
    "fit": [("follow.py", "follow")],
    "nodes and forms": [("forms.py", "choose"), ("forms.py", "probes"), ("kernels.py", "scaled_squares")],
    "posterior": [("posterior.py", "moments")],
    "its slopes": [("posterior.py", "pull_back")],
    "inner problem": [("acquisition.py", "functional"), ("acquisition.py", "functional_and_slope")],
    "climb's bookkeeping": [
        ("ascent.py", name)
        for name in ("round", "_turn", "_learn", "_shorten", "_lengthen", "_leave", "merge")
    ],
}
"""Functions by part: with all that they call, but for the bookkeeping, which is their own."""


def shares(saved: dict[str, Any], repeats: int) -> tuple[float, dict[str, float]]:
    """Seconds of an ask under the profiler, and the share of each part."""
    windage.Optimizer.from_dict(saved).ask()
    profile = cProfile.Profile()
    for _ in range(repeats):
        optimizer = windage.Optimizer.from_dict(saved)
        profile.enable()
        optimizer.ask()
        profile.disable()
    stats = pstats.Stats(profile)
    entries = {
        (path.rsplit("/", 1)[-1], name): (own, cumulative)
        for (path, _, name), (_, _, own, cumulative, _) in stats.stats.items()  # type: ignore[attr-defined]
        if "windage" in path
    }
    total = stats.total_tt  # type: ignore[attr-defined]
    found = {}
    for part, functions in PARTS.items():
        which = 0 if part == "climb's bookkeeping" else 1
        seconds = sum(entries.get(function, (0.0, 0.0))[which] for function in functions)
        if part == "inner problem" and ("acquisition.py", "functional_and_slope") in entries:
            # the slope of a general functional calls it: count that once
            seconds -= min(entries.get(("acquisition.py", "functional"), (0, 0))[1], seconds / 2)
        found[part] = seconds / total
    found["rest"] = 1 - sum(found.values())
    return total / repeats, found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=PAPER_METHODS, choices=PAPER_METHODS)
    parser.add_argument("--observations", type=int, default=100)
    parser.add_argument("--contexts", type=int, default=1, choices=list(PROBLEMS))
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("method", "ms", *PARTS, "rest")
    table.title = f"{PROBLEMS[arguments.contexts]}, t = {arguments.observations}: shares of an ask, %"
    for method in arguments.methods:
        saved = saved_study(arguments.contexts, arguments.observations, method, 0)
        seconds, parts = shares(saved, arguments.repeats)
        table.add_row(method, f"{1e3 * seconds:.0f}", *(f"{100 * share:.0f}" for share in parts.values()))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
