"""The inverse of the covariance matrix against NumPy's, made at once and extended."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from windage.gp import KERNELS
from windage.gp.factor import Factor


@given(st.integers(1, 40), st.integers(0, 99))
def test_the_factor_is_the_inverse_and_the_determinant(t, seed):
    square = np.random.default_rng(seed).standard_normal((t, t))
    covariance = square @ square.T + np.eye(t)
    before = covariance.copy()
    found = Factor.of(covariance)
    assert found is not None
    assert np.allclose(found.inverse @ covariance, np.eye(t), atol=1e-9)
    assert (found.inverse == found.inverse.T).all()
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(covariance)[1], abs=1e-9)
    assert (covariance == before).all()


def test_what_is_not_positive_definite_has_no_factor():
    assert Factor.of(-np.eye(3)) is None
    assert Factor.of(np.ones((3, 3)) - 0.1) is None
    assert Factor(np.eye(2), 0.0).extended(np.ones((2, 1)), np.ones((1, 1))) is None


@given(st.integers(1, 40), st.integers(1, 8), st.sampled_from(KERNELS), st.integers(0, 999))
def test_an_extended_inverse_equals_the_direct_one(t, new, kernel, seed):
    model = reference.fitted(t, 2, 1, seed, kernel)
    generator = np.random.default_rng(seed + 1)
    x = np.concatenate([model.data.x, generator.random((new, 2))])
    c = np.concatenate([model.data.c, generator.random((new, 1))])
    grown, direct = model.covariance.factor(x, c, model.factor), model.covariance.factor(x, c)
    assert np.allclose(grown.inverse, direct.inverse, rtol=1e-8, atol=1e-6)
    assert grown.log_determinant == pytest.approx(direct.log_determinant, abs=1e-8)
    assert np.allclose(model.covariance.noisy(x, c) @ grown.inverse, np.eye(t + new), atol=1e-8)


def test_a_factor_of_all_observations_is_taken_as_it_is():
    model = reference.fitted(10, 2, 1, 0)
    assert model.covariance.factor(model.data.x, model.data.c, model.factor) is model.factor
