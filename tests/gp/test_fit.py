"""The fit against ``fit_gpytorch_mll``."""

import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from gpytorch.mlls import ExactMarginalLogLikelihood

import reference
from windage.botorch import botorch_model
from windage.gp import KERNELS, LogPosterior, Training, fit
from windage.search import sobol


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
    theirs = LogPosterior(data)(np.log([*scales, float(model.likelihood.noise.detach())])).value
    assert mine.log_posterior >= theirs - 1e-3 * t
    if abs(mine.log_posterior - theirs) < 1e-4:  # the same optimum, so the same numbers
        assert np.allclose([*mine.x, *mine.c], scales, rtol=0.05)


def test_a_warm_start_reaches_the_same_optimum():
    data = reference.random_training(50, 2, 1, 2)
    cold = fit(data)
    warm = fit(data, cold, cold=False)
    assert warm.log_posterior == pytest.approx(cold.log_posterior, abs=1e-4)


def test_of_a_warm_and_a_cold_start_the_better_counts():
    data = reference.random_training(50, 2, 1, 2)
    bad = replace(fit(data), x=(1e4, 1e4), c=(1e4,), noise=1e2, inverse_hessian=())
    both = fit(data, bad)
    assert both.log_posterior >= max(fit(data).log_posterior, fit(data, bad, cold=False).log_posterior)


def test_known_curvature_saves_evaluations():
    calls = {"known": 0, "unknown": 0}
    for seed in range(12):
        data = reference.random_training(80, 2, 1, seed)
        hyper = fit(replace(data, x=data.x[:79], c=data.c[:79], y=data.y[:79]))
        for name, start in (("known", hyper), ("unknown", replace(hyper, inverse_hessian=()))):
            with mock.patch.object(
                LogPosterior, "__call__", autospec=True, side_effect=LogPosterior.__call__
            ) as counted:
                fit(data, start, cold=False)
            calls[name] += counted.call_count
    assert calls["known"] < 0.6 * calls["unknown"]


def test_choices_share_one_lengthscale():
    data = reference.random_training(20, 3, 1, 1)
    hyper = fit(Training(data.x, data.c, data.y, (0, 1, 1), "rbf"))
    assert hyper.x[1] == hyper.x[2] != hyper.x[0]


def test_a_variable_that_does_not_matter_is_still_found_out():
    """The prior says exchangeable; observations say that only the first of three variables counts."""
    z = sobol(80, 4, 2)
    y = np.sin(7 * z[:, 0]) + 0.3 * z[:, 3]
    y = (y - y.mean()) / y.std(ddof=1)
    found = fit(Training(z[:, :3], z[:, 3:], y, (0, 1, 2), "matern", (0, 1, 2))).x
    assert min(found[1:]) > 3 * found[0]


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_observation_and_equal_outcomes_can_be_fitted(kernel):
    for t in (1, 6):
        data = reference.random_training(t, 2, 1, 0, kernel)
        found = fit(replace(data, y=np.zeros(t)))
        assert np.isfinite([*found.x, *found.c, found.noise, found.log_posterior]).all()
        assert found.mean == pytest.approx(0, abs=1e-12)
