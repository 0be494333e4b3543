"""The worst expectation in an MMD ball (Kirschner et al. 2020, Eq. 8), in one batch.

    min_w { Σ_m w_m g_m :  w ≥ 0,  Σ w = 1,  ‖A(w - ŵ)‖ ≤ ε },     kernel matrix = AᵀA, A of r × n

A primal-dual interior-point method (Mehrotra's predictor-corrector). The shift u = A(w - ŵ) is a variable of
its own, so that each step solves a positive definite system of r + 1 (about 16) unknowns, the multipliers
of the equations below, and A D⁻¹ Aᵀ for the whole batch is one matrix product with a fixed table:

    g - z - Bᵀν = 0,   ν_u + λu = 0,   Bw - (u, 0) = (Aŵ, 1),   wz = μ,   λs = μ,   s = (ε² - ‖u‖²)/2

with B = [A; 1ᵀ] and ν = (ν_u, ν_1).
"""

from __future__ import annotations

import torch
from torch import Tensor

from windage.functionals.mmd_support import SLOTS, WIDE_RANK, WIDE_SLOTS, Supports, solve_on_support

STEPS = 60
GAP = 1e-9
"""Complementarity gap and infeasibility at which a problem counts as solved, with values scaled to [0, 1]."""
CROSSOVER = 1e-5
"""The gap at which the support is clear enough to try the closed form on it."""
AWAY = 1e3
"""A problem whose gap is so many times the best it had has reached the limit of precision."""
TINY = 1e-300


def mmd(values: Tensor, weights: Tensor, factor: Tensor, radius: float) -> Tensor:
    """The least expectation over laws on the nodes within MMD ``radius`` of the weights.

    Args:
        values: g at the nodes, ``... × n``.
        weights: the reference law ŵ, ``n``.
        factor: A from ``windage.surrogate.kernel_factor``, ``r × n``.
        radius: ε ≥ 0.

    Returns:
        ``...``; its gradient is the envelope's, Σ_m w*_m ∇g_m.
    """
    with torch.no_grad():
        worst = mmd_weights(values.reshape(-1, values.shape[-1]), weights, factor, radius)
    least: Tensor = torch.linalg.vecdot(worst.view_as(values), values)
    return least


def mmd_weights(values: Tensor, weights: Tensor, factor: Tensor, radius: float) -> Tensor:
    """The worst law w* for each row of values, B × n → B × n."""
    return MmdSolver(weights, factor, radius, remember=False)(values)


class MmdSolver:
    """Solves the same ball for many values, as a climb asks for, and remembers where worst laws lay.

    The memory only saves time: a law found from a remembered support carries a certificate of the same gap
    that the interior-point method stops at.
    """

    def __init__(self, weights: Tensor, factor: Tensor, radius: float, remember: bool = True) -> None:
        self.weights, self.factor, self.radius = weights, factor, radius
        self.kernel, self.remember = factor.mT @ factor, remember
        self.wide = len(factor) > WIDE_RANK
        self.slots = WIDE_SLOTS if self.wide else SLOTS
        self.costs = factor.new_zeros(0, factor.shape[1])
        self.supports = Supports.of(self.costs, self.slots)

    def __call__(self, values: Tensor) -> Tensor:
        """The worst law for each row of values, B × n → B × n."""
        low, high = values.amin(1, keepdim=True), values.amax(1, keepdim=True)
        laws = self.weights.expand_as(values).clone()
        # without a radius, or where all values are equal, the reference law itself is a worst one
        rows = (high > low).view(-1).nonzero().view(-1) if self.radius > 0 else torch.arange(0)
        cost = ((values - low) / (high - low).clamp_min(TINY))[rows]
        for guess in (self._nearest, self._at_reference):
            supports = guess(cost)
            if supports is None or not len(rows):
                continue
            known = solve_on_support(cost, self.weights, self.kernel, self.radius, supports, GAP)
            laws[rows[known.certain]] = known.laws[known.certain]
            self._remember(cost[known.certain], known.supports[known.certain])
            rows, cost = rows[~known.certain], cost[~known.certain]
        if len(rows):
            laws[rows] = worst_laws(cost, self.weights, self.factor, self.kernel, self.radius)
            self._remember(cost, Supports.of(laws[rows], self.slots))
        return laws / laws.sum(1, keepdim=True)

    def _nearest(self, cost: Tensor) -> Supports | None:
        """The supports of the nearest costs solved before."""
        return self.supports[torch.cdist(cost, self.costs).argmin(1)] if len(self.costs) else None

    def _at_reference(self, cost: Tensor) -> Supports | None:
        """The reference's own support and the lowest node; tried where the rank is high."""
        if not self.wide:
            return None
        law = 0.5 * self.weights.expand_as(cost)
        law = law.scatter_add(1, cost.argmin(1, keepdim=True), torch.full_like(cost[:, :1], 0.5))
        return Supports.of(law, self.slots)

    def _remember(self, cost: Tensor, supports: Supports) -> None:
        if self.remember:
            self.costs = torch.cat([self.costs, cost])
            self.supports = self.supports.join(supports)


