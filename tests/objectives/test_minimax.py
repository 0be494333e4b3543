"""The minimax approximation of the MMD ball: against its formula, autograd and differences."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from balls import Ball, rough_ball, smooth_ball
from windage.objectives import MinimaxBall, minimax


class Turns(NamedTuple):
    turn: float
    """ε', where the first branch ends."""
    corner: float
    """ε*, where all probability is on the worst node."""


def sensitivity(values, kernel):
    """sqrt(gᵀPg - (gᵀP1)²/1ᵀP1), B × n → B, in torch."""
    inverse = torch.linalg.inv(kernel + 1e-3 * torch.eye(len(kernel), dtype=torch.double))
    return ((values @ inverse * values).sum(1) - (values @ inverse).sum(1) ** 2 / inverse.sum()).sqrt()


def turns(ball: Ball) -> Turns:
    kernel, fall = ball.factor.T @ ball.factor, ball.weights @ ball.values - ball.values.min()
    corner = np.eye(len(ball.values))[ball.values.argmin()] - ball.weights
    corner = float(np.sqrt(corner @ kernel @ corner))
    steepest = float(sensitivity(*map(torch.from_numpy, (ball.values[None], kernel))))
    return Turns(float(fall / max(steepest, fall / corner)), corner)


def torch_minimax(values, ball: Ball, radius: float, branch: str):
    """One branch of the formula for every row, B × n → B."""
    kernel, weights = torch.from_numpy(ball.factor.T @ ball.factor), torch.from_numpy(ball.weights)
    mean, lowest = values @ weights, values.amin(dim=1)
    chord = (lowest - mean) / turns(ball).corner
    if branch == "near":
        return mean + radius * (chord + torch.minimum(-sensitivity(values, kernel), chord)) / 2
    return (mean + radius * chord + lowest) / 2 if branch == "far" else lowest


@given(st.integers(0, 10_000))
def test_minimax_equals_its_formula(seed):
    ball = smooth_ball(seed)
    plain = reference.minimax_formula(*ball[:2], ball.factor.T @ ball.factor, ball.radius)
    value, gradient = minimax(*ball)
    assert value == pytest.approx(plain, abs=1e-6)
    # it moves and stretches with the values, so its gradient sums to 1 and gives it back
    assert gradient.sum() == pytest.approx(1, abs=1e-9)
    assert gradient @ ball.values == pytest.approx(float(value), abs=1e-9)
    assert MinimaxBall.of(*ball[1:]).value(ball.values) == value


@given(st.integers(0, 10_000))
def test_minimax_invariances(seed):
    values, weights, factor, radius = smooth_ball(seed)
    order = np.random.default_rng(seed).permutation(len(values))
    value, gradient = minimax(values, weights, factor, radius)
    mixed = minimax(values[order], weights[order], factor[:, order], radius)
    assert mixed.value == pytest.approx(float(value), abs=1e-9)
    np.testing.assert_allclose(mixed.gradient, gradient[order], atol=1e-7)
    assert minimax(3 * values + 2, weights, factor, radius).value == pytest.approx(3 * value + 2, abs=1e-8)


def test_minimax_is_continuous_and_falls_from_the_mean_to_the_minimum():
    values, weights, factor, _ = smooth_ball(5)
    curve = np.array([minimax(values, weights, factor, float(r)).value for r in np.linspace(0, 2.5, 4001)])
    assert curve[0] == pytest.approx(weights @ values)
    assert curve[-1] == pytest.approx(values.min())
    assert (np.diff(curve) <= 1e-12).all()
    assert np.abs(np.diff(curve)).max() < 0.05


def radius_in(ball: Ball, branch: str) -> float:
    turn, corner = turns(ball)
    return {"near": 0.6 * turn, "far": 0.5 * (turn + corner), "lowest": 1.3 * corner}[branch]


@pytest.mark.parametrize("branch", ["near", "far", "lowest"])
@pytest.mark.parametrize(("draw", "rest"), [(smooth_ball, True), (rough_ball, False)])
@pytest.mark.parametrize("seed", [1, 3])
def test_minimax_gradient(draw, seed, rest, branch):
    """In each branch; of a kernel of low rank, where P is I less the root's square, and of full rank."""
    ball = draw(seed)
    turn, corner = turns(ball)
    assert turn < 0.9 * corner
    check_minimax_gradient(ball, rest, branch)


@pytest.mark.parametrize("branch", ["near", "lowest"])
@pytest.mark.parametrize(
    ("factor", "rest"), [(np.array([[1.0, -1.0]]), True), (np.array([[1.0, 0.3], [0.0, 0.9]]), False)]
)
def test_minimax_gradient_where_the_chord_is_the_steepest(factor, rest, branch):
    """Of two nodes chord and slope are the same but for the jitter: ε' is ε*, and no branch is between."""
    ball = Ball(np.array([1.5, -0.3]), np.array([0.3, 0.7]), factor, 0.0)
    turn, corner = turns(ball)
    assert turn == pytest.approx(corner)
    check_minimax_gradient(ball, rest, branch)


def check_minimax_gradient(ball: Ball, rest: bool, branch: str) -> None:
    radius = radius_in(ball, branch)
    approximation = MinimaxBall.of(ball.weights, ball.factor, radius)
    assert approximation.rest is rest
    batch = np.stack([ball.values, 2 * ball.values + 1])
    value, gradient = approximation(batch)
    theirs, slope = reference.autograd(lambda g: torch_minimax(g, ball, radius, branch), batch)
    np.testing.assert_allclose(value, theirs, atol=1e-9)
    np.testing.assert_allclose(gradient, slope, atol=1e-8)
    np.testing.assert_allclose(gradient, reference.differences(approximation.value, batch, 1e-6), atol=1e-6)
