"""The main job in small: a newsvendor who does not know the demand (``windage demo``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from windage.bench import problems
from windage.optimizer import Optimizer

BUDGET = 40


@dataclass(frozen=True)
class Rival:
    """Another way to choose the stock, and what it would truly earn on average."""

    name: str
    stock: float
    true_profit: float


@dataclass(frozen=True)
class DemoResult:
    """What the demo found, beside the truth."""

    stock: float
    expected: float
    interval: tuple[float, float]
    worst_case: float
    true_profit: float
    optimum_stock: float
    optimum_profit: float
    rivals: tuple[Rival, ...]
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return asdict(self)


Report = Callable[[int, float, float, float], None]
"""Called after each decision: its number, the stock, the demand met, the profit."""


def run(seed: int, budget: int, report: Report) -> tuple[Optimizer, DemoResult]:
    """Forty mornings: decide the stock, meet the demand, count the profit.

    The distribution of demand stays hidden. GP-UCB meets the same demand but never sees it, like a shop that
    knows its profit alone.
    """
    problem = problems.get("newsvendor")
    demand = problem.sample_contexts(budget, np.random.default_rng(seed))[:, 0]
    shop = Optimizer(problem.decisions, problem.contexts, seed=seed, budget=budget, screen=False)
    blind = Optimizer(problem.decisions, method="gp-ucb", seed=seed, budget=budget, screen=False)
    for number, met in enumerate(demand):
        stock, profit = _morning(shop, float(met), {"demand": float(met)})
        _morning(blind, float(met), {})
        report(number, stock, float(met), profit)

    def truth(stock: float) -> float:
        return float(problem.expected(np.array([[stock]]))[0])

    best = shop.recommend()
    stock = float(best.decision["stock"])
    lucky = float(shop.observations.decisions[shop.observations.best(maximize=True)]["stock"])
    other = float(blind.recommend().decision["stock"])
    optimum = problem.optimum
    return shop, DemoResult(
        stock,
        best.expected,
        best.interval,
        best.worst_case,
        truth(stock),
        float(optimum.decision[0]),
        optimum.value,
        (
            Rival("GP-UCB, which ignores demand", other, truth(other)),
            Rival("the luckiest past decision", lucky, truth(lucky)),
        ),
        best.note,
    )


def _morning(shop: Optimizer, demand: float, seen: dict[str, float]) -> tuple[float, float]:
    trial = shop.ask()
    stock = float(trial.decision["stock"])
    profit = float(problems.get("newsvendor").evaluate(np.array([[stock]]), np.array([[demand]]))[0])
    shop.tell(trial, context=seen, value=profit)
    return stock, profit


def study(shop: Optimizer, path: Path) -> bool:
    """Keep what the demo saw as a study, for ``windage serve``; whether the one there is a demo's.

    One that is there already stays as it is.
    """
    from windage.studies.file import load
    from windage.studies.store import StudyStore
    from windage.studies.writing import Plan, Variable, toml_of, write

    stock, demand = Variable("stock", "", 0, 1), Variable("demand", "", 0, 1)
    plan = Plan("profit", "", True, [stock], [demand])
    if path.exists():
        return path.read_bytes() == toml_of(plan, path.name, path.stem).encode()
    if path.with_suffix(".db").exists():
        return False
    write(plan, path)
    store, seen = StudyStore.open(load(path)), shop.observations
    rows = zip(seen.decisions, seen.contexts, seen.values, strict=True)
    store.add_all([store.checked(dict(d), dict(c), v) for d, c, v in rows])
    return True


def picture(shop: Optimizer, path: str) -> None:
    """Demand with its density, and expected profit over stock, both beside the truth."""
    from windage import plots

    problem = problems.get("newsvendor")
    plots.overview(
        shop,
        "stock",
        "demand",
        path,
        outcome="profit",
        true_density=problem.distribution.marginals[0].pdf,
        true_expectation=lambda x: problem.expected(x[:, None]),
    )
