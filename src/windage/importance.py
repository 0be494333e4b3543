"""Which variables matter: shares of the outcome's variance, over all decisions and the contexts that vary.

Sobol' indices of the posterior mean μ(x, c), with decisions uniform on their box and contexts from the learnt
distribution. With samples A and B of N points each, and A_i being A with variable i from B (Jansen 1999;
Saltelli et al. 2010):

    alone_i = 1 - Σ (μ(B) - μ(A_i))² / 2NV,     total_i = Σ (μ(A) - μ(A_i))² / 2NV.

Both are of independent variables, so each context is drawn by itself, as it varies alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windage.methods import State
from windage.search import from_uniform
from windage.space import Array

POINTS = 2048
"""N: an index is then off by about 1/√N, a fiftieth."""


@dataclass(frozen=True)
class Importance:
    """How much of the outcome's variance a variable explains, from 0 to 1."""

    alone: float
    """By itself."""
    total: float
    """Together with the others: what would be left of the variance if only this one varied no more is less by
    that."""


def importance(state: State) -> dict[str, Importance]:
    """Of each decision variable, then of each context."""
    data, blocks = state.data, state.data.decisions.blocks
    generator = np.random.default_rng(0)
    x, other_x = (from_uniform(generator.random((POINTS, len(blocks))), blocks) for _ in range(2))
    c = other_c = np.zeros((POINTS, 0))
    if state.density is not None:
        drawn = (state.density.sample(POINTS, generator) for _ in range(2))
        c, other_c = (generator.permuted(points, axis=0) for points in drawn)  # columns apart: independent
    first, second = _mean(state, x, c), _mean(state, other_x, other_c)
    variance = float(np.concatenate([first, second]).var())
    found = {}
    for name, block in zip(data.decisions.names, blocks, strict=True):
        changed = x.copy()
        changed[:, block.start : block.stop] = other_x[:, block.start : block.stop]
        found[name] = _indices(first, second, _mean(state, changed, c), variance)
    for d, name in enumerate(data.contexts.names):
        changed = c.copy()
        changed[:, d] = other_c[:, d]
        found[name] = _indices(first, second, _mean(state, x, changed), variance)
    return found


def _mean(state: State, x: Array, c: Array) -> Array:
    """The posterior mean at paired points, averaged over the surrogates."""
    coded = state.data.code(c)
    return np.asarray(np.mean([model.mean_at(x, coded) for model in state.models], axis=0))


def _indices(first: Array, second: Array, changed: Array, variance: float) -> Importance:
    if variance <= 0:
        return Importance(0.0, 0.0)
    alone = 1 - float(((second - changed) ** 2).mean()) / (2 * variance)
    total = float(((first - changed) ** 2).mean()) / (2 * variance)
    return Importance(min(max(alone, 0.0), 1.0), min(max(total, 0.0), 1.0))
