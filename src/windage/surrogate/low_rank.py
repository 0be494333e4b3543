"""Low-rank forms of kernel matrices over contexts: few numbers where the kernel is smooth."""

from __future__ import annotations

import torch
from torch import Tensor

RANK_TOLERANCE = 1e-12
"""Relative error of a low-rank form (Frobenius norm)."""
FIRST_WIDTH, MOST = 24, 0.6
"""The first sketch's columns, and the last one's as a share of the full rank."""
HOPELESS_WIDTH, HOPELESS_ERROR = 96, 1e-2
"""A sketch of so many columns that leaves so much will not get there."""


def low_rank(matrix: Tensor, tolerance: float = RANK_TOLERANCE) -> tuple[Tensor, Tensor] | None:
    """(U, W) with ``matrix ≈ U W`` and U orthonormal, or None where the rank is not small.

    A randomised range finder (Halko, Martinsson & Tropp 2011) with a fixed generator, doubled until the
    error is below ``tolerance`` times the norm, then cut to the numerical rank.
    """
    rows, columns = matrix.shape
    generator = torch.Generator().manual_seed(0)
    norm = matrix.norm()
    limit = max(FIRST_WIDTH, int(MOST * min(rows, columns)))
    width = 0
    while width < min(limit, rows, columns):
        width = min(2 * width or FIRST_WIDTH, limit, rows, columns)
        sketch = matrix @ torch.randn(columns, width, generator=generator, dtype=matrix.dtype)
        basis = torch.linalg.qr(sketch).Q
        reduced = basis.mT @ matrix
        error = (matrix - basis @ reduced).norm() / norm
        if width >= HOPELESS_WIDTH and error > HOPELESS_ERROR:
            return None
        if error <= tolerance:
            left, singular, right = torch.linalg.svd(reduced, full_matrices=False)
            rank = max(1, int((singular > tolerance * singular[0]).sum()))
            return basis @ left[:, :rank], (singular[:rank, None] * right[:rank]).contiguous()
    return None


def kernel_factor(kernel: Tensor, tolerance: float = 1e-10) -> Tensor:
    """A (r × n) with AᵀA = kernel up to ``tolerance`` of its largest eigenvalue; orthogonal rows if r < n."""
    found = low_rank(kernel)
    if found is None:  # of high rank: Cholesky's is a tenth of the work of an eigendecomposition
        lifted = kernel + tolerance * torch.eye(len(kernel), dtype=kernel.dtype)
        chol, failed = torch.linalg.cholesky_ex(lifted)
        if int(failed) == 0:
            transposed: Tensor = chol.mT
            return transposed
    basis = torch.eye(len(kernel), dtype=kernel.dtype) if found is None else found[0]
    eigenvalues, vectors = torch.linalg.eigh(basis.mT @ kernel @ basis)
    keep = eigenvalues > tolerance * eigenvalues[-1]
    factor: Tensor = eigenvalues[keep].sqrt()[:, None] * (basis @ vectors[:, keep]).mT
    return factor
