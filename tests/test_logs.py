"""Outcomes in logs: the scale, the posterior of F above its floor, the choice, and what a user sees of it."""

import json
import math

import numpy as np
import pytest
import torch

import reference
from windage import Optimizer, Real, surrogates
from windage.density import sobol
from windage.surrogate import LogScale, Training, expectation, fit, fit_in_logs
from windage.surrogate.log_scale import KNEES


def skewed(t, seed, noise=0.0):
    """Outcomes of a few orders of magnitude: exp of something smooth."""
    z = sobol(t, 3, seed)
    y = (3 * torch.sin(3 * z[:, 0]) + 2 * torch.cos(4 * z[:, 1]) - 2 * z[:, 2]).exp()
    y = y + noise * torch.randn(t, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    return Training(z[:, :2], z[:, 2:], (y - y.mean()) / y.std(), (0, 1), "matern", True)


@pytest.mark.parametrize("knee", [0.03, 1.0])
def test_there_and_back(knee):
    y = torch.tensor([-1.2, -0.3, 0.0, 2.5], dtype=torch.double)
    logs = LogScale.of(y, knee)
    z = logs.forward(y)
    assert float(z.mean()) == pytest.approx(0, abs=1e-12)
    assert float(z.std()) == pytest.approx(1)
    assert torch.allclose(logs.floor + logs.above(z), y)


@pytest.mark.parametrize("y", [[0.4], [0.4, 0.4, 0.4]])
def test_outcomes_without_spread_are_no_fault(y):
    y = torch.tensor(y, dtype=torch.double)
    logs = LogScale.of(y, 0.3)
    assert torch.equal(logs.forward(y), torch.zeros_like(y))
    assert math.isfinite(logs.log_slope(y))


def test_the_slope_is_that_of_all_but_the_lowest_outcome():
    y = torch.tensor([-1.0, 0.2, 0.7, 3.0], dtype=torch.double)
    logs, step = LogScale.of(y, 0.1), 1e-6
    slopes = (logs.forward(y + step) - logs.forward(y)) / step
    assert logs.log_slope(y) == pytest.approx(float(slopes[1:].log().sum()), abs=1e-4)


def test_near_what_is_known_the_posterior_of_the_expectation_agrees_with_draws():
    torch.manual_seed(0)
    model = reference.fitted(60, 2, 1, seed=3, kernel="matern", knee=0.3)
    nodes, weights = sobol(16, 1, 5), torch.full((16,), 1 / 16, dtype=torch.double)
    x = model.data.x[:4] + 0.02
    median, variance = expectation(model, nodes, weights)(x)
    logs = model.data.logs
    for point, m, v in zip(x, median, variance, strict=True):
        joint = model.posterior(torch.cat([point.expand(16, -1), nodes], dim=1)).distribution
        found = logs.floor + logs.above(joint.sample(torch.Size([4000]))) @ weights
        assert float(found.median()) == pytest.approx(float(m), abs=0.2 * float(v.sqrt()) + 0.01)
        assert float((found - logs.floor).log().std()) == pytest.approx(
            float(v.sqrt() / (m - logs.floor)), rel=0.1
        )


def test_logs_are_chosen_where_outcomes_are_likelier_so_and_only_there():
    assert fit_in_logs(skewed(30, 0)).knee > 0
    plain = reference.random_training(30, 2, 1, 0, "matern", 0.05)
    assert fit_in_logs(plain).knee == 0
    assert fit_in_logs(plain) == fit(plain)


def test_in_doubt_logs_are_taken_and_beyond_it_not():
    plain = reference.random_training(30, 2, 1, 0, "matern", 0.05)
    fits = {knee: fit(plain.in_logs(knee)) for knee in (0.0, *KNEES)}
    values = {
        k: f.log_posterior + (plain.in_logs(k).logs.log_slope(plain.y) if k else 0) for k, f in fits.items()
    }
    behind = values[0.0] - max(values[knee] for knee in KNEES)
    assert behind > 0
    assert fit_in_logs(plain, doubt=behind - 0.1).knee == 0
    taken = fit_in_logs(plain, doubt=behind + 0.1).knee
    assert values[taken] == max(values[knee] for knee in KNEES)


def test_the_doubt_counts_at_the_last_of_the_first_observations_and_what_it_says_stays(monkeypatch):
    monkeypatch.setattr(surrogates, "LOGS_UNTIL", 9)
    monkeypatch.setattr(surrogates, "LOGS_DOUBT", 1e6)
    optimizer = play(study(raw_samples=32, restarts=2), 9, value=lambda x, c: x["a"] + x["b"] - c["w"])
    assert knees(optimizer) == {0.0}
    optimizer.ask()
    (found,) = knees(optimizer)
    assert found > 0
    monkeypatch.setattr(surrogates, "LOGS_DOUBT", 0.0)
    play(optimizer, 3, value=lambda x, c: x["a"] + x["b"] - c["w"])
    assert knees(optimizer) == {found}


def test_a_single_outcome_is_seen_as_it_is():
    one = Training(*(torch.full((1, 1), 0.5).double(),) * 2, torch.zeros(1).double(), (0,), "matern", True)
    assert fit_in_logs(one).knee == 0


def skewed_value(x, c):
    return math.exp(6 * math.sin(3 * x["a"]) + 2 * math.cos(4 * x["b"]) - 2 * c["w"])


def play(optimizer, steps, seed=0, value=skewed_value):
    for _ in range(steps):
        trial = optimizer.ask()
        wind = float(np.random.default_rng([seed, trial.number]).beta(2, 5))
        optimizer.tell(trial, {"w": wind}, value(trial.decision, {"w": wind}))
    return optimizer


def study(**more):
    return Optimizer({"a": Real(0, 1), "b": Real(0, 1)}, {"w": Real(0, 1)}, seed=4, initial=5, **more)


def knees(optimizer):
    return {hyper.knee for _, hyper in optimizer._fits.values()}


def test_the_default_sees_skewed_outcomes_in_logs_and_predicts_in_the_users_units():
    optimizer = play(study(), 25)
    assert len(knees(optimizer)) == 1
    assert min(knees(optimizer)) > 0
    best = optimizer.recommend()
    assert best.decision["a"] == pytest.approx(math.pi / 6, abs=0.05)
    assert best.decision["b"] == pytest.approx(0, abs=0.1)
    winds = np.random.default_rng(1).beta(2, 5, 4000)
    truth = np.mean([skewed_value(best.decision, {"w": w}) for w in winds])
    assert best.interval[0] < truth < best.interval[1]
    assert best.expected == pytest.approx(truth, rel=0.25)
    assert best.worst_case < best.expected


def test_the_methods_of_the_papers_see_outcomes_as_they_are():
    assert knees(play(study(method="sbo-kde"), 12)) == {0.0}
    assert knees(play(study(method="bq-kde"), 12)) == {0.0}


def test_a_study_in_logs_is_saved_and_continues_exactly():
    optimizer = play(study(), 14)
    saved = json.loads(json.dumps(optimizer.to_dict(), allow_nan=False))
    restored = Optimizer.from_dict(saved)
    optimizer.recommend()  # looking changes nothing
    for _ in range(4):
        a, b = optimizer.ask(), restored.ask()
        assert a.decision == b.decision
        for each, trial in ((optimizer, a), (restored, b)):
            each.tell(trial, {"w": 0.3}, skewed_value(trial.decision, {"w": 0.3}))


@pytest.mark.parametrize("change", [lambda v: 250 * v - 3e4, lambda v: 1e-6 * v])
def test_units_of_a_skewed_outcome_change_nothing(change):
    first = play(study(), 12)
    other = play(study(), 12, value=lambda x, c: change(skewed_value(x, c)))
    a, b = first.ask().decision, other.ask().decision
    assert a == pytest.approx(b, abs=1e-3)


def test_trials_on_their_way_are_allowed_for_in_logs():
    optimizer = play(study(), 12)
    asked = [tuple(t.decision.values()) for t in optimizer.ask(3)]
    assert len(set(asked)) == 3


@pytest.mark.parametrize("knee", [-1.0, math.inf, "much"])
def test_a_damaged_knee_is_refused(knee):
    from windage.errors import ConfigurationError

    saved = play(study(), 7).to_dict()
    saved["fits"]["joint matern"]["knee"] = knee
    with pytest.raises(ConfigurationError):
        Optimizer.from_dict(saved)
