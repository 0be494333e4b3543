"""windage beside the plain BoTorch + CVXPY way: one table, one process, one thread, processor seconds.

    make bench            # python benchmarks/bench.py: everything; hours, the plain way is slow
    make bench-check      # the rows that have a bar in benchmarks/bars.json; fails where a ratio is below it
    python benchmarks/bench.py --contexts 1 --observations 100 --methods sbo-kde drbo-kde

For each method, number of observations t and number of contexts Dc: seconds for the fit, for maximising the
acquisition and for the whole ask; the ratio of the plain way's; peak memory; and the value of the acquisition
that each found, both judged by the plain function on one fitted model. Settings are the paper's on both sides
(M = 1,024, or windage's 512 Sobol points where Dc = 4; 1,024 raw samples, 50 restarts). Medians of repeated
asks, windage's before and after the plain.
Where the plain way would take longer than --patience seconds it is measured with a tenth of the raw samples
and restarts, and its climb counts ten times; such rows are marked "1/10". The fit is windage's as it comes
in a study, after one more observation, and BoTorch's, which knows no other; "behind" is what windage's log
posterior lacks of BoTorch's, for each observation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import plain
import windage
from measure import keep, peak_of_an_ask, small, timed
from windage.bench import problems, study
from windage.bench.configuration import PAPER_METHODS
from windage.gp import LogPosterior, Training
from windage.methods import Settings, get_method
from windage.search import maximize
from windage.space import Array
from windage.threads import one_thread

HERE = Path(__file__).parent
PROBLEMS = {1: "ackley", 2: "branin", 4: "ackley-4"}
TENTH = 10
COLUMNS = ("fit", "maximise", "ask")
HEAD = (
    "method", "t", "Dc", "windage: fit", "maximise", "ask", "plain: fit", "ask", "ratio: fit", "ask",
    "lost", "behind", "peak MB",
)  # fmt: skip


def saved_study(dc: int, observations: int, method: str, seed: int) -> dict[str, Any]:
    """A study of so many observations, the last of them of the method itself: its fit is a warm start."""
    problem = problems.get(PROBLEMS[dc])
    base = study.play(problem, "gp-ucb", observations - 1, seed)
    return study.play(problem, method, 1, seed + 1, {**base.to_dict(), "method": method}).to_dict()


def fast_ask(saved: dict[str, Any], method: str) -> dict[str, float]:
    """Seconds of windage's fit, of the rest of the ask, and of both."""
    optimizer, joint = windage.Optimizer.from_dict(saved), get_method(method).uses_context
    with one_thread():
        fit, _ = timed(lambda: optimizer._ensemble.models(optimizer._data, joint, keep=True))
    rest, _ = timed(optimizer.ask)
    return {"fit": fit, "maximise": rest, "ask": fit + rest}


