"""Proposition 1 of the paper, shown: the decision chosen on M samples of the context nears the right one.

At a study of some observations the acquisition of SBO-KDE is maximised with M Monte Carlo draws from the
estimated density, many times over, and the decision is compared with that of a very fine rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from windage.acquisition import Expectation
from windage.bench import problems, study
from windage.bench.figures import save
from windage.bench.tables import Cell, Sheet, spread
from windage.contexts import Nodes, estimate
from windage.dataset import Dataset
from windage.errors import ConfigurationError
from windage.gp import ProductGP, Training, fit
from windage.methods import Settings
from windage.plots import ACCENT, INK, SOFT, pyplot
from windage.search import maximize
from windage.space import Array
from windage.threads import one_thread

SIZES = (16, 64, 256, 1024, 4096)
CELLS = (16, 32, 64)
SOBOL = (64, 128, 256, 512, 1024)
FINE, FINE_SOBOL = 4096, 2**14
"""Cells of the rule that counts as exact; and Sobol points, where three and more contexts allow no cells."""
SETTINGS = Settings()
NEAR = 0.02
"""The δ of P(distance > δ), as a share of the box's diagonal."""


@dataclass(frozen=True)
class Error:
    """One maximisation: how many nodes of which kind, how far from the right decision, what it costs."""

    kind: str
    nodes: int
    distance: float
    """Of the decision, as a share of the box's diagonal."""
    loss: float
    """Of the acquisition, in standard deviations of the outcome."""


def measure(
    problem: problems.Problem, observations: int = 50, repetitions: int = 20, seed: int = 0
) -> Iterator[Error]:
    """The errors of each size and repetition, and of cells or Sobol points, as they are found."""
    if not problem.contexts:
        raise ConfigurationError(f"saa needs a problem with a context, which {problem.name!r} has not.")
    data = study.dataset(study.play(problem, "sbo-kde", observations, seed))
    kde = estimate(data, SETTINGS.bandwidth, SETTINGS.boundary)
    assert kde is not None
    with one_thread():
        training = Training.of(data, joint=True)
        model = ProductGP(training, fit(training))
        many = len(problem.contexts) > 2
        fine = kde.quasi(FINE_SOBOL, seed) if many else kde.cells(_side(FINE, len(problem.contexts)))
        exact = Expectation(model, fine)
        best = _choose(exact, data)
        top = float(exact.value(best[None])[0])

    def error(kind: str, nodes: Nodes) -> Error:
        with one_thread():
            found = _choose(Expectation(model, nodes), data)
            loss = top - float(exact.value(found[None])[0])
        return Error(kind, len(nodes), float(np.linalg.norm(found - best)) / len(best) ** 0.5, loss)

    for cells in () if many else CELLS:
        yield error("cells", kde.cells(_side(cells, len(problem.contexts))))
    for kind, sizes in (("Sobol points", SOBOL if many else ()), ("samples", SIZES)):
        for size in sizes:
            for repetition in range(repetitions):
                own = seed * 1_000_003 + size * 1009 + repetition
                if kind == "samples":
                    yield error(kind, kde.monte_carlo(size, np.random.default_rng(own)))
                else:
                    yield error(kind, kde.quasi(size, own))


def extent(problem: problems.Problem, repetitions: int) -> tuple[int, str]:
    """How many maximisations there will be, and the rule that counts as exact, in words."""
    if len(problem.contexts) > 2:
        return (len(SOBOL) + len(SIZES)) * repetitions, f"{FINE_SOBOL} Sobol points"
    return len(CELLS) + len(SIZES) * repetitions, f"{FINE} cells"


def _side(cells: int, dimensions: int) -> int:
    """Cells a side, so that two dimensions have about as many in all."""
    return int(max(2, round(cells ** (1 / dimensions))))


def _choose(acquisition: Expectation, data: Dataset) -> Array:
    """The point of the unit box that maximises an acquisition."""
    blocks = data.decisions.blocks
    return maximize(acquisition, blocks, SETTINGS.raw_samples, SETTINGS.restarts, seed=0).point


def sheet(errors: Sequence[Error], title: str) -> Sheet:
    """A row for each size and kind."""
    rows = []
    for kind, nodes in dict.fromkeys((e.kind, e.nodes) for e in errors):
        mine = [e for e in errors if (e.kind, e.nodes) == (kind, nodes)]
        far = float(np.mean([e.distance > NEAR for e in mine]))
        cells = (
            _number([e.distance for e in mine]),
            Cell(f"{far:.2f}" if len(mine) > 1 else str(int(far)), values=(far, float("nan"), len(mine))),
            _number([e.loss for e in mine]),
        )
        rows.append((f"{nodes} {kind}", cells))
    head = ("nodes", "distance of the decision", f"P(distance > {NEAR})", "loss of the acquisition")
    return Sheet("saa", title, head, tuple(rows))


def _number(values: Sequence[float]) -> Cell:
    cell = spread(values)
    mean, error = cell.values[:2]
    return Cell(f"{mean:.1e}" + ("" if np.isnan(error) else f" ± {error:.0e}"), values=cell.values)


def picture(errors: Sequence[Error], path: Path, title: str) -> None:
    """The error over M, and that of the cells."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    lines: dict[str, tuple[str, str, Callable[[Error], bool]]] = {
        "M samples, mean": (INK, "o-", lambda e: e.kind == "samples"),
        "cells or Sobol points": (ACCENT, "s--", lambda e: e.kind != "samples"),
    }
    for label, (colour, mark, chosen) in lines.items():
        sizes = sorted({e.nodes for e in errors if chosen(e)})
        groups = [[max(e.distance, 1e-9) for e in errors if chosen(e) and e.nodes == n] for n in sizes]
        axes.plot(sizes, [np.mean(g) for g in groups], mark, color=colour, label=label)
        for n, group in zip(sizes, groups, strict=True):
            if len(group) > 1:
                axes.plot([n] * len(group), group, ".", color=SOFT, markersize=4, zorder=0)
    axes.set(
        xscale="log", yscale="log", xlabel="nodes of the context", ylabel="distance of the chosen decision"
    )
    axes.set_title(title, loc="left", fontsize="medium")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)
