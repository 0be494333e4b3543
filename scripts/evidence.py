"""The tables and the figure of docs/evidence.md, from the runs of these commands:

    windage bench wide --split validation --seeds 0-2 --jobs 2 --out results/validation
    windage bench wide --split validation --seeds 0-2 --jobs 2 --out results/validation --methods interim \
        --plugin benchmarks/ablation.py
    python benchmarks/ablation.py results/ablation --seeds 0-1 --jobs 2
    windage bench wide --plugin benchmarks/candidates.py --seeds 0-2 --jobs 2 --out results/candidates \
        --methods auto,auto-learn,ei,kg
    windage bench run --suite later --methods auto --seeds 600-609 --jobs 2 --out results/later
    python scripts/evidence.py results --write
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from windage.bench.judge import PUBLISHED, PUBLISHED_METHODS
from windage.bench.results import load
from windage.bench.tables import Cell, Sheet, spread
from windage.bench.wide import figure, scores, sweep
from windage.bench.wide.families import family_of

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from ablation import VARIANTS

PAGE, FOLDER = ROOT / "docs" / "evidence.md", ROOT / "docs" / "evidence"
DRAWN = (
    *("auto", "auto-learn", "sbo-kde", "drbo-kde", "ledrbo", "erbo", "gp-ucb"),
    *("optuna-gp", "optuna-tpe", "random"),
)
"""Methods in the figure."""


def brief(folder: Path) -> str:
    """Methods beside auto: paired ratios of regret, and how often each is off."""
    found = sweep.read(folder)
    runs = scores.common(found, list(dict.fromkeys(run.task.method for run in found)))
    auto = scores.Runs.of("auto", runs)
    last = scores.checkpoints(runs)[-1]
    words = {name: text for name, (text, _, _) in VARIANTS.items()}
    lines = [
        f"| | a decision / auto | recommended after {last} / auto | off after {last} |",
        "|---|---|---|---|",
    ]
    for method in dict.fromkeys(run.task.method for run in runs):
        mine, cells = scores.Runs.of(method, runs), []
        for of in (scores.earned, scores.learnt(last)):
            share, low, high = scores.ratio(mine.score(of), auto.score(of))
            cells.append(f"{share:.2f} ({low:.2f}–{high:.2f})")
        lines.append(
            f"| {words.get(method, method)} | {' | '.join(cells)} | {scores.off(mine.all, last):.0%} |"
        )
    seeds = len({run.task.seed for run in runs})
    note = (
        f"{len(auto.by_problem)} problems of development, {seeds} seed{'s' * (seeds > 1)}, {last} decisions"
    )
    return f"{note}.\n\n" + "\n".join(lines) + "\n"


def later(folder: Path) -> Sheet:
    """The five functions of the later works: cumulative regret at the end, beside the best published."""
    table = load(folder)
    budget = int(table["step"].max()) + 1
    sums = table.groupby(["problem", "seed"], sort=False)["regret"].sum()
    rows = []
    for problem in dict.fromkeys(table["problem"]):
        published = PUBLISHED[problem][budget]
        best = min(published)
        mine, method = spread([*sums[problem]]), PUBLISHED_METHODS[published.index(best)]
        rows.append((problem, (mine, Cell(f"{best:g} ({method})", values=(best, np.nan, 1)))))
    title = (
        f"Cumulative regret after {budget} decisions, mean ± standard error over {len(sums[problem])} seeds"
    )
    return Sheet("later", title, ("problem", "auto", "best published"), tuple(rows))


def by_family(results: Path) -> str:
    """Families × methods: regret a decision, and the recommendation's at the end."""
    runs = sweep.read(results / "validation")
    names = dict.fromkeys(family_of(run.task.problem).name for run in runs)
    methods = ("auto", "auto-learn", "interim", "sbo-kde", "ledrbo")
    lines = [f"| family | {' | '.join(methods)} |", f"|{'---|' * (len(methods) + 1)}"]
    for family in names:
        cells = []
        for method in methods:
            mine = [r for r in runs if r.task.method == method and family_of(r.task.problem).name == family]
            end = np.mean([scores.learnt(r.task.budget)(r) for r in mine])
            cells.append(f"{np.mean([scores.earned(r) for r in mine]):.3f}, {end:.3f}")
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    runs = sweep.read(given.results / "validation")
    failed = [run for run in runs if run.error]
    if failed:
        sys.exit(f"{len(failed)} runs failed: run the same command again before they are reported.")
    methods = list(dict.fromkeys(run.task.method for run in runs))
    made = [*scores.sheets(runs, methods, ["sbo-kde", "ledrbo", "interim"]), later(given.results / "later")]
    texts = {sheet.name: sheet.markdown() for sheet in made}
    texts["families"] = by_family(given.results)
    for name in ("ablation", "candidates"):
        if (given.results / name).exists():
            texts[name] = brief(given.results / name)
    if not given.write:
        print("\n".join(f"## {marker}\n\n{text}" for marker, text in texts.items()))
        return
    page = PAGE.read_text()
    for marker, text in texts.items():
        begin, end = f"<!-- {marker} -->", f"<!-- end of {marker} -->"
        if begin in page:
            head, _, rest = page.partition(begin)
            page = f"{head}{begin}\n{text}{end}{rest.partition(end)[2]}"
    PAGE.write_text(page)
    for sheet in made:
        sheet.write(FOLDER)
    print(figure.draw(runs, DRAWN, FOLDER / "wide.png"))


if __name__ == "__main__":
    main()