def worst_laws(cost: Tensor, weights: Tensor, factor: Tensor, kernel: Tensor, radius: float) -> Tensor:
    """The worst laws for costs scaled to [0, 1], B × n → B × n; kernel = AᵀA.

    The interior-point method finds the supports, the closed form on them the laws; where that fails, the
    interior-point method goes on as far as precision allows.
    """
    laws = interior_point(cost, weights, factor, radius, CROSSOVER)
    found = solve_on_support(cost, weights, kernel, radius, Supports.of(laws), GAP)
    laws = torch.where(found.certain[:, None], found.laws, laws)
    rest = (~found.certain).nonzero().view(-1)
    if len(rest):
        laws[rest] = interior_point(cost[rest], weights, factor, radius, GAP)
        again = solve_on_support(cost[rest], weights, kernel, radius, Supports.of(laws[rest]), GAP)
        laws[rest[again.certain]] = again.laws[again.certain]
    # a law may lie a rounding outside of the ball: back along the line to the reference
    away = ((laws - weights) @ factor.mT).norm(dim=1, keepdim=True)
    inside: Tensor = weights + (laws - weights) * (radius / away.clamp_min(radius))
    return inside


def interior_point(cost: Tensor, weights: Tensor, factor: Tensor, radius: float, enough: float) -> Tensor:
    """Each problem's best iterate, B × n → B × n.

    A problem leaves the batch when its gap is small enough, or when it moves away again because precision has
    come to its end.
    """
    # the reference law is the answer of last resort, should the first step already fail
    laws, gaps = weights.expand_as(cost).clone(), torch.full_like(cost[:, 0], torch.inf)
    rows = torch.arange(len(cost))
    state = _InteriorPoint(cost, weights, factor, radius)
    for _ in range(STEPS):
        state.step()
        better = state.gap < gaps[rows]
        laws[rows[better]], gaps[rows[better]] = state.w[better], state.gap[better]
        going = (state.gap > enough) & (state.gap < AWAY * gaps[rows])
        if not bool(going.all()):
            rows = rows[going]
            state.keep(going)
            if not len(rows):
                break
    return laws


