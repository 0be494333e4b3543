"""The product posterior: mean and variance of the GP on x × c without building x × c (docs/methods.md).

Symbols: B decisions, M context nodes, t observations. With k = kx(x, X) (t) for one decision and
Kc = kc(nodes, C) (M × t):

    mean_m = m + Σ_i k_i α_i Kc_mi,     var_m = s·(1 - Σ_ij k_i Kc_mi K⁻¹_ij Kc_mj k_j),

with s the prior variance, 1 for a GP on standardised outcomes unless it is free.

How the variance is computed is one of the forms in ``windage.surrogate.forms``: the one that takes least
work for about so many decisions. All carry hand-written first derivatives, tested against autograd through
BoTorch's posterior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from windage.surrogate import forms, grain, kernels
from windage.surrogate.low_rank import RANK_TOLERANCE
from windage.surrogate.model import ProductGP

MANY, FEW = 1024, 64
"""Decisions that a posterior is asked for, as far as the choice of its form goes."""
CHUNK = 2**20
"""Largest intermediate where each decision has a law of its own, in numbers."""
Saved = tuple[tuple[Tensor, ...], Any]
"""x, the slopes h of its kernel row and what else the way back needs; and the form that made it, if any."""


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


class _Moments(torch.autograd.Function):
    """``moments`` and ``pull_back`` of a posterior for autograd."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, at: NodePosterior | ExpectationPosterior) -> tuple[Tensor, Tensor]:
        mean, variance, saved = at.moments(x)
        ctx.at, ctx.form = at, saved[1]
        ctx.save_for_backward(*saved[0])
        return mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_variance: Tensor) -> tuple[Tensor, None]:
        return ctx.at.pull_back((ctx.saved_tensors, ctx.form), grad_mean, grad_variance), None


class NodePosterior:
    """The GP seen at fixed context nodes: decisions B × Dx → mean and variance, B × M each.

    Args:
        model: the GP.
        nodes: M × Dc.
        form: of ``forms.FORMS``, where it is not to be chosen by the work it takes.
        tolerance: relative error of a low-rank form.
        few: whether few decisions are to come; if more do, the form is chosen again.
    """

    def __init__(
        self,
        model: ProductGP,
        nodes: Tensor,
        form: str | None = None,
        tolerance: float = RANK_TOLERANCE,
        few: bool = False,
    ) -> None:
        self.model, self.side, self.tolerance = model, _Side(model), tolerance
        self.kc = self._rows(nodes)
        self.offset = model.alpha.new_tensor([model.mean])
        self.form = self._choose(form, FEW if few else MANY)
        self.left = FEW if few and isinstance(self.form, forms.DenseForm) else math.inf

    def _rows(self, nodes: Tensor) -> Tensor:
        """kc(nodes, C), M × t."""
        return _context_kernel(self.model, nodes, self.model.data.c)[0]

    def _choose(self, form: str | None, decisions: int) -> forms.Form:
        model = self.model
        return forms.choose(
            self.kc,
            model.alpha,
            model.precision,
            lambda: self.side.forward(forms.probes(model.data.x.shape[1]))[0],
            form,
            self.tolerance,
            decisions,
        )

    @property
    def chunk(self) -> int:
        """How many decisions it wants at a time."""
        return self.form.chunk

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the standardised outcome at x × nodes; differentiable once in x."""
        mean, variance = _Moments.apply(x, self)  # type: ignore[no-untyped-call]
        return mean, variance

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor, Saved]:
        """Mean, variance, and what ``pull_back`` needs."""
        self.left -= len(x)
        if self.left < 0:
            self.form, self.left = self._choose(None, MANY), math.inf
        k, h = self.side.forward(x)
        mean, explained, inner = self.form.moments(k)
        return mean + self.offset, self.model.variance * (1 - explained), ((x, h, inner), self.form)

    def pull_back(self, saved: Saved, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂x from ∂/∂mean and ∂/∂variance, B × M each → B × Dx."""
        (x, h, inner), form = saved
        grad_k = form.pull_back(inner, grad_mean, self.model.variance * grad_variance)
        return self.side.backward(x, h, grad_k)


