"""The product posterior against BoTorch's on the tiled x × c."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from windage.botorch import to_botorch
from windage.gp import KERNELS, NodePosterior, ProductGP, SlopePosterior, fit
from windage.gp.forms import FORMS, ContextsForm, DecisionsForm, DenseForm
from windage.gp.posterior import FEW, MANY, node_means


def points(count, dimensions, seed):
    return np.random.default_rng(seed).random((count, dimensions))


def assert_moments(posterior, model, x, nodes, tolerance=1e-8):
    """Mean and variance against BoTorch's; returns the moments."""
    found, theirs = posterior.moments(x), reference.tiled_moments(model, x, nodes)
    assert np.allclose(found.mean, theirs.mean, rtol=0, atol=tolerance)
    assert np.allclose(found.variance, theirs.variance, rtol=0, atol=tolerance)
    return found


def assert_gradients(posterior, model, x, nodes, seed, tolerance=1e-6):
    """The vector-Jacobian product against autograd through BoTorch's posterior."""
    found = posterior.moments(x)
    by_mean, by_variance = np.random.default_rng(seed).standard_normal((2, *found.mean.shape))
    nothing = np.zeros_like(by_mean)
    for pull in ((by_mean, nothing), (nothing, by_variance), (by_mean, by_variance)):

        def plain(at, pull=pull):
            moments = reference.torch_moments(model, at, nodes)
            return sum(part * reference.tensor(by) for part, by in zip(moments, pull, strict=True))

        theirs = reference.autograd(plain, x)[1]
        assert np.allclose(posterior.vjp(found, *pull), theirs, rtol=tolerance, atol=tolerance)


@given(
    st.integers(1, 60), st.integers(1, 4), st.integers(0, 3), st.sampled_from(KERNELS), st.integers(0, 999)
)
def test_product_posterior_equals_botorch(t, dx, dc, kernel, seed):
    model = reference.fitted(t, dx, dc, seed, kernel, noise=0.1 if seed % 2 else 0.0)
    nodes, x = points(50 if dc else 1, dc, seed + 1), points(6, dx, seed + 2)
    for form in (*FORMS, None):
        posterior = NodePosterior(model, nodes, form)
        assert_moments(posterior, model, x, nodes)
        assert_gradients(posterior, model, x, nodes, seed)


@pytest.mark.parametrize("kernel", KERNELS)
def test_product_posterior_at_the_paper_size(kernel):
    model = reference.fitted(100, 2, 1, seed=5, kernel=kernel)
    nodes, x = points(1024, 1, 6), points(20, 2, 7)
    fast = NodePosterior(model, nodes)
    if kernel == "rbf":
        assert isinstance(fast.form, ContextsForm)
        assert fast.form.u.shape[1] < 25
    assert_moments(fast, model, x, nodes)


@pytest.mark.parametrize(("dx", "form"), [(1, DecisionsForm), (2, DecisionsForm), (8, DenseForm)])
def test_the_form_follows_the_ranks(dx, form):
    model = reference.fitted(100, dx, 4, seed=1)
    nodes, x = points(256, 4, 2), np.concatenate([points(20, dx, 7), np.eye(dx)])
    fast = NodePosterior(model, nodes)
    assert isinstance(fast.form, form)
    assert_moments(fast, model, x, nodes)


def test_the_form_follows_the_number_of_decisions():
    model = reference.fitted(100, 2, 4, seed=1)
    nodes, x = points(256, 4, 2), points(40, 2, 7)
    few, many = NodePosterior(model, nodes, decisions=FEW), NodePosterior(model, nodes, decisions=MANY)
    assert isinstance(few.form, DenseForm)
    assert isinstance(many.form, DecisionsForm)
    one, other = few.moments(x), many.moments(x)
    assert np.allclose(one.mean, other.mean, rtol=0, atol=1e-8)
    assert np.allclose(one.variance, other.variance, rtol=0, atol=1e-8)
    by = points(40, 256, 9), points(40, 256, 10)
    assert np.allclose(few.vjp(one, *by), many.vjp(other, *by), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [NodePosterior, SlopePosterior])
def test_asking_a_posterior_changes_nothing_in_it(kind, form):
    model = reference.fitted(40, 2, 1, seed=1)
    nodes, x = points(64, 1, 2), points(9, 2, 7)
    posterior = kind(model, nodes, form)
    first = posterior.moments(x)
    before, given_x = pickle.dumps(bits(posterior)), x.copy()
    by = np.ones_like(first.mean), np.ones_like(first.mean)
    gradient = posterior.vjp(first, *by)
    for i in range(100):
        posterior.moments(points(1 + i, 2, i))  # other decisions, and other numbers of them
        again = posterior.moments(x)
        assert same(again.mean, first.mean)
        assert same(again.variance, first.variance)
        assert same(posterior.vjp(again, *by), gradient)
    assert pickle.dumps(bits(posterior)) == before
    assert same(x, given_x)


def bits(thing):
    """Every number that an object holds, by name."""
    if isinstance(thing, np.ndarray):
        return thing.tobytes()
    if hasattr(thing, "__dict__"):
        return {name: bits(value) for name, value in sorted(vars(thing).items())}
    return thing if isinstance(thing, int | float | str | tuple) else repr(type(thing))


