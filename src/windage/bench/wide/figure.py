"""The figure of the wide suite: which share of the runs is better than a given regret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from windage.bench import steps
from windage.bench.figures import style
from windage.bench.wide.scores import OFF, Runs, checkpoints, earned, learnt
from windage.bench.wide.sweep import WideRun
from windage.plots import pyplot

LEAST = 1e-4
"""Regrets below are drawn here: the axis is logarithmic."""


def draw(runs: Sequence[WideRun], methods: Sequence[str], file: Path) -> Path:
    """Two panels of empirical distribution functions: of the mean regret a decision, and of the last
    recommendation's regret."""
    plt = pyplot()
    each = [found for method in methods if (found := Runs.of(method, runs)).all]
    last = checkpoints([run for found in each for run in found.all])[-1]
    panels: list[tuple[str, Callable[[WideRun], float]]] = [
        ("mean regret a decision", earned),
        (f"regret of the recommendation after {last}", learnt(last)),
    ]
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
    names = [found.method for found in each]
    for axis, (label, of) in zip(axes, panels, strict=True):
        for found in each:
            values = np.sort(np.maximum([of(run) for run in found.all], LEAST))
            shares = np.arange(1, len(values) + 1) / len(values)
            look = style(found.method, names)
            width = 2.4 if found.method == "auto" else 1.4
            axis.step(values, shares, where="post", color=look.colour, linestyle=look.dashes, lw=width,
                      label=found.method if axis is axes[0] else None)  # fmt: skip
        axis.set_xscale("log")
        axis.set_xlabel(f"{label}\n(share of a random decision's)")
        axis.grid(alpha=0.25)
        axis.set_ylim(0, 1)
    axes[1].axvline(OFF, color="#999999", lw=1)
    axes[1].text(OFF * 1.06, 0.02, f"{OFF:.0%} off", color="#666666", fontsize=8)
    axes[0].set_ylabel("share of runs at or below")
    figure.legend(loc="outside right center", frameon=False)
    with steps.storage(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, dpi=130)
    plt.close(figure)
    return file
