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

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import plain
import windage
from windage.bench import problems
from windage.maximize import maximize
from windage.methods import METHODS, Settings, Situation
from windage.surrogate import Hyperparameters, ProductGP

BARS = {"sbo-kde": 100, "drbo-kde": 100, "drbo-mmd": 50}
"""The ratio that each method must reach at 100 observations."""


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def study(observations: int, seed: int) -> windage.Optimizer:
    """A real study of so many observations, gathered by sbo-kde."""
    problem = problems.get("ackley")
    rng = np.random.default_rng(seed)
    optimizer = windage.Optimizer(problem.decisions, problem.contexts, method="sbo-kde", seed=seed)
    for c in problem.sample_contexts(observations, rng):
        trial = optimizer.ask()
        x = np.array([list(trial.decision.values())])
        value = float(problem.evaluate(x, c[None])[0])
        optimizer.tell(trial, context={"c": float(c[0])}, value=value)
    return optimizer


def plain_acquisition(method: str, fast: Any, model: Any) -> plain.PlainAcquisition:
    """The plain twin of a windage acquisition: the same nodes, weights and radius."""
    nodes, weights = fast.nodes, fast.weights
    if method == "drbo-kde":
        m = len(weights)
        return plain.PlainTotalVariation(model, nodes[:m], weights, fast.radius, nodes[m:])
    if method == "drbo-mmd":
        return plain.PlainMmd(model, nodes, weights, fast.radius, fast.factor)
    return plain.PlainAcquisition(model, nodes, weights)


def compare(method: str, base: windage.Optimizer, repeats: int) -> dict[str, Any]:
    """Seconds of each way for one ask, and the plain acquisition value of what each found."""
    saved = {**base.to_dict(), "method": method}

    def asks() -> list[float]:
        return [timed(windage.Optimizer.from_dict(saved).ask)[0] for _ in range(repeats)]

    asks()  # warm up
    mine = asks()
    optimizer = windage.Optimizer.from_dict(saved)
    data = optimizer._evidence.training(METHODS[method].uses_context)
    settings = Settings()

    fit_seconds, model = timed(lambda: plain.fit(data.x, data.c, data.y))
    lengthscale = model.covar_module.lengthscale.detach().reshape(-1).tolist()
    dx = data.x.shape[1]
    hyper = Hyperparameters(
        tuple(lengthscale[:dx]),
        tuple(lengthscale[dx:]),
        float(model.likelihood.noise.detach()),
        float(model.mean_module.constant.detach()),
        0.0,
    )
    same = ProductGP(data, hyper)  # the plain fit, so that both maximise the same function
    fast = METHODS[method].build(Situation(same, data.c, optimizer._evidence.kde, settings, seed=0))
    slow = plain_acquisition(method, fast, model)
    climb_seconds, (point, _) = timed(
        lambda: plain.maximise(slow, dx, settings.raw_samples, settings.restarts)
    )
    mine += asks()  # before and after the plain way, because machines slow down and speed up
    found = maximize(fast, optimizer._decisions.blocks, settings.raw_samples, settings.restarts, seed=0)
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
        base = study(arguments.observations, arguments.seed)
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
