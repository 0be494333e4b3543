"""MMD balls for the tests of the objectives: values at nodes, weights, a kernel's factor and a radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windage.gp import kernel_factor


class Ball(NamedTuple):
    values: np.ndarray
    weights: np.ndarray
    factor: np.ndarray
    radius: float


def smooth_ball(seed: int) -> Ball:
    """Smooth values and a kernel of low rank but on five nodes; counts of contexts as weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([5, 30, 100]))
    grid = np.linspace(0, 1, n)
    scale = rng.uniform(0.1, 1.0)
    factor = kernel_factor(np.exp(-0.5 * ((grid[:, None] - grid) / scale) ** 2))
    hits = int(rng.integers(1, 60))
    weights = np.bincount(rng.integers(0, n, hits), minlength=n) / hits
    values = np.sin(rng.uniform(1, 12) * grid + rng.uniform(0, 6)) + rng.normal() * grid
    return Ball(values, weights, factor, float(rng.choice([0.02, 0.2, 0.6, 1.5])))


def rough_ball(seed: int, n: int = 9, radius: float = 0.4) -> Ball:
    """Values without ties and a kernel of short range, which has full rank."""
    rng = np.random.default_rng(seed)
    factor = kernel_factor(np.exp(-n * np.abs(np.subtract.outer(*[np.linspace(0, 1, n)] * 2))))
    return Ball(rng.permutation(n) + rng.uniform(-0.2, 0.2, n), rng.dirichlet(np.ones(n)), factor, radius)
