"""Local maxima from many starts at once: projected BFGS on the unit box, in one batch.

Each start has its own step and inverse Hessian, and leaves the batch when it has converged. The bookkeeping
is numpy's: the arrays are small, and its calls cost less than torch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from windage.space import Array

ARMIJO, WOLFE = 1e-4, 0.5
"""The share of the promised gain that a step must bring, and of the slope that it may leave."""
TRIES = 8
ROUNDS, SHARED_ROUNDS = 200, 30
HOPE, PACE, TURNS = 20.0, 50.0, 4
"""After so many turns a start leaves if the best is further above it than so many times the gain that its
quadratic model promises, or than so many steps like its last would bring it."""
REACH = 0.1
"""Of the unit box: the length of a step that no curvature guides."""
MERGE = 5e-3
"""Of the unit box: climbers that have come so close end at the same top."""
GRADIENT_TOLERANCE = 1e-6
VALUE_TOLERANCE = 1e-9

Evaluate = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Points n × d → values n and gradients n × d."""
Rows = NDArray[np.intp]


class Tops(NamedTuple):
    """Where the starts ended: points n × d, values n, and the inverse Hessians learnt there, n × d × d."""

    points: Tensor
    values: Tensor
    curvatures: Array


def ascend(
    evaluate: Evaluate,
    start: Tensor,
    lower: Tensor,
    upper: Tensor,
    curvatures: Array | None = None,
    tolerance: float = VALUE_TOLERANCE,
    reach: float = REACH,
    smooth: bool = True,
) -> Tops:
    """Local maxima from each start by projected BFGS; n × d each.

    Every round evaluates one trial of each start still going: it is taken (Armijo) and the start turns to a
    new direction, or its step is shortened. No start waits for another's line search.

    Args:
        evaluate: points → values and gradients.
        start: where to begin.
        lower: bounds of each start.
        upper: the same, above.
        curvatures: inverse Hessians known of each start, n × d × d; a zero matrix where none is.
        tolerance: a start has arrived when a step gains less, or its curvature promises less.
        reach: the length of a first step that no curvature guides.
        smooth: whether slopes can be trusted. At a kink the last steps say little about the next, and of
            starts that come close to each other each may end elsewhere.
    """

    def values_and_slopes(points: Array) -> tuple[Array, Array]:
        found = evaluate(torch.from_numpy(points))
        return found[0].numpy(), found[1].numpy()

    points = torch.minimum(torch.maximum(start, lower), upper).numpy()
    if curvatures is None:
        curvatures = np.zeros((*points.shape, points.shape[1]))
    ends = (lower.numpy(), upper.numpy())
    climbers = _Climbers(points, values_and_slopes(points), ends, curvatures, tolerance, reach, smooth)
    for done in range(ROUNDS):
        if done >= SHARED_ROUNDS + 5 * start.shape[1]:  # stragglers below the top are not worth a round each
            climbers.going = climbers.going[climbers.f[climbers.going] >= climbers.f.max()]
        if smooth:
            climbers.merge()
        if not len(climbers.going):
            break
        climbers.round(values_and_slopes)
    known = np.where(climbers.fresh[:, None, None], 0.0, climbers.hessian)
    return Tops(torch.from_numpy(climbers.x), torch.from_numpy(climbers.f), known)


