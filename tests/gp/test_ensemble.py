"""The ensemble: what is drawn, when it is fitted anew, and that only its fits are its state."""

from dataclasses import replace

import numpy as np
import pytest

import reference
from windage.dataset import Dataset
from windage.gp import (
    KERNELS,
    Ensemble,
    Fit,
    Key,
    LogPosterior,
    NodePosterior,
    ProductGP,
    Training,
    ensemble,
    fit,
)
from windage.gp.ensemble import NEWTON_GAIN, draw, follow, kernel_weights, laplace
from windage.gp.factor import Covariance
from windage.gp.kernels import MIN_LENGTHSCALE, MIN_NOISE
from windage.observations import Observations, Row
from windage.space import Categorical, ContextSpace, DecisionSpace, Real


def theta_of(hyper):
    return np.log([*hyper.x, *hyper.c, hyper.noise])


def first(data, count):
    return replace(data, x=data.x[:count], c=data.c[:count], y=data.y[:count])


def dataset(count, choices=False):
    """The first observations of a study with two decision variables and a context."""
    spaces = {"a": Real(0, 1), "b": Categorical(["u", "v", "w"]) if choices else Real(0, 1)}
    decisions = DecisionSpace.of(spaces)
    contexts = ContextSpace.of({"c": Real(0, 1)}, decisions)
    generator = np.random.default_rng(0)
    rows = []
    for _ in range(count):
        a, b, c, noise = generator.random(4)
        value = np.sin(5 * a) + (b - 0.4) * c * 3 + 0.1 * noise
        rows.append(Row({"a": a, "b": "uvw"[int(3 * b)] if choices else b}, {"c": c}, value))
    return Dataset(decisions, contexts, Observations().add(rows), True)


def numbers(models):
    """All that decisions depend on, to the last bit."""
    return [
        (
            m.data.kernel,
            m.mean,
            m.precision.tobytes(),
            m.alpha.tobytes(),
            theta_of(m.hyperparameters).tobytes(),
        )
        for m in models
    ]


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_fit_follows_the_observations(kernel):
    data = reference.random_training(70, 2, 1, 3, kernel)
    last, before, counts = None, None, []
    for count in range(31, 71):
        training = first(data, count)
        now = follow(None, training, last, before)
        # nothing but the observations and the last fit counts, to the last bit
        alone = follow(None, training, last, None)
        assert alone.model.precision.tobytes() == now.model.precision.tobytes()
        assert alone.model.hyperparameters == now.model.hyperparameters
        assert alone.fit == now.fit
        last, before = now.fit, now
        counts.append(now.fit.count)
        # the hyper-parameters are as good as those of a fit from nothing, the inverse is that of all
        mine, fresh = now.model.hyperparameters, fit(training)
        assert mine.log_posterior >= fresh.log_posterior - 2 * NEWTON_GAIN
        direct = ProductGP(training, mine)
        assert np.allclose(now.model.alpha, direct.alpha, rtol=1e-6, atol=1e-7)
        value = LogPosterior(training)(theta_of(mine)).value
        assert mine.log_posterior == pytest.approx(value, abs=1e-7)
    assert 5 < len(set(counts)) < 36  # fitted now and then: the optimum moves, but not at every observation


@pytest.mark.parametrize("seed", [3, 6])
def test_a_surprise_is_a_reason_to_fit(seed):
    data = reference.random_training(57, 2, 1, seed)
    hyper = fit(first(data, 56))
    model = ProductGP(first(data, 56), hyper)
    found = NodePosterior(model, data.c[56:]).moments(data.x[56:])
    deviation = np.sqrt(found.variance[0] + hyper.noise)
    for surprise, count in ((1, 56), (-1, 56), (8, 57), (-8, 57)):  # one deviation is what was expected
        y = np.concatenate([data.y[:56], found.mean[0] + surprise * deviation])
        now = follow(None, replace(data, y=y), Fit(56, hyper), None)
        assert now.fit.count == count
        assert (now.fit.hyperparameters.noise > hyper.noise) == (count == 57)


