"""Bring results into docs/reproduction: tables, figures, manifests, and the tables of docs/reproduction.md.

Each folder of ``RUNS`` is a ``windage bench run`` with the options that stand beside it, and ``--out
results/NAME``. A run that was stopped goes on with the same command. Then:

    windage bench runtime --out docs/reproduction                    # Table 1
    windage bench runtime --budget 350 --repeats 1 --out docs/reproduction
    windage bench density --out docs/reproduction                    # Table 2
    windage bench distribution-regret --out docs/reproduction
    windage bench saa --out docs/reproduction                        # Proposition 1
    python benchmarks/exponents.py --draws 2 --keep docs/reproduction   # the exponents of Theorems 1 and 2
    python benchmarks/joint.py results/later-2023 --out docs/reproduction
    python scripts/reproduction.py results                           # what is there of RUNS, and the page

``--commands`` prints the commands of ``RUNS``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pages import DOCS, bring, fill

from windage.bench import figures, load, tables
from windage.bench.tables import Cell, Sheet, spread

FOLDER = DOCS / "reproduction"
FOUR = "--problems ackley,branin,hartmann-complicated,newsvendor"
THREE = "--problems ackley@0.2,newsvendor,hartmann-complicated"
NARROW = "--set raw_samples=32 --set restarts=5"
OLD = "--set surrogate=2023"
RUNS: Mapping[str, str] = {
    "paper-2023-350": f"--suite paper --budget 350 {OLD}",
    "paper-2023-100": f"--suite paper --budget 100 {OLD}",
    "paper-today-100": "--suite paper --budget 100",
    "as-published": f"{FOUR} --methods stableopt,drbo-mmd-minimax,gp-ucb {OLD} --set as_published=true",
    "as-published-narrow": f"{FOUR} --methods drbo-kde,drbo-mmd {OLD} --set as_published=true {NARROW}",
    "narrow": f"{FOUR} --methods drbo-kde,drbo-mmd {OLD} {NARROW}",
    "ten": f"--problems hartmann-complicated --methods sbo-kde,drbo-kde --seeds 100-109 --budget 100 {OLD}",
    "ten-as-published": "--problems hartmann-complicated --methods drbo-kde --seeds 100-109 --budget 100 "
    f"{OLD} --set as_published=true {NARROW}",
    "later-2023": f"--suite later {THREE} --methods sbo-kde --budget 100 {OLD}",
    "later-joint": "--plugin benchmarks/joint.py --suite later --problems newsvendor --methods sbo-kde-joint "
    f"--budget 100 {OLD}",
    "later-today": f"--suite later {THREE} --methods sbo-kde --budget 100",
    "raw-today": "--plugin benchmarks/raw_contexts.py --suite later --problems hartmann-complicated-raw "
    "--methods sbo-kde-raw --budget 100",
}
"""What is run, by the name of its folder."""
PLUGINS = {"raw-today": "benchmarks/raw_contexts.py", "later-joint": "benchmarks/joint.py"}
PUBLISHED = {"ackley@0.2": 356.0, "newsvendor": 9.2, "hartmann-complicated": 81.0}
"""SBO-KDE after 100 decisions in the published runs of the later works."""

Totals = dict[tuple[str, str], dict[int, float]]
"""(problem, method) → seed → cumulative regret."""


def totals(table: Any, budget: int) -> Totals:
    """Cumulative regret after so many decisions of each run."""
    sums = table[table["step"] < budget].groupby(["problem", "method", "seed"], sort=False)["regret"].sum()
    found: Totals = {}
    for (problem, method, seed), total in sums.items():
        found.setdefault((problem, method), {})[seed] = float(total)
    return found


def beside(name: str, title: str, columns: Mapping[str, Totals], keys: Sequence[tuple[str, str]]) -> Sheet:
    """Problems and methods × columns, each row on the seeds that all its columns have."""
    rows = []
    for key in keys:
        runs = {column: found[key] for column, found in columns.items() if key in found}
        seeds = sorted(set.intersection(*(set(by_seed) for by_seed in runs.values())))
        cells = []
        for column in columns:
            if column in runs:
                cells.append(spread([runs[column][seed] for seed in seeds]))
            else:
                cells.append(Cell("", values=(float("nan"), float("nan"), 0)))
        count = f"{len(seeds)} seed{'s' * (len(seeds) > 1)}"
        rows.append((f"{key[0]}, {key[1]}, {count}", tuple(cells)))
    return Sheet(name, title, ("problem, method", *columns), tuple(rows))


def made(found: Mapping[str, Any]) -> Iterator[Sheet]:
    """The tables that need several folders."""
    by_name = {name: totals(table, 100) for name, table in found.items()}
    old, today = by_name.get("paper-2023-100", {}), by_name.get("paper-today-100", {})
    both = [key for key in old if key in today]
    if both:
        title = "Cumulative regret after 100 decisions on the same seeds, by the surrogate"
        yield beside("surrogates", title, {"today's": today, "2023": old}, both)
    published = {**by_name.get("as-published", {}), **by_name.get("as-published-narrow", {})}
    keys = [key for key in published if key in old]
    if keys:
        columns = {"as the paper says": old, "with its narrow search": by_name.get("narrow", {})}
        title = (
            'Cumulative regret after 100 decisions with surrogate="2023": as the paper defines the methods, '
            "with the few starts that it gives DRBO-KDE and DRBO-MMD, and as its code has them"
        )
        yield beside("errata", title, {**columns, "as published": published}, sorted(keys))
    long = found.get("paper-2023-350")
    if long is not None:
        parts = {f"{n} decisions": totals(long, n) for n in (100, 200, 350)}
        title = 'Cumulative regret with surrogate="2023", the same runs after more and more decisions'
        yield beside("budget", title, parts, list(parts["350 decisions"]))
    if "ten" in by_name and "ten-as-published" in by_name:
        yield ten(by_name)
    if "later-2023" in by_name and "later-today" in by_name:
        yield later(by_name)


def ten(by_name: Mapping[str, Totals]) -> Sheet:
    """The two methods of the paper on the complicated Hartmann, on more seeds."""
    problem = "hartmann-complicated"
    runs = {
        "sbo-kde": by_name["ten"][problem, "sbo-kde"],
        "drbo-kde": by_name["ten"][problem, "drbo-kde"],
        "drbo-kde, as published": by_name["ten-as-published"][problem, "drbo-kde"],
    }
    first, none = runs["sbo-kde"], Cell("", values=(float("nan"), float("nan"), 0))
    rows = []
    for name, own in runs.items():
        apart = spread([own[seed] - first[seed] for seed in first]) if own is not first else none
        each = [spread([own[seed]]) for seed in first]
        rows.append((name, (spread([*own.values()]), apart, *each)))
    title = (
        'The complicated Hartmann with surrogate="2023": cumulative regret after 100 decisions, mean ± '
        f"standard error over {len(first)} seeds"
    )
    return Sheet("ten", title, ("method", "regret", "less sbo-kde's", *map(str, first)), tuple(rows))


def later(by_name: Mapping[str, Totals]) -> Sheet:
    """SBO-KDE of the later protocol beside the published runs."""
    rows = []
    for problem, figure in PUBLISHED.items():
        key = (problem, "sbo-kde")
        columns = (
            by_name["later-2023"].get(key),
            by_name.get("later-joint", {}).get((problem, "sbo-kde-joint")),
            by_name["later-today"].get(key),
            by_name.get("raw-today", {}).get((f"{problem}-raw", "sbo-kde-raw")),
        )
        none = Cell("", values=(float("nan"), float("nan"), 0))
        cells = [spread([*runs.values()]) if runs else none for runs in columns]
        away = [(c.values[0] - figure) / c.values[1] if c.text else float("nan") for c in cells]
        marked = [
            Cell(f"{c.text} ({a:+.1f})" if c.text else "", values=c.values)
            for c, a in zip(cells, away, strict=True)
        ]
        rows.append((problem, (*marked, Cell(f"{figure:g}", values=(figure, float("nan"), 0)))))
    title = (
        "SBO-KDE in the protocol of the later works: cumulative regret after 100 decisions, mean ± standard "
        "error over 10 seeds (in brackets: standard errors from the published figure)"
    )
    head = (
        *("problem", "2023", "2023, joint Matérn", "today's", "today's, contexts as reported"),
        "published",
    )
    return Sheet("later", title, head, tuple(rows))


def main() -> None:
    """Write the files, then fill the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    parser.add_argument("--commands", action="store_true", help="print what to run")
    arguments = parser.parse_args()
    if arguments.commands:
        for name, options in RUNS.items():
            print(f"windage bench run {options} --out results/{name}")
        return
    found = {}
    for name in RUNS:
        results = arguments.results / name
        if (results / "manifest.json").exists():
            found[name] = load(results, plugins=[PLUGINS[name]] if name in PLUGINS else ())
            kept = [sheet for sheet in tables.sheets(found[name]) if sheet.name != "seconds"]
            bring(name, results, kept, FOLDER)
    for sheet in made(found):
        sheet.write(FOLDER)
    for name in ("paper-2023-100", "paper-2023-350"):
        if name in found:
            figures.draw(found[name], FOLDER / name)
    fill(DOCS / "reproduction.md", FOLDER)


if __name__ == "__main__":
    main()
