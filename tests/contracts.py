"""What every method must do: the shared problem, data and settings of the contract suite."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import windage
from windage.methods import METHODS as TABLE

METHODS = [name for name in TABLE if name != "random"]
"""All but ``random``, which learns nothing."""
QUICK = {
    "raw_samples": 128,
    "restarts": 6,
    "samples": 128,
    "space_points": 128,
    "grid": 100,
    "members": 4,
}
"""Settings for speed where the quality of the decision is not the point."""

TARGET = np.array([0.6, 0.3])


def quick(method: str = "auto", **more: Any) -> dict[str, Any]:
    """Those of the quick settings that the method uses, and more."""
    return {**{name: value for name, value in QUICK.items() if name in TABLE[method].used}, **more}


MIXED = {
    "stock": windage.Real(0, 40),
    "crates": windage.Integer(1, 5),
    "shelf": windage.Categorical(["top", "low"]),
}
MIXED_CONTEXTS = {"demand": windage.Real(0, 50), "heat": windage.Real()}
DECISION = {"stock": 3.0, "crates": 2, "shelf": "top"}
CONTEXT = {"demand": 7.0, "heat": 20.0}


def mixed(method: str = "auto", **more: Any) -> windage.Optimizer:
    """A shop, with a decision variable of every kind and two contexts."""
    settings = quick(method, **{"initial": 3, **more})
    return windage.Optimizer(MIXED, MIXED_CONTEXTS, method, seed=1, **settings)


def easy(decision, context) -> float:
    """A smooth hill whose top hardly depends on the context; best near (0.6, 0.3) for every method."""
    x = np.array([decision["x"], decision["y"]])
    return float(-np.sum((x - TARGET - 0.1 * (context["c"] - 0.5)) ** 2) + 0.2 * context["c"])


def regret(decision, context: float = 0.5) -> float:
    """The loss against the best decision of one context; 0.5: the expected loss, with c ~ N(0.5, 0.15²)."""
    x = np.array([decision["x"], decision["y"]])
    return float(np.sum((x - TARGET - 0.1 * (context - 0.5)) ** 2))


def optimizer(method: str = "sbo-kde", seed: int = 1, **settings: Any) -> windage.Optimizer:
    return windage.Optimizer(
        decisions={"x": windage.Real(0, 1), "y": windage.Real(0, 1)},
        contexts={"c": windage.Real(0, 1)},
        method=method,
        seed=seed,
        **quick(method, **{"initial": 5, **settings}),
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


TINY = {"raw_samples": 32, "restarts": 2, "samples": 16, "space_points": 16, "grid": 16, "members": 6}


def story(method: str, between=lambda opt: opt, history: int = 27, asks: int = 6, seen=lambda k: True) -> str:
    """All that a study says and is, to the last bit, as JSON: past the first fits, where some are kept.

    One decision stays pending over two asks. ``between`` is done after each of them and gives the study with
    which it goes on. ``seen`` says which rows have seen their context.
    """
    rng = np.random.default_rng(0)
    settings = {name: value for name, value in TINY.items() if name in TABLE[method].used}
    opt = optimizer(method, seed=3, **settings)
    for i in range(history):
        x, y, c = rng.uniform(size=3).tolist()
        opt.tell({"x": x, "y": y}, {"c": c if seen(i) else None}, float(np.sin(5 * x) + y * c))
    said: list[Any] = []
    for k in range(asks):
        asked = opt.ask()
        said.append(dict(asked.decision))
        opt = between(opt)
        for trial in opt.pending if k != 2 else ():
            c = float(rng.uniform())
            value = np.sin(5 * trial.decision["x"]) + trial.decision["y"] * c + 0.1 * rng.normal()
            opt.tell(trial, {"c": c if seen(history + k) else None}, float(value))
            opt = between(opt)
    best = opt.recommend()
    said += [dict(best.decision), best.expected, best.interval, best.worst_case]
    return json.dumps([said, opt.to_dict()], sort_keys=True)