def test_few_or_many_new_observations_are_a_reason_to_fit(monkeypatch):
    monkeypatch.setattr(ensemble, "NEWTON_GAIN", np.inf)  # so that a fit is kept wherever it may be
    data = reference.random_training(80, 2, 1, 3)

    def count(t, last):
        return follow(None, first(data, t), Fit(last, fit(first(data, last))), None).fit.count

    assert count(30, 29) == 30  # few in all: each time, and from the priors' modes too
    assert count(48, 47) == 47
    assert count(50, 49) == 50  # a tenth more than at the last such mark
    monkeypatch.setattr(ensemble, "GROWTH", 1e9)
    assert count(63, 31) == 31
    assert count(64, 31) == 64  # too many to extend the inverse by
    assert count(40, 40) == 40


def test_a_factor_is_extended_only_where_it_is_of_the_same_points_and_fit(monkeypatch):
    monkeypatch.setattr(ensemble, "NEWTON_GAIN", np.inf)
    data = reference.random_training(48, 2, 1, 3)
    before = follow(None, first(data, 47), None, None)
    hyper = before.fit.hyperparameters
    predicted = follow(None, first(data, 47), Fit(47, replace(hyper, x=(0.9, 0.9))), None)
    for now, known in (
        (data, before),
        (replace(data, c=0.999 * data.c), before),  # the unit box of an unbounded context may move
        (replace(data, x=0.999 * data.x), before),
        (data, predicted),  # by another fit, which was not kept
    ):
        found, alone = (follow(None, now, before.fit, base) for base in (known, None))
        assert found.fit == before.fit
        assert found.model.precision.tobytes() == alone.model.precision.tobytes()
        assert found.model.hyperparameters == alone.model.hyperparameters
        assert np.allclose(found.model.precision, ProductGP(now, hyper).precision, rtol=1e-8, atol=1e-6)
    saved = follow(None, data, before.fit, before).base
    assert saved is before.model.factor  # no work twice


def test_a_fit_without_curvature_is_not_kept():
    data = reference.random_training(57, 2, 1, 3)
    hyper = replace(fit(first(data, 56)), inverse_hessian=())
    assert follow(None, data, Fit(56, hyper), None).fit.count == 57


def fitted_kernels(t=30, seed=4, dc=1):
    found = []
    for kernel in KERNELS:
        data = reference.random_training(t, 2, dc, seed, kernel)
        found.append(ProductGP(data, fit(data)))
    return found


def test_kernels_weigh_as_their_log_posteriors():
    fitted = fitted_kernels()
    found = np.array([model.hyperparameters.log_posterior for model in fitted])
    weights = kernel_weights(fitted)
    assert weights.sum() == pytest.approx(1)
    assert np.allclose(np.log(weights / weights[0]), found - found[0])


@pytest.mark.parametrize("count", [1, 2, 8, 50])
def test_an_ensemble_holds_each_kernel_by_its_share(count):
    fitted = fitted_kernels()
    members = draw(fitted, count, seed=3)
    assert len(members) == count
    shares = [sum(m.data.kernel == f.data.kernel for m in members) for f in fitted]
    assert np.all(np.abs(shares - count * kernel_weights(fitted)) <= 1)
    for model, share in zip(fitted, shares, strict=True):
        assert (model in members) == (share > 0)
    again = draw(fitted, count, seed=3)
    assert [m.hyperparameters.x for m in again] == [m.hyperparameters.x for m in members]
    drawn = [m for m in members if m not in fitted]
    assert len({m.hyperparameters.x for m in drawn}) == len(drawn)
    for member in drawn:  # the mean is that of its own hyper-parameters, and the factor too
        target = LogPosterior(member.data)
        theta = theta_of(member.hyperparameters)
        assert member.mean == pytest.approx(target(theta).mean, rel=1e-6, abs=1e-9)
        plain = ProductGP(member.data, member.hyperparameters)
        assert np.allclose(member.precision, plain.precision)


