"""Local maxima from many starts at once: projected BFGS on the unit box, in one batch.

Each start has its own step and inverse Hessian, and leaves the batch when it has converged. The bookkeeping
is numpy's: the arrays are small, and its calls cost less than torch's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from windage.space import Array

ARMIJO = 1e-4
TRIES = 8
ROUNDS, SHARED_ROUNDS = 200, 30
HOPE, TURNS = 20.0, 4
"""After so many turns a start leaves if the best is further above it than so many times the gain that its
quadratic model promises."""
GRADIENT_TOLERANCE = 1e-6
VALUE_TOLERANCE = 1e-9

Evaluate = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Points n × d → values n and gradients n × d."""
Rows = NDArray[np.intp]


def ascend(evaluate: Evaluate, start: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Local maxima from each start by projected BFGS; n × d each → points n × d, values n.

    Every round evaluates one trial of each start still going: it is taken (Armijo) and the start turns to a
    new direction, or its step is shortened. No start waits for another's line search.
    """

    def values_and_slopes(points: Array) -> tuple[Array, Array]:
        found = evaluate(torch.from_numpy(points))
        return found[0].numpy(), found[1].numpy()

    points = torch.minimum(torch.maximum(start, lower), upper).numpy()
    climbers = _Climbers(points, *values_and_slopes(points), lower.numpy(), upper.numpy())
    for done in range(ROUNDS):
        if done >= SHARED_ROUNDS + 5 * start.shape[1]:  # stragglers below the top are not worth a round each
            climbers.going = climbers.going[climbers.f[climbers.going] >= climbers.f.max()]
        if not len(climbers.going):
            break
        climbers.round(values_and_slopes)
    return torch.from_numpy(climbers.x), torch.from_numpy(climbers.f)


class _Climbers:
    """n starts: position, value, gradient, inverse Hessian, direction and step of each."""

    def __init__(self, x: Array, f: Array, g: Array, lower: Array, upper: Array) -> None:
        n, d = x.shape
        self.x, self.f, self.g, self.lower, self.upper = x.copy(), f.copy(), g.copy(), lower, upper
        self.hessian = np.tile(np.eye(d), (n, 1, 1))
        self.fresh = np.ones(n, dtype=bool)  # no curvature learnt yet
        self.direction = np.zeros_like(x)
        self.step = np.ones(n)
        self.tries = np.zeros(n, dtype=int)
        self.turns = np.zeros(n, dtype=int)
        self.going: Rows = np.flatnonzero(np.isfinite(f))
        self._turn(self.going)

    def round(self, evaluate: Callable[[Array], tuple[Array, Array]]) -> None:
        """One trial of each start still going."""
        rows = self.going
        x, f, g = self.x[rows], self.f[rows], self.g[rows]
        trial = x + self.step[rows, None] * self.direction[rows]
        trial = np.minimum(np.maximum(trial, self.lower[rows]), self.upper[rows])
        value, slope = evaluate(trial)
        gain = ((trial - x) * g).sum(1)
        good = value >= f + ARMIJO * gain
        bad = ~good
        if bad.any():
            self._reject(rows[bad], f[bad], gain[bad], value[bad])
        taken = rows[good]
        if not len(taken):
            return
        _learn(self.hessian, self.fresh, taken, (trial - x)[good], (g - slope)[good])
        self.x[taken], self.f[taken], self.g[taken] = trial[good], value[good], slope[good]
        still = value[good] - f[good] <= VALUE_TOLERANCE * np.maximum(np.abs(f[good]), 1)
        self._leave(taken[still])
        self._turn(taken[~still])

    def _reject(self, rows: Rows, f: Array, gain: Array, value: Array) -> None:
        """Shorten the step to the top of the parabola through both ends; give up after some tries."""
        shrink = np.nan_to_num(0.5 * gain / np.maximum(f + gain - value, 1e-300), nan=0.1)
        self.step[rows] *= np.clip(shrink, 0.1, 0.5)
        self.tries[rows] += 1
        tired = rows[self.tries[rows] >= TRIES]
        self._leave(tired[self.fresh[tired]])
        again = tired[~self.fresh[tired]]  # the curvature misleads: once more along the bare gradient
        self.hessian[again], self.fresh[again] = np.eye(self.x.shape[1]), True
        self._turn(again)

    def _turn(self, rows: Rows) -> None:
        """H·g on the coordinates free to move, or the gradient if that does not ascend; leave at a top."""
        if not len(rows):
            return
        x, g, low, high = self.x[rows], self.g[rows], self.lower[rows], self.upper[rows]
        free = ~(((x <= low) & (g <= 0)) | ((x >= high) & (g >= 0)))
        masked = np.where(free, g, 0.0)
        direction = np.where(free, (self.hessian[rows] @ masked[:, :, None])[:, :, 0], 0.0)
        bad = (direction * masked).sum(1, keepdims=True) <= 0
        direction = np.where(bad, masked, direction)
        # without curvature the gradient says where, not how far: a tenth of the box
        reach = np.maximum(np.abs(direction).max(axis=1, keepdims=True), 1e-300)
        short = self.fresh[rows, None] | bad
        self.direction[rows] = np.where(short, direction * np.minimum(0.1 / reach, 1), direction)
        self.step[rows], self.tries[rows] = 1.0, 0
        self.turns[rows] += 1
        # at a top; or so far below the best that its own curvature says it will not get there
        promise = HOPE * (self.direction[rows] * masked).sum(1)
        behind = self.f.max() - self.f[rows] > promise
        behind &= (self.turns[rows] >= TURNS) & ~self.fresh[rows]
        self._leave(rows[(np.abs(masked).max(axis=1) <= GRADIENT_TOLERANCE) | behind])

    def _leave(self, rows: Rows) -> None:
        if len(rows):
            self.going = self.going[~np.isin(self.going, rows)]


def _learn(hessian: Array, fresh: NDArray[np.bool_], rows: Rows, s: Array, y: Array) -> None:
    """The BFGS update of the inverse Hessians (of minus the function) where the curvature is positive."""
    sy, yy = (s * y).sum(1), (y * y).sum(1)
    use = (sy > 1e-10 * np.sqrt((s * s).sum(1) * yy)) & (yy > 0)
    if not use.any():
        return
    rows, s, y, sy, yy = rows[use], s[use], y[use], sy[use], yy[use]
    h = hessian[rows]
    h = np.where(fresh[rows][:, None, None], h * (sy / yy)[:, None, None], h)
    hy = h @ y[:, :, None]
    rho = (1 / sy)[:, None, None]
    s = s[:, :, None]
    cross = rho * (hy @ s.mT)
    h = h - cross - cross.mT + (rho + rho * rho * (y[:, None, :] @ hy)) * (s @ s.mT)
    hessian[rows], fresh[rows] = h, False
