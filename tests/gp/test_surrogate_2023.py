"""The surrogate of 2023: its log posterior, gradient and posterior, against GPyTorch and BoTorch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from scipy import stats

import reference
from windage import ConfigurationError, Optimizer, Real
from windage.botorch import botorch_model, to_botorch
from windage.contexts import Nodes
from windage.gp import ExpectationPosterior, LogPosterior, NodePosterior, ProductGP, fit, priors
from windage.gp.forms import FORMS


def training(t, dx, dc, seed=0):
    return replace(reference.random_training(t, dx, dc, seed, "matern"), surrogate="2023")


def gpytorch_log_posterior(model: SingleTaskGP) -> torch.Tensor:
    """Of the parameters that it has, priors included."""
    model.train()
    t = len(model.train_targets)
    return t * ExactMarginalLogLikelihood(model.likelihood, model)(
        model(*model.train_inputs), model.train_targets
    )


def by_gpytorch(data, theta) -> tuple[float, np.ndarray]:
    """Value and gradient in θ at the mean that is best there, by autograd through GPyTorch."""
    target = LogPosterior(data)
    model = botorch_model(data, target.hyperparameters(theta, np.zeros(0)))
    value = gpytorch_log_posterior(model)
    names = dict(model.named_parameters())
    parameters = {name: p for name, p in names.items() if "mean" not in name}
    slopes = torch.autograd.grad(value, list(parameters.values()))
    found = {}
    for (name, raw), slope in zip(parameters.items(), slopes, strict=True):
        module, _, own = name.rpartition(".raw_")
        owner = model.get_submodule(module)
        natural = getattr(owner, own).detach()
        constraint = owner.constraint_for_parameter_name(f"raw_{own}")
        inner = raw.detach().clone().requires_grad_(True)
        chain = torch.autograd.grad(constraint.transform(inner).sum(), inner)[0]
        found[name] = (slope / chain * natural).reshape(-1).numpy()  # ∂/∂log
    lengthscales = [v for n, v in found.items() if n.endswith("raw_lengthscale")]
    scale = [v for n, v in found.items() if n.endswith("raw_outputscale")]
    noise = [v for n, v in found.items() if n.endswith("raw_noise")]
    return float(value.detach()), np.concatenate([*lengthscales, *scale, *noise])


@pytest.mark.parametrize(("t", "dx", "dc"), [(2, 1, 1), (25, 2, 1), (40, 3, 2), (20, 2, 0)])
def test_log_posterior_and_gradient_are_those_of_gpytorch(t, dx, dc):
    data = training(t, dx, dc, seed=t)
    target = LogPosterior(data)
    for seed in range(3):
        theta = target.start() + np.random.default_rng(seed).normal(size=dx + dc + 2) * 0.5
        value, gradient = by_gpytorch(data, theta)
        found = target(theta)
        assert found.value == pytest.approx(value, abs=1e-8)
        assert np.allclose(found.gradient, gradient, atol=1e-8, rtol=1e-8)


def test_the_prior_is_the_sum_of_gamma_densities():
    theta = np.log([0.3, 0.8, 4.0, 0.02])
    natural = np.exp(theta)
    laws = [priors.LENGTHSCALE_2023] * 2 + [priors.SCALE_2023, priors.NOISE_2023]
    expected = sum(stats.gamma(a, scale=1 / b).logpdf(v) for (a, b), v in zip(laws, natural, strict=True))
    assert priors.GammaPrior(2)(theta)[0] == pytest.approx(expected, abs=1e-12)


def test_theta_and_hyperparameters_are_two_forms_of_the_same():
    target = LogPosterior(training(12, 2, 1))
    theta = target.start() + np.array([0.1, -0.2, 0.3, 0.4, -1.5])
    hyper = target.hyperparameters(theta, np.zeros(0))
    assert np.allclose(target.theta(hyper), theta, atol=1e-12)
    assert np.log(hyper.scale) == pytest.approx(theta[-2])
    assert np.log(hyper.scale * hyper.noise) == pytest.approx(theta[-1])


@pytest.mark.parametrize(("dx", "dc"), [(2, 1), (3, 2), (2, 0)])
def test_the_fit_is_an_optimum_of_gpytorch_s_log_posterior(dx, dc):
    data = training(30, dx, dc, seed=1)
    target, hyper = LogPosterior(data), fit(data)
    theta = target.theta(hyper)
    assert hyper.log_posterior > target(target.start()).value
    value, gradient = by_gpytorch(data, theta)
    assert value == pytest.approx(hyper.log_posterior, abs=1e-8)
    inside = (theta > target.bounds[0]) & (theta < target.bounds[1])
    assert np.abs(gradient[inside]).max() < 0.02


@pytest.mark.parametrize("form", FORMS)
def test_posterior_at_nodes_is_botorch_s_with_gradients(form):
    data = training(20, 2, 1, seed=5)
    gp = ProductGP(data, fit(data))
    assert gp.scale != 1
    rng = np.random.default_rng(0)
    x, nodes = rng.random((4, 2)), rng.random((9, 1))
    posterior = NodePosterior(gp, nodes, form)
    moments = posterior.moments(x)
    expected = reference.tiled_moments(gp, x, nodes)
    assert np.allclose(moments.mean, expected.mean, atol=1e-8)
    assert np.allclose(moments.variance, expected.variance, atol=1e-8)
    by_mean, by_variance = rng.normal(size=(2, 4, 9))

    def pulled(points):
        mean, variance = reference.torch_moments(gp, points, nodes)
        return (mean * reference.tensor(by_mean) + variance * reference.tensor(by_variance)).sum(dim=1)

    gradient = reference.autograd(pulled, x)[1]
    assert np.allclose(posterior.vjp(moments, by_mean, by_variance), gradient, atol=1e-6)


def test_posterior_of_the_expectation_is_botorch_s():
    data = training(20, 2, 1, seed=5)
    gp, rng = ProductGP(data, fit(data)), np.random.default_rng(0)
    x, nodes = rng.random((4, 2)), Nodes.equal(rng.random((9, 1)))
    posterior = ExpectationPosterior(gp, nodes)
    moments = posterior.moments(x)
    expected = reference.tiled_expectation(gp, x, nodes.points, nodes.weights)
    assert np.allclose(moments.mean[:, 0], expected.mean, atol=1e-8)
    assert np.allclose(moments.variance[:, 0], expected.variance, atol=1e-8)
    ones = np.ones((4, 1))
    numbers = reference.differences(lambda at: posterior.moments(at).variance[:, 0], x, 1e-5)
    assert np.allclose(posterior.vjp(moments, 0 * ones, ones), numbers, atol=1e-6)


@pytest.mark.parametrize("dc", [0, 1, 2])
def test_the_joint_matern_is_botorch_s_of_2023(dc):
    """``reference.joint_matern``, the dense form that the near form is compared with."""
    data = training(25, 2, dc, seed=7)
    target = reference.JointMatern(data)
    theta = target.start() + np.random.default_rng(1).normal(size=dc + 4) * 0.3
    model = reference.botorch_2023(data, *target.natural(theta))
    assert target(theta) == pytest.approx(float(gpytorch_log_posterior(model).detach()), abs=1e-8)
    z = np.random.default_rng(2).random((30, 2 + dc))
    model.eval()
    with torch.no_grad():
        posterior = model.posterior(reference.tensor(z)[:, None])
    mean, variance = target.posterior(theta, z)
    assert np.allclose(mean, posterior.mean.reshape(-1).numpy(), atol=1e-8)
    assert np.allclose(variance, posterior.variance.reshape(-1).numpy(), atol=1e-8)


def test_without_a_context_the_near_form_is_the_joint_one():
    data = training(25, 2, 0, seed=7)
    near, joint = LogPosterior(data), reference.JointMatern(data)
    theta = near.start() + np.array([0.1, -0.2, 0.3, -2.0])
    assert near(theta).value == pytest.approx(joint(theta), abs=1e-9)


def study(**settings):
    return Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, "sbo-kde", seed=1, initial=4, **settings)


def test_a_study_continues_after_it_was_saved():
    opt, rng = study(surrogate="2023"), np.random.default_rng(0)
    for _ in range(9):
        trial, c = opt.ask(), float(rng.random())
        opt.tell(trial, {"c": c}, float(np.sin(5 * trial.decision["x"] + c)))
    again = Optimizer.from_dict(opt.to_dict())
    assert again.ask().decision == opt.ask().decision
    model = opt._state(True).models[0]
    assert model.data.surrogate == "2023"
    assert model.data.kernel == "matern"
    assert model.hyperparameters.scale != 1
    assert to_botorch(model).covar_module.outputscale.item() == pytest.approx(model.scale)


def test_the_prediction_is_in_the_units_of_the_outcome():
    """An output scale is not lost on the way: intervals hold what comes."""
    opt, rng = study(surrogate="2023"), np.random.default_rng(0)
    for _ in range(25):
        x, c = rng.random(2)
        opt.tell({"x": x}, {"c": c}, 100 + 30 * np.sin(4 * x) + 0.01 * rng.normal())
    found = opt.predict({"x": 0.4})
    assert found.expected == pytest.approx(100 + 30 * np.sin(1.6), abs=0.5)
    assert found.interval[0] < 100 + 30 * np.sin(1.6) < found.interval[1]
    assert found.interval[1] - found.interval[0] < 10


def test_what_is_no_surrogate_is_refused():
    with pytest.raises(ConfigurationError, match="surrogate"):
        study(surrogate="2024")
    with pytest.raises(ConfigurationError, match="leave kernel out"):
        study(surrogate="2023", kernel="rbf")
