"""Bring results into docs/reproduction: tables, figures, manifests, and the tables of docs/reproduction.md.

    windage bench run --suite paper --budget 100 --seeds 100-104 --jobs 2 --out results/paper
    windage bench run --suite later --problems ackley@0.2,newsvendor,hartmann-complicated \
        --methods sbo-kde,gp-ucb --budget 100 --jobs 2 --out results/later
    python benchmarks/runtime.py --out docs/reproduction
    windage bench density --out docs/reproduction
    windage bench distribution-regret --out docs/reproduction
    windage bench saa --out docs/reproduction
    python scripts/reproduction.py results/paper results/later
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pages import DOCS, bring, fill

from windage.bench import figures, load, tables

FOLDER = DOCS / "reproduction"


def main() -> None:
    """Write the files, then fill the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paper", type=Path)
    parser.add_argument("later", type=Path)
    arguments = parser.parse_args()
    for name, results in (("paper", arguments.paper), ("later", arguments.later)):
        table = load(results)
        bring(name, results, tables.sheets(table), FOLDER)
        if name == "paper":
            figures.draw(table, FOLDER)
    fill(DOCS / "reproduction.md", FOLDER)


if __name__ == "__main__":
    main()
