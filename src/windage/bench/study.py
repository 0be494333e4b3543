"""A study on a problem, played through: the material of the measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from windage.bench.problems import Problem
from windage.dataset import Dataset
from windage.methods import Method, MethodName
from windage.optimizer import Optimizer
from windage.space import ContextSpace, DecisionSpace


def play(
    problem: Problem,
    method: MethodName | Method,
    observations: int,
    seed: int = 0,
    saved: Mapping[str, Any] | None = None,
) -> Optimizer:
    """A study of so many (more) decisions, each told with the context that it met."""
    optimizer = Optimizer(problem.decisions, problem.contexts, method=method, seed=seed, screen=False)
    if saved is not None:
        optimizer = Optimizer.from_dict(saved)
    rng = np.random.default_rng(seed)
    for c in problem.sample_contexts(observations, rng):
        trial = optimizer.ask()
        x = np.array([[trial.decision[name] for name in problem.decisions]])
        met = {name: float(v) for name, v in zip(problem.contexts, c, strict=True)}
        optimizer.tell(trial, context=met, value=float(problem.observe(x, c[None], rng)[0]))
    return optimizer


def dataset(optimizer: Optimizer) -> Dataset:
    """Its observations on unit boxes, larger outcomes better."""
    decisions = DecisionSpace.of(optimizer.decisions)
    contexts = ContextSpace.of(optimizer.contexts, decisions)
    return Dataset(decisions, contexts, optimizer.observations, maximize=True)