class _Climbers:
    """n starts: position, value, gradient, inverse Hessian, direction and step of each."""

    def __init__(
        self,
        x: Array,
        f_and_g: tuple[Array, Array],
        ends: tuple[Array, Array],
        curvatures: Array,
        tolerance: float,
        reach: float,
        smooth: bool,
    ) -> None:
        n, d = x.shape
        self.x, self.f, self.g = x.copy(), f_and_g[0].copy(), f_and_g[1].copy()
        self.lower, self.upper = ends
        self.tolerance, self.reach, self.smooth = tolerance, reach, smooth
        self.fresh: NDArray[np.bool_] = np.array([not h.any() for h in curvatures])  # no curvature yet
        self.hessian = np.where(self.fresh[:, None, None], np.eye(d), curvatures)
        self.direction = np.zeros_like(x)
        self.step, self.shortest, self.longest = np.ones(n), np.zeros(n), np.full(n, np.inf)
        self.gained = np.full(n, 1.0)  # by the last steps, older ones at half their weight each
        self.tries = np.zeros(n, dtype=int)
        self.turns = np.zeros(n, dtype=int)
        self.going: Rows = np.flatnonzero(np.isfinite(self.f))
        self._turn(self.going)

    def round(self, evaluate: Callable[[Array], tuple[Array, Array]]) -> None:
        """One trial of each start still going."""
        rows = self.going
        x, f, g = self.x[rows], self.f[rows], self.g[rows]
        trial = x + self.step[rows, None] * self.direction[rows]
        trial = np.minimum(np.maximum(trial, self.lower[rows]), self.upper[rows])
        value, slope = evaluate(trial)
        gain, left = ((trial - x) * g).sum(1), ((trial - x) * slope).sum(1)
        high_enough = value >= f + ARMIJO * gain
        # a step cut short before a kink teaches nothing about it: onwards, between it and the one that failed
        short = high_enough & (left > WOLFE * gain) & np.isfinite(self.longest[rows])
        short &= self.tries[rows] < TRIES
        good, bad = high_enough & ~short, ~high_enough
        if bad.any():
            self._shorten(rows[bad], f[bad], gain[bad], value[bad])
        if short.any():
            self._lengthen(rows[short])
        taken = rows[good]
        if not len(taken):
            return
        _learn(self.hessian, self.fresh, taken, (trial - x)[good], (g - slope)[good])
        self.gained[taken] = np.maximum(value[good] - f[good], 0.5 * self.gained[taken])
        self.x[taken], self.f[taken], self.g[taken] = trial[good], value[good], slope[good]
        still = value[good] - f[good] <= self.tolerance * np.maximum(np.abs(f[good]), 1)
        self._leave(taken[still])
        self._turn(taken[~still])

    def _shorten(self, rows: Rows, f: Array, gain: Array, value: Array) -> None:
        """To the top of the parabola through both ends at first, then half-way; give up after some tries."""
        shrink = np.nan_to_num(0.5 * gain / np.maximum(f + gain - value, 1e-300), nan=0.1)
        self.longest[rows] = self.step[rows]
        shortest = self.shortest[rows]
        half = 0.5 * (shortest + self.step[rows])
        self.step[rows] = np.where(shortest > 0, half, self.step[rows] * np.clip(shrink, 0.1, 0.5))
        self.tries[rows] += 1
        tired = rows[self.tries[rows] >= TRIES]
        self.step[tired] = np.where(self.shortest[tired] > 0, self.shortest[tired], self.step[tired])
        tired = tired[self.shortest[tired] == 0]
        self._leave(tired[self.fresh[tired]])
        again = tired[~self.fresh[tired]]  # the curvature misleads: once more along the bare gradient
        self.hessian[again], self.fresh[again] = np.eye(self.x.shape[1]), True
        self._turn(again)

    def _lengthen(self, rows: Rows) -> None:
        self.shortest[rows] = self.step[rows]
        self.step[rows] = 0.5 * (self.step[rows] + self.longest[rows])
        self.tries[rows] += 1

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
        # without curvature the gradient says where, not how far
        reach = np.maximum(np.abs(direction).max(axis=1, keepdims=True), 1e-300)
        short = self.fresh[rows, None] | bad
        self.direction[rows] = np.where(short, direction * np.minimum(self.reach / reach, 1), direction)
        self.step[rows], self.tries[rows] = 1.0, 0
        self.shortest[rows], self.longest[rows] = 0.0, np.inf
        self.turns[rows] += 1
        # at a top, or as good as; or so far below the best that its own curvature says it will not get there
        promise = (self.direction[rows] * masked).sum(1)
        learnt = ~self.fresh[rows]
        arrived = learnt & (0.5 * promise <= self.tolerance * np.maximum(np.abs(self.f[rows]), 1))
        arrived |= np.abs(masked).max(axis=1) <= GRADIENT_TOLERANCE
        hope = HOPE * promise
        if self.smooth:
            hope = np.minimum(hope, PACE * self.gained[rows])
        behind = learnt & (self.turns[rows] >= TURNS) & (self.f.max() - self.f[rows] > hope)
        self._leave(rows[arrived | behind])

    def merge(self) -> None:
        """Of climbers that have come together only the highest goes on: the others would end there too."""
        rows = self.going[self.turns[self.going] >= TURNS]
        if len(rows) < 2:
            return
        rows = rows[np.argsort(-self.f[rows], kind="stable")]
        near = (np.abs(self.x[rows, None] - self.x[rows]) <= MERGE).all(2)
        self._leave(rows[np.tril(near, -1).any(1)])

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
