"""What every method must do: the shared problem, data and settings of the contract suite."""

from __future__ import annotations

import numpy as np

import windage

METHODS = [
    *("sbo-kde", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt", "gp-ucb"),
    *("bq-kde", "kg-kde", "rbq-kde", "erbo", "wdrbo", "ledrbo"),
]
"""All but ``random``, which learns nothing."""
QUICK = {"raw_samples": 128, "restarts": 6, "samples": 128, "space_points": 128}
"""Settings for speed where the quality of the decision is not the point."""

TARGET = np.array([0.6, 0.3])


def easy(decision, context) -> float:
    """A smooth hill whose top hardly depends on the context; best near (0.6, 0.3) for every method."""
    x = np.array([decision["x"], decision["y"]])
    return float(-np.sum((x - TARGET - 0.1 * (context["c"] - 0.5)) ** 2) + 0.2 * context["c"])


def regret(decision) -> float:
    """The expected loss against the best decision, with c ~ N(0.5, 0.15²)."""
    x = np.array([decision["x"], decision["y"]])
    return float(np.sum((x - TARGET) ** 2))


def optimizer(method: str = "sbo-kde", seed: int = 1, **settings) -> windage.Optimizer:
    return windage.Optimizer(
        decisions={"x": windage.Real(0, 1), "y": windage.Real(0, 1)},
        contexts={"c": windage.Real(0, 1)},
        method=method,
        seed=seed,
        **{"initial": 5, **QUICK, **settings},
    )


def draw(rng: np.random.Generator) -> dict[str, float]:
    return {"c": float(np.clip(rng.normal(0.5, 0.15), 0, 1))}


def run(opt: windage.Optimizer, steps: int, seed: int = 0, function=easy) -> list[dict]:
    """Ask and tell; the decisions taken."""
    rng = np.random.default_rng(seed)
    taken = []
    for _ in range(steps):
        trial = opt.ask()
        context = draw(rng)
        opt.tell(trial, context=context, value=function(trial.decision, context))
        taken.append(trial.decision)
    return taken