class _InteriorPoint:
    """A batch of B problems: w, z (B × n), u (B × r), λ, s (B × 1), ν (B × r+1)."""

    def __init__(self, cost: Tensor, weights: Tensor, factor: Tensor, radius: float) -> None:
        n = cost.shape[1]
        self.cost, self.half = cost, 0.5 * radius * radius
        self.b = torch.cat([factor, torch.ones_like(weights)[None]])
        self.r = len(factor)
        self.target = self.b @ weights
        # B D⁻¹ Bᵀ of a whole batch is one product with this n × (r+1)² table
        self.table = (self.b[:, None] * self.b).reshape(-1, n).mT.contiguous()
        # start between the reference law and the uniform one, strictly inside the ball
        uniform = torch.full_like(weights, 1 / n)
        distance = float((factor @ (uniform - weights)).norm())
        mix = min(0.5, 0.5 * radius / max(distance, TINY))
        start = (1 - mix) * weights + mix * uniform
        self.w = start.expand_as(cost).clone()
        self.u = ((start - weights) @ factor.mT).expand(len(cost), -1).clone()
        self.z = torch.ones_like(cost)
        self.s = self.half - 0.5 * self.u.square().sum(1, keepdim=True)
        self.lam = 1 / self.s.clamp_min(1 / n)
        self.nu = cost.new_zeros(len(cost), self.r + 1)
        self.gap = cost.new_full((len(cost),), torch.inf)
        self.residuals = self._residuals()

    def keep(self, rows: Tensor) -> None:
        """Solved problems leave the batch."""
        for name in ("cost", "w", "z", "u", "s", "lam", "nu", "gap"):
            setattr(self, name, getattr(self, name)[rows])
        dual, ball, primal = self.residuals
        self.residuals = dual[rows], ball[rows], primal[rows]

    def step(self) -> None:
        """One predictor-corrector step."""
        n = self.w.shape[1]
        self._factorise()
        barrier, ball = self.w * self.z, self.lam * self.s
        total = barrier.sum(1, keepdim=True) + ball
        dw, dz, du, dlam, dnu, ds = self._directions(-barrier, -ball)
        length = self._length(dw, dz, du, dlam, 1.0)
        ahead = ((self.w + length * dw) * (self.z + length * dz)).sum(1, keepdim=True)
        slack = self.half - 0.5 * (self.u + length * du).square().sum(1, keepdim=True)
        ahead += (self.lam + length * dlam) * slack
        centre = (ahead / total).clamp(1e-3, 1).pow(3) * total / (n + 1)
        curvature = 0.5 * du.square().sum(1, keepdim=True)  # the slack is quadratic in u
        dw, dz, du, dlam, dnu, ds = self._directions(
            centre - barrier - dw * dz, centre - ball - dlam * ds + self.lam * curvature
        )
        length = self._length(dw, dz, du, dlam, 0.99)
        self.w, self.z = self.w + length * dw, self.z + length * dz
        self.u, self.lam, self.nu = self.u + length * du, self.lam + length * dlam, self.nu + length * dnu
        self.s = (self.half - 0.5 * self.u.square().sum(1, keepdim=True)).clamp_min(TINY)
        complementarity = (self.w * self.z).sum(1) + (self.lam * self.s).view(-1)
        self.residuals = self._residuals()
        dual, ball, primal = self.residuals
        for residual in (dual, ball * self.u.norm(dim=1, keepdim=True), primal):  # each as what it may cost
            complementarity = complementarity + residual.abs().amax(1)
        self.gap = torch.nan_to_num(complementarity, nan=torch.inf)

    def _residuals(self) -> tuple[Tensor, Tensor, Tensor]:
        dual = self.cost - self.z - self.nu @ self.b
        ball = self.nu[:, : self.r] + self.lam * self.u
        primal = self.target - self.w @ self.b.mT
        primal[:, : self.r] += self.u
        return dual, ball, primal

    def _factorise(self) -> None:
        """B D⁻¹ Bᵀ + Q⁻¹, Q = λ(I + uuᵀ/s) being the curvature of the ball, and its Cholesky factor."""
        self.inverse = self.w / self.z
        core = (self.inverse @ self.table).view(-1, self.r + 1, self.r + 1)
        self.spread = self.u / (self.s + self.u.square().sum(1, keepdim=True)).sqrt()
        block = core[:, : self.r, : self.r]
        block -= (self.spread / self.lam)[:, :, None] * self.spread[:, None, :]
        block.diagonal(dim1=1, dim2=2).add_(1 / self.lam)
        core.diagonal(dim1=1, dim2=2).mul_(1 + 1e-14)
        self.chol = torch.linalg.cholesky_ex(core).L

    def _uncurve(self, v: Tensor) -> Tensor:
        """Q⁻¹ v."""
        return (v - self.spread * (self.spread * v).sum(1, keepdim=True)) / self.lam

    def _directions(self, target: Tensor, ball_target: Tensor) -> tuple[Tensor, ...]:
        """The Newton directions for z dw + w dz = target and λ ds + s dλ = ball_target."""
        dual, ball, primal = self.residuals
        pull = target / self.w - dual
        push = ball + self.u * (ball_target / self.s)
        rhs = primal - (self.inverse * pull) @ self.b.mT
        rhs[:, : self.r] -= self._uncurve(push)
        dnu = torch.cholesky_solve(rhs[:, :, None], self.chol)[:, :, 0]
        dw = self.inverse * (pull + dnu @ self.b)
        du = -self._uncurve(push + dnu[:, : self.r])
        dz = (target - self.z * dw) / self.w
        ds = -(self.u * du).sum(1, keepdim=True)
        dlam = (ball_target - self.lam * ds) / self.s
        return dw, dz, du, dlam, dnu, ds

    def _length(self, dw: Tensor, dz: Tensor, du: Tensor, dlam: Tensor, share: float) -> Tensor:
        """The longest step, up to 1, that keeps w, z, λ and the slack positive; B × 1."""
        ratio = torch.maximum((-dw / self.w).amax(1), (-dz / self.z).amax(1))
        ratio = torch.maximum(ratio, (-dlam / self.lam).view(-1))
        length = share / ratio.clamp_min(share)
        # the slack along the step is s - b·a - c·a², c ≥ 0: its positive root without cancellation
        b, c, s = (self.u * du).sum(1), 0.5 * du.square().sum(1), self.s.view(-1)
        root = (b + (b.square() + 4 * c * s).sqrt()).clamp_min(TINY)
        return torch.minimum(length, share * 2 * s / root).view(-1, 1)
