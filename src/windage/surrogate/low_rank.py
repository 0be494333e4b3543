"""Low-rank forms of kernel matrices over contexts: few numbers where the kernel is smooth."""

from __future__ import annotations

import torch
from torch import Tensor

RANK_TOLERANCE = 1e-12
"""Relative error of a low-rank form (Frobenius norm)."""


def low_rank(matrix: Tensor, tolerance: float = RANK_TOLERANCE) -> tuple[Tensor, Tensor] | None:
    """(U, W) with ``matrix ≈ U W`` and U orthonormal, or None where the rank is over half of the columns.

    A randomised range finder (Halko, Martinsson & Tropp 2011) with a fixed generator, doubled until the
    error is below ``tolerance`` times the norm, then cut to the numerical rank.
    """
    rows, columns = matrix.shape
    generator = torch.Generator().manual_seed(0)
    norm = matrix.norm()
    guess = 24
    while guess <= max(24, min(rows, columns) // 2):
        width = min(guess, rows, columns)
        sketch = matrix @ torch.randn(columns, width, generator=generator, dtype=matrix.dtype)
        basis = torch.linalg.qr(sketch).Q
        reduced = basis.mT @ matrix
        if (matrix - basis @ reduced).norm() <= tolerance * norm:
            left, singular, right = torch.linalg.svd(reduced, full_matrices=False)
            rank = max(1, int((singular > tolerance * singular[0]).sum()))
            return basis @ left[:, :rank], (singular[:rank, None] * right[:rank]).contiguous()
        guess *= 2
    return None


def kernel_factor(kernel: Tensor, tolerance: float = 1e-10) -> Tensor:
    """A (r × n) with AᵀA = kernel up to ``tolerance`` of its largest eigenvalue."""
    found = low_rank(kernel)
    basis = torch.eye(len(kernel), dtype=kernel.dtype) if found is None else found[0]
    eigenvalues, vectors = torch.linalg.eigh(basis.mT @ kernel @ basis)
    keep = eigenvalues > tolerance * eigenvalues[-1]
    factor: Tensor = eigenvalues[keep].sqrt()[:, None] * (basis @ vectors[:, keep]).mT
    return factor
