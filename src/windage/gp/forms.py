"""Three ways to the same moments; see ``windage.gp.posterior`` for the symbols.

*Dense* does as the formula says: O(t²M) a decision.

*Contexts of low rank*: Kc = U W with U M × r and orthonormal. With F = diag(k) Wᵀ, the r × r matrix
G = Fᵀ K⁻¹ F gives var_m = 1 - u_mᵀ G u_m, and one product with the fixed table of u_mi·u_mj finishes all
nodes and decisions at once: O(t²r + Mr²) a decision.

*Decisions of low rank*: every row k of the box lies in the span of V, t × r and orthonormal. With
F_m = diag(Kc_m) V, each node's r × r matrix G_m = F_mᵀ K⁻¹ F_m is computed once, O(Mt²r) in all, and with
v = Vᵀk each decision is var_m = 1 - vᵀ G_m v: O(tr + Mr²). Best for many contexts and few decision variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np

from windage.gp.low_rank import low_rank
from windage.search import sobol
from windage.space import Array

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
FormName = Literal["dense", "contexts", "decisions"]
FORMS: tuple[FormName, ...] = get_args(FormName)


class FormMoments(NamedTuple):
    """Of B decisions at M nodes."""

    mean: Array
    """Less its constant, B × M."""
    explained: Array
    """Of the prior variance, as a share, B × M."""
    inner: Array
    """An inner product that ``vjp`` needs; its shape is the form's own."""


class Form(Protocol):
    """Kernel rows k (B × t) → moments, and back."""

    chunk: int

    def moments(self, k: Array) -> FormMoments:
        """At kernel rows, B × t."""
        ...

    def vjp(self, inner: Array, by_mean: Array, by_variance: Array) -> Array:
        """Vector-Jacobian product: ∂/∂k, B × t, from ∂/∂mean and ∂/∂(prior variance share), B × M each."""
        ...


