"""A primal-dual interior-point method (Mehrotra's predictor-corrector) for a batch of MMD balls.

The shift u = A(w - ŵ) is a variable of its own, so that each step solves a positive definite system of r + 1
(about 16) unknowns, the multipliers of the equations below, and A D⁻¹ Aᵀ for the whole batch is one matrix
product with a fixed table:

    g - z - Bᵀν = 0,   ν_u + λu = 0,   Bw - (u, 0) = (Aŵ, 1),   wz = μ,   λs = μ,   s = (ε² - ‖u‖²)/2

with B = [A; 1ᵀ] and ν = (ν_u, ν_1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windage.objectives.mmd_support import solve
from windage.space import Array

STEPS = 60
GAP = 1e-9
"""Complementarity gap and infeasibility at which a problem counts as solved, with values scaled to [0, 1]."""
AWAY = 1e3
"""A problem whose gap is so many times the best it had has reached the limit of precision."""
TINY = 1e-300


@np.errstate(all="ignore")
def interior_point(cost: Array, weights: Array, factor: Array, radius: float, enough: float) -> Array:
    """Each problem's best iterate, B × n → B × n.

    A problem leaves the batch when its gap is small enough, or when it moves away again because precision has
    come to its end.
    """
    # the reference is the answer of last resort, should the first step already fail
    best, gaps = np.tile(weights, (len(cost), 1)), np.full(len(cost), np.inf)
    rows = np.arange(len(cost))
    state = _InteriorPoint(cost, weights, factor, radius)
    for _ in range(STEPS):
        state.step()
        better = state.gap < gaps[rows]
        best[rows[better]], gaps[rows[better]] = state.w[better], state.gap[better]
        going = (state.gap > enough) & (state.gap < AWAY * gaps[rows])
        if not going.all():
            rows = rows[going]
            state.keep(going)
            if not len(rows):
                break
    return best


class _Residuals(NamedTuple):
    """Of the three equations: B × n, B × r, B × r+1."""

    dual: Array
    ball: Array
    primal: Array


class _Direction(NamedTuple):
    """A Newton direction."""

    w: Array
    z: Array
    u: Array
    lam: Array
    nu: Array
    s: Array


class _InteriorPoint:
    """A batch of B problems: w, z (B × n), u (B × r), λ, s (B × 1), ν (B × r+1)."""

    def __init__(self, cost: Array, weights: Array, factor: Array, radius: float) -> None:
        n = cost.shape[1]
        self.cost, self.half = cost, 0.5 * radius * radius
        self.b = np.concatenate([factor, np.ones((1, n))])
        self.r = len(factor)
        self.target = self.b @ weights
        # B D⁻¹ Bᵀ of a whole batch is one product with this n × (r+1)² table
        self.table = np.ascontiguousarray((self.b[:, None] * self.b).reshape(-1, n).T)
        # start between the reference and the uniform distribution, strictly inside the ball
        uniform = np.full(n, 1 / n)
        distance = float(np.linalg.norm(factor @ (uniform - weights)))
        mix = min(0.5, 0.5 * radius / max(distance, TINY))
        start = (1 - mix) * weights + mix * uniform
        self.w = np.tile(start, (len(cost), 1))
        self.u = np.tile((start - weights) @ factor.T, (len(cost), 1))
        self.z = np.ones_like(cost)
        self.s = self.half - 0.5 * (self.u**2).sum(axis=1, keepdims=True)
        self.lam = 1 / np.maximum(self.s, 1 / n)
        self.nu = np.zeros((len(cost), self.r + 1))
        self.gap = np.full(len(cost), np.inf)
        self.residuals = self._residuals()

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Solved problems leave the batch."""
        for name in ("cost", "w", "z", "u", "s", "lam", "nu", "gap"):
            setattr(self, name, getattr(self, name)[rows])
        self.residuals = _Residuals(*(part[rows] for part in self.residuals))

    def step(self) -> None:
        """One predictor-corrector step."""
        n = self.w.shape[1]
        self._factorise()
        barrier, ball = self.w * self.z, self.lam * self.s
        total = barrier.sum(axis=1, keepdims=True) + ball
        d = self._directions(-barrier, -ball)
        length = self._length(d, 1.0)
        ahead = ((self.w + length * d.w) * (self.z + length * d.z)).sum(axis=1, keepdims=True)
        slack = self.half - 0.5 * ((self.u + length * d.u) ** 2).sum(axis=1, keepdims=True)
        ahead += (self.lam + length * d.lam) * slack
        centre = np.clip(ahead / total, 1e-3, 1) ** 3 * total / (n + 1)
        curvature = 0.5 * (d.u**2).sum(axis=1, keepdims=True)  # the slack is quadratic in u
        d = self._directions(centre - barrier - d.w * d.z, centre - ball - d.lam * d.s + self.lam * curvature)
        length = self._length(d, 0.99)
        self.w, self.z = self.w + length * d.w, self.z + length * d.z
        self.u, self.lam, self.nu = self.u + length * d.u, self.lam + length * d.lam, self.nu + length * d.nu
        self.s = np.maximum(self.half - 0.5 * (self.u**2).sum(axis=1, keepdims=True), TINY)
        self.residuals = self._residuals()
        self.gap = self._gap()

    def _gap(self) -> Array:
        """Complementarity, and each residual as what it may cost; B."""
        dual, ball, primal = self.residuals
        gap = (self.w * self.z).sum(axis=1) + (self.lam * self.s)[:, 0]
        for residual in (dual, ball * np.linalg.norm(self.u, axis=1, keepdims=True), primal):
            gap = gap + np.abs(residual).max(axis=1)
        return np.where(np.isnan(gap), np.inf, gap)

    def _residuals(self) -> _Residuals:
        dual = self.cost - self.z - self.nu @ self.b
        ball = self.nu[:, : self.r] + self.lam * self.u
        primal = self.target - self.w @ self.b.T
        primal[:, : self.r] += self.u
        return _Residuals(dual, ball, primal)

    def _factorise(self) -> None:
        """B D⁻¹ Bᵀ + Q⁻¹, Q = λ(I + uuᵀ/s) being the curvature of the ball."""
        r = self.r
        self.inverse = self.w / self.z
        self.core = (self.inverse @ self.table).reshape(-1, r + 1, r + 1)
        self.spread = self.u / np.sqrt(self.s + (self.u**2).sum(axis=1, keepdims=True))
        self.core[:, :r, :r] -= (self.spread / self.lam)[:, :, None] * self.spread[:, None, :]
        diagonal = self.core.reshape(len(self.core), -1)[:, :: r + 2]
        diagonal[:, :r] += 1 / self.lam
        diagonal *= 1 + 1e-14

    def _uncurve(self, v: Array) -> Array:
        """Q⁻¹ v."""
        return np.asarray((v - self.spread * (self.spread * v).sum(axis=1, keepdims=True)) / self.lam)

    def _directions(self, target: Array, ball_target: Array) -> _Direction:
        """The Newton directions for z dw + w dz = target and λ ds + s dλ = ball_target."""
        dual, ball, primal = self.residuals
        pull = target / self.w - dual
        push = ball + self.u * (ball_target / self.s)
        rhs = primal - (self.inverse * pull) @ self.b.T
        rhs[:, : self.r] -= self._uncurve(push)
        dnu = solve(self.core, rhs[:, :, None])[:, :, 0]
        dw = self.inverse * (pull + dnu @ self.b)
        du = -self._uncurve(push + dnu[:, : self.r])
        dz = (target - self.z * dw) / self.w
        ds = -(self.u * du).sum(axis=1, keepdims=True)
        dlam = (ball_target - self.lam * ds) / self.s
        return _Direction(dw, dz, du, dlam, dnu, ds)

    def _length(self, d: _Direction, share: float) -> Array:
        """The longest step, up to 1, that keeps w, z, λ and the slack positive; B × 1."""
        ratio = np.maximum((-d.w / self.w).max(axis=1), (-d.z / self.z).max(axis=1))
        ratio = np.maximum(ratio, (-d.lam / self.lam)[:, 0])
        length = share / np.maximum(ratio, share)
        # the slack along the step is s - b·a - c·a², c ≥ 0: its positive root without cancellation
        b, c, s = (self.u * d.u).sum(axis=1), 0.5 * (d.u**2).sum(axis=1), self.s[:, 0]
        root = np.maximum(b + np.sqrt(b**2 + 4 * c * s), TINY)
        return np.asarray(np.minimum(length, share * 2 * s / root)[:, None])
