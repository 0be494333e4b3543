"""Fill the tables of docs/speed.md from kept runs.

    python benchmarks/page.py results/bench/{bench,values,growth,engines}-*.json

The runs are copied to docs/speed/, so that each number of the page can be traced to one.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import engines as two
from bench import HEAD, cells
from growth import exponent
from measure import small

DOCS = Path(__file__).parent.parent / "docs"
Rows = list[dict[str, Any]]


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def bench(rows: Rows) -> str:
    """The asks beside the plain way."""
    return markdown(list(HEAD), [[f"`{row['method']}`", *cells(row, " ¹")] for row in rows])


def values(rows: Rows) -> str:
    """What was lost over random data sets."""
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        lost = [row["lost"] for row in rows if row["method"] == method]
        higher = sum(x < -1e-6 for x in lost)
        found.append([f"`{method}`", str(len(lost)), small(max(lost)), str(higher)])
    return markdown(["method", "data sets", "most that was lost", "windage higher by more than 1e-6"], found)


def growth(rows: Rows) -> str:
    """Seconds and memory over the number of observations."""
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        for i, row in enumerate(mine):
            figures = [
                f"{row['ask']:.2f}",
                exponent(mine, "ask", i),
                f"{row['fit']:.2f}",
                exponent(mine, "fit", i),
            ]
            found.append([f"`{method}`", str(row["observations"]), *figures, f"{row['megabytes']:.0f}"])
    head = ["method", "t", "ask, s", "growth", "fit from the prior, s", "growth", "peak MB"]
    return markdown(head, found)


def engines(rows: Rows) -> str:
    """The asks of two engines side by side."""
    found = [two.cells(row) for row in rows]
    return markdown(list(two.HEAD), [[f"`{method}`", *others] for method, *others in found])


TABLES = {"bench": bench, "values": values, "growth": growth, "growth-ackley-4": growth, "engines": engines}


def main() -> None:
    """Copy the runs, and write their tables into the page."""
    page = (DOCS / "speed.md").read_text()
    for path in map(Path, sys.argv[1:]):
        kept = json.loads(path.read_text())
        name = path.name.split("-20")[0]
        if kept["rows"][0].get("problem") == "ackley-4":
            name += "-ackley-4"
        (DOCS / "speed").mkdir(exist_ok=True)
        (DOCS / "speed" / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")
        table = TABLES[name](kept["rows"])
        marks = (f"<!-- table {name} -->\n", "\n<!-- end -->")
        pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
        page, count = re.subn(pattern, lambda _, t=table, m=marks: m[0] + t + m[1], page, flags=re.DOTALL)
        if count != 1:
            sys.exit(f"docs/speed.md has no marks for the table {name}")
    (DOCS / "speed.md").write_text(page)


if __name__ == "__main__":
    main()
