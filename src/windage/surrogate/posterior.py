"""The product posterior: mean and variance of the GP on x × c without building x × c (docs/methods.md).

Symbols: B decisions, M context nodes, t observations, r rank. With k = kx(x, X) (t) for one decision and
Kc = kc(nodes, C) (M × t):

    mean_m = m + Σ_i k_i α_i Kc_mi,     var_m = 1 - Σ_ij k_i Kc_mi K⁻¹_ij Kc_mj k_j.

Kc has a small numerical rank where the contexts are few: Kc = U W with U M × r and orthonormal. Then with
F = diag(k) Wᵀ, the r × r matrix G = Fᵀ K⁻¹ F gives var_m = 1 - u_mᵀ G u_m, and one product with the fixed
table Φ of u_mi·u_mj finishes all nodes and all decisions at once: O(t²r + M r²) a decision instead of
O(t²M). Where the rank is not small, the dense form is used.

Both forms carry hand-written first derivatives, tested against autograd through BoTorch's posterior.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from windage.surrogate import kernels
from windage.surrogate.low_rank import RANK_TOLERANCE, low_rank
from windage.surrogate.model import ProductGP

CHUNK_LOW_RANK, CHUNK_DENSE = 2**18, 2**20
"""Largest intermediate of one evaluation, in numbers; more decisions are done in turn, within the cache."""


Saved = tuple[Tensor, Tensor, Tensor]
"""x, the slopes h of its kernel row, and the form's own inner product."""


class _Side:
    """kx between new decisions and the training decisions, and the chain rule back to the decisions."""

    def __init__(self, model: ProductGP) -> None:
        self.scale = model.scales[0]
        self.train = model.data.x / self.scale
        self.norms = self.train.square().sum(1)
        self.profile = kernels.PROFILES[model.data.kernel]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(k, h), B × t. Decisions lie in the unit box, so the expanded square is exact enough."""
        scaled = x / self.scale
        squares = torch.addmm(self.norms, scaled, self.train.mT, alpha=-2)
        squares += scaled.square().sum(1, keepdim=True)
        return self.profile(squares.clamp_min_(0))

    def backward(self, x: Tensor, h: Tensor, grad_k: Tensor) -> Tensor:
        """∂/∂x from ∂/∂k: ∂k/∂x_d = -h (x_d - X_d) / ℓ_d²."""
        q = grad_k * h
        return (q @ self.train - q.sum(1, keepdim=True) * (x / self.scale)) / self.scale


class _KernelRow(torch.autograd.Function):
    """x → kx(x, X). By hand because autograd through a Matérn's square root is NaN at a training point."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, side: _Side) -> Tensor:
        k, h = side.forward(x)
        ctx.side = side
        ctx.save_for_backward(x, h)
        return k.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_k: Tensor) -> tuple[Tensor, None]:
        x, h = ctx.saved_tensors
        return ctx.side.backward(x, h, grad_k), None


