"""Draws the rooms of windage and the path of a record through them: docs/architecture.png.

    python scripts/architecture_picture.py

The layers are read from pyproject.toml, where import-linter holds them; what a room is for stands below.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "architecture.png"
PURPOSES = {
    "cli": "command line",
    "demo": "a shop that does not know its demand",
    "bench": "problems, runs, tables, figures",
    "web": "the page for people",
    "studies": "study file, store, locks, the experts' page, Optuna sampler",
    "plots": "pictures of a study",
    "botorch": "the bridge to BoTorch (an extra)",
    "optimizer": "ask, tell, recommend: the one stateful object",
    "answers": "recommend, predict, what matters",
    "serialization": "the saved format",
    "memory": "told, repaired",
    "configuration": "what a study is",
    "prediction": "what to expect",
    "importance": "what matters",
    "pending": "trials not told yet",
    "proposal": "how a decision is found",
    "methods": "one file a method",
    "outcome": "a single outcome",
    "acquisition": "value and gradient",
    "outliers": "values that look mistyped",
    "gp": "kernels, fit, product posterior, ensemble",
    "objectives": "values at nodes → value, gradient",
    "contexts": "contexts seen → distribution → nodes",
    "dataset": "observations on unit boxes",
    "changes": "corrections",
    "observations": "records, user's units",
    "search": "Sobol points, seeds, ascent",
    "space": "user's units ↔ unit box",
    "threads": "one BLAS thread",
    "errors": "every error and warning",
}
"""What each room is for."""
GAP = 0.08
USERS, STATE, CORE, BASE = "#dde7f3", "#f6e3c5", "#dcecd9", "#eeeeee"
COLOURS = {
    **dict.fromkeys(("cli", "demo", "bench", "web", "studies", "plots", "botorch"), USERS),
    **dict.fromkeys(
        ("optimizer", "answers", "serialization", "memory", "configuration", "pending", "proposal"), STATE
    ),
    **dict.fromkeys(("prediction", "importance"), STATE),
    **dict.fromkeys(
        ("methods", "acquisition", "outliers", "outcome", "gp", "objectives", "contexts", "search"), CORE
    ),
    **dict.fromkeys(("dataset", "changes", "observations", "space", "threads", "errors"), BASE),
}
GROUPS = (
    ("users of the engine", USERS),
    ("the study and its state", STATE),
    ("the mathematics", CORE),
    ("records and basics", BASE),
)


def layers() -> list[list[str]]:
    """The layers of pyproject.toml, top to bottom; rooms of one layer do not import each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [[name.strip() for name in layer.split("|")] for layer in found]


def box(axes: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    """A room."""
    shape = "round,pad=0,rounding_size=0.06"
    axes.add_patch(
        FancyBboxPatch((x, y), width, height, shape, facecolor=colour, edgecolor="#555", linewidth=0.9)
    )


def room(axes: Axes, x: float, y: float, width: float, height: float, name: str, words: str) -> None:
    """A room with its name above what it does."""
    box(axes, x, y, width, height, COLOURS[name])
    middle = x + width / 2
    axes.text(middle, y + height - 0.13, name, ha="center", va="top", fontsize=11, weight="bold")
    axes.text(middle, y + height - 0.42, words, ha="center", va="top", fontsize=9.5, linespacing=1.35)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = "#333") -> None:
    """From one room to another."""
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=13, linewidth=1.3, color=colour, shrinkA=0
        )
    )


def draw_layers(axes: Axes) -> None:
    """The layers, one row each."""
    rows, width, height = layers(), 6.4, 0.44
    for i, names in enumerate(rows):
        bottom, share = 0.5 * (len(rows) - 1 - i), (width + GAP) / len(names)
        for k, name in enumerate(names):
            x, middle = k * share, bottom + height / 2
            box(axes, x, bottom, share - GAP, height, COLOURS[name])
            axes.text(x + 0.1, middle, name, va="center", fontsize=10, weight="bold")
            if len(names) == 1:
                axes.text(x + 1.75, middle, PURPOSES[name], va="center", fontsize=9.5)
            else:
                axes.text(x + 1.25, middle, PURPOSES[name], va="center", fontsize=8.5)
    top = 0.5 * len(rows) + 0.12
    axes.text(0, top, "The rooms: imports point down only", fontsize=13, weight="bold")
    axes.set_xlim(-0.1, width + 0.1)
    axes.set_ylim(-0.75, top + 0.35)
    for x, (words, colour) in zip((0, 1.6, 3.4, 4.85), GROUPS, strict=True):
        box(axes, x, -0.5, 0.2, 0.2, colour)
        axes.text(x + 0.27, -0.4, words, va="center", fontsize=8.5)


def draw_path(axes: Axes) -> None:
    """The path of an ask, and of a tell."""
    top = 9.62
    axes.text(0, top, "One ask, from the records to a decision", fontsize=13, weight="bold")
    room(axes, 1.7, 8.3, 3.0, 0.95, "observations", "decisions, contexts, values\nin the user's units")
    room(axes, 1.7, 6.8, 3.0, 0.95, "dataset", "unit boxes, outcomes\nstandardised")
    room(
        axes, 0.0, 5.1, 2.9, 1.15, "contexts", "density of the contexts\n→ nodes c_m with\nprobabilities w_m"
    )
    room(axes, 3.5, 5.1, 2.9, 1.15, "gp", "ensemble of GPs on (x, c)\n→ posterior mean and\nvariance")
    room(axes, 0.0, 3.3, 1.6, 1.0, "objectives", "mean, or worst\nmean nearby")
    room(axes, 2.0, 3.3, 2.4, 1.0, "acquisition", "value and gradient\nover decisions")
    room(axes, 4.8, 3.3, 1.6, 1.0, "methods", "name the\npieces")
    room(axes, 1.7, 1.85, 3.0, 0.95, "search", "Sobol points, climbs in one\nbatch, integers and choices")
    room(axes, 1.7, 0.35, 3.0, 0.95, "pending", "the decision, as a Trial\nin the user's units")
    arrow(axes, (3.2, 8.3), (3.2, 7.75))
    arrow(axes, (2.3, 6.8), (1.45, 6.25))
    arrow(axes, (4.1, 6.8), (4.95, 6.25))
    arrow(axes, (1.45, 5.1), (2.6, 4.3))
    arrow(axes, (4.95, 5.1), (3.8, 4.3))
    arrow(axes, (1.6, 3.8), (2.0, 3.8))
    arrow(axes, (4.8, 3.8), (4.4, 3.8))
    arrow(axes, (3.2, 3.3), (3.2, 2.8))
    arrow(axes, (3.2, 1.85), (3.2, 1.3))
    # a tell closes the circle outside of the boxes
    axes.plot([4.7, 6.75, 6.75], [0.82, 0.82, 8.78], color="#a33", linewidth=1.3)
    arrow(axes, (6.75, 8.78), (4.7, 8.78), "#a33")
    axes.text(6.62, 6.62, "tell: context\nand value", fontsize=9.5, color="#a33", ha="right", va="bottom")
    axes.set_xlim(-0.1, 6.9)
    axes.set_ylim(0.1, 9.97)


def main(path: Path = PICTURE) -> None:
    """Draw and write."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(14.4, 10))
    draw_layers(left)
    draw_path(right)
    for axes in (left, right):
        axes.axis("off")
    figure.subplots_adjust(left=0.01, right=0.995, bottom=0.01, top=0.99, wspace=0.05)
    figure.savefig(path, dpi=100, metadata={"Software": ""})
    plt.close(figure)


if __name__ == "__main__":
    main()
