"""The exponent of cumulative regret on draws of a GP, beside (2 + Dc)/(4 + Dc) of Theorems 1 and 2.

    python benchmarks/exponents.py --out results/exponents --keep docs/reproduction

The theorems bound the regret in the mean over draws f ~ GP(0, k), k ≤ 1, for a smooth density of the context.
Here f is a draw with an RBF kernel of unit variance (random Fourier features), two decision variables, one or
two contexts with a Beta(5, 5) distribution, and a little noise on the outcomes. The methods fit their own
hyper-parameters, with the √β of all runs and with the schedule of the theorems. The exponent is the slope of
log R(T) over log T from T = 35 on, and over the last half of the decisions, R the mean over the draws; its
error is the jackknife's, which leaves out one draw at a time. Each draw has a seed of its own: the theorems'
mean is over contexts and noise too.

The runs are those of the bench: what is stopped goes on with the same command.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from windage.bench import load, problems, runner
from windage.bench.configuration import Sources, Task, plan
from windage.bench.display import display_of, show
from windage.bench.distributions import ClippedDistribution
from windage.bench.tables import Cell, Sheet
from windage.space import Array, Real

METHODS = ("sbo-kde", "drbo-kde")
DX, CONTEXTS, DRAWS = 2, (1, 2), 64
SCHEDULES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "constant": ("√β = 1.5", {}),
    "theorem": ("the theorems' √β", {"sqrt_beta": "theorem"}),
}
"""By folder: in words, and the settings."""
LENGTHSCALE, FEATURES, NOISE, FIRST = 0.25, 512, 0.1, 35


class Draw:
    """f ~ GP(0, RBF) on (x, c): √(2/F) Σ_i a_i cos(ω_i·z + b_i), ω ~ N(0, 1/ℓ²)."""

    def __init__(self, dimensions: int, seed: int) -> None:
        rng = np.random.default_rng([28, dimensions, seed])
        omega = rng.standard_normal((FEATURES, dimensions)) / LENGTHSCALE
        self.x, self.c = omega[:, :DX].T, omega[:, DX:].T
        self.phase, self.share = rng.uniform(0, 2 * np.pi, FEATURES), rng.standard_normal(FEATURES)
        self.share *= np.sqrt(2 / FEATURES)

    def __call__(self, x: Array, c: Array) -> Array:
        """f(x, c); the leading dimensions broadcast."""
        return np.asarray(np.cos(x @ self.x + c @ self.c + self.phase) @ self.share)

    def average(self, points: Array, weights: Array) -> Callable[[Array], Array]:
        """x → Σ_m w_m f(x, c_m), by cos(u + v) = cos u cos v - sin u sin v."""
        angles = (part @ self.c for part in np.array_split(points, max(1, len(points) // 1024)))
        shares = iter(np.array_split(weights, max(1, len(points) // 1024)))
        sums = [(w @ np.cos(v), w @ np.sin(v)) for v, w in zip(angles, shares, strict=True)]
        cosine, sine = (np.sum(part, axis=0) for part in zip(*sums, strict=True))

        def mean(x: Array) -> Array:
            u = x @ self.x + self.phase
            return np.asarray(np.cos(u) @ (self.share * cosine) - np.sin(u) @ (self.share * sine))

        return mean


def name(contexts: int, seed: int) -> str:
    """Of a problem."""
    return f"draw-{contexts}-{seed}"


def make(contexts: int, seed: int) -> problems.Problem:
    """A draw as a problem."""
    from scipy.stats import beta

    return problems.Problem(
        name(contexts, seed),
        f"a draw of a GP, {contexts} context(s)",
        {f"x{i}": Real(0, 1) for i in range(DX)},
        {f"c{i}": Real(0, 1) for i in range(contexts)},
        ClippedDistribution((beta(5, 5),) * contexts),
        Draw(DX + contexts, seed),
    )


if __name__ != "__main__":  # a plugin of the bench, also of the command below
    for _contexts in CONTEXTS:
        for _seed in range(DRAWS):
            problems.register(make(_contexts, _seed))


def slope(regret: Array, first: int = FIRST) -> float:
    """Of log R(T) over log T from ``first`` on; regret: R(1) … R(T)."""
    steps = np.arange(first, len(regret) + 1)
    return float(np.polyfit(np.log(steps), np.log(regret[first - 1 :]), 1)[0])


def error(runs: Array, first: int = FIRST) -> float:
    """The jackknife's standard error of the slope of the mean; runs: draws × decisions."""
    count = len(runs)
    if count < 2:
        return float("nan")
    without = [slope(np.delete(runs, i, axis=0).mean(axis=0), first) for i in range(count)]
    return float(np.sqrt((count - 1) * np.var(without)))