def test_draws_have_the_covariance_that_the_fit_has_learnt():
    data = reference.random_training(60, 2, 1, 4, noise=0.3)
    model = ProductGP(data, fit(data))
    learnt = np.array(model.hyperparameters.inverse_hessian)
    spread = laplace(model.hyperparameters, 4)
    assert np.allclose(spread @ spread.T, learnt)
    drawn = [theta_of(m.hyperparameters) for m in draw([model], 401, seed=0)[1:]]
    assert np.allclose(drawn[0] + drawn[1], 2 * theta_of(model.hyperparameters))  # opposite pairs
    assert np.allclose(np.mean(drawn, axis=0), theta_of(model.hyperparameters), atol=0.1)
    assert np.allclose(np.cov(np.array(drawn).T), learnt, atol=0.2 * np.abs(learnt).max())


def test_draws_where_no_curvature_is_known_or_too_much():
    data = reference.random_training(20, 2, 1, 4)
    hyper = fit(data)
    unknown = laplace(replace(hyper, inverse_hessian=()), 4)
    assert (unknown == 0).all()
    wide = replace(hyper, inverse_hessian=tuple(map(tuple, 50 * np.eye(4))))
    for member in draw([ProductGP(data, wide)], 50, seed=0):  # the bounds of θ hold
        assert member.hyperparameters.noise >= MIN_NOISE * (1 - 1e-9)
        assert min(*member.hyperparameters.x, *member.hyperparameters.c) >= MIN_LENGTHSCALE * (1 - 1e-9)


def test_the_likeliest_kernel_is_that_of_the_last_fits_by_observation():
    hyper = fit(reference.random_training(20, 2, 1, 4))
    found = {
        Key(True, "rbf"): Fit(100, replace(hyper, log_posterior=-50.0)),
        Key(True, "matern"): Fit(90, replace(hyper, log_posterior=-40.0)),
    }
    assert Ensemble(("rbf", "matern"), 8, 0, found)._likeliest(True) == ("matern",)
    # of x alone: never fitted
    assert Ensemble(("rbf", "matern"), 8, 0, found)._likeliest(False) == ("rbf", "matern")
    more = ("rbf", "matern", "matern-3/2")
    assert Ensemble(more, 8, 0, found)._likeliest(True) == more


@pytest.mark.parametrize("members", [0, 5])
@pytest.mark.parametrize("joint", [True, False])
def test_an_ensemble_has_its_members(joint, members):
    data = dataset(20)
    found = Ensemble(KERNELS, members, 0).models(data, joint)
    assert len(found) == (members or len(KERNELS))
    if not members:
        assert [m.data.kernel for m in found] == list(KERNELS)
    for model in found:
        assert len(model.data.y) == 20
        assert model.data.c.shape == (20, 1 if joint else 0)
        assert model.data.exchangeable == ((0, 1) if members else ())


def test_lengthscales_of_choices_are_not_exchangeable():
    found = Ensemble(("rbf",), 2, 0).models(dataset(12, choices=True), True)
    assert found[0].data.groups == (0, 1, 1, 1)
    assert found[0].data.exchangeable == (0,)
    one, *others = found[0].hyperparameters.x
    assert len(set(others)) == 1
    assert one not in others
    assert Training.of(dataset(12, choices=True), True).exchangeable == ()


def test_only_what_is_kept_is_its_state():
    mine, data = Ensemble(KERNELS[:2], 4, 0), dataset(35)
    predicted = mine.models(data, True)
    assert mine.fits == {}
    asked = mine.models(data, True, keep=True)
    assert asked is predicted  # of the same data: no work twice
    assert set(mine.fits) == {Key(True, kernel) for kernel in KERNELS[:2]}
    assert {found.count for found in mine.fits.values()} == {35}
    before = dict(mine.fits)
    mine.models(dataset(50), True)
    mine.models(dataset(50), False)
    assert mine.fits == before


