"""Three ways to the same moments; see ``windage.surrogate.posterior`` for the symbols.

*Dense* does as the formula says: O(t²M) a decision.

*Contexts of low rank*: Kc = U W with U M × r and orthonormal. With F = diag(k) Wᵀ, the r × r matrix
G = Fᵀ K⁻¹ F gives var_m = 1 - u_mᵀ G u_m, and one product with the fixed table of u_mi·u_mj finishes all
nodes and decisions at once: O(t²r + Mr²) a decision.

*Decisions of low rank*: every row k of the box lies in the span of V, t × r and orthonormal. With
F_m = diag(Kc_m) V, each node's r × r matrix G_m = F_mᵀ K⁻¹ F_m is computed once, O(Mt²r) in all, and with
v = Vᵀk each decision is var_m = 1 - vᵀ G_m v: O(tr + Mr²). Best for many contexts and few decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from windage.density import sobol
from windage.surrogate.low_rank import low_rank

CHUNK_LOW_RANK, CHUNK_DENSE = 2**18, 2**20
"""Largest intermediate of one evaluation, in numbers; more decisions are done in turn, within the cache."""
TABLE = 2**24
"""Largest table of the decisions' form, in numbers."""
PROBES = 512
"""Decisions from whose kernel rows the span V is found."""
SPAN_WORK = 3e8
"""Multiplications that finding V is worth."""
SPAN_TOLERANCE = 1e-10
"""Of V; a row outside of it is an error in the variance of about this size."""
FORMS = ("dense", "contexts", "decisions")