class SlopePosterior(NodePosterior):
    """The GP and its slopes in the context: rows Kc, then for each context d rows Kc + ℓ_d·D and Kc - ℓ_d·D.

    D = ∂Kc/∂c_d. The mean is linear in a row and the variance quadratic, so half the difference of the last
    two is ℓ_d times the slope of either (``slopes``), and one form serves values and slopes.
    """

    def _rows(self, nodes: Tensor) -> Tensor:
        contexts, scale = self.model.data.c, self.model.scales[1]
        kc, h = _context_kernel(self.model, nodes, contexts)
        rows = [kc]
        for d in range(contexts.shape[1]):
            slope = h * (contexts[None, :, d] - nodes[:, d, None]) / scale[d]  # ℓ_d ∂kc/∂c_d
            rows += [kc + slope, kc - slope]
        return torch.cat(rows)

    def slopes(self, moment: Tensor) -> tuple[Tensor, Tensor]:
        """A mean or a variance at all rows, B × M(1 + 2Dc) → that at the nodes, B × M, and its slopes."""
        dc = self.model.data.c.shape[1]
        at, *pairs = moment.chunk(1 + 2 * dc, dim=1)
        found = [(up - down) / 2 for up, down in zip(pairs[::2], pairs[1::2], strict=True)]
        return at, torch.stack(found, dim=2) / self.model.scales[1]  # B × M × Dc