@pytest.mark.parametrize("members", [0, 4])
def test_predictions_in_between_and_a_restart_change_nothing_to_the_last_bit(members):
    straight, asked_often = (Ensemble(KERNELS[:2], members, 3) for _ in range(2))
    kept = 0
    for count in range(28, 60):
        data = dataset(count)
        asked_often.models(data, False)
        asked_often.models(data, True)
        if count % 4 == 3:  # told and predicted, but nothing asked
            continue
        expected = numbers(straight.models(data, True, keep=True))
        assert numbers(asked_often.models(data, True, keep=True)) == expected
        assert asked_often.fits == straight.fits
        restored = Ensemble(KERNELS[:2], members, 3, dict(straight.fits))
        assert numbers(restored.models(dataset(count), True)) == expected
        kept += sum(found.count < count for found in straight.fits.values())
    assert 0 < kept < 48  # some were kept and some fitted anew


def test_with_many_observations_the_likeliest_kernel_stands_for_all(monkeypatch):
    monkeypatch.setattr(ensemble, "DECIDED", 20)
    mine = Ensemble(KERNELS, 6, 0)
    assert len(mine.models(dataset(20), True, keep=True)) == 6
    best = max(mine.fits, key=lambda key: mine.fits[key].hyperparameters.log_posterior)
    (only,) = mine.models(dataset(21), True, keep=True)
    assert only.data.kernel == best.kernel
    assert len(only.data.y) == 21
    assert np.isfinite(only.hyperparameters.log_posterior)  # as fitted, not a draw
    assert {found.count for found in mine.fits.values()} == {20}  # a tenth more, then it is fitted again
    (only,) = mine.models(dataset(24), True, keep=True)
    assert {key: found.count for key, found in mine.fits.items()} == {
        key: 24 if key == best else 20 for key in mine.fits
    }
    assert len(only.data.y) == 24
    # one a kernel, as fitted, where nothing is drawn
    assert len(Ensemble(KERNELS, 0, 0).models(dataset(21), True)) == len(KERNELS)


def test_with_many_observations_the_fit_is_that_of_some_and_the_posterior_that_of_all(monkeypatch):
    monkeypatch.setattr(ensemble, "DECIDED", 20)
    data = dataset(40)
    (found,) = Ensemble(("matern",), 4, 0).models(data, True)
    every = Training.of(data, True, "matern", member=True)
    rows = np.linspace(0, 39, 20).astype(int)
    part = replace(every, x=every.x[rows], c=every.c[rows], y=every.y[rows])
    hyper = fit(part)
    assert found.hyperparameters.x == hyper.x
    covariance = Covariance("matern", np.array(hyper.x), np.array(hyper.c), hyper.noise)
    inverse = np.linalg.inv(covariance.noisy(every.x, every.c))
    mean = (inverse @ every.y).sum() / inverse.sum()
    assert found.mean == pytest.approx(mean, rel=1e-9)
    assert found.alpha == pytest.approx(inverse @ (every.y - mean), rel=1e-6, abs=1e-9)


def test_many_observations_that_grow_keep_their_fit_and_their_factor(monkeypatch):
    monkeypatch.setattr(ensemble, "DECIDED", 20)
    straight, anew = Ensemble(("matern",), 4, 0), Ensemble(("matern",), 4, 0)
    straight.models(dataset(38), True, keep=True)
    anew.fits = dict(straight.fits)
    (a,), (b,) = straight.models(dataset(39), True), anew.models(dataset(39), True)
    assert straight.fits == anew.fits
    assert a.alpha == pytest.approx(b.alpha, rel=1e-8, abs=1e-10)