def compare(
    dc: int, observations: int, method: str, repeats: int, patience: float, seed: int
) -> dict[str, Any]:
    """One row of the table."""
    saved = saved_study(dc, observations, method, seed)
    settings, joint = Settings(), get_method(method).uses_context
    fast_ask(saved, method)  # warm up
    mine = [fast_ask(saved, method) for _ in range(repeats)]
    optimizer = windage.Optimizer.from_dict(saved)
    data = study.dataset(optimizer)
    training = Training.of(data, joint)
    plain.fit(training)  # warm up
    fits = [timed(lambda: plain.fit(training)) for _ in range(repeats)]
    fit, model = statistics.median(seconds for seconds, _ in fits), fits[0][1]
    target = LogPosterior(training)
    own = optimizer._ensemble.models(data, joint)[0].hyperparameters
    heights = [target(target.theta(h)).value for h in (own, plain.hyperparameters(training, model))]
    fast = plain.acquisition(method, data, plain.mirrored(training, model), seed, settings)
    slow = plain.twin(fast, model)
    dx = training.x.shape[1]

    def climb(share: int) -> tuple[float, Array]:
        return timed(
            lambda: plain.maximise(slow, dx, settings.raw_samples // share, settings.restarts // share)
        )

    tenth, point = climb(TENTH)
    share = 1 if TENTH * tenth <= patience else TENTH
    seconds = TENTH * tenth
    if share == 1:
        seconds, point = climb(1)
    mine += [fast_ask(saved, method) for _ in range(repeats)]
    with one_thread():
        found = maximize(fast, data.decisions.blocks, settings.raw_samples, settings.restarts, seed)
    values = plain.value(slow, np.stack([found.point, point])).tolist()
    fast_seconds = {key: statistics.median(row[key] for row in mine) for key in COLUMNS}
    slow_seconds = {"fit": fit, "maximise": seconds, "ask": fit + seconds}
    return {
        "method": method,
        "observations": observations,
        "contexts": dc,
        "seed": seed,
        "windage_seconds": fast_seconds,
        "plain_seconds": slow_seconds,
        "plain_share": share,
        "ratios": {key: slow_seconds[key] / fast_seconds[key] for key in COLUMNS},
        "windage_value": values[0],
        "plain_value": values[1],
        "lost": max(0.0, (values[1] - values[0]) / max(abs(values[1]), 1e-12)),
        "behind": (heights[1] - heights[0]) / observations,
        "peak_megabytes": peak_of_an_ask(saved),
    }


def cells(row: dict[str, Any], mark: str = "") -> list[str]:
    """A row of the table of asks; ``mark`` stands where the plain way had a share of the work."""
    mine, theirs, ratios = row["windage_seconds"], row["plain_seconds"], row["ratios"]
    mark = "" if row["plain_share"] == 1 else mark
    return [
        str(row["observations"]),
        str(row["contexts"]),
        *(f"{mine[key]:.3f}" for key in COLUMNS),
        f"{theirs['fit']:.2f}",
        f"{theirs['ask']:.1f}{mark}",
        f"{ratios['fit']:.0f}",
        f"{ratios['ask']:.0f}",
        "" if mark else small(row["lost"]),
        small(row["behind"]),
        f"{row['peak_megabytes']:.0f}",
    ]


def show(rows: list[dict[str, Any]]) -> None:
    """The one table."""
    title = "One ask, processor seconds of one thread; 1,024 raw samples and 50 restarts on both sides"
    table = Table(*HEAD, title=title)
    for row in rows:
        table.add_row(row["method"], *cells(row, f" (1/{row['plain_share']})"))
    Console(width=160).print(table)


def failures(rows: list[dict[str, Any]], bars: list[dict[str, Any]]) -> list[str]:
    """The rows below their bar, in words."""
    found = []
    for bar in bars:
        key = (bar["method"], bar["observations"], bar["contexts"])
        mine = [r for r in rows if (r["method"], r["observations"], r["contexts"]) == key]
        for row in mine:
            for name in COLUMNS:
                if name in bar and row["ratios"][name] < bar[name]:
                    found.append(f"{key}: {name} ratio {row['ratios'][name]:.1f} is below {bar[name]}")
            if row["plain_share"] == 1 and row["lost"] > bar.get("lost", 1e-6):
                found.append(f"{key}: the value found is {row['lost']:.1e} below the plain way's")
            if row["behind"] > bar.get("behind", 1e-3):
                found.append(f"{key}: the log posterior is {row['behind']:.1e} an observation behind")
            if row["peak_megabytes"] > bar.get("megabytes", 1000):
                found.append(f"{key}: {row['peak_megabytes']:.0f} MB")
    return found


def main() -> None:
    """Measure, print, keep, and check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=PAPER_METHODS, choices=PAPER_METHODS)
    parser.add_argument("--observations", nargs="+", type=int, default=[20, 100, 300])
    parser.add_argument("--contexts", nargs="+", type=int, default=[1, 2, 4], choices=list(PROBLEMS))
    parser.add_argument(
        "--repeats", type=int, default=3, help="asks of windage before and after; medians count"
    )
    parser.add_argument("--patience", type=float, default=120, help="seconds for a whole plain climb")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true", help="only the rows with a bar; fail below it")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="where the JSON is kept")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    bars = json.loads((HERE / "bars.json").read_text())
    cases = [
        (dc, t, method)
        for dc in arguments.contexts
        for t in arguments.observations
        for method in arguments.methods
    ]
    if arguments.check:
        wanted = {(bar["contexts"], bar["observations"], bar["method"]) for bar in bars}
        cases = [case for case in cases if case in wanted]
    console = Console(stderr=True)
    rows = []
    for i, (dc, t, method) in enumerate(cases):
        console.print(f"{i + 1} of {len(cases)}: {method}, t = {t}, Dc = {dc}", highlight=False)
        rows.append(compare(dc, t, method, arguments.repeats, arguments.patience, arguments.seed))
    show(rows)
    keep(arguments.out, "bench", rows)
    below = failures(rows, bars)
    for line in below:
        print(line)
    if arguments.check and below:
        sys.exit(1)


if __name__ == "__main__":
    main()
