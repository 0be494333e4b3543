"""How high the default's bound should be, by the number of decisions: on functions of hills drawn at random.

    python benchmarks/bounds.py --out docs/evidence

The functions, the law and the counting are those of ``first_decisions.py``, with two to ten numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from first_decisions import compared, regrets
from windage import Real
from windage.bench.display import show
from windage.bench.tables import Sheet
from windage.methods import AUTO, get_method
from windage.schedules import root_sqrt_beta, steep_sqrt_beta
from windage.space import Array

RULES = {
    "Dx/4": lambda dx: dx / 4,
    "Dx/3": lambda dx: dx / 3,
    "Dx/3, 5/3 at most": steep_sqrt_beta,
    "√Dx/2": root_sqrt_beta,
}


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--numbers", nargs="+", type=int, default=[2, 3, 5, 10])
    parser.add_argument("--decisions", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("results/bounds"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for count in arguments.numbers:
        space = {f"x{i}": Real(0, 1) for i in range(count)}
        found: dict[float, Array] = {}
        for sqrt_beta in {rule(count) for rule in RULES.values()}:
            Console(stderr=True).print(f"{count} numbers, √β = {sqrt_beta:.2f}", highlight=False)
            seeds = range(arguments.seeds)
            runs = [regrets(space, seed, arguments.decisions, sqrt_beta=sqrt_beta) for seed in seeds]
            found[sqrt_beta] = np.array(runs)
        rows.append((f"{count} numbers", compared([found[rule(count)] for rule in RULES.values()])))
    title = (
        f"Cumulative regret of {get_method(AUTO).name} after {arguments.decisions} decisions by its √β, in "
        "ranges of the expectation: mean ± standard error over functions drawn at random (bold: the least), "
        "and how many runs end above a tenth"
    )
    head = ("decisions", *RULES)
    show(
        Sheet("bounds", title, head, tuple(rows), ("mean", "standard_error", "runs", "caught")), arguments.out
    )


if __name__ == "__main__":
    main()
