"""Bring results into docs/evidence: tables, figures, manifests, and the tables of docs/evidence.md.

    windage bench run --suite later --seeds 0-9 --methods auto --jobs 2 --out results/development
    windage bench run --suite later --methods auto,sbo-kde,erbo,ledrbo --jobs 2 --out results/reported
    windage bench run --suite later --seeds 220-229 --methods auto --jobs 2 --out results/fresh
    windage bench run --suite paper --methods auto,sbo-kde --jobs 2 --out results/paper-auto
    windage bench law-regret --out docs/evidence
    python benchmarks/decision.py --out docs/evidence
    python scripts/evidence.py --development results/development --reported results/reported \
        --fresh results/fresh --paper results/paper-auto

Each folder may be left out.
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
    for name in ("development", "reported", "fresh", "paper"):
        parser.add_argument(f"--{name}", type=Path)
    arguments = parser.parse_args()
    for name, results in (("reported", arguments.reported), ("fresh", arguments.fresh)):
        if results:
            runs = load(results, plugins=[PLUGIN])
            bring(name, results, [*tables.sheets(runs), *judge.sheets(runs, BEST)], FOLDER)
            if name == "reported":
                figures.draw(runs, FOLDER)
    for name, results in (("development", arguments.development), ("paper", arguments.paper)):
        if results:
            bring(name, results, tables.sheets(load(results)), FOLDER)
    fill(DOCS / "evidence.md", FOLDER)


if __name__ == "__main__":
    main()
