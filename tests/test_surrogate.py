"""The product posterior against BoTorch's, and the closed-form fit against ``fit_gpytorch_mll``."""

import math
import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from gpytorch.mlls import ExactMarginalLogLikelihood
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import reference
from windage.density import sobol
from windage.surrogate import (
    ExpectationPosterior,
    NodePosterior,
    ProductGP,
    Training,
    ensemble,
    fit,
    follow,
    kernels,
    likeliest,
)
from windage.surrogate.botorch import botorch_model
from windage.surrogate.ensemble import UNKNOWN, WIDEST, kernel_weights, laplace
from windage.surrogate.fit import COMMON, RATE, SHAPE, UNLIKE, LogPosterior
from windage.surrogate.forms import FORMS, ContextsForm, DecisionsForm, DenseForm
from windage.surrogate.kernels import MIN_LENGTHSCALE, MIN_NOISE
from windage.surrogate.low_rank import kernel_factor, low_rank

KERNELS = ["rbf", "matern", "matern-3/2", "rational-quadratic"]


def points(count: int, dimensions: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, dimensions, generator=generator, dtype=torch.double)


@given(
    st.integers(1, 60), st.integers(1, 4), st.integers(0, 3), st.sampled_from(KERNELS), st.integers(0, 999)
)
def test_product_posterior_equals_botorch(t, dx, dc, kernel, seed):
    model = reference.fitted(t, dx, dc, seed, kernel, noise=0.1 if seed % 2 else 0.0)
    nodes = points(50 if dc else 1, dc, seed + 1)
    for form in (*FORMS, None):
        x = points(6, dx, seed + 2).requires_grad_(True)
        mean, variance = NodePosterior(model, nodes, form)(x)
        plain_mean, plain_variance = reference.tiled_moments(model, x, nodes)
        assert torch.allclose(mean, plain_mean, rtol=0, atol=1e-8)
        assert torch.allclose(variance, plain_variance, rtol=0, atol=1e-8)
        probe = torch.randn(mean.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
        for fast, plain in ((mean, plain_mean), (variance, plain_variance)):
            (mine,) = torch.autograd.grad((fast * probe).sum(), x, retain_graph=True)
            (theirs,) = torch.autograd.grad((plain * probe).sum(), x, retain_graph=True)
            assert torch.allclose(mine, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_product_posterior_at_the_paper_size(kernel):
    model = reference.fitted(100, 2, 1, seed=5, kernel=kernel)
    nodes, x = points(1024, 1, 6), points(20, 2, 7)
    fast = NodePosterior(model, nodes)
    if kernel == "rbf":
        assert isinstance(fast.form, ContextsForm)
        assert fast.form.u.shape[1] < 25
    with torch.no_grad():
        for mine, theirs in zip(fast(x), reference.tiled_moments(model, x, nodes), strict=True):
            assert torch.allclose(mine, theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("dx", "form"), [(1, DecisionsForm), (2, DecisionsForm), (8, DenseForm)])
def test_the_form_follows_the_ranks(dx, form):
    model = reference.fitted(100, dx, 4, seed=1)
    nodes, x = points(256, 4, 2), torch.cat([points(20, dx, 7), torch.eye(dx, dtype=torch.double)])
    fast = NodePosterior(model, nodes)
    assert isinstance(fast.form, form)
    with torch.no_grad():
        for mine, theirs in zip(fast(x), reference.tiled_moments(model, x, nodes), strict=True):
            assert torch.allclose(mine, theirs, rtol=0, atol=1e-8)


def test_a_form_that_changes_between_forward_and_backward():
    model = reference.fitted(100, 2, 4, seed=1)
    nodes = points(256, 4, 2)
    changing = NodePosterior(model, nodes, few=True)
    assert isinstance(changing.form, DenseForm)
    x = points(40, 2, 7).requires_grad_(True)
    before = changing(x)  # 40 of the few
    changing(points(40, 2, 8))
    assert isinstance(changing.form, DecisionsForm)
    for mine, theirs in zip(before, NodePosterior(model, nodes, "dense")(x), strict=True):
        (a,), (b,) = (torch.autograd.grad(v.sum(), x, retain_graph=True) for v in (mine, theirs))
        assert torch.allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_is_finite_at_a_training_decision(kernel):
    model = reference.fitted(20, 2, 1, seed=3, kernel=kernel)
    nodes = points(30, 1, 1)
    x = model.data.x[:3].clone().requires_grad_(True)
    for outputs in (
        NodePosterior(model, nodes)(x),
        ExpectationPosterior(model, nodes, torch.full((30,), 1 / 30).double())(x),
    ):
        for output in outputs:
            (gradient,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
            assert torch.isfinite(gradient).all()


@given(st.integers(1, 40), st.integers(0, 2), st.sampled_from(KERNELS), st.integers(0, 999))
def test_posterior_of_the_expectation_equals_the_joint_covariance(t, dc, kernel, seed):
    model = reference.fitted(t, 2, dc, seed, kernel)
    nodes = points(12 if dc else 1, dc, seed + 1)
    weights = points(len(nodes), 1, seed + 2).view(-1)
    weights = weights / weights.sum()
    x = points(4, 2, seed + 3).requires_grad_(True)
    mine = ExpectationPosterior(model, nodes, weights)(x)
    theirs = reference.tiled_expectation(model, x, nodes, weights)
    for fast, plain in zip(mine, theirs, strict=True):
        assert torch.allclose(fast, plain, rtol=0, atol=1e-8)
        (a,) = torch.autograd.grad(fast.sum(), x, retain_graph=True)
        (b,) = torch.autograd.grad(plain.sum(), x, retain_graph=True)
        assert torch.allclose(a, b, rtol=1e-6, atol=1e-6)
    # averaging bounds explores more: the deviation of the mean is below the mean of the deviations
    each = NodePosterior(model, nodes)(x)[1].clamp_min(0).sqrt() @ weights
    assert (mine[1].sqrt() <= each + 1e-9).all()


@given(
    st.integers(2, 40), st.integers(1, 3), st.integers(0, 2), st.sampled_from(KERNELS), st.integers(0, 999)
)
def test_log_posterior_gradient(t, dx, dc, kernel, seed):
    target = LogPosterior(reference.random_training(t, dx, dc, seed, kernel))
    theta = target.start() + np.random.default_rng(seed).normal(size=dx + dc + 1) * 0.3
    gradient = target(theta)[1]
    for i in range(len(theta)):
        step = np.zeros_like(theta)
        step[i] = 1e-5
        slope = (target(theta + step)[0] - target(theta - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_log_posterior_equals_gpytorch(kernel):
    data = reference.random_training(25, 2, 1, 4, kernel)
    hyper = fit(data)
    model = ProductGP(data, hyper).botorch
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()
    total = float(mll(model(*model.train_inputs), model.train_targets).detach()) * 25
    assert hyper.log_posterior == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("t", "dx", "dc"), [(8, 1, 1), (30, 2, 1), (60, 2, 2), (60, 5, 1)])
def test_fit_is_not_worse_than_botorch(t, dx, dc, kernel):
    data = reference.random_training(t, dx, dc, t, kernel)
    mine = fit(data)
    model = botorch_model(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BoTorch's retries
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    scales = torch.cat([k.lengthscale.detach().view(-1) for k in model.covar_module.kernels]).tolist()
    theirs = LogPosterior(data)(np.log([*scales, float(model.likelihood.noise.detach())]))[0]
    assert mine.log_posterior >= theirs - 1e-3 * t
    if abs(mine.log_posterior - theirs) < 1e-4:  # the same optimum, so the same numbers
        assert np.allclose([*mine.x, *mine.c], scales, rtol=0.05)


def test_a_warm_start_reaches_the_same_optimum():
    data = reference.random_training(50, 2, 1, 2)
    cold = fit(data)
    warm = fit(data, cold, cold=False)
    assert warm.log_posterior == pytest.approx(cold.log_posterior, abs=1e-4)


def test_choices_share_one_lengthscale():
    data = reference.random_training(20, 3, 1, 1)
    hyper = fit(Training(data.x, data.c, data.y, (0, 1, 1), "rbf"))
    assert hyper.x[1] == hyper.x[2] != hyper.x[0]


def test_pretended_observations_keep_the_mean_and_shrink_the_variance():
    model = reference.fitted(30, 2, 1, seed=8)
    x, c = points(3, 2, 1), points(3, 1, 2)
    extended = model.extended(x, c)
    nodes, at = points(40, 1, 3), points(10, 2, 4)
    before, after = NodePosterior(model, nodes)(at), NodePosterior(extended, nodes)(at)
    assert torch.allclose(before[0], after[0], atol=1e-7)
    assert (after[1] <= before[1] + 1e-9).all()
    pairs = torch.cat([x, c], dim=1)
    assert (extended.posterior(pairs).variance < 0.9 * model.posterior(pairs).variance).all()


@given(st.integers(1, 40), st.integers(1, 8), st.sampled_from(KERNELS), st.integers(0, 999))
def test_an_extended_inverse_equals_the_direct_one(t, new, kernel, seed):
    model = reference.fitted(t, 2, 1, seed, kernel)
    x, c = torch.cat([model.data.x, points(new, 2, seed)]), torch.cat([model.data.c, points(new, 1, seed)])
    grown, direct = model.covariance.factor(x, c, model.factor), model.covariance.factor(x, c)
    assert torch.allclose(grown.inverse, direct.inverse, rtol=1e-8, atol=1e-6)
    assert grown.log_determinant == pytest.approx(direct.log_determinant, abs=1e-8)
    noisy = model.covariance.noisy(x, c)
    assert torch.allclose(noisy @ grown.inverse, torch.eye(t + new, dtype=torch.double), atol=1e-8)


def first(data: Training, count: int) -> Training:
    return Training(data.x[:count], data.c[:count], data.y[:count], data.groups, data.kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_fit_follows_the_evidence(kernel):
    data = reference.random_training(70, 2, 1, 3, kernel)
    last, before, counts = None, None, []
    for count in range(31, 71):
        now = follow(first(data, count), last, before)
        last, before = (now.count, now.hyperparameters), now
        counts.append(now.count)
        # nothing but the observations and the last fit counts, to the last bit
        alone = follow(first(data, count), last, None)
        assert torch.equal(alone.model.precision, now.model.precision)
        assert alone.model.hyperparameters == now.model.hyperparameters
        # the hyper-parameters are as good as those of a fit from nothing, the inverse is that of all
        mine, fresh = now.model.hyperparameters, fit(first(data, count))
        assert mine.log_posterior >= fresh.log_posterior - 0.02
        direct = ProductGP(first(data, count), mine)
        assert torch.allclose(now.model.alpha, direct.alpha, rtol=1e-6, atol=1e-7)
        assert mine.log_posterior == pytest.approx(LogPosterior(direct.data)(theta_of(mine))[0], abs=1e-7)
    assert 5 < len(set(counts)) < 36  # fitted now and then: the evidence moves, but not at every observation


def theta_of(hyper):
    return np.log([*hyper.x, *hyper.c, hyper.noise])


def test_a_surprise_is_a_reason_to_fit():
    data = reference.random_training(57, 2, 1, 3)
    hyper = fit(first(data, 56))
    expected = ProductGP(first(data, 56), hyper).mean_at(data.x[56:], data.c[56:])
    for surprise, count in ((0.0, 56), (5.0, 57)):
        y = torch.cat([data.y[:56], expected + surprise])
        now = follow(Training(data.x, data.c, y, data.groups, data.kernel), (56, hyper), None)
        assert now.count == count
    assert now.hyperparameters.noise > hyper.noise


def test_known_curvature_saves_evaluations():
    data = reference.random_training(80, 2, 1, 5)
    hyper = fit(first(data, 79))
    calls = {}
    for name, start in (("known", hyper), ("unknown", replace(hyper, curvature=()))):
        with mock.patch.object(
            LogPosterior, "__call__", autospec=True, side_effect=LogPosterior.__call__
        ) as c:
            fit(data, start, cold=False)
        calls[name] = c.call_count
    assert calls["known"] < 0.6 * calls["unknown"]


def test_low_rank_is_exact_or_declines():
    grid = torch.linspace(0, 1, 400, dtype=torch.double)
    smooth = torch.exp(-0.5 * ((grid[:, None] - grid[:120]) / 0.3) ** 2)
    found = low_rank(smooth)
    assert found is not None
    u, w = found
    assert u.shape[1] < 25
    assert torch.allclose(u @ w, smooth, atol=1e-11)
    assert torch.allclose(u.mT @ u, torch.eye(u.shape[1], dtype=torch.double), atol=1e-12)
    rough = torch.randn(400, 120, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    assert low_rank(rough) is None


@pytest.mark.parametrize("scale", [0.005, 0.3])
def test_kernel_factor(scale):
    grid = torch.linspace(0, 1, 300, dtype=torch.double)
    kernel = torch.exp(-0.5 * ((grid[:, None] - grid) / scale) ** 2)
    factor = kernel_factor(kernel)
    assert torch.allclose(factor.mT @ factor, kernel, atol=1e-7)
    assert len(factor) < (25 if scale == 0.3 else 301)


def test_a_far_context_does_not_blur_the_others():
    data = reference.random_training(30, 1, 1, 6)
    c = data.c.clone()
    c[0] = 1e6
    model = ProductGP(data_with(data, c), fit(data_with(data, c)))
    nodes, x = points(20, 1, 1), points(5, 1, 2)
    mean, variance = NodePosterior(model, nodes)(x)
    assert torch.isfinite(mean).all()
    assert torch.isfinite(variance).all()
    assert math.isfinite(float(model.alpha.abs().max()))


def data_with(data: Training, c: torch.Tensor) -> Training:
    return Training(data.x, c, data.y, data.groups, data.kernel)


def free(data):
    return replace(data, free_scale=True)


@given(st.integers(2, 30), st.integers(0, 2), st.sampled_from(KERNELS), st.integers(0, 999))
def test_gradient_of_the_log_posterior_with_a_free_variance(t, dc, kernel, seed):
    target = LogPosterior(free(reference.random_training(t, 2, dc, seed, kernel)))
    theta = target.start() + np.random.default_rng(seed).normal(size=2 + dc + 1) * 0.3
    gradient = target(theta)[1]
    for i, step in enumerate(1e-5 * np.eye(len(theta))):
        slope = (target(theta + step)[0] - target(theta - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=1e-4)


@given(st.integers(1, 5), st.integers(0, 2), st.integers(0, 999))
def test_alike_lengthscales_have_a_part_in_common_about_the_modes_of_botorch(dx, dc, seed):
    plain = reference.random_training(4, dx, dc, seed)
    own, alike = LogPosterior(plain), LogPosterior(replace(plain, alike=tuple(range(dx))))
    theta = own.modes + np.random.default_rng(seed).normal(size=dx + dc + 1)
    assert alike.modes == pytest.approx(own.modes, rel=1e-12)
    width = kernels.LENGTHSCALE_SCALE if dx == 1 else COMMON  # one decision is like no other
    covariance = width**2 * np.eye(dx + dc)
    covariance[:dx, :dx] += (width**2 - UNLIKE**2) * (1 - np.eye(dx))
    logs, noise = theta[:-1], stats.norm(own.modes[-1], kernels.NOISE_SCALE).logpdf(theta[-1])
    law = stats.multivariate_normal(own.modes[:-1], covariance)
    # densities of ℓ and of the noise, at the modes of which those of their logarithms are higher by the mode
    spread = np.append(np.full(dx + dc, width), kernels.NOISE_SCALE)
    expected = law.logpdf(logs) + noise - (own.modes + 0.5 * spread**2).sum()
    assert alike._prior(theta)[0] == pytest.approx(expected, abs=1e-8)
    gradient = alike._prior(theta)[1]
    for i, step in enumerate(1e-5 * np.eye(len(theta))):
        slope = (alike._prior(theta + step)[0] - alike._prior(theta - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_a_decision_that_does_not_matter_is_still_found_out():
    """The prior says alike; observations say that only the first of three decisions counts."""
    z = sobol(80, 4, 2)
    y = torch.sin(7 * z[:, 0]) + 0.3 * z[:, 3]
    data = Training(z[:, :3], z[:, 3:], (y - y.mean()) / y.std(), (0, 1, 2), "matern", True, (0, 1, 2))
    found = fit(data).x
    assert min(found[1:]) > 3 * found[0]


def test_a_free_variance_is_integrated_out():
    data = free(reference.random_training(12, 2, 1, 4))
    target = LogPosterior(data)
    theta = target.start()
    value, _, mean = target(theta)
    hyper = target.hyperparameters(theta, np.zeros((0, 0)))
    model = ProductGP(data, hyper)
    unit = np.linalg.inv(model.precision.numpy())

    def joint(s):
        prior = stats.invgamma(SHAPE, scale=RATE).pdf(s)
        return prior * stats.multivariate_normal(np.full(12, mean), s * unit).pdf(data.y.numpy())

    evidence = integrate.quad(joint, 0, np.inf)[0]
    posterior_mean = integrate.quad(lambda s: s * joint(s), 0, np.inf)[0] / evidence
    assert value - target._prior(theta)[0] == pytest.approx(np.log(evidence), rel=1e-6)
    # the variance is the scale of Student's law with 2a + t degrees of freedom, whose own variance is larger
    freedom = 2 * SHAPE + 12
    assert model.variance * freedom / (freedom - 2) == pytest.approx(posterior_mean, rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_free_variance_multiplies_every_variance(kernel):
    data = free(reference.random_training(25, 2, 1, 4, kernel))
    model = ProductGP(data, fit(data))
    assert model.variance != 1
    nodes, weights = points(12, 1, 1), torch.full((12,), 1 / 12).double()
    x = points(4, 2, 3).requires_grad_(True)
    for mine, theirs in (
        (NodePosterior(model, nodes)(x), reference.tiled_moments(model, x, nodes)),
        (
            ExpectationPosterior(model, nodes, weights)(x),
            reference.tiled_expectation(model, x, nodes, weights),
        ),
    ):
        for fast, plain in zip(mine, theirs, strict=True):
            assert torch.allclose(fast, plain, rtol=0, atol=1e-7)
            (a,) = torch.autograd.grad(fast.sum(), x, retain_graph=True)
            (b,) = torch.autograd.grad(plain.sum(), x, retain_graph=True)
            assert torch.allclose(a, b, rtol=1e-5, atol=1e-5)
    extended = model.extended(points(2, 2, 5), points(2, 1, 6))
    assert extended.variance == model.variance  # what is pretended teaches nothing of it


def fitted_kernels(t=30, seed=4, dc=1):
    found = []
    for kernel in KERNELS:
        data = free(reference.random_training(t, 2, dc, seed, kernel))
        found.append(ProductGP(data, fit(data)))
    return found


def test_kernels_weigh_as_their_evidence():
    fitted = fitted_kernels()
    evidence = np.array([model.hyperparameters.log_posterior for model in fitted])
    weights = kernel_weights(fitted)
    assert weights.sum() == pytest.approx(1)
    assert np.allclose(np.log(weights / weights[0]), evidence - evidence[0])


@pytest.mark.parametrize("count", [1, 2, 8, 50])
def test_an_ensemble_holds_each_kernel_by_its_share(count):
    fitted = fitted_kernels()
    members = ensemble(fitted, count, seed=3)
    assert len(members) == count
    shares = [sum(m.data.kernel == f.data.kernel for m in members) for f in fitted]
    assert np.all(np.abs(shares - count * kernel_weights(fitted)) <= 1)
    for model, share in zip(fitted, shares, strict=True):
        assert (model in members) == (share > 0)
    again = ensemble(fitted, count, seed=3)
    assert [m.hyperparameters.x for m in again] == [m.hyperparameters.x for m in members]
    drawn = [m for m in members if m not in fitted]
    assert len({m.hyperparameters.x for m in drawn}) == len(drawn)
    for member in drawn:  # the mean is that of its own hyper-parameters, and the factor too
        target = LogPosterior(member.data)
        theta = theta_of(member.hyperparameters)
        assert member.mean == pytest.approx(target(theta)[2], rel=1e-6, abs=1e-9)
        plain = ProductGP(member.data, member.hyperparameters)
        assert torch.allclose(member.precision, plain.precision)


def test_draws_have_the_covariance_that_the_fit_has_learnt():
    data = free(reference.random_training(60, 2, 1, 4, noise=0.3))
    model = ProductGP(data, fit(data))
    learnt = np.array(model.hyperparameters.curvature)
    assert np.linalg.eigvalsh(learnt).max() < WIDEST  # so that nothing is cut off
    spread = laplace(model.hyperparameters, 4)
    assert np.allclose(spread @ spread.T, learnt)
    drawn = [theta_of(m.hyperparameters) for m in ensemble([model], 401, seed=0)[1:]]
    assert np.allclose(drawn[0] + drawn[1], 2 * theta_of(model.hyperparameters))  # opposite pairs
    assert np.allclose(np.mean(drawn, axis=0), theta_of(model.hyperparameters), atol=0.1)
    assert np.allclose(np.cov(np.array(drawn).T), learnt, atol=0.2 * np.abs(learnt).max())


def test_the_likeliest_kernel_is_that_of_the_last_fits_by_observation():
    hyper = fit(reference.random_training(20, 2, 1, 4))

    def fits(**posteriors):
        return {(True, k): (count, replace(hyper, log_posterior=v)) for k, (count, v) in posteriors.items()}

    found = fits(rbf=(100, -50.0), matern=(90, -40.0))
    assert likeliest(("rbf", "matern"), True, found) == ("matern",)
    assert likeliest(("rbf", "matern"), False, found) == ("rbf", "matern")  # of x alone: never fitted
    assert likeliest(("rbf", "matern", "matern-3/2"), True, found) == ("rbf", "matern", "matern-3/2")


def test_draws_where_no_curvature_is_known_or_too_much():
    data = free(reference.random_training(20, 2, 1, 4))
    hyper = fit(data)
    unknown = laplace(replace(hyper, curvature=()), 4)
    assert np.allclose(unknown @ unknown.T, UNKNOWN * np.eye(4))
    wide = laplace(replace(hyper, curvature=tuple(map(tuple, 50 * np.eye(4)))), 4)
    assert np.allclose(wide @ wide.T, WIDEST * np.eye(4))
    for member in ensemble([ProductGP(data, hyper)], 50, seed=0):
        assert member.hyperparameters.noise >= MIN_NOISE * (1 - 1e-9)
        assert min(*member.hyperparameters.x, *member.hyperparameters.c) >= MIN_LENGTHSCALE * (1 - 1e-9)