def same(a, b):
    return a.tobytes() == b.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_chunks_change_nothing(form):
    model = reference.fitted(40, 2, 1, seed=1)
    nodes, x = points(64, 1, 2), points(50, 2, 7)
    posterior = NodePosterior(model, nodes, form)
    whole, by = posterior.moments(x), points(50, 64, 3)
    gradient = posterior.vjp(whole, by, by)
    for size in (1, 7, 49):
        for i in range(0, 50, size):
            part, rows = posterior.moments(x[i : i + size]), slice(i, i + size)
            assert np.allclose(part.mean, whole.mean[rows], rtol=0, atol=1e-12)
            assert np.allclose(part.variance, whole.variance[rows], rtol=0, atol=1e-12)
            back = posterior.vjp(part, by[rows], by[rows])
            assert np.allclose(back, gradient[rows], rtol=1e-12, atol=1e-12 * np.abs(gradient).max())


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_is_finite_at_a_training_decision(kernel):
    model = reference.fitted(20, 2, 1, seed=3, kernel=kernel)
    nodes, x = points(30, 1, 1), model.data.x[:3]
    for form in FORMS:
        posterior = NodePosterior(model, nodes, form)
        found = posterior.moments(x)
        by = np.ones_like(found.mean)
        assert np.isfinite(posterior.vjp(found, by, by)).all()


@pytest.mark.parametrize("dc", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_slopes_in_the_context_equal_differences(kernel, dc):
    model = reference.fitted(25, 2, dc, seed=4, kernel=kernel)
    nodes, x, step = points(9, dc, 1), points(4, 2, 2), 1e-5
    posterior = SlopePosterior(model, nodes)
    found, plain = posterior.moments(x), NodePosterior(model, nodes, "dense").moments(x)
    moved = [
        [NodePosterior(model, nodes + sign * move, "dense").moments(x) for sign in (1, -1)]
        for move in step * np.eye(dc)
    ]
    for name in ("mean", "variance"):
        at, slopes = posterior.slopes(getattr(found, name))
        assert slopes.shape == (4, 9, dc)
        assert np.allclose(at, getattr(plain, name), rtol=0, atol=1e-9)
        rises = [(getattr(up, name) - getattr(down, name)) / (2 * step) for up, down in moved]
        assert np.allclose(slopes, np.stack(rises, axis=2), rtol=1e-4, atol=1e-5)
    # the way back of a linear map: ⟨S m, v⟩ = ⟨m, Sᵀ v⟩
    by_at, by_slopes = points(4, 9, 5), np.random.default_rng(6).random((4, 9, dc))
    at, slopes = posterior.slopes(found.mean)
    forth = (at * by_at).sum() + (slopes * by_slopes).sum()
    assert forth == pytest.approx((found.mean * posterior.slopes_vjp(by_at, by_slopes)).sum(), rel=1e-12)


@pytest.mark.parametrize("dc", [0, 2])
def test_means_alone_equal_those_of_the_posterior(dc):
    model = reference.fitted(25, 2, dc, seed=4)
    nodes, x = points(9 if dc else 1, dc, 1), points(4, 2, 2)
    theirs = reference.tiled_moments(model, x, nodes).mean
    assert np.allclose(node_means(model, x, nodes), theirs, rtol=0, atol=1e-10)


def test_pretended_observations_keep_the_mean_and_shrink_the_variance():
    model = reference.fitted(30, 2, 1, seed=8)
    x, c = points(3, 2, 1), points(3, 1, 2)
    extended = model.extended(x, c)
    nodes, at = points(40, 1, 3), points(10, 2, 4)
    before, after = NodePosterior(model, nodes).moments(at), NodePosterior(extended, nodes).moments(at)
    assert np.allclose(before.mean, after.mean, atol=1e-7)
    assert (after.variance <= before.variance + 1e-9).all()
    pairs = reference.tensor(np.concatenate([x, c], axis=1))
    variances = [to_botorch(gp).posterior(pairs).variance.detach().numpy() for gp in (model, extended)]
    assert (variances[1] < 0.9 * variances[0]).all()
    assert np.allclose(model.mean_at(x, c), to_botorch(model).posterior(pairs).mean.detach().numpy()[:, 0])


def test_a_far_context_does_not_blur_the_others():
    data = reference.random_training(30, 1, 1, 6)
    data = replace(data, c=np.concatenate([[[1e6]], data.c[1:]]))
    model = ProductGP(data, fit(data))
    nodes, x = points(20, 1, 1), points(5, 1, 2)
    found = NodePosterior(model, nodes).moments(x)
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.variance).all()
    assert math.isfinite(np.abs(model.alpha).max())
    near = replace(data, x=data.x[1:], c=data.c[1:], y=data.y[1:])  # the far one says nothing here
    alone = NodePosterior(ProductGP(near, model.hyperparameters), nodes).moments(x)
    assert np.allclose(found.mean, alone.mean, atol=1e-8)
    assert np.allclose(found.variance, alone.variance, atol=1e-8)
