"""The paper's figures from a sweep's results: mean and standard error of cumulative regret or reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from windage.bench import steps
from windage.bench.problems import PROBLEMS
from windage.bench.tables import cumulative
from windage.plots import pyplot

if TYPE_CHECKING:
    import pandas

FIGURES: Mapping[str, tuple[str, ...]] = {
    "figure-1a": ("ackley", "branin", "hartmann", "hartmann-complicated"),
    "figure-1b": ("newsvendor", "portfolio-normal", "portfolio-uniform"),
    "figure-ackley-4": ("ackley-4",),
}
"""The paper's figures; problems of none of them go into one more."""
OTHERS = "figure-others"


@dataclass(frozen=True)
class Style:
    """A line that can be told from the others in grey too: by its lightness, its dashes and its mark."""

    colour: str
    dashes: Any
    mark: str


STYLES: Mapping[str, Style] = {
    "sbo-kde": Style("#14284b", "-", "o"),
    "drbo-kde": Style("#c2571a", "-", "s"),
    "drbo-mmd": Style("#2e7d6b", (0, (6, 2)), "^"),
    "drbo-mmd-minimax": Style("#8d6cab", (0, (4, 1.5, 1, 1.5)), "v"),
    "stableopt": Style("#a08a2c", (0, (1, 1.2)), "D"),
    "gp-ucb": Style("#7d838c", (0, (3, 1.5)), "x"),
    "auto": Style("#d6224a", "-", "*"),
}
SPARE = (
    Style("#000000", (0, (8, 2, 1, 2)), "P"),
    Style("#4f9bd9", (0, (2, 2)), "<"),
    Style("#b0306a", (0, (5, 1, 1, 1, 1, 1)), "h"),
    Style("#5a7d1e", (0, (9, 3)), "p"),
    Style("#3d3d9e", (0, (1, 2.5)), "X"),
    Style("#b88746", (0, (4, 2, 4, 4)), "d"),
)
LABEL_GAP = 0.055
"""The least distance of two labels, as a share of the panel's height."""


def style(method: str, among: Sequence[str]) -> Style:
    """The line of a method; methods of plugins take the spare ones in turn."""
    if method in STYLES:
        return STYLES[method]
    others = [name for name in among if name not in STYLES]
    return SPARE[others.index(method) % len(SPARE)]


def draw(table: pandas.DataFrame, folder: Path) -> list[Path]:
    """All figures that the results have problems for, PNG and PDF."""
    there = list(dict.fromkeys(table["problem"]))
    known = {name for names in FIGURES.values() for name in names}
    groups = {
        **{figure: [p for p in names if p in there] for figure, names in FIGURES.items()},
        OTHERS: [p for p in there if p not in known],
    }
    written: list[Path] = []
    for name, group in groups.items():
        panels = [
            (p, kind) for p in group for kind in (("reward", "regret") if _shows_reward(p) else ("regret",))
        ]
        if panels:
            written += _figure(table, panels, folder / name)
    return written


def _shows_reward(problem: str) -> bool:
    """Whether the paper's figure has this problem's reward."""
    return problem in PROBLEMS and PROBLEMS[problem].reward


def save(figure: Any, *files: Path) -> None:
    """Write a figure to each file, and let it go."""
    with steps.storage(files[0].parent):
        files[0].parent.mkdir(parents=True, exist_ok=True)
        for file in files:
            figure.savefig(file, dpi=150, metadata={"CreationDate": None} if file.suffix == ".pdf" else None)
    pyplot().close(figure)


def _figure(table: pandas.DataFrame, panels: list[tuple[str, str]], path: Path) -> list[Path]:
    plt = pyplot()
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(4.9 * columns, 3.7 * rows + 0.5), layout="constrained", squeeze=False
    )
    methods = list(dict.fromkeys(table["method"]))
    for axes, (problem, kind) in zip(grid.flat, panels, strict=False):
        _panel(axes, table[table["problem"] == problem], problem, kind, methods)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    drawn = [axes.get_legend_handles_labels() for axes in grid.flat[: len(panels)]]
    known = {
        label: handle for handles, labels in drawn for handle, label in zip(handles, labels, strict=True)
    }
    labels = [method for method in methods if method in known]
    handles = [known[label] for label in labels]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(len(labels), 3 * columns), frameon=False
    )
    files = [path.with_name(path.name + ending) for ending in (".png", ".pdf")]
    save(figure, *files)
    return files


def _panel(axes: Any, table: pandas.DataFrame, problem: str, kind: str, methods: Sequence[str]) -> None:
    totals = cumulative(table, "value" if kind == "reward" else "regret")
    ends = []
    counts = sorted(set(table.groupby("method")["seed"].nunique()))
    seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    for method in methods:
        curves = totals[totals["method"] == method].pivot(index="step", columns="seed", values="total")
        if curves.empty:
            continue
        number = curves.index.to_numpy() + 1
        mean = curves.mean(axis=1).to_numpy()
        line = style(method, methods)
        if curves.shape[1] > 1:
            error = curves.std(axis=1, ddof=1).to_numpy() / np.sqrt(curves.shape[1])
            axes.fill_between(number, mean - error, mean + error, color=line.colour, alpha=0.15, linewidth=0)
        axes.plot(
            number,
            mean,
            color=line.colour,
            linestyle=line.dashes,
            marker=line.mark,
            markersize=4.5,
            markevery=(max(len(number) // 10, 1) - 1, max(len(number) // 5, 1)),
            linewidth=1.6,
            label=method,
        )
        ends.append((float(mean[-1]), method))
    last = int(table["step"].max()) + 1
    axes.set_xlim(1 if last > 1 else 0, last * 1.36)  # room for the labels
    axes.spines["bottom"].set_bounds(axes.get_xlim()[0], last)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 < tick <= last and tick == int(tick)] or [last])
    _label(axes, ends, last, methods)
    axes.set_title(problem, loc="left", fontsize="medium")
    better = "higher" if kind == "reward" else "lower"
    axes.set(xlabel="decisions", ylabel=f"cumulative {kind} ({better} is better)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.text(
        0.02,
        0.97,
        f"{seeds} seed{'s' * (counts[-1] > 1)}",
        transform=axes.transAxes,
        va="top",
        fontsize=8,
    )


def _label(axes: Any, ends: list[tuple[float, str]], last: int, methods: Sequence[str]) -> None:
    """Names at the ends of the lines, moved apart where they would touch."""
    low, high = axes.get_ylim()
    gap = LABEL_GAP * (high - low)
    ends = sorted(ends)
    heights = [value for value, _ in ends]
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + gap)
    shift = float(np.mean(heights) - np.mean([value for value, _ in ends]))
    heights = [height - shift for height in heights]
    for (value, method), height in zip(ends, heights, strict=True):
        line = style(method, methods)
        axes.plot([last, last * 1.03], [value, height], color=line.colour, linewidth=0.6, clip_on=False)
        axes.text(last * 1.04, height, method, color=line.colour, fontsize=8, va="center", clip_on=False)
    axes.set_ylim(min(low, heights[0] - gap), max(high, heights[-1] + gap))