class Form(Protocol):
    """Kernel rows k → the mean less its constant, the variance explained, and what ``pull_back`` needs."""

    chunk: int

    def moments(self, k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """B × t → B × M, B × M, and an inner product."""
        ...

    def pull_back(self, inner: Tensor, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂k, B × t, from ∂/∂mean and ∂/∂variance."""
        ...


def choose(
    kc: Tensor,
    alpha: Tensor,
    precision: Tensor,
    rows: Callable[[], Tensor],
    form: str | None,
    tolerance: float,
    decisions: int,
) -> Form:
    """The named form, or the one with the least work for so many decisions.

    Args:
        kc: kc(nodes, C), M × t.
        alpha: K⁻¹(y - m), t.
        precision: K⁻¹, t × t.
        rows: the kernel rows of ``probes``, n × t, if asked for.
        form: one of ``FORMS``, or None.
        tolerance: relative error of a low-rank form.
        decisions: how many to expect.
    """
    m, t = kc.shape
    work: dict[str, float] = {"dense": decisions * t * t * (m + 1.0)}  # K⁻¹ is scaled for each x
    factors = low_rank(kc, tolerance) if form in (None, "contexts") else None
    if factors is not None:
        r = factors[0].shape[1]
        work["contexts"] = decisions * (t * t * r + t * r * r + m * r * r / 2)
    span = None
    if form == "decisions" or (form is None and min(work.values()) > SPAN_WORK + 32 * m * t * t):
        most = TABLE // m if form is None else t * t
        span = _span(rows(), max(tolerance, SPAN_TOLERANCE), int((2 * most) ** 0.5))
    if span is not None:
        r = span.shape[1]
        work["decisions"] = m * t * t * r + m * t * r * r + decisions * (t * r + m * r * r / 2)
    best = form or min(work, key=lambda name: work[name])
    if best == "contexts" and factors is not None:
        return ContextsForm(alpha, precision, *factors)
    if best == "decisions" and span is not None:
        return DecisionsForm(kc, alpha, precision, span)
    return DenseForm(kc, alpha, precision)


def probes(dimensions: int) -> Tensor:
    """Decisions whose kernel rows span those of the whole unit box: denser at its ends, and its corners."""
    inside = 0.5 - 0.5 * (torch.pi * sobol(PROBES, dimensions, seed=0)).cos()
    return torch.cat([inside, sobol(PROBES // 4, dimensions, seed=1).round()])


def _span(rows: Tensor, tolerance: float, most: int) -> Tensor | None:
    """V, t × r; None if that needs more than ``most`` columns."""
    found = low_rank(rows, tolerance)
    if found is None or len(found[1]) > min(most, rows.shape[1]):
        return None
    span: Tensor = (found[1] / found[1].norm(dim=1, keepdim=True)).mT.contiguous()
    return span


class DenseForm:
    """S_mj = Σ_i Kc_mi k_i K⁻¹_ij Kc_mj (B × M × t): explained = S k, and ∂explained/∂k = 2 S."""

    def __init__(self, kc: Tensor, alpha: Tensor, precision: Tensor) -> None:
        self.kc, self.alpha, self.precision = kc, alpha, precision
        m, t = kc.shape
        self.chunk = max(1, CHUNK_DENSE // max(m * t, t * t))

    def moments(self, k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """B × t → B × M, B × M, B × M × t."""
        s = torch.bmm(self.kc.expand(len(k), -1, -1), k[:, :, None] * self.precision)
        s *= self.kc
        return (k * self.alpha) @ self.kc.mT, torch.bmm(s, k[:, :, None])[:, :, 0], s

    def pull_back(self, inner: Tensor, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂k, B × t."""
        back = torch.bmm(grad_variance[:, None, :], inner)[:, 0, :]
        return (grad_mean @ self.kc) * self.alpha - 2 * back


class _Table:
    """Entries i ≤ j of symmetric r × r matrices, and the way back."""

    def __init__(self, r: int) -> None:
        self.rows, self.columns = torch.triu_indices(r, r)
        # off-diagonal entries count twice
        self.twice = torch.where(self.rows == self.columns, 1.0, 2.0).to(torch.double)

    def products(self, u: Tensor) -> Tensor:
        """u_i·u_j, n × r → n × entries."""
        return u[:, self.rows] * u[:, self.columns]

    def symmetric(self, entries: Tensor, r: int) -> Tensor:
        """Matrices A + Aᵀ of upper triangles A, B × entries → B × r × r."""
        found = entries.new_zeros(len(entries), r, r)
        found[:, self.rows, self.columns] = entries
        return found + found.mT


class ContextsForm:
    """Contexts of low rank."""

    def __init__(self, alpha: Tensor, precision: Tensor, u: Tensor, w: Tensor) -> None:
        self.alpha, self.precision, self.u, self.w = alpha, precision, u, w
        (m, r), t = u.shape, w.shape[1]
        self.table = _Table(r)
        self.squares = self.table.products(u) * self.table.twice  # M × entries
        self.chunk = max(1, CHUNK_LOW_RANK // max(r * t, r * r, m))

    def moments(self, k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """B × t → B × M, B × M, B × r × t."""
        f = k[:, None, :] * self.w
        g = (f.reshape(-1, f.shape[2]) @ self.precision).view_as(f)  # F K⁻¹
        quadratic = torch.bmm(g, f.mT)[:, self.table.rows, self.table.columns]  # G
        return ((k * self.alpha) @ self.w.mT) @ self.u.mT, quadratic @ self.squares.mT, g

    def pull_back(self, inner: Tensor, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂k, B × t."""
        s = self.table.symmetric(-(grad_variance @ self.squares), len(self.w))
        return (torch.bmm(s, inner) * self.w).sum(1) + ((grad_mean @ self.u) @ self.w) * self.alpha


class DecisionsForm:
    """Decisions of low rank."""

    def __init__(self, kc: Tensor, alpha: Tensor, precision: Tensor, span: Tensor) -> None:
        self.span = span
        t, r = span.shape
        self.table = _Table(r)
        self.alphas = (kc * alpha) @ span  # M × r
        self.matrices = kc.new_empty(len(kc), len(self.table.twice))  # M × entries
        size = max(1, CHUNK_DENSE // (t * r))
        for some, out in zip(kc.split(size), self.matrices.split(size), strict=True):
            f = some.mT.contiguous()[:, :, None] * span[:, None, :]  # t × nodes × r
            g = (precision @ f.view(t, -1)).view_as(f)
            inner = torch.bmm(f.permute(1, 2, 0), g.transpose(0, 1))  # G, nodes × r × r
            torch.mul(inner[:, self.table.rows, self.table.columns], self.table.twice, out=out)
        self.chunk = max(1, CHUNK_LOW_RANK // max(self.matrices.shape[1], len(kc)))

    def moments(self, k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """B × t → B × M, B × M, B × r."""
        v = k @ self.span
        return v @ self.alphas.mT, self.table.products(v) @ self.matrices.mT, v

    def pull_back(self, inner: Tensor, grad_mean: Tensor, grad_variance: Tensor) -> Tensor:
        """∂/∂k, B × t."""
        # the entries count off-diagonal ones twice and A + Aᵀ the diagonal ones: both once is the gradient
        s = self.table.symmetric(-(grad_variance @ self.matrices), inner.shape[1])
        back = torch.bmm(s, inner[:, :, None])[:, :, 0]
        return (back + grad_mean @ self.alphas) @ self.span.mT
