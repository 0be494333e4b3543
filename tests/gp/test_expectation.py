"""The posterior of the expectation against BoTorch's joint covariance over the nodes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from windage.contexts import Nodes
from windage.gp import KERNELS, ExpectationPosterior, NodePosterior, WorstPosterior


def points(count, dimensions, seed):
    return np.random.default_rng(seed).random((count, dimensions))


def weighted(count, dimensions, seed):
    weights = points(count, 1, seed + 1)[:, 0]
    return Nodes(points(count, dimensions, seed), weights / weights.sum())


def assert_posterior(posterior, model, x, points_of, weights_of, values=1e-8, slopes=1e-6):
    """Moments and their vector-Jacobian products against BoTorch's; ``weights_of``: one row a decision."""
    found = posterior.moments(x)
    assert found.mean.shape == found.variance.shape == (len(x), 1)
    one, nothing = np.ones((len(x), 1)), np.zeros((len(x), 1))
    for i in range(len(x)):

        def plain(at, part, weights=weights_of[i]):
            return reference.torch_expectation(model, at, points_of, weights)[part]

        row = x[i : i + 1]
        mean, by_mean = reference.autograd(lambda at: plain(at, 0), row)
        variance, by_variance = reference.autograd(lambda at: plain(at, 1), row)
        assert np.allclose(found.mean[i], mean, rtol=0, atol=values)
        assert np.allclose(found.variance[i], variance, rtol=0, atol=values)
        mine = posterior.vjp(found, one, nothing)[i], posterior.vjp(found, nothing, one)[i]
        assert np.allclose(mine[0], by_mean[0], rtol=slopes, atol=slopes)
        assert np.allclose(mine[1], by_variance[0], rtol=slopes, atol=slopes)
        both = posterior.vjp(found, 2 * one, -3 * one)[i]
        assert np.allclose(both, 2 * mine[0] - 3 * mine[1], rtol=1e-10, atol=1e-12)


@given(st.integers(1, 40), st.integers(0, 2), st.sampled_from(KERNELS), st.integers(0, 999))
def test_posterior_of_the_expectation_equals_the_joint_covariance(t, dc, kernel, seed):
    model = reference.fitted(t, 2, dc, seed, kernel)
    nodes, x = weighted(12 if dc else 1, dc, seed + 1), points(4, 2, seed + 3)
    posterior = ExpectationPosterior(model, nodes)
    assert_posterior(posterior, model, x, nodes.points, [nodes.weights] * 4)
    # averaging bounds explores more: the deviation of the mean is below the mean of the deviations
    each = np.sqrt(np.maximum(NodePosterior(model, nodes.points).moments(x).variance, 0)) @ nodes.weights
    assert (np.sqrt(posterior.moments(x).variance[:, 0]) <= each + 1e-9).all()


def test_gradient_is_finite_at_a_training_decision():
    for kernel in KERNELS:
        model = reference.fitted(20, 2, 1, seed=3, kernel=kernel)
        for posterior in (
            ExpectationPosterior(model, weighted(30, 1, 1)),
            WorstPosterior(model, weighted(30, 1, 1), 0.3, points(8, 1, 2)),
        ):
            found = posterior.moments(model.data.x[:3])
            assert np.isfinite(posterior.vjp(found, np.ones((3, 1)), np.ones((3, 1)))).all()


@pytest.mark.parametrize("kernel", ["rbf", "matern"])
@pytest.mark.parametrize("radius", [0.0, 0.35, 2.5])
def test_the_worst_posterior_is_that_under_the_worst_weights(radius, kernel):
    model = reference.fitted(25, 2, 1, seed=4, kernel=kernel)
    nodes, space, x = weighted(12, 1, 7), points(16, 1, 9), points(5, 2, 3)
    everywhere = np.concatenate([nodes.points, space])
    means = reference.tiled_moments(model, x, everywhere).mean
    worst = [reference.worst_weights(row, nodes.weights, radius) for row in means]
    assert_posterior(WorstPosterior(model, nodes, radius, space), model, x, everywhere, worst)
    if radius == 0:
        mine = WorstPosterior(model, nodes, radius, space).moments(x)
        plain = ExpectationPosterior(model, nodes).moments(x)
        assert np.allclose(mine.mean, plain.mean, atol=1e-12)
        assert np.allclose(mine.variance, plain.variance, atol=1e-12)


@pytest.mark.parametrize("radius", [0.0, 0.2, 0.9, 2.0])
def test_the_variance_of_the_worst_expectation_equals_the_dense_form(radius):
    """v0 = wᵀ K_cc w and z = Kcᵀ w over nodes and space, one decision at a time."""
    model = reference.fitted(25, 2, 2, seed=4)
    nodes, space, x = weighted(12, 2, 7), points(16, 2, 9), points(5, 2, 3)
    everywhere = np.concatenate([nodes.points, space])
    between = model.context_kernel(everywhere, everywhere).k
    kc = model.context_kernel(everywhere, model.data.c).k
    means = reference.tiled_moments(model, x, everywhere).mean
    found, where = WorstPosterior(model, nodes, radius, space).moments(x), np.zeros((25, 0))
    for i in range(5):
        weights = reference.worst_weights(means[i], nodes.weights, radius)
        assert weights.sum() == pytest.approx(1)
        kx = replace(model.covariance, c_scale=np.zeros(0))(x[i : i + 1], where[:1], model.data.x, where)[0]
        seen = kx * (weights @ kc)
        v0 = weights @ between @ weights
        assert found.variance[i, 0] == pytest.approx(v0 - seen @ model.precision @ seen, abs=1e-12)
        assert found.mean[i, 0] == pytest.approx(model.mean + seen @ model.alpha, abs=1e-12)


def test_chunks_change_nothing():
    model = reference.fitted(40, 2, 1, seed=1)
    nodes, x, by = weighted(30, 1, 7), points(50, 2, 7), points(50, 1, 3)
    for posterior in (
        ExpectationPosterior(model, nodes),
        WorstPosterior(model, nodes, 0.3, points(20, 1, 9)),
    ):
        whole = posterior.moments(x)
        gradient = posterior.vjp(whole, by, by)
        for i in range(0, 50, 7):
            rows = slice(i, i + 7)
            part = posterior.moments(x[rows])
            assert np.allclose(part.mean, whole.mean[rows], rtol=0, atol=1e-12)
            assert np.allclose(part.variance, whole.variance[rows], rtol=0, atol=1e-12)
            back = posterior.vjp(part, by[rows], by[rows])
            assert np.allclose(back, gradient[rows], rtol=1e-12, atol=1e-12 * np.abs(gradient).max())
