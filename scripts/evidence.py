"""Bring results into docs/evidence: tables, figures, manifests, and the tables of docs/evidence.md.

    windage bench run --suite later --methods auto,sbo-kde,erbo,ledrbo --jobs 2 --out results/reported
    windage bench run --suite later --seeds 0-9 --plugin benchmarks/variants.py \
        --methods auto,bq-fitted,bq-two-matern,bq-wider --jobs 2 --out results/development
    windage bench run --suite paper --methods auto,sbo-kde,drbo-kde --jobs 2 --out results/paper-auto
    windage bench law-regret --out docs/evidence
    python scripts/evidence.py results/reported results/development results/paper-auto
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pages import DOCS, bring, fill

from windage.bench import figures, judge, load, tables
from windage.methods import BEST

FOLDER = DOCS / "evidence"
PLUGIN = str(DOCS.parent / "benchmarks" / "variants.py")


def main() -> None:
    """Write the files, then fill the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("reported", "development", "paper"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    for name in ("reported", "development", "paper"):
        results = getattr(arguments, name)
        table = load(results, plugins=[PLUGIN] if name == "development" else ())
        made = tables.sheets(table)
        if name != "paper":
            made += judge.sheets(table, BEST)
        bring(name, results, made, FOLDER)
        if name == "reported":
            figures.draw(table, FOLDER)
    fill(DOCS / "evidence.md", FOLDER)


if __name__ == "__main__":
    main()
