"""Tables for people and papers: Markdown, CSV and LaTeX from one record; and those of a sweep's results."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from windage.bench import steps
from windage.bench.files import write_whole

if TYPE_CHECKING:
    import pandas

LEVEL = 0.05
"""A method ties with the best where a paired t-test over the seeds finds no difference at this level."""
BEST, TIE = "best", "tie"
_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "σ": r"$\sigma$", "×": r"$\times$"}


@dataclass(frozen=True)
class Cell:
    """What a cell says, and whether it is the best of its row or ties with it."""

    text: str
    mark: str = ""
    values: tuple[float, ...] = ()
    """For CSV: the numbers behind the text."""


@dataclass(frozen=True)
class Sheet:
    """A table: a title, the head, and rows that begin with their name."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    numbers: tuple[str, ...] = ("mean", "standard_error", "runs")
    """The names of a cell's numbers."""

    def markdown(self) -> str:
        """Bold is the best, an asterisk a tie with it."""
        lines = [f"| {' | '.join(self.head)} |", f"|{'---|' * len(self.head)}"]
        wrap = {"": "{}", BEST: "**{}**", TIE: "{} *"}
        for name, cells in self.rows:
            texts = [wrap[cell.mark].format(cell.text) for cell in cells]
            lines.append(f"| {' | '.join([name, *texts])} |")
        return "\n".join([f"{self.title}\n", *lines]) + "\n"

    def latex(self) -> str:
        """A tabular with booktabs' rules; bold is the best, a star a tie with it."""
        wrap = {"": "{}", BEST: r"\textbf{{{}}}", TIE: r"{}$^{{*}}$"}
        lines = [f"% {self.title}", rf"\begin{{tabular}}{{l{'r' * (len(self.head) - 1)}}}", r"\toprule"]
        lines += [" & ".join(map(_escape, self.head)) + r" \\", r"\midrule"]
        for name, cells in self.rows:
            texts = [wrap[cell.mark].format(_escape(cell.text)) for cell in cells]
            lines.append(" & ".join([_escape(name), *texts]) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def records(self) -> list[dict[str, Any]]:
        """A record a cell, with full digits."""
        return [
            {
                self.head[0]: name,
                "column": column,
                **dict(zip(self.numbers, cell.values, strict=True)),
                "mark": cell.mark,
            }
            for name, cells in self.rows
            for column, cell in zip(self.head[1:], cells, strict=True)
        ]

    def csv(self) -> str:
        """The records, a line each."""
        file = io.StringIO()
        names = [self.head[0], "column", *self.numbers, "mark"]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return file.getvalue()

    def write(self, folder: Path) -> list[Path]:
        """All three, in the folder."""
        contents = {".md": self.markdown(), ".csv": self.csv(), ".tex": self.latex()}
        with steps.storage(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for ending, text in contents.items():
                write_whole(folder / f"{self.name}{ending}", text.encode())
        return [folder / f"{self.name}{ending}" for ending in contents]


def _escape(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def cumulative(table: pandas.DataFrame, column: str) -> pandas.DataFrame:
    """The running sum of a column over the steps of each run."""
    keys = ["problem", "method", "seed"]
    return table[[*keys, "step"]].assign(total=table.groupby(keys, sort=False)[column].cumsum())


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error; the error of a single value is not known."""
    array = np.asarray(values, dtype=float)
    error = float(array.std(ddof=1) / np.sqrt(len(array))) if len(array) > 1 else float("nan")
    return float(array.mean()), error


def spread(values: Sequence[float], digits: int = 3) -> Cell:
    """A cell "mean ± standard error", rounded by the mean's size."""
    mean, error = mean_and_error(values)
    size = abs(mean) if mean else 1.0
    decimals = int(np.clip(digits - 1 - np.floor(np.log10(size)), 0, 9))
    text = f"{mean:,.{decimals}f}" + ("" if np.isnan(error) else f" ± {error:,.{decimals}f}")
    return Cell(text, values=(mean, error, len(values)))


def sheets(table: pandas.DataFrame) -> list[Sheet]:
    """The tables of a sweep: final cumulative regret, final cumulative reward, seconds a decision."""
    final = table["step"].max() + 1
    seeds = table["seed"].nunique()
    note = f"after {final} decisions, mean ± standard error over {seeds} seed{'s' * (seeds > 1)}"
    marks = f"bold: the best; * not different from it (paired t-test over the seeds, {LEVEL:.0%})"
    runs = table.groupby(["problem", "method"])["seed"].nunique()
    if (runs < runs.groupby(level="problem").transform("max")).any():
        marks += "; cells of fewer seeds are not compared"
    pairs = [
        ("regret", "regret", f"Cumulative regret {note} (lower is better; {marks})", -1),
        ("reward", "value", f"Cumulative observed reward {note} (higher is better; {marks})", 1),
    ]
    made = []
    for name, column, title, sign in pairs:
        sums = table.groupby(["problem", "method", "seed"], sort=False)[column].sum()
        made.append(_compared(name, title, sums, sign))
    seconds = table.groupby(["problem", "method", "seed"], sort=False)["ask_seconds"].mean()
    title = f"Seconds a decision, mean over {final} decisions ± standard error over the seeds"
    made.append(_compared("seconds", title, seconds, 0))
    return made


def _compared(name: str, title: str, sums: Any, sign: int) -> Sheet:
    """Problems × methods, the best (by ``sign``) and its ties marked; a cell of fewer seeds is neither."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for (problem, method, seed), total in sums.items():
        found.setdefault(problem, {}).setdefault(method, {})[seed] = float(total)
    methods = list(dict.fromkeys(method for runs in found.values() for method in runs))
    rows = []
    for problem, runs in found.items():
        most = max(map(len, runs.values()))
        whole = {m: by_seed for m, by_seed in runs.items() if len(by_seed) == most}
        best = max(whole, key=lambda m: sign * np.mean([*whole[m].values()])) if sign else None
        cells = []
        for method in methods:
            by_seed = runs.get(method, {})
            if not by_seed:
                cells.append(Cell("", values=(float("nan"), float("nan"), 0)))
                continue
            cell = spread([*by_seed.values()])
            note = "" if len(by_seed) == most else f" ({len(by_seed)} of {most} seeds)"
            mark = ""
            if best is not None and method in whole:
                mark = BEST if method == best else _tie(whole[best], by_seed)
            cells.append(Cell(cell.text + note, mark, cell.values))
        rows.append((problem, tuple(cells)))
    return Sheet(name, title, ("problem", *methods), tuple(rows))


def _tie(best: Mapping[int, float], other: Mapping[int, float]) -> str:
    """Whether the same seeds give no clear difference."""
    both = [seed for seed in best if seed in other]
    difference = np.array([other[seed] - best[seed] for seed in both])
    if len(both) < 2:
        return ""
    if np.ptp(difference) == 0:
        return TIE if difference[0] == 0 else ""
    return TIE if float(stats.ttest_1samp(difference, 0).pvalue) > LEVEL else ""
