"""Kernel profiles, their slopes and their priors against GPyTorch's and BoTorch's."""

from fractions import Fraction

import numpy as np
import pytest
from botorch.models import SingleTaskGP

import reference
from windage.botorch import to_botorch
from windage.gp import KERNELS, ProductGP, fit, kernels

SQUARES = np.geomspace(1e-3, 60, 50)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_slope_is_that_of_the_kernel(kernel):
    profile, step = kernels.PROFILES[kernel], 1e-5 * SQUARES
    slope = (profile(SQUARES + step).k - profile(SQUARES - step).k) / (2 * step)
    assert np.allclose(profile(SQUARES).h, -2 * slope, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_profile_falls_from_one_and_leaves_its_argument_alone(kernel):
    squares = SQUARES.copy()
    k, h = kernels.PROFILES[kernel](squares)
    assert (squares == SQUARES).all()
    assert (np.diff(k) < 0).all()
    assert (h > 0).all()
    at_zero = kernels.PROFILES[kernel](np.zeros(1))
    assert at_zero.k == 1
    assert np.isfinite(at_zero.h).all()


@pytest.mark.parametrize("dc", [0, 1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_covariance_equals_gpytorch(kernel, dc):
    model = reference.fitted(12, 3, dc, 5, kernel)
    generator = np.random.default_rng(1)
    x, c = generator.random((7, 3)), generator.random((7, dc))
    one, other = np.concatenate([x, c], axis=1), np.concatenate([model.data.x, model.data.c], axis=1)
    theirs = to_botorch(model).covar_module(reference.tensor(one), reference.tensor(other)).to_dense()
    mine = model.covariance(x, c, model.data.x, model.data.c)
    assert np.allclose(mine, theirs.detach().numpy(), rtol=0, atol=1e-12)


def test_the_gradient_in_a_point_follows_from_the_slope():
    """∂k/∂a_d = -h (a_d - b_d)/ℓ_d²."""
    generator = np.random.default_rng(0)
    a, b, scale = generator.random((4, 3)), generator.random((5, 3)), np.array([0.3, 0.7, 2.0])
    for profile in kernels.PROFILES.values():
        h = profile(kernels.scaled_squares(a, b, scale)).h
        for d in range(3):
            move = 1e-6 * np.eye(3)[d]
            up, down = (profile(kernels.scaled_squares(a + s * move, b, scale)).k for s in (1, -1))
            exact = -h * (a[:, d, None] - b[None, :, d]) / scale[d] ** 2
            assert np.allclose(exact, (up - down) / 2e-6, atol=1e-8)


def test_distances_of_far_points_keep_their_digits():
    a, b, scale = np.array([[1e8 + 0.25], [0.5]]), np.array([[1e8], [0.25]]), np.array([0.5])
    exact = [[(Fraction(u) - Fraction(v)) ** 2 / Fraction(1, 4) for v in b[:, 0]] for u in a[:, 0]]
    assert np.allclose(kernels.scaled_squares(a, b, scale), np.array(exact, dtype=float), rtol=1e-15)


def test_distances_without_coordinates_are_zero():
    found = kernels.scaled_squares(np.zeros((3, 0)), np.zeros((2, 0)), np.zeros(0))
    assert found.shape == (3, 2)
    assert not found.any()


@pytest.mark.parametrize("dimensions", [1, 3, 7])
def test_the_priors_are_those_of_botorch(dimensions):
    x, y = np.zeros((2, dimensions)), np.array([[-1.0], [1.0]]) / 2**0.5
    model = SingleTaskGP(reference.tensor(x), reference.tensor(y), outcome_transform=None)
    theirs, noise = model.covar_module.lengthscale_prior, model.likelihood.noise_covar.noise_prior
    assert kernels.lengthscale_loc(dimensions) == pytest.approx(float(theirs.loc), abs=1e-6)
    assert pytest.approx(float(theirs.scale), abs=1e-6) == kernels.LENGTHSCALE_SCALE
    assert (float(noise.loc), float(noise.scale)) == (kernels.NOISE_LOC, kernels.NOISE_SCALE)
    mode = kernels.log_normal_mode(float(theirs.loc), float(theirs.scale))
    assert mode == pytest.approx(float(theirs.mode.log()), abs=1e-6)
    lower = model.covar_module.raw_lengthscale_constraint.lower_bound
    assert float(lower) == pytest.approx(kernels.MIN_LENGTHSCALE)
    assert float(model.likelihood.noise_covar.raw_noise_constraint.lower_bound) == pytest.approx(
        kernels.MIN_NOISE
    )


def test_the_context_kernel_is_that_of_the_contexts_alone():
    data = reference.random_training(15, 2, 2, 3, "matern")
    model = ProductGP(data, fit(data))
    a, b = np.random.default_rng(0).random((2, 4, 2))
    same = np.full((4, 2), 0.5)
    assert np.allclose(model.context_kernel(a, b).k, model.covariance(same, a, same, b), atol=1e-15)
