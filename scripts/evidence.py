"""Bring results into docs/evidence: tables, figures, manifests, and the tables of docs/evidence.md.

    windage bench run --suite later --seeds 0-9 --methods auto --jobs 2 --out results/development
    windage bench run --suite later --methods auto --jobs 2 --out results/auto
    windage bench run --suite later --methods sbo-kde,erbo,ledrbo --set initial=5 --jobs 2 \
        --out results/others
    windage bench run --suite later --seeds 220-229 --methods auto --jobs 2 --out results/fresh
    windage bench run --suite paper --methods auto,sbo-kde --jobs 2 --out results/paper-auto
    windage bench law-regret --out docs/evidence
    python benchmarks/decision.py --repeats 15 --out docs/evidence
    python benchmarks/first_decisions.py --initial 3 4 5 10 --seeds 16 --out docs/evidence
    python scripts/evidence.py --development results/development --reported results/auto results/others \
        --fresh results/fresh --paper results/paper-auto

Each folder may be left out. Those of ``--reported`` are joined: the same seeds met the same contexts.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pandas
from pages import DOCS, bring, fill

from windage.bench import figures, judge, load, tables
from windage.bench.runner import MANIFEST
from windage.methods import BEST

FOLDER = DOCS / "evidence"
PLUGIN = str(DOCS.parent / "benchmarks" / "variants.py")


def main() -> None:
    """Write the files, then fill the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("development", "fresh", "paper"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--reported", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.reported:
        first, *others = arguments.reported
        runs = pandas.concat([load(folder, plugins=[PLUGIN]) for folder in (*others, first)])
        bring("reported", first, [*tables.sheets(runs), *judge.sheets(runs, BEST)], FOLDER)
        for folder in others:
            shutil.copy(folder / MANIFEST, FOLDER / f"reported-{folder.name}-{MANIFEST}")
        figures.draw(runs, FOLDER)
    if arguments.fresh:
        runs = load(arguments.fresh, plugins=[PLUGIN])
        bring("fresh", arguments.fresh, [*tables.sheets(runs), *judge.sheets(runs, BEST)], FOLDER)
    for name, results in (("development", arguments.development), ("paper", arguments.paper)):
        if results:
            bring(name, results, tables.sheets(load(results)), FOLDER)
    fill(DOCS / "evidence.md", FOLDER)


if __name__ == "__main__":
    main()
