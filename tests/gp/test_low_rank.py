"""Low-rank forms against the matrices that they stand for."""

import numpy as np
import pytest

from windage.gp.low_rank import kernel_factor, low_rank


def test_low_rank_is_exact_or_declines():
    grid = np.linspace(0, 1, 400)
    smooth = np.exp(-0.5 * ((grid[:, None] - grid[:120]) / 0.3) ** 2)
    found = low_rank(smooth)
    assert found is not None
    assert found.u.shape[1] < 25
    assert np.allclose(found.u @ found.w, smooth, atol=1e-11)
    assert np.allclose(found.u.T @ found.u, np.eye(found.u.shape[1]), atol=1e-12)
    rough = np.random.default_rng(0).standard_normal((400, 120))
    assert low_rank(rough) is None


def test_low_rank_of_one_row_or_column():
    row = np.random.default_rng(0).random((1, 30))
    for matrix in (row, row.T, row[:, :1]):
        found = low_rank(matrix)
        assert found is not None
        assert found.u.shape[1] == 1
        assert np.allclose(found.u @ found.w, matrix, atol=1e-14)


def test_a_wider_tolerance_has_a_lower_rank():
    grid = np.linspace(0, 1, 300)
    smooth = np.exp(-0.5 * ((grid[:, None] - grid[:100]) / 0.2) ** 2)
    ranks = []
    for tolerance in (1e-12, 1e-5):
        found = low_rank(smooth, tolerance)
        assert found is not None
        assert np.linalg.norm(found.u @ found.w - smooth) < 10 * tolerance * np.linalg.norm(smooth)
        ranks.append(found.u.shape[1])
    assert ranks[1] < 0.7 * ranks[0]


@pytest.mark.parametrize("scale", [0.005, 0.3])
def test_kernel_factor(scale):
    grid = np.linspace(0, 1, 300)
    kernel = np.exp(-0.5 * ((grid[:, None] - grid) / scale) ** 2)
    factor = kernel_factor(kernel)
    assert np.allclose(factor.T @ factor, kernel, atol=1e-7)
    assert len(factor) < (25 if scale == 0.3 else 301)
    if len(factor) < 300:  # what the minimax approximation relies on
        gram = factor @ factor.T
        assert np.allclose(gram, np.diag(gram.diagonal()), atol=1e-8 * gram.max())
