"""Local maxima from many starts at once: projected BFGS on a box, in one batch.

Each start has its own step and inverse Hessian (Nocedal & Wright 2006, Chapter 6), and leaves the batch when
it has converged. One round evaluates one trial point of every start still active, so that the function is
called with few large batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windage.space import Array

ARMIJO, WOLFE = 1e-4, 0.5
"""The share of the predicted gain that a step must bring, and of the slope that it may leave."""
TRIES = 8
"""Step lengths tried in one direction."""
ROUNDS, SHARED_ROUNDS = 200, 30
"""Evaluations at most; and after how many (and 5 a dimension) only the best start goes on."""
DECREMENTS, STEPS, TURNS = 20.0, 50.0, 4
"""From the fourth direction on, a start leaves if the best is above it by more than so many times its Newton
decrement, or by more than so many steps like its last would gain."""
REACH = 0.1
"""Of the unit box: the length of a step that no curvature guides."""
MERGE = 5e-3
"""Of the unit box: starts that have come so close end at the same maximum."""
GRADIENT_TOLERANCE = 1e-6
VALUE_TOLERANCE = 1e-9


class Valued(NamedTuple):
    """Values and their gradients, for n points or n rows at once."""

    value: Array
    """n."""
    gradient: Array
    """n × d."""


Evaluate = Callable[[Array], Valued]
"""Points n × d → values and gradients."""
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Maxima:
    """Where the starts ended."""

    points: Array
    """n × d."""
    values: Array
    """n."""
    inverse_hessians: Array
    """Of minus the function, as far as learnt on the way, n × d × d; zero where nothing was."""


def ascend(
    evaluate: Evaluate,
    start: Array,
    lower: Array,
    upper: Array,
    inverse_hessians: Array | None = None,
    tolerance: float = VALUE_TOLERANCE,
    reach: float = REACH,
    smooth: bool = True,
) -> Maxima:
    """Local maxima from each start by projected BFGS.

    Every round evaluates one trial point of each active start. It is accepted (Armijo) and the start gets a
    new direction, or its step is shortened. No start waits for another's line search.

    Args:
        evaluate: points → values and gradients.
        start: where to begin, n × d.
        lower: bounds of each start, n × d.
        upper: the same, above.
        inverse_hessians: those known of each start, n × d × d; a zero matrix where none is.
        tolerance: a start has converged when a step gains less, or its Newton decrement is less.
        reach: the length of a first step that no curvature guides.
        smooth: whether gradients can be trusted. At a kink the last steps say little about the next, and of
            starts that come close to each other each may end elsewhere.
    """
    points = np.minimum(np.maximum(start, lower), upper)
    if inverse_hessians is None:
        inverse_hessians = np.zeros((*points.shape, points.shape[1]))
    batch = _Batch(points, evaluate(points), (lower, upper), inverse_hessians, tolerance, reach, smooth)
    for done in range(ROUNDS):
        if done >= SHARED_ROUNDS + 5 * start.shape[1]:  # stragglers below the best are not worth a round each
            batch.active = batch.active[batch.f[batch.active] >= batch.f.max()]
        if smooth:
            batch.merge()
        if not len(batch.active):
            break
        batch.round(evaluate)
    known = np.where(batch.fresh[:, None, None], 0.0, batch.hessian)
    return Maxima(batch.x, batch.f, known)


class _Batch:
    """n starts: position, value, gradient, inverse Hessian, direction and step of each."""

    def __init__(
        self,
        x: Array,
        f_and_g: Valued,
        ends: tuple[Array, Array],
        inverse_hessians: Array,
        tolerance: float,
        reach: float,
        smooth: bool,
    ) -> None:
        n, d = x.shape
        self.x, self.f, self.g = x.copy(), f_and_g.value.copy(), f_and_g.gradient.copy()
        self.lower, self.upper = ends
        self.tolerance, self.reach, self.smooth = tolerance, reach, smooth
        self.fresh: NDArray[np.bool_] = np.asarray(~inverse_hessians.any(axis=(1, 2)))  # no curvature yet
        self.hessian = np.where(self.fresh[:, None, None], np.eye(d), inverse_hessians)
        self.direction = np.zeros_like(x)
        self.step, self.shortest, self.longest = np.ones(n), np.zeros(n), np.full(n, np.inf)
        self.gained = np.full(n, 1.0)  # by the last steps, older ones at half their weight each
        self.tries = np.zeros(n, dtype=int)
        self.turns = np.zeros(n, dtype=int)
        self.active: Rows = np.flatnonzero(np.isfinite(self.f))
        self._turn(self.active)

    def round(self, evaluate: Evaluate) -> None:
        """One trial point of each active start."""
        rows = self.active
        x, f, g = self.x[rows], self.f[rows], self.g[rows]
        trial = x + self.step[rows, None] * self.direction[rows]
        trial = np.minimum(np.maximum(trial, self.lower[rows]), self.upper[rows])
        value, slope = evaluate(trial)
        gain, left = ((trial - x) * g).sum(1), ((trial - x) * slope).sum(1)
        high_enough = value >= f + ARMIJO * gain
        # a step cut short before a kink says nothing about it: try between it and the one that failed
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
        """To the maximum of the parabola through both ends first, then half-way; give up after some tries."""
        shrink = np.nan_to_num(0.5 * gain / np.maximum(f + gain - value, 1e-300), nan=0.1)
        self.longest[rows] = self.step[rows]
        shortest = self.shortest[rows]
        half = 0.5 * (shortest + self.step[rows])
        self.step[rows] = np.where(shortest > 0, half, self.step[rows] * np.clip(shrink, 0.1, 0.5))
        self.tries[rows] += 1
        spent = rows[self.tries[rows] >= TRIES]
        self.step[spent] = np.where(self.shortest[spent] > 0, self.shortest[spent], self.step[spent])
        spent = spent[self.shortest[spent] == 0]
        self._leave(spent[self.fresh[spent]])
        again = spent[~self.fresh[spent]]  # the curvature misleads: once more along the bare gradient
        self.hessian[again], self.fresh[again] = np.eye(self.x.shape[1]), True
        self._turn(again)

    def _lengthen(self, rows: Rows) -> None:
        self.shortest[rows] = self.step[rows]
        self.step[rows] = 0.5 * (self.step[rows] + self.longest[rows])
        self.tries[rows] += 1

    def _turn(self, rows: Rows) -> None:
        """H·g on the free coordinates, or the gradient if that does not ascend; leave at a maximum."""
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
        # converged; or so far below the best that its own curvature says it will not get there
        decrement = (self.direction[rows] * masked).sum(1)
        learnt = ~self.fresh[rows]
        converged = learnt & (0.5 * decrement <= self.tolerance * np.maximum(np.abs(self.f[rows]), 1))
        converged |= np.abs(masked).max(axis=1) <= min(GRADIENT_TOLERANCE, 1e3 * self.tolerance)
        within = DECREMENTS * decrement
        if self.smooth:
            within = np.minimum(within, STEPS * self.gained[rows])
        behind = learnt & (self.turns[rows] >= TURNS) & (self.f.max() - self.f[rows] > within)
        self._leave(rows[converged | behind])

    def merge(self) -> None:
        """Of starts that have come together only the highest goes on: the others would end there too."""
        rows = self.active[self.turns[self.active] >= TURNS]
        if len(rows) < 2:
            return
        rows = rows[np.argsort(-self.f[rows], kind="stable")]
        near = (np.abs(self.x[rows, None] - self.x[rows]) <= MERGE).all(2)
        self._leave(rows[np.tril(near, -1).any(1)])

    def _leave(self, rows: Rows) -> None:
        if len(rows):
            leaving = np.zeros(len(self.f), dtype=bool)
            leaving[rows] = True
            self.active = self.active[~leaving[self.active]]


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
    cross = rho * (hy * s[:, None, :])
    outer = s[:, :, None] * s[:, None, :]
    h = h - cross - cross.transpose(0, 2, 1) + (rho + rho * rho * (y[:, None, :] @ hy)) * outer
    hessian[rows], fresh[rows] = h, False
