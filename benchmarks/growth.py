"""How an ask grows with the number of observations: seconds, memory, exponents.

    python benchmarks/growth.py                    # every method at t = 100, 300, 1,000, 3,000; some minutes
    python benchmarks/growth.py --problem ackley-4 --observations 300 1000

Each ask is done in a process of its own, on one thread, in a study of random decisions. "ask" is a usual
one, where the last fit's hyper-parameters stay or move a little; "fit from the prior" comes on top at every
tenth part more of observations. Exponents are between neighbouring sizes.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from measure import PEAK, environment, keep
from windage.bench.configuration import PAPER_METHODS

CODE = (
    PEAK
    + """
import json, sys, time
import numpy as np
import windage
from windage.bench import problems, study
from windage.gp import Training, fit
name, t, method = sys.argv[1], int(sys.argv[2]), sys.argv[3]
problem, rng = problems.get(name), np.random.default_rng(0)
low, high = np.array([(p.low, p.high) for p in problem.decisions.values()]).T
x, c = rng.uniform(low, high, (t, len(low))), problem.sample_contexts(t, rng)
values = problem.observe(x, c, rng)
optimizer = windage.Optimizer(problem.decisions, problem.contexts, method=method, seed=0)
def tell(i):
    decision = dict(zip(problem.decisions, map(float, x[i])))
    optimizer.tell(decision, context=dict(zip(problem.contexts, map(float, c[i]))), value=float(values[i]))
for i in range(t - 2):
    tell(i)
optimizer.cancel(optimizer.ask())
seconds = []
for i in (t - 2, t - 1):
    tell(i)
    start = time.process_time()
    trial = optimizer.ask()
    seconds.append(time.process_time() - start)
    optimizer.cancel(trial)
megabytes = peak()
data = Training.of(study.dataset(optimizer), method != "gp-ucb")
start = time.process_time()
fit(data)
print(json.dumps({"ask": min(seconds), "fit": time.process_time() - start, "megabytes": megabytes}))
"""
)


def measure(problem: str, observations: int, method: str) -> dict[str, Any]:
    """One row."""
    command = [sys.executable, "-c", CODE, problem, str(observations), method]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment())
    return {"method": method, "observations": observations, **json.loads(result.stdout)}


def exponent(rows: list[dict[str, Any]], key: str, i: int) -> str:
    """Of the growth from the row before."""
    if i == 0:
        return ""
    seconds, counts = ([rows[j][k] for j in (i - 1, i)] for k in (key, "observations"))
    return f"t^{math.log(seconds[1] / seconds[0]) / math.log(counts[1] / counts[0]):.1f}"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problem", default="ackley")
    parser.add_argument("--observations", nargs="+", type=int, default=[100, 300, 1000, 3000])
    parser.add_argument("--methods", nargs="+", default=PAPER_METHODS, choices=PAPER_METHODS)
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="where the JSON is kept")
    arguments = parser.parse_args()
    table = Table("method", "t", "ask, s", "growth", "fit from the prior, s", "growth", "peak MB")
    table.title = f"{arguments.problem}: one ask, processor seconds of one thread"
    console, kept = Console(stderr=True), []
    for method in arguments.methods:
        rows: list[dict[str, Any]] = []
        for i, count in enumerate(arguments.observations):
            console.print(f"{method}, t = {count}", highlight=False)
            rows.append(measure(arguments.problem, count, method))
            row = rows[i]
            table.add_row(
                method if i == 0 else "",
                str(count),
                f"{row['ask']:.3f}",
                exponent(rows, "ask", i),
                f"{row['fit']:.3f}",
                exponent(rows, "fit", i),
                f"{row['megabytes']:.0f}",
            )
        kept += rows
    Console(width=110).print(table)
    keep(arguments.out, "growth", [{"problem": arguments.problem, **row} for row in kept])


if __name__ == "__main__":
    main()
