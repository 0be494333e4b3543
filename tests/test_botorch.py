"""The bridge to BoTorch: the same values, gradients and decisions, and an optimizer that is left alone."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf

import windage
import windage.botorch
from windage.errors import ConfigurationError, MissingExtraError, NotEnoughDataError
from windage.gp import NodePosterior
from windage.methods import METHODS

SMOOTH = ("auto", "sbo-kde", "drbo-kde", "gp-ucb", "bq-kde", "erbo", "wdrbo", "ledrbo")
KINKED = ("stableopt", "drbo-mmd", "drbo-mmd-minimax", "rbq-kde")
EXACT = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 500}


def outcome(a, b, c):
    return math.sin(5 * a) + math.cos(3 * b) * c - 3 * (b - 0.6) ** 2


def study(method, direction="maximize", count=14, **settings):
    """A study with a history of its own; ``stock`` and ``price`` are a and b in other units."""
    decisions = {"stock": windage.Real(0, 10), "price": windage.Real(-1, 1)}
    optimizer = windage.Optimizer(
        decisions, {"demand": windage.Real(0, 1)}, method, direction, seed=3, initial=5, **settings
    )
    sign = 1 if direction == "maximize" else -1
    for a, b, c, noise in np.random.default_rng(1).random((count, 4)):
        value = sign * (outcome(a, b, c) + 0.1 * noise)
        optimizer.tell({"stock": 10 * a, "price": 2 * b - 1}, {"demand": c}, value)
    return optimizer


def unit(decision):
    return np.array([decision["stock"] / 10, (decision["price"] + 1) / 2])


def uniform(*shape):
    return torch.from_numpy(np.random.default_rng(0).random(shape))


def best(optimizer, function, options=None):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy's L-BFGS-B stops at kinks, and BoTorch says so
        box = windage.botorch.bounds(optimizer)
        return optimize_acqf(function, box, q=1, num_restarts=10, raw_samples=512, options=options)


def test_every_method_is_bridged_here():
    assert {*SMOOTH, *KINKED, "random"} == set(METHODS)


@pytest.mark.parametrize(
    ("method", "direction"), [*((method, "maximize") for method in SMOOTH), ("auto", "minimize")]
)
def test_botorch_finds_the_decision_that_ask_does(method, direction):
    optimizer, untouched = study(method, direction), study(method, direction)
    before = optimizer.to_dict()
    function = windage.botorch.acquisition_function(optimizer)
    point, value = best(optimizer, function, EXACT)
    found = windage.botorch.decision(optimizer, point)
    assert optimizer.to_dict() == before
    asked = optimizer.ask().decision
    assert asked == untouched.ask().decision  # to the last bit as if there were no bridge
    assert np.allclose(unit(found), unit(asked), rtol=0, atol=1e-6)
    here = function(torch.from_numpy(unit(asked))[None, None])
    assert float(here) == pytest.approx(float(value), abs=1e-8)


@pytest.mark.parametrize("method", KINKED)
def test_botorch_finds_nothing_better_where_there_are_kinks(method):
    optimizer = study(method)
    before = optimizer.to_dict()
    function = windage.botorch.acquisition_function(optimizer)
    _, value = best(optimizer, function)
    assert optimizer.to_dict() == before
    asked = torch.from_numpy(unit(optimizer.ask().decision))
    assert float(function(asked[None, None])) >= float(value) - 1e-6 * abs(float(value))


@pytest.mark.parametrize("method", [*SMOOTH, *KINKED])
def test_gradients_pass_gradcheck(method):
    function = windage.botorch.acquisition_function(study(method))
    x = uniform(4, 1, 2).requires_grad_(True)
    assert torch.autograd.gradcheck(function, (x,), eps=1e-6, atol=1e-4, rtol=1e-4, raise_exception=True)


@pytest.mark.parametrize("method", ["auto", "drbo-kde", "wdrbo"])
def test_values_are_windages_own_in_any_batch(method):
    function = windage.botorch.acquisition_function(study(method))
    x = uniform(6, 1, 2)
    plain = function.acquisition.value(x[:, 0].numpy())
    assert np.allclose(function(x).numpy(), plain, rtol=0, atol=1e-12)
    assert np.allclose(function(x.clone().requires_grad_(True)).detach().numpy(), plain, rtol=0, atol=1e-12)
    assert np.allclose(function(x[0]).numpy(), plain[:1], rtol=0, atol=1e-12)
    many = function(x.reshape(3, 2, 1, 2))
    assert many.shape == (3, 2)
    assert np.allclose(many.numpy().reshape(-1), plain, rtol=0, atol=1e-12)
    assert function(x.float()).dtype == torch.float32
    with pytest.raises(AssertionError, match="q=1"):
        function(uniform(4, 2, 2))


def test_the_chain_rule_goes_on_through_the_function():
    function = windage.botorch.acquisition_function(study("auto"))
    x = uniform(3, 1, 2).requires_grad_(True)
    (plain,) = torch.autograd.grad(function(x).sum(), x)
    (scaled,) = torch.autograd.grad((torch.arange(3) * function(x)).sum() * 2, x)
    assert torch.allclose(scaled, plain * (2 * torch.arange(3))[:, None, None])


def test_pending_decisions_are_allowed_for():
    optimizer = study("auto")
    free = windage.botorch.acquisition_function(optimizer)
    pending = torch.from_numpy(unit(optimizer.ask().decision))[None, None]
    before = optimizer.to_dict()
    taken = windage.botorch.acquisition_function(optimizer)
    assert float(taken(pending)) < float(free(pending)) - 1e-3
    assert optimizer.to_dict() == before


@pytest.mark.parametrize("method", ["auto", "sbo-kde", "gp-ucb", "ledrbo", "random"])
def test_the_model_is_the_likeliest_of_windages_own(method):
    optimizer = study(method)
    before = optimizer.to_dict()
    model = windage.botorch.model(optimizer)
    assert isinstance(model, SingleTaskGP)
    assert optimizer.to_dict() == before
    members = optimizer._state(True).models
    fitted = [m for m in members if not math.isnan(m.hyperparameters.log_posterior)]
    gp = max(fitted, key=lambda m: m.hyperparameters.log_posterior)
    x, c = np.random.default_rng(2).random((7, 2)), np.random.default_rng(3).random((5, 1))
    pairs = np.concatenate([np.repeat(x, 5, axis=0), np.tile(c, (7, 1))], axis=1)
    theirs, mine = model.posterior(torch.from_numpy(pairs)[:, None]), NodePosterior(gp, c).moments(x)
    assert np.allclose(theirs.mean.detach().numpy().reshape(7, 5), mine.mean, rtol=0, atol=1e-8)
    assert np.allclose(theirs.variance.detach().numpy().reshape(7, 5), mine.variance, rtol=0, atol=1e-8)
    noisy = model.posterior(torch.from_numpy(pairs)[:, None], observation_noise=True).variance
    noise = gp.hyperparameters.noise
    assert np.allclose(noisy.detach().numpy().reshape(7, 5), mine.variance + noise, rtol=0, atol=1e-8)


def test_a_study_without_contexts_has_a_model_of_its_decisions():
    optimizer = windage.Optimizer({"a": windage.Real(0, 1)}, method="gp-ucb", seed=0, initial=3)
    for a in (0.1, 0.5, 0.8):
        optimizer.tell({"a": a}, value=-((a - 0.4) ** 2))
    model = windage.botorch.model(optimizer)
    assert model.train_inputs[0].shape == (3, 1)
    point, _ = best(optimizer, windage.botorch.acquisition_function(optimizer), EXACT)
    found = windage.botorch.decision(optimizer, point)
    assert found["a"] == pytest.approx(optimizer.ask().decision["a"], abs=1e-6)


def test_the_box_and_decisions_of_every_kind():
    decisions = {
        "stock": windage.Real(0, 10),
        "boxes": windage.Integer(1, 5),
        "place": windage.Categorical(["a", "b", "c"]),
    }
    optimizer = windage.Optimizer(decisions, {"demand": windage.Real(0, 1)}, seed=0)
    box = windage.botorch.bounds(optimizer)
    assert box.tolist() == [[0.0] * 5, [1.0] * 5]
    assert box.dtype == torch.double
    point = torch.tensor([[0.25, 0.6, 0.1, 0.7, 0.2]])
    assert windage.botorch.decision(optimizer, point) == {"stock": 2.5, "boxes": 3, "place": "b"}


def test_a_random_method_has_no_acquisition_function():
    with pytest.raises(ConfigurationError, match="'random' has no acquisition function"):
        windage.botorch.acquisition_function(study("random"))


def test_without_observations_there_is_nothing_to_bridge():
    for function in (windage.botorch.acquisition_function, windage.botorch.model):
        with pytest.raises(NotEnoughDataError, match="needs at least 1 observation"):
            function(study("auto", count=0))


@pytest.mark.parametrize("library", ["torch", "botorch", "gpytorch"])
def test_without_the_extra_the_error_says_what_to_install(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    for name in [n for n in sys.modules if n == "windage.botorch" or n.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"pip install 'windage\[botorch\]'"):
        import windage.botorch  # noqa: F401


def test_the_engine_asks_and_recommends_without_torch():
    script = """
import sys
sys.modules["torch"] = None  # an import of it fails
import windage
optimizer = windage.Optimizer({"a": windage.Real(0, 1)}, {"c": windage.Real(0, 1)}, seed=1, initial=2)
for c in (0.3, 0.6, 0.5):
    trial = optimizer.ask()
    optimizer.tell(trial, {"c": c}, -(trial.decision["a"] - c) ** 2)
optimizer.ask(), optimizer.recommend(), optimizer.predict({"a": 0.5})
assert not {"botorch", "gpytorch"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)
