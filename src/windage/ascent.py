"""Local maxima from many starts at once: projected BFGS on the unit box, in one batch.

Each start has its own step and inverse Hessian, and leaves the batch when it has converged.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

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


def ascend(evaluate: Evaluate, start: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Local maxima from each start by projected BFGS; n × d each → points n × d, values n.

    Every round evaluates one trial of each start still going: it is taken (Armijo) and the start turns to a
    new direction, or its step is shortened. No start waits for another's line search.
    """
    points = torch.minimum(torch.maximum(start, lower), upper)
    values, slopes = evaluate(points)
    climbers = _Climbers(points, values, slopes, lower, upper)
    for done in range(ROUNDS):
        if done >= SHARED_ROUNDS + 5 * start.shape[1]:  # stragglers below the top are not worth a round each
            climbers.going = climbers.going[climbers.f[climbers.going] >= climbers.f.max()]
        if not len(climbers.going):
            break
        climbers.round(evaluate)
    return climbers.x, climbers.f


class _Climbers:
    """n starts: position, value, gradient, inverse Hessian, direction and step of each."""

    def __init__(self, x: Tensor, f: Tensor, g: Tensor, lower: Tensor, upper: Tensor) -> None:
        n, d = x.shape
        self.x, self.f, self.g, self.lower, self.upper = x, f, g, lower, upper
        self.unit = torch.eye(d, dtype=x.dtype)
        self.hessian = self.unit.repeat(n, 1, 1)
        self.fresh = torch.ones(n, dtype=torch.bool)  # no curvature learnt yet
        self.direction = torch.zeros_like(x)
        self.step = torch.ones(n, dtype=x.dtype)
        self.tries = torch.zeros(n, dtype=torch.long)
        self.turns = torch.zeros(n, dtype=torch.long)
        self.going = torch.isfinite(f).nonzero().view(-1)
        self._turn(self.going)

    def round(self, evaluate: Evaluate) -> None:
        """One trial of each start still going."""
        rows = self.going
        x, f, g = self.x[rows], self.f[rows], self.g[rows]
        trial = x + self.step[rows, None] * self.direction[rows]
        trial = torch.minimum(torch.maximum(trial, self.lower[rows]), self.upper[rows])
        value, slope = evaluate(trial)
        gain = ((trial - x) * g).sum(1)
        good = value >= f + ARMIJO * gain
        self._reject(rows[~good], f[~good], gain[~good], value[~good])
        taken = rows[good]
        if not len(taken):
            return
        _learn(self.hessian, self.fresh, taken, (trial - x)[good], (g - slope)[good])
        self.x[taken], self.f[taken], self.g[taken] = trial[good], value[good], slope[good]
        still = value[good] - f[good] <= VALUE_TOLERANCE * f[good].abs().clamp_min(1)
        self._leave(taken[still])
        self._turn(taken[~still])

    def _reject(self, rows: Tensor, f: Tensor, gain: Tensor, value: Tensor) -> None:
        """Shorten the step to the top of the parabola through both ends; give up after some tries."""
        shrink = torch.nan_to_num(0.5 * gain / (f + gain - value).clamp_min(1e-300), nan=0.1)
        self.step[rows] *= shrink.clamp(0.1, 0.5)
        self.tries[rows] += 1
        tired = rows[self.tries[rows] >= TRIES]
        self._leave(tired[self.fresh[tired]])
        again = tired[~self.fresh[tired]]  # the curvature misleads: once more along the bare gradient
        self.hessian[again], self.fresh[again] = self.unit, True
        self._turn(again)

    def _turn(self, rows: Tensor) -> None:
        """H·g on the coordinates free to move, or the gradient if that does not ascend; leave at a top."""
        x, g, low, high = self.x[rows], self.g[rows], self.lower[rows], self.upper[rows]
        free = ~(((x <= low) & (g <= 0)) | ((x >= high) & (g >= 0)))
        masked = torch.where(free, g, 0.0)
        direction = torch.where(free, torch.bmm(self.hessian[rows], masked[:, :, None])[:, :, 0], 0.0)
        bad = (direction * masked).sum(1, keepdim=True) <= 0
        direction = torch.where(bad, masked, direction)
        # without curvature the gradient says where, not how far: a tenth of the box
        reach = direction.abs().amax(1, keepdim=True).clamp_min(1e-300)
        short = self.fresh[rows, None] | bad
        self.direction[rows] = torch.where(short, direction * (0.1 / reach).clamp_max(1), direction)
        self.step[rows], self.tries[rows] = 1.0, 0
        self.turns[rows] += 1
        # at a top; or so far below the best that its own curvature says it will not get there
        promise = HOPE * (self.direction[rows] * masked).sum(1)
        behind = self.f.max() - self.f[rows] > promise
        behind &= (self.turns[rows] >= TURNS) & ~self.fresh[rows]
        self._leave(rows[(masked.abs().amax(1) <= GRADIENT_TOLERANCE) | behind])

    def _leave(self, rows: Tensor) -> None:
        if len(rows):
            self.going = self.going[~torch.isin(self.going, rows)]


def _learn(hessian: Tensor, fresh: Tensor, rows: Tensor, s: Tensor, y: Tensor) -> None:
    """The BFGS update of the inverse Hessians (of minus the function) where the curvature is positive."""
    sy, yy = (s * y).sum(1), (y * y).sum(1)
    use = (sy > 1e-10 * s.norm(dim=1) * yy.sqrt()) & (yy > 0)
    if not bool(use.any()):
        return
    rows, s, y, sy, yy = rows[use], s[use], y[use], sy[use], yy[use]
    h = hessian[rows]
    h = torch.where(fresh[rows][:, None, None], h * (sy / yy)[:, None, None], h)
    hy = torch.bmm(h, y[:, :, None])
    rho = (1 / sy)[:, None, None]
    s = s[:, :, None]
    cross = rho * torch.bmm(hy, s.mT)
    h = h - cross - cross.mT + (rho + rho * rho * torch.bmm(y[:, None, :], hy)) * torch.bmm(s, s.mT)
    hessian[rows], fresh[rows] = h, False