class ExpectationPosterior:
    """The Gaussian posterior of F(x) = Σ_m w_m f(x, c_m) itself (docs/methods.md).

    With z = Kcᵀw and v0 = wᵀ K_cc w:  μ_F = m + (kx∘z)·α,  σ_F² = v0 - (kx∘z)ᵀ K⁻¹ (kx∘z).
    """

    chunk = 2**13

    def __init__(self, model: ProductGP, nodes: Tensor, weights: Tensor) -> None:
        self._see(model, nodes)
        self.z, self.v0 = weights @ self.kc, weights @ self.between @ weights

    def _see(self, model: ProductGP, nodes: Tensor) -> None:
        """Whatever law the nodes have."""
        self.model, self.side, self.scale = model, _Side(model), model.variance
        self.kc = _context_kernel(model, nodes, model.data.c)[0]
        self.between = _context_kernel(model, nodes, nodes)[0]

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """μ_F and σ_F² of the standardised outcome, B each; differentiable once in x."""
        mean, variance = _Moments.apply(x, self)  # type: ignore[no-untyped-call]
        return mean, variance

    def _law(self, k: Tensor) -> tuple[Tensor, Tensor]:
        """z and v0 for each decision, or for all of them."""
        return self.z, self.v0

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor, Saved]:
        """Mean, variance, and what ``pull_back`` needs."""
        k, h = self.side.forward(x)
        z, v0 = self._law(k)
        seen = k * z
        solved = seen @ self.model.precision
        mean = self.model.mean + seen @ self.model.alpha
        variance = self.scale * (v0 - torch.linalg.vecdot(solved, seen))
        return mean, variance.clamp_min(0), ((x, h, k, z, solved), None)

    def pull_back(self, saved: Saved, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂x from ∂/∂mean and ∂/∂variance, B each → B × Dx."""
        x, h, _, z, solved = saved[0]
        return self.side.backward(x, h, z * self._grad_seen(solved, grad_mean, grad_variance))

    def with_noise(self, x: Tensor, moments: tuple[Tensor, Tensor, Saved]) -> tuple[Tensor, Tensor]:
        """Mean and variance of F with the decisions' own noise (``windage.surrogate.grain``), B each.

        With r = noise·s·r(x, X):  ē = r·α,  σ_e² = noise·s - rᵀK⁻¹r,  cov(F, e) = -(kx∘z)ᵀK⁻¹r.
        """
        mean, variance, saved = moments
        variance, data, noise = variance.view(len(x), -1)[:, 0], self.model.data, self.model.covariance.noise
        if not data.grain:
            return mean, variance
        r = noise * grain.shared(x, data.x, data.grain)
        own = self.scale * (noise * grain.SHARE - torch.linalg.vecdot(r @ self.model.precision, r))
        covariance = -self.scale * torch.linalg.vecdot(saved[0][-1], r)
        mean, variance = self._joined(mean, variance, r @ self.model.alpha, own, covariance)
        return mean, variance.clamp_min(0)

    def _joined(
        self, mean: Tensor, variance: Tensor, noise: Tensor, own: Tensor, covariance: Tensor
    ) -> tuple[Tensor, Tensor]:
        """F + e, from the moments of both, B each."""
        return mean + noise, variance + own + 2 * covariance

    def _grad_seen(self, solved: Tensor, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂(kx∘z), B × t."""
        pull = (2 * self.scale) * grad_variance
        return grad_mean[:, None] * self.model.alpha - pull[:, None] * solved


class LookPosterior(ExpectationPosterior):
    """F beside F at the best decision told so far, x⁺: the variances are (σ_F², cov(F(x), F(x⁺))), B × 2.

    With q⁺ = K⁻¹(kx(x⁺)∘z):  cov = v0 kx(x, x⁺) - (kx∘z)·q⁺.
    """

    def __init__(self, model: ProductGP, nodes: Tensor, weights: Tensor) -> None:
        super().__init__(model, nodes, weights)
        told, _, ((_, _, _, _, solved), _) = super().moments(model.data.x)
        self.best = int(told.argmax())
        self.best_mean, self.solved = float(told[self.best]), solved[self.best]
        self.clarity = clarity(self.between, weights)

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor, Saved]:
        """Mean, variance with covariance, and what ``pull_back`` needs."""
        mean, variance, saved = super().moments(x)
        _, _, k, z, _ = saved[0]
        covariance = self.v0 * k[:, self.best] - k @ (z * self.solved)
        return mean, torch.stack([variance, self.scale * covariance], dim=1), saved

    def pull_back(self, saved: Saved, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂x from ∂/∂mean, B, and ∂/∂(variance, covariance), B × 2 → B × Dx."""
        x, h, _, z, solved = saved[0]
        own, shared = grad_variance.unbind(1)
        shared = self.scale * shared
        grad_k = z * (self._grad_seen(solved, grad_mean, own) - torch.outer(shared, self.solved))
        grad_k[:, self.best] += self.v0 * shared
        return self.side.backward(x, h, grad_k)


class WorstPosterior(ExpectationPosterior):
    """The posterior of F under a law w*(x) of each decision's own: the worst for its posterior means.

    ``worst`` takes the means at the nodes, B × M, to the weights, B × M. They are piecewise constant in x,
    so they are constant to the gradient.
    """

    def __init__(self, model: ProductGP, nodes: Tensor, worst: Callable[[Tensor], Tensor]) -> None:
        self._see(model, nodes)
        self.worst = worst
        self.chunk = max(1, CHUNK // len(nodes))

    def _law(self, k: Tensor) -> tuple[Tensor, Tensor]:
        weights = self.worst((k * self.model.alpha) @ self.kc.mT)
        return weights @ self.kc, torch.linalg.vecdot(weights @ self.between, weights)


def clarity(between: Tensor, weights: Tensor) -> float:
    """The share of F's deviation that an outcome at a random context shows, √(Σ_m w_m (K_cc w)_m² / v0)."""
    shown = between @ weights
    return float((shown.square() @ weights / (shown @ weights)).sqrt())


def _context_kernel(model: ProductGP, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """kc(a, b) and its slope h."""
    return kernels.PROFILES[model.data.kernel](kernels.scaled_squares(a, b, model.scales[1]))
