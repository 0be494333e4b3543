"""The product posterior: mean and variance of the GP on x × c without building x × c (docs/methods.md).

Symbols: B decisions, M context nodes, t observations. With k = kx(x, X) (t) for one decision and
Kc = kc(nodes, C) (M × t):

    mean_m = m + Σ_i k_i α_i Kc_mi,     var_m = s (1 - Σ_ij k_i Kc_mi K⁻¹_ij Kc_mj k_j),

with the output scale s, which is 1 but for another surrogate (``windage.gp.records``).

How the variance is computed is one of the forms in ``windage.gp.forms``: the one that takes least work for
about so many decisions. All carry hand-written first derivatives, tested against autograd through BoTorch's
posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from windage.gp import forms, kernels
from windage.gp.forms import FormName
from windage.gp.low_rank import RANK_TOLERANCE
from windage.gp.mixtures import columns, points_of
from windage.gp.model import ProductGP
from windage.space import Array

MANY, FEW = 1024, 64
"""Decisions that a posterior is asked for: in a search from scratch, and to refine what was found."""


@dataclass(frozen=True)
class Moments:
    """Mean and variance of the standardised outcome at B decisions × M nodes; and what ``vjp`` needs."""

    mean: Array
    """B × M."""
    variance: Array
    """B × M."""
    x: Array
    """B × d."""
    slope: Array
    """h of the kernel rows, B × t."""
    inner: tuple[Array, ...]
    """The posterior's own."""


class Posterior(Protocol):
    """Decisions → moments at M nodes (one node, for an expectation), and back."""

    @property
    def chunk(self) -> int:
        """How many decisions it wants at a time."""
        ...

    def moments(self, x: Array) -> Moments:
        """At decisions, B × d."""
        ...

    def vjp(self, moments: Moments, by_mean: Array, by_variance: Array) -> Array:
        """Vector-Jacobian product: ∂/∂x, B × d, from ∂/∂mean and ∂/∂variance, B × M each."""
        ...


class DecisionKernel:
    """kx between new decisions and those told, and the chain rule back to the decisions."""

    def __init__(self, model: ProductGP) -> None:
        self.scale = model.covariance.x_scale
        self.train = model.data.x / self.scale
        self.norms = (self.train**2).sum(axis=1)
        self.profile = kernels.PROFILES[model.data.kernel]

    def __call__(self, x: Array) -> kernels.Profiled:
        """k and h, B × t. The expanded square is exact enough for x in the unit box: what is not, is far."""
        scaled = x / self.scale
        squares = scaled @ (-2 * self.train.T)
        squares += self.norms
        squares += (scaled**2).sum(axis=1, keepdims=True)
        return self.profile(np.maximum(squares, 0, out=squares))

    def vjp(self, x: Array, h: Array, by_k: Array) -> Array:
        """∂/∂x from ∂/∂k: ∂k/∂x_d = -h (x_d - X_d) / ℓ_d²."""
        q = by_k * h
        return np.asarray((q @ self.train - q.sum(axis=1, keepdims=True) * (x / self.scale)) / self.scale)


class NodePosterior:
    """The GP seen at fixed context nodes: decisions B × d → mean and variance, B × M each.

    Args:
        model: the GP.
        nodes: M × Dc.
        form: one of ``forms.FORMS``, where it is not to be chosen by the work it takes.
        tolerance: relative error of a low-rank form.
        decisions: about how many decisions it will be asked for; decides the form, nothing else.
    """

    def __init__(
        self,
        model: ProductGP,
        nodes: Array,
        form: FormName | None = None,
        tolerance: float = RANK_TOLERANCE,
        decisions: int = MANY,
    ) -> None:
        self.model, self.kernel = model, DecisionKernel(model)
        self.form = forms.choose(
            self._rows(nodes),
            model.alpha,
            model.precision,
            lambda: self.kernel(forms.probes(model.data.x.shape[1])).k,
            form,
            tolerance,
            decisions,
        )

    def _rows(self, nodes: Array) -> Array:
        """kc(nodes, C), M × t."""
        return self.model.context_kernel(nodes, self.model.data.c).k

    @property
    def chunk(self) -> int:
        """How many decisions it wants at a time."""
        return self.form.chunk

    def moments(self, x: Array) -> Moments:
        """At decisions, B × d."""
        k, h = self.kernel(x)
        found = self.form.moments(k)
        mean, variance = found.mean, found.explained
        mean += self.model.mean
        np.subtract(1, variance, out=variance)
        if self.model.scale != 1:
            variance *= self.model.scale
        return Moments(mean, variance, x, h, (found.inner,))

    def vjp(self, moments: Moments, by_mean: Array, by_variance: Array) -> Array:
        """∂/∂x from ∂/∂mean and ∂/∂variance, B × M each → B × d."""
        if self.model.scale != 1:
            by_variance = by_variance * self.model.scale
        by_k = self.form.vjp(moments.inner[0], by_mean, by_variance)
        return self.kernel.vjp(moments.x, moments.slope, by_k)


class SlopePosterior(NodePosterior):
    """The GP and its slopes in the context: rows Kc, then for each context d rows Kc + ℓ_d·D and Kc - ℓ_d·D.

    D = ∂Kc/∂c_d. The mean is linear in a row and the variance quadratic, so half the difference of the last
    two is ℓ_d times the slope of either (``slopes``), and one form serves values and slopes.
    """

    def _rows(self, nodes: Array) -> Array:
        contexts, scale = points_of(self.model.data.c), self.model.covariance.c_scale
        kc, h = self.model.context_kernel(nodes, contexts)
        rows = [kc]
        for d in range(contexts.shape[1]):
            slope = h * (contexts[None, :, d] - nodes[:, d, None]) / scale[d]  # ℓ_d ∂kc/∂c_d
            rows += [kc + slope, kc - slope]
        return columns(np.concatenate(rows), self.model.data.c)

    def slopes(self, moment: Array) -> tuple[Array, Array]:
        """A mean or a variance at all rows, B × M(1 + 2Dc) → that at the nodes, B × M, and its slopes."""
        dc = self.model.data.c.shape[1]
        at, *pairs = np.split(moment, 1 + 2 * dc, axis=1)
        found = [(up - down) / 2 for up, down in zip(pairs[::2], pairs[1::2], strict=True)]
        return at, np.stack(found, axis=2) / self.model.covariance.c_scale  # B × M × Dc

    def slopes_vjp(self, at: Array, slopes: Array) -> Array:
        """The way back of ``slopes``: ∂/∂moment, B × M(1 + 2Dc)."""
        half = np.moveaxis(slopes / (2 * self.model.covariance.c_scale), 2, 0)
        return np.concatenate([at, *(part for up in half for part in (up, -up))], axis=1)


def node_means(model: ProductGP, x: Array, nodes: Array) -> Array:
    """The posterior mean alone, at decisions × nodes, B × M."""
    kc = model.context_kernel(nodes, model.data.c).k
    return np.asarray(model.mean + (DecisionKernel(model)(x).k * model.alpha) @ kc.T)
