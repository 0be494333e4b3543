"""How much the near form of the surrogate of 2023 differs from the paper's own, a joint Matérn over (x, c).

    python benchmarks/joint.py results/later-2023 --out docs/reproduction

Both forms are asked for the next decision of SBO-KDE after the same observations, those of runs with the near
form. The joint kernel is no product, so its posterior is dense: every x beside every c, O(t²) each. As a
plugin of the bench this file has the method ``sbo-kde-joint``, for runs of its own:

    windage bench run --plugin benchmarks/joint.py --suite later --problems ackley@0.2 \
        --methods sbo-kde-joint --seeds 100-102 --budget 100 --set surrogate=2023 --out results/joint
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from windage.acquisition import Acquisition, Expectation
from windage.acquisition.bounds import coarse_count
from windage.bench import load, problems
from windage.bench.display import show
from windage.bench.problems import Problem
from windage.bench.tables import Sheet, spread
from windage.contexts import Nodes, thinned
from windage.gp import Moments, NodePosterior, ProductGP, Training, fit
from windage.methods import METHODS, Method, State, register
from windage.methods.sbo_kde import METHOD as SBO_KDE
from windage.optimizer import Optimizer
from windage.space import Array

NAME = "sbo-kde-joint"
AT = (10, 20, 40, 80)
"""Observations after which both forms are asked."""
CHUNK = 2**14
"""Points (x, c) at a time."""


def joint(state: State) -> ProductGP:
    """The GP on z = (x, c) with one Matérn-5/2 of all coordinates: to the engine, one without a context."""
    z = np.concatenate([state.data.x, state.data.c], axis=1)
    data = Training(
        z, z[:, :0], state.data.y, tuple(range(z.shape[1])), state.models[0].data.kernel, surrogate="2023"
    )
    return ProductGP(data, fit(data))


class JointPosterior:
    """The dense posterior on x × c: decisions B × d → mean and variance, B × M each."""

    def __init__(self, model: ProductGP, nodes: Array) -> None:
        self.posterior, self.nodes = NodePosterior(model, np.zeros((1, 0)), "dense"), nodes
        self.chunk = max(1, CHUNK // len(nodes))

    def moments(self, x: Array) -> Moments:
        """At decisions, B × d."""
        b, m = len(x), len(self.nodes)
        z = np.concatenate([np.repeat(x, m, axis=0), np.tile(self.nodes, (b, 1))], axis=1)
        parts = [self.posterior.moments(part) for part in np.array_split(z, max(1, len(z) // 512))]
        mean, variance = (
            np.concatenate([getattr(p, name) for p in parts]).reshape(b, m) for name in ("mean", "variance")
        )
        return Moments(mean, variance, x, z, tuple(parts))  # type: ignore[arg-type]

    def vjp(self, moments: Moments, by_mean: Array, by_variance: Array) -> Array:
        """∂/∂x from ∂/∂mean and ∂/∂variance, B × M each → B × d."""
        found, first = [], 0
        for part in moments.inner:
            rows = slice(first, first + len(part.x))  # type: ignore[attr-defined]
            by = (a.reshape(-1, 1)[rows] for a in (by_mean, by_variance))
            found.append(self.posterior.vjp(part, *by))  # type: ignore[arg-type]
            first = rows.stop
        b, d = moments.x.shape
        whole: Array = np.concatenate(found)[:, :d].reshape(b, len(self.nodes), d).sum(axis=1)
        return whole


class JointExpectation(Expectation):
    """The mean of the upper bound, with the joint kernel."""

    def __init__(self, model: ProductGP, nodes: Nodes, sqrt_beta: float) -> None:
        self.model, self.nodes, self.sqrt_beta = model, nodes, sqrt_beta
        Acquisition.__init__(self, [JointPosterior(model, nodes.points)])

    def coarse(self) -> JointExpectation:
        few = thinned(self.nodes, coarse_count(self.nodes.points))
        return JointExpectation(self.model, few, self.sqrt_beta)


def build(state: State) -> Acquisition:
    """As SBO-KDE, with the joint kernel."""
    return JointExpectation(joint(state), state.kde_nodes(), state.sqrt_beta)


if NAME not in METHODS:
    register(
        Method(
            NAME,
            SBO_KDE.distribution,
            "the mean of the upper bound, with a joint kernel",
            build,
            settings=SBO_KDE.settings,
        )
    )


def decisions(problem: Problem, rows: Sequence[Mapping[str, Any]], count: int) -> tuple[Array, Array]:
    """The next decisions of the near and of the joint form after the first steps of a run, unit box, Dx."""
    asked = []
    for method in ("sbo-kde", NAME):
        optimizer = Optimizer(
            problem.decisions,
            problem.contexts,
            method=METHODS[method],
            screen=False,
            seed=0,
            surrogate="2023",
        )
        for row in rows[:count]:
            decision = {name: row[name] for name in problem.decisions}
            optimizer.tell(decision, {name: row[name] for name in problem.contexts}, row["value"])
        low, high = problem.box
        point = np.array([*optimizer.ask().decision.values()], dtype=float)
        asked.append((point - low) / (high - low))
    return asked[0], asked[1]


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="runs of sbo-kde with the near form")
    parser.add_argument("--problems", nargs="+", default=["ackley@0.2", "hartmann-complicated", "newsvendor"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101, 102])
    parser.add_argument("--out", type=Path, default=Path("results/joint-decisions"))
    arguments = parser.parse_args()
    table, rows = load(arguments.results), []
    for name in arguments.problems:
        problem, away, apart = problems.get(name), [], []
        for seed in arguments.seeds:
            run = table[(table["problem"] == name) & (table["method"] == "sbo-kde") & (table["seed"] == seed)]
            pairs = [decisions(problem, run.to_dict("records"), count) for count in AT]
            away.append([float(np.linalg.norm(near - joint)) for near, joint in pairs])
            low, high = problem.box
            values = [problem.expected(low + (high - low) * np.stack(pair)) for pair in pairs]
            apart.append([float(joint - near) for near, joint in values])
        for label, found in (("distance", away), ("expected outcome, joint less product", apart)):
            cells = [spread([row[i] for row in found]) for i in range(len(AT))]
            rows.append((f"{name}, {label}", tuple(cells)))
    title = (
        "SBO-KDE with the joint Matérn of the paper's runs and with the product of two, asked after the same "
        f"observations: mean ± standard error over {len(arguments.seeds)} seeds; distances in the unit box"
    )
    show(Sheet("joint", title, ("problem", *(f"after {n}" for n in AT)), tuple(rows)), arguments.out)


if __name__ == "__main__":
    main()
