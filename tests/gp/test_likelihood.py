"""The log posterior of the hyper-parameters, its gradient and its priors, against GPyTorch and SciPy."""

from dataclasses import replace

import numpy as np
import pytest
from gpytorch.mlls import ExactMarginalLogLikelihood
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import reference
from windage.botorch import to_botorch
from windage.gp import KERNELS, LogPosterior, ProductGP, fit, kernels
from windage.gp.priors import COMMON, OWN


def assert_gradient(function, theta, gradient, tolerance):
    slope = reference.differences(lambda rows: np.array([function(row) for row in rows]), theta[None], 1e-5)
    assert np.allclose(gradient, slope[0], rtol=tolerance, atol=tolerance)


@given(
    st.integers(2, 40),
    st.integers(1, 3),
    st.integers(0, 2),
    st.sampled_from(KERNELS),
    st.integers(0, 999),
)
def test_log_posterior_gradient(t, dx, dc, kernel, seed):
    data = reference.random_training(t, dx, dc, seed, kernel)
    target = LogPosterior(data)
    theta = target.start() + np.random.default_rng(seed).normal(size=dx + dc + 1) * 0.3
    assert_gradient(lambda at: target(at).value, theta, target(theta).gradient, 1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_log_posterior_equals_gpytorch(kernel):
    data = reference.random_training(25, 2, 1, 4, kernel)
    hyper = fit(data)
    model = to_botorch(ProductGP(data, hyper))
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()
    total = float(mll(model(*model.train_inputs), model.train_targets).detach()) * 25
    assert hyper.log_posterior == pytest.approx(total, abs=1e-6)


def test_a_known_factor_changes_nothing():
    model = reference.fitted(20, 2, 1, 3, "matern")
    target = LogPosterior(model.data)
    theta = target.theta(model.hyperparameters)
    alone, known = target(theta), target(theta, model.factor)
    assert known.value == pytest.approx(alone.value, abs=1e-9)
    assert np.allclose(known.gradient, alone.gradient, atol=1e-8)
    assert known.mean == pytest.approx(alone.mean, abs=1e-10)


def test_the_mean_is_the_best_one():
    """Profiled out: no other constant mean has a higher likelihood."""
    model = reference.fitted(20, 2, 1, 3)
    covariance = model.covariance.noisy(model.data.x, model.data.c)

    def likelihood(mean):
        return stats.multivariate_normal(np.full(20, mean), covariance).logpdf(model.data.y)

    assert likelihood(model.mean) > max(likelihood(model.mean + step) for step in (-1e-3, 1e-3))


@given(st.integers(1, 5), st.integers(0, 2), st.integers(0, 999))
def test_exchangeable_lengthscales_have_a_part_in_common_about_the_modes_of_botorch(dx, dc, seed):
    plain = reference.random_training(4, dx, dc, seed)
    own = LogPosterior(plain).prior
    exchangeable = LogPosterior(replace(plain, exchangeable=tuple(range(dx)))).prior
    theta = own.modes + np.random.default_rng(seed).normal(size=dx + dc + 1)
    assert exchangeable.modes == pytest.approx(own.modes, rel=1e-12)
    width = kernels.LENGTHSCALE_SCALE if dx == 1 else COMMON  # one variable is like no other
    covariance = width**2 * np.eye(dx + dc)
    covariance[:dx, :dx] += (width**2 - OWN**2) * (1 - np.eye(dx))
    logs, noise = theta[:-1], stats.norm(own.modes[-1], kernels.NOISE_SCALE).logpdf(theta[-1])
    joint = stats.multivariate_normal(own.modes[:-1], covariance)
    # densities of ℓ and of the noise, at the modes of which those of their logarithms are higher by the mode
    spread = np.append(np.full(dx + dc, width), kernels.NOISE_SCALE)
    expected = joint.logpdf(logs) + noise - (own.modes + 0.5 * spread**2).sum()
    value, gradient = exchangeable(theta)
    assert value == pytest.approx(expected, abs=1e-8)
    assert_gradient(lambda at: exchangeable(at)[0], theta, gradient, 1e-5)


def test_theta_and_hyperparameters_are_two_forms_of_the_same():
    data = replace(reference.random_training(20, 3, 1, 1), groups=(0, 1, 1))
    target = LogPosterior(data)
    theta = target.start() + np.array([0.1, -0.2, 0.3, 0.4])
    curvature = np.diag([0.1, 0.2, 0.3, 0.4])
    hyper = target.hyperparameters(theta, curvature)
    assert np.allclose(target.theta(hyper), theta, atol=1e-12)
    assert np.allclose(np.log([*hyper.x, *hyper.c, hyper.noise]), theta[[0, 1, 1, 2, 3]], atol=1e-12)
    assert np.array_equal(hyper.inverse_hessian, curvature)
    assert target.hyperparameters(theta, np.zeros((4, 4))).inverse_hessian == ()
    assert hyper.log_posterior == target(theta).value


def test_what_a_fit_would_gain():
    data = reference.random_training(20, 2, 1, 1)
    target, hyper = LogPosterior(data), fit(data)
    theta, gradient = target.start(), np.array([1.0, -2.0, 0.5, 3.0])
    assert target.newton_gain(theta, gradient, replace(hyper, inverse_hessian=())) == np.inf
    known = replace(hyper, inverse_hessian=tuple(map(tuple, 2 * np.eye(4))))
    assert target.newton_gain(theta, gradient, known) == pytest.approx(1 + 4 + 0.25 + 9)
    # what would leave the bounds is not to be gained
    lower, upper = target.bounds
    assert target.newton_gain(lower, gradient, known) == pytest.approx(1 + 0.25 + 9)
    assert target.newton_gain(upper, gradient, known) == pytest.approx(4)
