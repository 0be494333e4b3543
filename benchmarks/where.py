"""Where the time of an ask goes: a table of shares.

    python benchmarks/where.py                     # every method, Ackley, t = 100
    python benchmarks/where.py --observations 300 --contexts 4

Shares of the profiler's time of whole asks as they come in a study. The profiler makes many small calls
dearer than they are, so the bookkeeping seems larger than it is.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from typing import Any

from rich.console import Console
from rich.table import Table

import windage
from bench import PROBLEMS, saved_study
from windage.bench.configuration import PAPER_METHODS
from windage.threads import one_thread

BOOKKEEPING = "climb's bookkeeping"
PARTS = {
    "nodes and forms": [
        ("method.py", "kde_nodes"),
        ("method.py", "space"),
        ("nodes.py", "grid"),
        ("nodes.py", "box"),
        ("nodes.py", "thinned"),
        ("low_rank.py", "kernel_factor"),
        ("posterior.py", "__init__"),
    ],
    "posterior": [("posterior.py", "moments")],
    "its gradients": [("posterior.py", "vjp")],
    "inner problem": [("bounds.py", "objective"), ("bounds.py", "objective_value")],
    BOOKKEEPING: [
        ("ascent.py", name)
        for name in ("round", "_turn", "_learn", "_shorten", "_lengthen", "_leave", "merge")
    ],
}
"""Functions by part: with all that they call, but for the bookkeeping, which is their own."""


def shares(saved: dict[str, Any], repeats: int) -> tuple[float, dict[str, float]]:
    """Seconds of an ask under the profiler, and the share of each part."""
    windage.Optimizer.from_dict(saved).ask()
    fit, rest = cProfile.Profile(), cProfile.Profile()
    for _ in range(repeats):
        optimizer = windage.Optimizer.from_dict(saved)
        with fit, one_thread():  # the fit climbs too: apart, so that the bookkeeping is the search's alone
            optimizer._ensemble.models(optimizer._data, joint=saved["method"] != "gp-ucb", keep=True)
        with rest:
            optimizer.ask()
    fitting, asking = pstats.Stats(fit), pstats.Stats(rest)
    found = {"fit": fitting.total_tt, **{part: seconds(asking, part) for part in PARTS}}  # type: ignore[attr-defined]
    total = fitting.total_tt + asking.total_tt  # type: ignore[attr-defined]
    found["rest"] = total - sum(found.values())
    return total / repeats, {part: own / total for part, own in found.items()}


def seconds(stats: pstats.Stats, part: str) -> float:
    """Of a part: of its functions as others call them, so that what they call of each other counts once."""
    mine = {
        function: entry
        for function, entry in stats.stats.items()  # type: ignore[attr-defined]
        if "windage" in function[0] and (function[0].rsplit("/", 1)[-1], function[2]) in PARTS[part]
    }
    if part == BOOKKEEPING:
        return sum(own for _, _, own, _, _ in mine.values())
    calls = [
        calls for *_, callers in mine.values() for caller, calls in callers.items() if caller not in mine
    ]
    return sum(cumulative for *_, cumulative in calls)


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
    table = Table("method", "ms", "fit", *PARTS, "rest")
    table.title = f"{PROBLEMS[arguments.contexts]}, t = {arguments.observations}: shares of an ask, %"
    for method in arguments.methods:
        saved = saved_study(arguments.contexts, arguments.observations, method, 0)
        seconds, parts = shares(saved, arguments.repeats)
        table.add_row(method, f"{1e3 * seconds:.0f}", *(f"{100 * share:.0f}" for share in parts.values()))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
