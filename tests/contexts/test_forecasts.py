"""Forecasts: how they are read, which of them are used, and what is made of them."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from windage.contexts.forecasts import Forecast, checked, normal
from windage.contexts.skill import (
    AS_GIVEN,
    ERRORS,
    NOT_USED,
    ForecastSkill,
    Track,
    judge,
    to_marginal,
    track_of,
)
from windage.errors import InputError
from windage.space import Categorical, ContextSpace, DecisionSpace, Integer, Real

DEMAND, WEATHER = Real(0, 200), Categorical(["sun", "rain"])
SCALE = ContextSpace.of({"demand": DEMAND}, DecisionSpace.of({"x": Real(0, 1)})).scale(np.zeros((0, 1)))
EMPTY = Track(*(np.zeros(0) for _ in range(4)))


@pytest.mark.parametrize(
    ("given", "mean", "deviation"),
    [
        ((80, 15), 80, 15),
        ([70.0, 80.0, 90.0], 80, np.std([70, 80, 90])),
        (np.linspace(60, 100, 9), 80, np.linspace(60, 100, 9).std()),
        (stats.norm(80, 15), 80, 15),
        (80, 80, None),
        ((80, None), 80, None),
    ],
)
def test_forecasts_are_read(given, mean, deviation):
    found = Forecast.of(given, DEMAND, "the forecast")
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert found.deviation == (None if deviation is None else pytest.approx(deviation, rel=0.02))
    saved = json.loads(json.dumps(found.to_dict()))
    assert Forecast.from_dict(saved, DEMAND, "the forecast") == found


def test_a_skewed_distribution_keeps_its_quantiles():
    law = stats.gamma(2, scale=20)
    found = Forecast.of(law, DEMAND, "the forecast")
    np.testing.assert_allclose(
        np.quantile(found.values, [0.25, 0.5, 0.75]), law.ppf([0.25, 0.5, 0.75]), rtol=0.02
    )


@pytest.mark.parametrize(
    "given", [{"rain": 3, "sun": 1}, ["rain", "rain", "sun", "rain"], {"rain": 0.75, "sun": 0.25}]
)
def test_forecasts_of_a_choice_are_chances(given):
    found = Forecast.of(given, WEATHER, "the forecast")
    assert found.summary == {"rain": 0.75, "sun": 0.25}
    assert Forecast.from_dict(json.loads(json.dumps(found.to_dict())), WEATHER, "") == found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((80, math.nan), "finite"),
        ([80, math.nan], "finite"),
        ((80, 0), "must be above 0"),
        ((80, -3), "must be above 0"),
        ([], "empty sample"),
        ("80", "must be a sample"),
        ({"a": 1}, "must be a sample"),
        (["80"], "must be a number"),
        (stats.norm(80, -1), "quantiles"),
        (stats.t(2, 80).rvs, "must be a number"),
    ],
)
def test_wrong_forecasts_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        Forecast.of(given, DEMAND, "the forecast of 'demand'")


def test_wrong_chances_are_refused():
    for given in ({"rain": -1, "sun": 1}, {"rain": 0}, {}):
        with pytest.raises(InputError, match="chances"):
            Forecast.of(given, WEATHER, "the forecast of 'weather'")
    for given in (None, stats.norm(0, 1), {"rain"}, b"rain"):
        with pytest.raises(InputError, match="must be a level"):
            Forecast.of(given, WEATHER, "the forecast of 'weather'")
    with pytest.raises(InputError, match="Did you mean 'rain'"):
        Forecast.of({"rian": 1}, WEATHER, "the forecast of 'weather'")


def test_forecasts_of_unknown_contexts_are_refused_with_the_near_match():
    with pytest.raises(InputError, match="Did you mean 'demand'"):
        checked({"demnd": (80, 15)}, {"demand": DEMAND}, "the forecast")
    with pytest.raises(InputError, match="dictionary"):
        checked((80, 15), {"demand": DEMAND}, "the forecast")
    assert checked(None, {"demand": DEMAND}, "the forecast") == {}


def history(skill, seed=0, n=40, bias=0.0, deviation=15.0):
    """Demand, and forecasts that know a share of what moves it."""
    generator = np.random.default_rng(seed)
    signal, noise = generator.standard_normal((2, n))
    came = 100 + 30 * (skill * signal + math.sqrt(1 - skill**2) * noise)
    means = 100 + 30 * skill * signal + bias if skill else 100 + 30 * generator.standard_normal(n)
    unit = came / 200
    return track_of([(i, unit[i], (means[i], deviation)) for i in range(n)], SCALE, 0), unit


@pytest.mark.parametrize("seed", range(5))
def test_a_good_forecast_is_used_a_biased_one_with_its_errors_and_a_useless_one_not(seed):
    assert judge(*history(0.9, seed)) in (AS_GIVEN, ERRORS)
    assert judge(*history(0.9, seed, bias=45.0)) == ERRORS
    assert judge(*history(0.0, seed)) == NOT_USED


def test_without_a_past_a_forecast_is_taken_as_given():
    assert judge(EMPTY, np.zeros(0)) == AS_GIVEN


def test_a_track_is_on_the_unit_box():
    track, unit = history(0.9, n=5)
    np.testing.assert_allclose(track.came, unit)
    np.testing.assert_allclose(track.deviations, 15 / 200)


def test_a_forecast_with_its_errors_is_moved_by_them():
    track, _ = history(0.9, bias=45.0)
    found = to_marginal(normal(100, 15), SCALE, 0, track, ERRORS, 0.15)
    assert found.points.mean() == pytest.approx((100 - 45) / 200, abs=0.03)


def test_a_forecast_as_given_keeps_mean_and_deviation_and_a_bare_one_takes_the_spread_seen():
    found = to_marginal(normal(100, 10), SCALE, 0, EMPTY, AS_GIVEN, 0.15)
    spread = math.sqrt(found.points.var() + found.width**2)
    assert (found.points.mean(), spread) == (pytest.approx(0.5), pytest.approx(0.05, rel=0.02))
    bare = to_marginal(normal(100, None), SCALE, 0, EMPTY, AS_GIVEN, 0.15)
    assert (bare.points.mean(), bare.points.std()) == (pytest.approx(0.5), pytest.approx(0.15, rel=0.02))


def test_forecasts_beyond_the_bounds_stay_inside_of_them():
    found = to_marginal(normal(0, 50), SCALE, 0, EMPTY, AS_GIVEN, 0.15)
    assert found.points.min() == 0


@pytest.mark.parametrize(
    ("parameter", "inside", "beyond"),
    [
        (DEMAND, (-10, 15), (-500, 3)),
        (DEMAND, [190, 230], [500, 510]),
        (Integer(0, 5), stats.poisson(5), 6),
        (Real(low=0), (-1, 2), (-3, 2)),
        (Real(log=True), (1, 3), (-9, 3)),
    ],
)
def test_a_forecast_that_lies_beyond_the_bounds_is_refused(parameter, inside, beyond):
    assert checked({"c": inside}, {"c": parameter}, "the forecast")
    with pytest.raises(InputError, match="the forecast of 'c' lies outside its bounds"):
        checked({"c": beyond}, {"c": parameter}, "the forecast")
    assert checked({"c": beyond}, {"c": parameter}, "the forecast", past=True)


def test_a_forecast_of_a_context_that_is_clipped_may_lie_beyond_its_bounds():
    assert checked({"c": (500, 3)}, {"c": Real(0, 200, outside="clip")}, "the forecast")


def test_forecasts_of_logs_and_whole_numbers():
    space = ContextSpace.of(
        {"a": Real(low=1e-3, log=True), "n": Integer(0, 9)}, DecisionSpace.of({"x": Real(0, 1)})
    )
    scale = space.scale(np.array([[1.0, 3.0], [2.0, 4.0]]))
    logs = to_marginal(normal(1.0, 5.0), scale, 0, EMPTY, AS_GIVEN, 0.1)
    assert np.isfinite(logs.points).all()
    whole = to_marginal(normal(4.5, 1.0), scale, 1, EMPTY, AS_GIVEN, 0.1)
    assert whole.points.mean() == pytest.approx(0.5, abs=0.01)


def test_words_of_skill():
    assert "has not helped in 1 forecast: it is not used" in ForecastSkill("demand", 1, NOT_USED).words()
    assert (
        "together with its past errors (12 forecasts so far)" in ForecastSkill("demand", 12, ERRORS).words()
    )
    assert "as it is given" in ForecastSkill("demand", 2, AS_GIVEN).words()
