"""Low-rank forms of kernel matrices over contexts: few numbers where the kernel is smooth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf

from windage.space import Array

RANK_TOLERANCE = 1e-12
"""Relative error of a low-rank form (Frobenius norm)."""
FIRST_WIDTH, MOST = 24, 0.6
"""The first sketch's columns, and the last one's as a share of the full rank."""
HOPELESS_WIDTH, HOPELESS_ERROR = 96, 1e-2
"""A sketch of so many columns that leaves so much will not get there."""


class LowRank(NamedTuple):
    """matrix ≈ U W."""

    u: Array
    """rows × r, orthonormal."""
    w: Array
    """r × columns."""


def low_rank(matrix: Array, tolerance: float = RANK_TOLERANCE) -> LowRank | None:
    """U and W of a matrix, or None where its rank is not small, or it is 0.

    A randomised range finder (Halko, Martinsson & Tropp 2011) with a fixed generator, doubled until the
    error is below ``tolerance`` times the norm, then cut to the numerical rank.
    """
    rows, columns = matrix.shape
    generator = np.random.default_rng(0)
    norm = float(np.linalg.norm(matrix))
    if norm == 0:  # nodes so far from all contexts that none is like them
        return None
    limit = max(FIRST_WIDTH, int(MOST * min(rows, columns)))
    width = 0
    while width < min(limit, rows, columns):
        width = min(2 * width or FIRST_WIDTH, limit, rows, columns)
        basis = np.linalg.qr(matrix @ generator.standard_normal((columns, width))).Q
        reduced = basis.T @ matrix
        error = float(np.linalg.norm(matrix - basis @ reduced)) / norm
        if width >= HOPELESS_WIDTH and error > HOPELESS_ERROR:
            return None
        if error <= tolerance:
            left, singular, right = np.linalg.svd(reduced, full_matrices=False)
            rank = max(1, int((singular > tolerance * singular[0]).sum()))
            return LowRank(basis @ left[:, :rank], np.ascontiguousarray(singular[:rank, None] * right[:rank]))
    return None


def kernel_factor(kernel: Array, tolerance: float = 1e-10) -> Array:
    """A (r × n) with AᵀA = kernel up to ``tolerance`` of its largest eigenvalue; orthogonal rows if r < n."""
    found = low_rank(kernel)
    if found is None:  # of high rank: Cholesky's is a tenth of the work of an eigendecomposition
        chol, failed = dpotrf(kernel + tolerance * np.eye(len(kernel)), lower=0, clean=1)
        if not failed:
            return np.ascontiguousarray(chol)
    basis = np.eye(len(kernel)) if found is None else found.u
    eigenvalues, vectors = np.linalg.eigh(basis.T @ kernel @ basis)
    keep = eigenvalues > tolerance * eigenvalues[-1]
    return np.ascontiguousarray(np.sqrt(eigenvalues[keep])[:, None] * (basis @ vectors[:, keep]).T)
