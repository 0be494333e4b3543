"""MMD balls at the limit of precision: nearly singular kernels, small radii, a solver that fails."""

import math

import numpy as np
import pytest

import reference
from windage.gp import kernel_factor
from windage.objectives import MmdSolver, mmd, mmd_interior, total_variation


def factor_of(grid: np.ndarray, scale: float) -> np.ndarray:
    return kernel_factor(np.exp(-0.5 * ((grid[:, None] - grid) / scale) ** 2))


@pytest.mark.parametrize("radius", [1e-6, 1e-4, 1e-3, 0.0167, 0.05, 0.2])
@pytest.mark.parametrize("scale", [0.06, 0.3, 4.8])
def test_mmd_at_the_limit_of_precision(scale, radius):
    """Long lengthscales and small radii: never infeasible, never far from CVXPY."""
    rng = np.random.default_rng(int(1e6 * radius) + int(100 * scale))
    grid = np.linspace(0, 1, 100)
    factor = factor_of(grid, scale)
    weights = np.bincount(rng.integers(0, 100, 60), minlength=100) / 60
    values = np.array([np.sin(k * grid + rng.uniform(0, 6)) for k in (1, 3, 6, 12, 20)])
    worst = MmdSolver(weights, factor, radius)(values)
    assert (worst >= -1e-12).all()
    assert worst.sum(axis=1) == pytest.approx(np.ones(5), abs=1e-9)
    assert (np.linalg.norm((worst - weights) @ factor.T, axis=1) <= radius + 1e-8).all()
    if radius < 1e-3:
        return  # CVXPY itself is not sure there
    for row, found in zip(values, worst, strict=True):
        assert found @ row == pytest.approx(reference.mmd_ball(row, weights, factor, radius), abs=2e-6)


def test_many_random_balls_agree_with_and_without_memory():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        grid = np.linspace(0, 1, int(rng.choice([10, 30, 100])))
        scale, radius = np.exp(rng.uniform(np.log([0.05, 0.01]), np.log([5, 2])))
        weights = rng.dirichlet(np.ones(len(grid)))
        smooth = [np.sin(6 * a * grid + b) for a, b in rng.normal(size=(10, 2))]
        rough = [rng.normal(size=len(grid)) for _ in range(10)]
        values = np.array(smooth + rough)
        solver = MmdSolver(weights, factor_of(grid, scale), float(radius))
        first, again = ((solver(values) * values).sum(axis=1) for _ in range(2))
        assert (np.abs(first - again) / np.ptp(values, axis=1)).max() < 1e-7


def test_an_interior_point_that_fails_at_once_answers_with_the_reference_weights(monkeypatch):
    monkeypatch.setattr(mmd_interior._InteriorPoint, "step", lambda self: None)  # the gap stays infinite
    weights, cost = np.array([0.2, 0.3, 0.5]), np.array([[0.0, 0.5, 1.0]])
    found = mmd_interior.interior_point(cost, weights, np.eye(3), 0.1, 1e-9)
    assert (found[0] == weights).all()


def test_mmd_on_a_case_worked_by_hand():
    """Two nodes that have nothing to do with each other."""
    found = mmd(np.array([[1.0, 0.0]]), np.array([0.5, 0.5]), np.eye(2), 0.2)
    # moving p from the first node to the second costs √2·p of distance
    assert found.value == pytest.approx(0.5 - 0.2 / math.sqrt(2), abs=1e-8)


def test_objectives_take_single_precision_values():
    values = np.array([[3.0, 1.0, 2.0]], dtype=np.float32)
    assert total_variation(values, np.array([0.2, 0.3, 0.5]), 0.4).value == pytest.approx(1.5)
