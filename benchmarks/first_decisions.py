"""How many first decisions the default needs: on functions that nobody chose, hills drawn at random.

    python benchmarks/first_decisions.py --out docs/evidence

Each seed draws another function: hills of a random place, height and width, which move and change their
height with the context, met with a little noise. The context is of a beta law that the optimizer does not
know. A run's regret is counted in ranges of the expectation; it is caught if it ends above a tenth of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from scipy import stats

from windage import Categorical, Optimizer, Real
from windage.bench.display import show
from windage.bench.judge import LAST, TRAP
from windage.bench.tables import BEST, Cell, Sheet, spread
from windage.methods import AUTO, get_method
from windage.space import Array

SPACES: dict[str, dict[str, Any]] = {
    "a number": {"a": Real(0, 1)},
    "two numbers": {"a": Real(0, 1), "b": Real(0, 1)},
    "a number and a choice of four": {"a": Real(0, 1), "kind": Categorical(list("pqrs"))},
}
LAW = stats.beta(2, 4)
NODES = LAW.ppf((np.arange(50) + 0.5) / 50)
SCANNED, NOISE = 4096, 0.02
QUICK: dict[str, Any] = {"raw_samples": 256, "restarts": 8}


def hills(numbers: int, seed: list[int]) -> Callable[[Array, float], Array]:
    """A function of points (n × numbers, unit box) and a context."""
    rng = np.random.default_rng(seed)
    count = 3 + numbers
    middle, move = rng.random((count, numbers)), rng.uniform(-0.3, 0.3, (count, numbers))
    height, change = rng.uniform(0.3, 1, count), rng.uniform(-0.8, 0.8, count)
    width = rng.uniform(0.1, 0.35, count) * numbers**0.5

    def value(x: Array, c: float) -> Array:
        away = c - LAW.mean()
        squares = ((x[:, None, :] - middle - move * away) ** 2).sum(axis=2)
        return (height * (1 + change * away) * np.exp(-squares / (2 * width**2))).sum(axis=1)

    return value


def expectation(value: Callable[[Array, float], Array], x: Array) -> Array:
    """E value(x, c)."""
    return np.mean([value(x, c) for c in NODES], axis=0)


def regrets(space: dict[str, Any], seed: int, decisions: int, **settings: Any) -> Array:
    """Of each decision of a run of the default, in ranges of the expectation."""
    numbers = [name for name, kind in space.items() if isinstance(kind, Real)]
    kinds = next((p.choices for p in space.values() if isinstance(p, Categorical)), (None,))
    values = {kind: hills(len(numbers), [seed, i]) for i, kind in enumerate(kinds)}
    scan = stats.qmc.Sobol(len(numbers), seed=0).random(SCANNED)
    everywhere = np.concatenate([expectation(value, scan) for value in values.values()])
    rng = np.random.default_rng([seed, 99])
    met, noise = LAW.rvs(decisions, random_state=rng), NOISE * rng.standard_normal(decisions)
    optimizer = Optimizer(space, {"c": Real(0, 1)}, seed=seed, **(QUICK | settings))
    expected = []
    for c, e in zip(met, noise, strict=True):
        trial = optimizer.ask()
        x, value = np.array([[trial.decision[n] for n in numbers]]), values[trial.decision.get("kind")]
        optimizer.tell(trial, context={"c": float(c)}, value=float(value(x, c)[0] + e))
        expected.append(float(expectation(value, x)[0]))
    best = max(everywhere.max(), *expected)
    return np.asarray((best - np.array(expected)) / (best - everywhere.min()))


def compared(runs: Sequence[Array]) -> tuple[Cell, ...]:
    """A cell for each of several ways: the regret (of seeds × decisions), and how many runs are caught."""
    least = min(run.sum(axis=1).mean() for run in runs)
    cells = []
    for run in runs:
        mean = spread([*run.sum(axis=1)])
        caught = int((run[:, -LAST:].mean(axis=1) > TRAP).sum())
        words = f"{mean.text}, {caught} of {len(run)}"
        cells.append(Cell(words, BEST if mean.values[0] == least else "", (*mean.values, caught)))
    return tuple(cells)


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--initial", nargs="+", type=int, default=[2, 3, 4, 5, 10])
    parser.add_argument("--decisions", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--out", type=Path, default=Path("results/first"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name, space in SPACES.items():
        runs = []
        for initial in arguments.initial:
            Console(stderr=True).print(f"{name}, {initial} first decisions", highlight=False)
            seeds = range(arguments.seeds)
            runs.append(np.array([regrets(space, s, arguments.decisions, initial=initial) for s in seeds]))
        rows.append((name, compared(runs)))
    title = (
        f"Cumulative regret of {get_method(AUTO).name} after {arguments.decisions} decisions by the number "
        "of first ones, in ranges of the expectation: mean ± standard error over functions drawn at random "
        "(bold: the least), and how many runs end above a tenth"
    )
    head = ("decisions", *(str(initial) for initial in arguments.initial))
    sheet = Sheet("first-decisions", title, head, tuple(rows), ("mean", "standard_error", "runs", "caught"))
    show(sheet, arguments.out)


if __name__ == "__main__":
    main()