def choose(
    kc: Array,
    alpha: Array,
    precision: Array,
    rows: Callable[[], Array],
    form: FormName | None,
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
    work: dict[FormName, float] = {"dense": decisions * t * t * (m + 1.0)}  # K⁻¹ is scaled for each x
    factors = low_rank(kc, tolerance) if form in (None, "contexts") else None
    if factors is not None:
        r = factors.u.shape[1]
        work["contexts"] = decisions * (t * t * r + t * r * r + m * r * r / 2)
    span = None
    if form == "decisions" or (form is None and min(work.values()) > SPAN_WORK + 32 * m * t * t):
        most = TABLE // m if form is None else t * t
        span = _span(rows(), max(tolerance, SPAN_TOLERANCE), int((2 * most) ** 0.5))
    if span is not None:
        r = span.shape[1]
        work["decisions"] = m * t * t * r + m * t * r * r + decisions * (t * r + m * r * r / 2)
    best = min(work, key=work.__getitem__) if form is None else form
    if best == "contexts" and factors is not None:
        return ContextsForm(alpha, precision, factors.u, factors.w)
    if best == "decisions" and span is not None:
        return DecisionsForm(kc, alpha, precision, span)
    return DenseForm(kc, alpha, precision)


def probes(dimensions: int) -> Array:
    """Decisions whose kernel rows span those of the whole unit box: denser at its ends, and its corners."""
    inside = 0.5 - 0.5 * np.cos(np.pi * sobol(PROBES, dimensions, seed=0))
    return np.concatenate([inside, np.round(sobol(PROBES // 4, dimensions, seed=1))])


def _span(rows: Array, tolerance: float, most: int) -> Array | None:
    """V, t × r; None if that needs more than ``most`` columns."""
    found = low_rank(rows, tolerance)
    if found is None or len(found.w) > min(most, rows.shape[1]):
        return None
    return np.ascontiguousarray((found.w / np.linalg.norm(found.w, axis=1, keepdims=True)).T)


class DenseForm:
    """S_mj = Σ_i Kc_mi k_i K⁻¹_ij Kc_mj (B × M × t): explained = S k, and ∂explained/∂k = 2 S."""

    def __init__(self, kc: Array, alpha: Array, precision: Array) -> None:
        self.kc, self.alpha, self.precision = kc, alpha, precision
        m, t = kc.shape
        self.chunk = max(1, CHUNK_DENSE // max(m * t, t * t))

    def moments(self, k: Array) -> FormMoments:
        """B × t → B × M, B × M, B × M × t."""
        s = self.kc @ (k[:, :, None] * self.precision)
        s *= self.kc
        return FormMoments((k * self.alpha) @ self.kc.T, (s @ k[:, :, None])[:, :, 0], s)

    def vjp(self, inner: Array, by_mean: Array, by_variance: Array) -> Array:
        """∂/∂k, B × t."""
        back = (by_variance[:, None, :] @ inner)[:, 0, :]
        return np.asarray((by_mean @ self.kc) * self.alpha - 2 * back)


class _Table:
    """Entries i ≤ j of symmetric r × r matrices, and the way back."""

    def __init__(self, r: int) -> None:
        self.r = r
        self.rows, self.columns = np.triu_indices(r)
        self.flat = self.rows * r + self.columns
        # off-diagonal entries count twice
        self.twice = np.where(self.rows == self.columns, 1.0, 2.0)

    def products(self, u: Array) -> Array:
        """u_i·u_j, n × r → n × entries."""
        return u[:, self.rows] * u[:, self.columns]

    def entries(self, matrices: Array) -> Array:
        """n × r × r → n × entries."""
        return matrices.reshape(-1, self.r * self.r).take(self.flat, axis=1)

    def symmetric(self, entries: Array) -> Array:
        """Matrices A + Aᵀ of upper triangles A, B × entries → B × r × r."""
        found = np.zeros((len(entries), self.r * self.r))
        found[:, self.flat] = entries
        square = found.reshape(-1, self.r, self.r)
        return square + square.transpose(0, 2, 1)


class ContextsForm:
    """Contexts of low rank."""

    def __init__(self, alpha: Array, precision: Array, u: Array, w: Array) -> None:
        self.alpha, self.precision, self.u, self.w = alpha, precision, u, w
        (m, r), t = u.shape, w.shape[1]
        self.table = _Table(r)
        self.squares = self.table.products(u) * self.table.twice  # M × entries
        self.chunk = max(1, CHUNK_LOW_RANK // max(r * t, r * r, m))

    def moments(self, k: Array) -> FormMoments:
        """B × t → B × M, B × M, B × r × t."""
        f = k[:, None, :] * self.w
        g = (f.reshape(-1, f.shape[2]) @ self.precision).reshape(f.shape)  # F K⁻¹
        quadratic = self.table.entries(g @ f.transpose(0, 2, 1))  # G
        mean = ((k * self.alpha) @ self.w.T) @ self.u.T
        return FormMoments(mean, quadratic @ self.squares.T, g)

    def vjp(self, inner: Array, by_mean: Array, by_variance: Array) -> Array:
        """∂/∂k, B × t."""
        s = self.table.symmetric(-(by_variance @ self.squares))
        back = ((s @ inner) * self.w).sum(axis=1)
        back += ((by_mean @ self.u) @ self.w) * self.alpha
        return np.asarray(back)


class DecisionsForm:
    """Decisions of low rank."""

    def __init__(self, kc: Array, alpha: Array, precision: Array, span: Array) -> None:
        self.span = span
        t, r = span.shape
        self.table = _Table(r)
        self.alphas = (kc * alpha) @ span  # M × r
        self.matrices = np.empty((len(kc), len(self.table.twice)))  # M × entries
        size = max(1, CHUNK_DENSE // (t * r))
        for i in range(0, len(kc), size):
            f = kc[i : i + size].T[:, :, None] * span[:, None, :]  # t × nodes × r
            g = (precision @ f.reshape(t, -1)).reshape(f.shape)
            inner = f.transpose(1, 2, 0) @ g.transpose(1, 0, 2)  # G, nodes × r × r
            self.matrices[i : i + size] = self.table.entries(inner) * self.table.twice
        self.chunk = max(1, CHUNK_LOW_RANK // max(self.matrices.shape[1], len(kc)))

    def moments(self, k: Array) -> FormMoments:
        """B × t → B × M, B × M, B × r."""
        v = k @ self.span
        return FormMoments(v @ self.alphas.T, self.table.products(v) @ self.matrices.T, v)

    def vjp(self, inner: Array, by_mean: Array, by_variance: Array) -> Array:
        """∂/∂k, B × t."""
        # the entries count off-diagonal ones twice and A + Aᵀ the diagonal ones: both once is the gradient
        s = self.table.symmetric(-(by_variance @ self.matrices))
        back = (s @ inner[:, :, None])[:, :, 0]
        return np.asarray((back + by_mean @ self.alphas) @ self.span.T)