class _Moments(torch.autograd.Function):
    """``NodePosterior.moments`` and ``pull_back`` for autograd."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, at: NodePosterior) -> tuple[Tensor, Tensor]:
        mean, variance, saved = at.moments(x)
        ctx.at = at
        ctx.save_for_backward(*saved)
        return mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_variance: Tensor) -> tuple[Tensor, None]:
        return ctx.at.pull_back(ctx.saved_tensors, grad_mean, grad_variance), None


class NodePosterior:
    """The GP seen at fixed context nodes: decisions B × Dx → mean and variance, B × M each."""

    def __init__(
        self,
        model: ProductGP,
        nodes: Tensor,
        dense: bool | None = None,
        tolerance: float = RANK_TOLERANCE,
    ) -> None:
        profile = kernels.PROFILES[model.data.kernel]
        self.kc = profile(kernels.scaled_squares(nodes, model.data.c, model.scales[1]))[0]
        self.alpha, self.precision = model.alpha, model.precision
        self.offset = self.alpha.new_tensor([model.mean])
        self.side = _Side(model)
        self.factors: tuple[Tensor, Tensor, Tensor] | None = None
        found = None if dense else low_rank(self.kc, tolerance)
        m, t = self.kc.shape
        if found is not None and (dense is False or self._cheaper(found[0].shape[1])):
            u, w = found
            r = u.shape[1]
            self.rows, self.columns = torch.triu_indices(r, r)
            # off-diagonal entries of the symmetric G count twice
            twice = torch.where(self.rows == self.columns, 1.0, 2.0).to(u)
            self.factors = (u, w, u[:, self.rows] * u[:, self.columns] * twice)
            self.chunk = max(1, CHUNK_LOW_RANK // max(r * t, r * r, m))
        else:
            self.chunk = max(1, CHUNK_DENSE // max(m * t, t * t))

    def _cheaper(self, r: int) -> bool:
        m, t = self.kc.shape
        return t * t * r + t * r * r + m * r * r / 2 < t * t * (m + 1)  # dense: K⁻¹ is scaled for each x

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the standardised outcome at x × nodes; differentiable once in x."""
        mean, variance = _Moments.apply(x, self)  # type: ignore[no-untyped-call]
        return mean, variance

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor, Saved]:
        """Mean, variance, and what ``pull_back`` needs."""
        k, h = self.side.forward(x)
        if self.factors is None:
            mean = torch.addmm(self.offset, k * self.alpha, self.kc.mT)
            # S_mj = Σ_i Kc_mi k_i K⁻¹_ij Kc_mj (B × M × t): var = 1 - S k, and ∂var/∂k = -2 S
            s = torch.bmm(self.kc.expand(len(x), -1, -1), k[:, :, None] * self.precision)
            s *= self.kc
            return mean, 1 - torch.bmm(s, k[:, :, None])[:, :, 0], (x, h, s)
        u, w, table = self.factors
        mean = torch.addmm(self.offset, (k * self.alpha) @ w.mT, u.mT)
        f = k[:, None, :] * w  # B × r × t
        g = (f.reshape(-1, f.shape[2]) @ self.precision).view_as(f)  # F K⁻¹
        quadratic = torch.bmm(g, f.mT)  # G, B × r × r
        return mean, 1 - quadratic[:, self.rows, self.columns] @ table.mT, (x, h, g)

    def pull_back(self, saved: Saved, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂x from ∂/∂mean and ∂/∂variance, B × M each → B × Dx."""
        x, h, inner = saved
        if self.factors is None:
            grad_k = (grad_mean @ self.kc) * self.alpha
            grad_k -= 2 * torch.bmm(grad_variance[:, None, :], inner)[:, 0, :]
            return self.side.backward(x, h, grad_k)
        u, w, table = self.factors
        s = x.new_zeros(len(x), w.shape[0], w.shape[0])
        s[:, self.rows, self.columns] = -(grad_variance @ table)
        s = s + s.mT
        grad_k = (torch.bmm(s, inner) * w).sum(1) + ((grad_mean @ u) @ w) * self.alpha
        return self.side.backward(x, h, grad_k)


class ExpectationPosterior:
    """The Gaussian posterior of F(x) = Σ_m w_m f(x, c_m) itself (docs/methods.md).

    With z = Kcᵀw and v0 = wᵀ K_cc w:  μ_F = m + (kx∘z)·α,  σ_F² = v0 - (kx∘z)ᵀ K⁻¹ (kx∘z).
    """

    def __init__(self, model: ProductGP, nodes: Tensor, weights: Tensor) -> None:
        profile = kernels.PROFILES[model.data.kernel]
        scale = model.scales[1]
        self.z = weights @ profile(kernels.scaled_squares(nodes, model.data.c, scale))[0]
        self.v0 = weights @ profile(kernels.scaled_squares(nodes, nodes, scale))[0] @ weights
        self.model, self.side = model, _Side(model)

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """μ_F and σ_F² of the standardised outcome, B each; differentiable once in x."""
        k = _KernelRow.apply(x, self.side) * self.z  # type: ignore[no-untyped-call]
        mean = self.model.mean + k @ self.model.alpha
        variance = self.v0 - torch.linalg.vecdot(k @ self.model.precision, k)
        return mean, variance.clamp_min(0)
