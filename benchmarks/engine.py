"""One ask, windage beside the plain BoTorch + CVXPY way: the ratio of their times, and the values they found.

    python benchmarks/engine.py [--methods sbo-kde drbo-kde drbo-mmd] [--observations 100] [--json FILE]

One thread, one process, Ackley, the paper's settings (M = 1,024, 1,024 raw samples, 50 restarts) on both
sides. Times on different machines cannot be compared; the ratios of one run can. Both found decisions are
judged by the plain acquisition function on one and the same fitted model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import windage
from windage.bench import plain, problems, study
from windage.maximize import maximize
from windage.methods import METHODS, Settings, Situation

BARS = {"sbo-kde": 100, "drbo-kde": 100, "drbo-mmd": 50}
"""The ratio that each method must reach at 100 observations."""


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def compare(method: str, base: windage.Optimizer, repeats: int) -> dict[str, Any]:
    """Seconds of each way for one ask, and the plain acquisition value of what each found."""
    saved = {**base.to_dict(), "method": method}

    def asks() -> list[float]:
        return [timed(windage.Optimizer.from_dict(saved).ask)[0] for _ in range(repeats)]

    asks()  # warm up
    mine = asks()
    evidence = study.evidence(base)
    data = evidence.training(METHODS[method].uses_context)
    settings = Settings()

    fit_seconds, model = timed(lambda: plain.fit(data.x, data.c, data.y))
    same = plain.mirrored(data, model)  # so that both maximise the same function
    fast = METHODS[method].build(Situation(same, evidence.law_contexts, evidence.kde, settings, seed=0))
    slow = plain.twin(fast, model)
    climb_seconds, (point, _) = timed(
        lambda: plain.maximise(slow, data.x.shape[1], settings.raw_samples, settings.restarts)
    )
    mine += asks()  # before and after the plain way, because machines slow down and speed up
    found = maximize(fast, evidence.decisions.blocks, settings.raw_samples, settings.restarts, seed=0)
    with torch.no_grad():
        values = [float(slow(p[None, None])) for p in (found.point, point)]
    seconds = statistics.median(mine)
    return {
        "method": method,
        "observations": len(data.y),
        "windage_ask_seconds": seconds,
        "plain_ask_seconds": fit_seconds + climb_seconds,
        "plain_fit_seconds": fit_seconds,
        "ratio": (fit_seconds + climb_seconds) / seconds,
        "windage_value": values[0],
        "plain_value": values[1],
    }


def main() -> None:
    """Measure, print the table, write the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=list(BARS), choices=list(BARS))
    parser.add_argument("--observations", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5, help="asks of windage; the median counts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="also write the rows to this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console = Console()
    with console.status("gathering the observations"):
        base = study.play(problems.get("ackley"), "sbo-kde", arguments.observations, arguments.seed)
    rows = []
    for method in arguments.methods:
        with console.status(f"{method}: the plain way takes minutes"):
            rows.append(compare(method, base, arguments.repeats))
    settings = Settings()
    table = Table(
        "method",
        "windage",
        "plain",
        "ratio (bar)",
        "value found (windage - plain)",
        title=f"One ask on Ackley at {arguments.observations} observations, M = {settings.samples:,}, "
        f"{settings.raw_samples:,} raw samples, {settings.restarts} restarts, one thread",
    )
    for row in rows:
        difference = row["windage_value"] - row["plain_value"]
        table.add_row(
            row["method"],
            f"{row['windage_ask_seconds']:.3f} s",
            f"{row['plain_ask_seconds']:.1f} s",
            f"{row['ratio']:.0f} ({BARS[row['method']]})",
            f"{row['plain_value']:.6f} ({difference:+.0e})",
        )
    console.print(table)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