def planned(folder: Path, draws: int, budget: int, settings: Mapping[str, Any]) -> list[Task]:
    """The runs: of each draw with its own seed, so that no two meet the same contexts and noise."""
    sources = Sources.of(None, [__file__])
    return [
        task
        for seed in range(draws)
        for task in plan(
            folder,
            problem_names=[name(contexts, seed) for contexts in CONTEXTS],
            method_names=METHODS,
            budget=budget,
            seeds=[seed],
            settings=settings,
            noise=NOISE,
            sources=sources,
        )
    ]


def sheet(curves: Mapping[tuple[str, int], Array]) -> Sheet:
    """Methods and schedules × contexts; curves: draws × decisions, cumulative regret."""
    draws, last = next(iter(curves.values())).shape
    rows, firsts = [], (FIRST, last // 2)
    for row in dict.fromkeys(row for row, _ in curves):
        cells = []
        for contexts in CONTEXTS:
            for first in firsts:
                runs = curves[row, contexts]
                found, away = slope(runs.mean(axis=0), first), error(runs, first)
                cells.append(Cell(f"{found:.2f} ± {away:.2f}", values=(found, away, len(runs))))
        rows.append((row, tuple(cells)))
    bounds = [(2 + c) / (4 + c) for c in CONTEXTS for _ in firsts]
    rows.append(("(2 + Dc)/(4 + Dc)", tuple(Cell(f"{b:.2f}", values=(b, float("nan"), 0)) for b in bounds)))
    title = (
        f"The exponent of the mean cumulative regret up to {last} decisions on {draws} draws of a GP, each "
        "with its own contexts and noise; ± the jackknife's standard error"
    )
    head = ("method", *(f"Dc = {c}, from {first} on" for c in CONTEXTS for first in firsts))
    return Sheet("exponents", title, head, tuple(rows))


def curves_of(table: Any, draws: int, words: str) -> dict[tuple[str, int], Array]:
    """(method and schedule, contexts) → cumulative regret, draws × decisions; table: of the results."""
    runs = {
        key: run["regret"].to_numpy().cumsum() for key, run in table.groupby(["method", "problem", "seed"])
    }
    return {
        (f"{method}, {words}", contexts): np.stack(
            [runs[method, name(contexts, seed), seed] for seed in range(draws)]
        )
        for method in METHODS
        for contexts in CONTEXTS
    }


def main() -> None:
    """Run what is left, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=4, choices=range(1, DRAWS + 1), metavar=f"1-{DRAWS}")
    parser.add_argument("--budget", type=int, default=350)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/exponents"))
    parser.add_argument("--keep", type=Path, help="where the table goes; RESULTS/tables unless given")
    arguments = parser.parse_args()
    curves: dict[tuple[str, int], Array] = {}
    for folder, (words, settings) in SCHEDULES.items():
        out = arguments.out / folder
        tasks = planned(out, arguments.draws, arguments.budget, settings)
        with display_of(Console(stderr=True)) as display:
            runner.run_all(tasks, display, arguments.jobs)
        curves |= curves_of(load(out, plugins=__file__), arguments.draws, words)
    show(sheet(curves), arguments.keep or arguments.out / "tables")


if __name__ == "__main__":
    main()
