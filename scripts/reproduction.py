"""Bring results into docs/reproduction: tables, figures, manifests, and the tables of docs/reproduction.md.

    windage bench run --suite paper --budget 100 --seeds 100-104 --jobs 2 --out results/paper
    windage bench run --suite later --problems ackley@0.2,newsvendor,hartmann-complicated \
        --methods sbo-kde,gp-ucb --budget 100 --jobs 2 --out results/later
    windage bench runtime --out docs/reproduction
    windage bench density --out docs/reproduction
    windage bench saa --out docs/reproduction
    python scripts/reproduction.py results/paper results/later
"""

from __future__ import annotations

import argparse
import re
import shutil
from dataclasses import replace
from pathlib import Path

from windage.bench import figures, load, tables

DOCS = Path(__file__).parent.parent / "docs"
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
        for sheet in tables.sheets(table):
            replace(sheet, name=f"{name}-{sheet.name}").write(FOLDER)
        shutil.copy(results / "manifest.json", FOLDER / f"{name}-manifest.json")
        if name == "paper":
            figures.draw(table, FOLDER)
    fill(DOCS / "reproduction.md")


def fill(page: Path) -> None:
    """Put each table between its marks: ``<!-- table paper-regret -->`` and ``<!-- end -->``."""

    def body(match: re.Match[str]) -> str:
        text = (FOLDER / f"{match[1]}.md").read_text().strip()
        return f"<!-- table {match[1]} -->\n{text}\n<!-- end -->"

    marks = r"<!-- table ([\w-]+) -->.*?<!-- end -->"
    page.write_text(re.sub(marks, body, page.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
