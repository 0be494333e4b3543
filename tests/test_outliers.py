"""Outcomes and contexts that look mistyped: surprises against slow oracles, and when nothing is said."""

import json
import math
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from contracts import optimizer, quick
from windage import Optimizer, Real, WindageWarning, outliers
from windage.gp import ProductGP, Training, fit
from windage.observations import FEWEST_TO_JUDGE as FEWEST
from windage.outliers import ASK, LEAVE, Oddity, limit, oddities, suspects
from windage.space import OutcomeScale

SPACES = ({"x": Real(0, 1), "y": Real(0, 1)}, {"c": Real()})


def hill(x, y, c):
    return 20 - 30 * (x - 0.6) ** 2 - 20 * (y - 0.3) ** 2 + 4 * c


def rows_of(count, seed=0, noise=0.5, function=hill):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        (x, y), c = rng.uniform(size=2).tolist(), float(rng.normal(0.5, 0.15))
        rows.append(({"x": x, "y": y}, {"c": c}, float(function(x, y, c) + noise * rng.normal())))
    return rows


def study(rows=(), **settings):
    opt = Optimizer(*SPACES, seed=1, **quick("auto", **{"initial": 5, **settings}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WindageWarning)
        for row in rows:
            opt.tell(*row)
    return opt


def dataset(rows):
    return study(rows, screen=False)._data


def warned(opt, *row):
    """Tell, and the warnings in words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt.tell(*row)
    assert all(w.category is WindageWarning for w in caught)
    return [str(w.message) for w in caught]


def with_value(row, value):
    return (*row[:2], value)


# The mathematics, against slow oracles


def test_leave_one_out_residuals_are_those_of_deleting_each_row():
    """K⁻¹ has them all: the oracle deletes row i and predicts it, with the same hyper-parameters."""
    model = outliers._model(dataset(rows_of(14)), np.arange(14))[0]
    fast = model.alpha / np.sqrt(model.precision.diagonal())
    data, hyper = model.data, model.hyperparameters
    slow = []
    for i in range(14):
        rest = np.delete(np.arange(14), i)
        z = np.concatenate([data.x, data.c], axis=1)
        K = covariance(z, z, hyper, data) + hyper.noise * np.eye(14)
        k = K[i, rest]
        weights = np.linalg.solve(K[np.ix_(rest, rest)], k)
        mean = hyper.mean + weights @ (data.y[rest] - hyper.mean)
        slow.append((data.y[i] - mean) / math.sqrt(K[i, i] - weights @ k))
    assert fast == pytest.approx(np.array(slow), rel=1e-6)


def covariance(a, b, hyper, data):
    """The product of two Matérn-5/2, of x and of c, from its formula."""
    d = data.x.shape[1]
    found = np.ones((len(a), len(b)))
    for part, scales in ((slice(0, d), hyper.x), (slice(d, None), hyper.c)):
        away = (a[:, None, part] - b[None, :, part]) / np.array(scales)
        r = np.sqrt(5 * (away**2).sum(axis=2))
        found *= (1 + r + r**2 / 3) * np.exp(-r)
    return found


def test_the_surprise_of_a_new_value_is_that_of_a_dense_gp_of_the_others():
    data, rows = dataset(rows_of(12)), np.arange(11)
    values = data.values[rows]
    scale = OutcomeScale.of(values, True)
    training = replace(
        Training.of(data, True, "matern", member=True),
        x=data.x[:11],
        c=data.c[:11],
        y=scale.standardise(values),
    )
    hyper = fit(training)
    z = np.concatenate([data.x, data.c], axis=1)
    K = covariance(z, z, hyper, training)
    inner = K[:11, :11] + hyper.noise * np.eye(11)
    mean = hyper.mean + K[11, :11] @ np.linalg.solve(inner, training.y - hyper.mean)
    variance = 1 - K[11, :11] @ np.linalg.solve(inner, K[11, :11]) + hyper.noise
    for value in (-200.0, 19.0, 500.0):
        told = (value - values.mean()) / values.std(ddof=1)
        found = outliers._surprise(outliers._model(data, rows), data.x[[11]], data.c[[11]], value)
        assert found.from_gp == pytest.approx((told - mean) / math.sqrt(variance), rel=1e-6)
        assert found.from_mean == pytest.approx(told / math.sqrt(1 + 1 / 11))


def test_the_row_that_spoils_a_fit_is_judged_by_a_fit_without_it():
    rows = rows_of(20)
    rows[7] = with_value(rows[7], 10 * rows[7][2])
    data = dataset(rows)
    rest = np.delete(np.arange(20), 7)
    alone = outliers._surprise(outliers._model(data, rest), data.x[[7]], data.c[[7]], rows[7][2]).from_gp
    assert outliers._doubt(data, rest, 7) == pytest.approx(alone / limit(19, LEAVE))
    assert outliers.suspects(data) == (7,)
    assert outliers.suspects(data, trusted=[7]) == ()
    model = ProductGP(*_spoilt(data))
    masked = abs(model.alpha[7]) / math.sqrt(model.precision[7, 7])
    assert masked < abs(alone)  # by a fit with it, it looks far more usual


def _spoilt(data):
    training = Training.of(data, True, "matern", member=True)
    return training, fit(training)


def test_the_limit_is_students_quantile_and_falls_as_more_is_known():
    for chance in (ASK, LEAVE):
        assert limit(5, chance) == pytest.approx(student(4).ppf(1 - chance / 2))
        most = student(outliers.FREEDOM).ppf(1 - chance / 2)
        assert limit(1000, chance) == limit(50, chance) == pytest.approx(most)
        assert limit(2, chance) > limit(5, chance) > limit(8, chance) >= limit(9, chance)
    assert limit(20, LEAVE) < limit(20, ASK)


# What tell says


def test_nothing_is_odd_before_the_fifth_observation():
    opt = study()
    for i, value in enumerate([1.0, 1e9, -1e9, 5.0]):
        assert warned(opt, {"x": i / 4, "y": 0.5}, {"c": 10.0**i}, value) == []
    assert opt.suspects == ()
    assert FEWEST == 4


def test_from_the_fifth_observation_on_a_value_far_off_is_taken_with_a_warning():
    rows = rows_of(5, noise=0.1)
    for count in (4, 5):
        opt = study(rows[:count])
        (words,) = warned(opt, rows[4][0], rows[4][1], 1e7)
        assert words.startswith("value 1e+07 is ")
        assert f"It is taken. If it is wrong: correct({count}, value=...)." in words
        assert opt.observations.values[-1] == 1e7


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("told", [10, 30])
def test_a_zero_too_many_is_noticed_and_kept_out_of_the_fit(direction, told):
    rows = rows_of(told + 1)
    opt = study(rows[:told], direction=direction)
    assert opt.suspects == ()
    (words,) = warned(opt, *with_value(rows[told], 10 * rows[told][2]))
    assert "times the most so far" in words
    assert opt.suspects == (told,)
    assert told not in opt._fitted_data().rows
    assert opt._fitted_data().seen.shape[0] == told + 1  # its context was met all the same
    opt.correct(told, value=rows[told][2])
    assert opt.suspects == ()


def test_the_warning_points_to_the_line_that_told():
    rows = rows_of(10)
    opt = study(rows)
    with pytest.warns(WindageWarning) as caught:
        opt.tell(*with_value(rows[0], 1e6))
    assert caught[0].filename == __file__


def test_numbers_of_suspects_are_those_that_correct_takes():
    rows = rows_of(21)
    rows[12] = with_value(rows[12], 10 * rows[12][2])
    opt = study(rows)
    opt.forget(3)
    assert opt.suspects == (12,)
    opt.correct(opt.suspects[0], value=rows[12][2] / 10)
    assert opt.suspects == ()


def test_a_second_value_that_agrees_brings_the_first_one_back():
    rows = rows_of(25)
    opt = study(rows)
    odd = {"x": 0.95, "y": 0.95}
    assert warned(opt, odd, {"c": 0.5}, 120.0)
    assert opt.suspects == (25,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WindageWarning)
        opt.tell({"x": 0.94, "y": 0.95}, {"c": 0.52}, 118.0)
    assert opt.suspects == ()


def test_an_odd_context_is_warned_about_and_named():
    rows = rows_of(12)
    opt = study(rows)
    (words,) = warned(opt, rows[0][0], {"c": 50.0}, rows[0][2])
    assert words.startswith("c 50 is ")
    assert "If it is wrong: correct(12, context=...)." in words
    assert opt.suspects == ()  # a context is no outcome
    opt.correct(12, context={"c": 0.5})
    assert opt.observations.contexts[12] == {"c": 0.5}


def test_an_odd_context_and_an_odd_value_are_two_warnings():
    opt = study(rows_of(12))
    names = [words.split()[0] for words in warned(opt, {"x": 0.5, "y": 0.5}, {"c": -40.0}, 1e4)]
    assert names == ["c", "value"]


def test_contexts_that_were_all_equal_say_nothing_about_another_one():
    opt = study([(d, {"c": 1.0}, v) for d, _, v in rows_of(8)])
    assert warned(opt, {"x": 0.5, "y": 0.5}, {"c": 3.0}, 20.0) == []


def test_what_lies_among_the_values_seen_is_never_odd():
    rows = rows_of(30)
    data = dataset(rows)
    low, high = data.values.min(), data.values.max()
    for value in (low, high, (low + high) / 2):
        assert oddities(data, *rows[0][:2], float(value)) == []


def test_honest_values_are_left_alone():
    """Noise, and none; a hill, a plane and nothing but noise."""
    functions = [hill, lambda x, y, c: 3 * x - c, lambda x, y, c: 0.0]
    words, held = [], []
    for seed, (function, noise) in enumerate((f, n) for f in functions for n in (0.0, 0.5, 3.0)):
        if function is functions[2] and not noise:
            continue
        rows, opt = rows_of(40, seed, noise, function), study()
        for row in rows:
            words += warned(opt, *row)
        held += opt.suspects
    assert (words, held) == ([], [])


def test_the_words_of_an_oddity():
    assert Oddity("value", 1200.0, 80.0, 150.0, 9.0).words() == "value 1200 is 8 times the most so far, 150."
    words = Oddity("value", 200.0, 80.0, 150.0, 9.0).words()
    assert words == "value 200 is far from all that was seen so far, 80 to 150."
    words = Oddity("value", -900.0, -90.0, 150.0, 9.0).words()
    assert words == "value -900 is 10 times the least so far, -90."
    words = Oddity("heat", 2.0, 20.0, 30.0, 9.0).words("{:.1f} °C".format)
    assert words == "heat 2.0 °C is far from all that was seen so far, 20.0 °C to 30.0 °C."
    assert "far from" in Oddity("value", -5.0, 0.0, 0.0, 9.0).words()


# Without a screen


def test_without_screen_nothing_is_said_or_left_out_and_the_fit_is_of_all_rows():
    rows = rows_of(16)
    rows[8] = with_value(rows[8], 1e3 * rows[8][2])
    opt = study(screen=False)
    for row in rows:
        assert warned(opt, *row) == []
    assert opt.suspects == ()
    (model, *_) = opt._state(True).models
    assert len(model.data.y) == 16
    by_hand = fit(Training.of(opt._data, True, "matern", member=True))
    assert model.hyperparameters == by_hand


def test_where_nothing_is_suspect_the_screen_changes_no_bit():
    rows = rows_of(15)
    on, off = study(rows), study(rows, screen=False)
    assert on.suspects == ()
    assert on.recommend() == off.recommend()
    assert on.ask() == off.ask()
    assert json.dumps(on.fits_to_dict()) == json.dumps(off.fits_to_dict())


def test_with_a_suspect_the_fit_is_that_of_the_other_rows():
    rows = rows_of(15)
    wrong = [*rows[:14], with_value(rows[14], -40 * rows[14][2])]
    on, without = study(wrong), study(rows[:14], screen=False)
    assert on.suspects == (14,)
    mine, others = on._state(True).models[0], without._state(True).models[0]
    assert np.array_equal(mine.data.y, others.data.y)
    assert mine.hyperparameters.noise == pytest.approx(others.hyperparameters.noise, rel=0.2)


# Hard cases


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1.0, 1e150, 1e299])
def test_numbers_of_any_size_neither_overflow_nor_vanish(size):
    rows = [(d, {"c": c["c"] * size**0.3}, v / 20 * size) for d, c, v in rows_of(12)]
    opt = study(rows[:11])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        words = warned(opt, *with_value(rows[11], 9 * rows[11][2]))
        assert len(words) == 1
        assert opt.suspects == (11,)
        assert warned(study(rows[:11]), *rows[11]) == []


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_what_is_too_good_is_left_out_before_what_is_too_bad(direction):
    """As far from what a GP expects, on either side: a bad outcome warns of a region."""
    rows = rows_of(30, noise=0.2)
    values = [row[2] for row in rows]
    far = 1.4 * np.ptp(values)
    ends = {"high": max(values) + far / 2, "low": min(values) - far / 2}
    told = {
        end: study([*rows, with_value(rows[3], value)], direction=direction) for end, value in ends.items()
    }
    good, bad = ("high", "low") if direction == "maximize" else ("low", "high")
    assert told[good].suspects == (30,)
    assert told[bad].suspects == ()
    worse = 20 * far * (1 if bad == "high" else -1)
    assert study([*rows, with_value(rows[3], worse)], direction=direction).suspects == (30,)


def test_what_lies_among_the_others_is_never_suspect():
    """Beside a cliff a GP may be surprised by what is right."""
    data = dataset(rows_of(30, noise=0.0, function=lambda x, y, c: float(x > 0.5) + 0.01 * y))
    model = outliers._model(data, np.arange(30))[0]
    assert np.abs(model.alpha / np.sqrt(model.precision.diagonal())).max() > 2
    assert suspects(data) == ()


def test_the_largest_numbers_are_compared():
    opt = study(rows_of(10))
    for value in (1e300, -1e300):
        assert warned(opt, {"x": 0.5, "y": 0.5}, {"c": 0.5}, value)
    assert math.isfinite(opt.recommend().expected)
    assert set(opt.suspects) == {10, 11}


def test_equal_values_then_another_one():
    opt = study([(d, c, 1.0) for d, c, _ in rows_of(10)])
    assert warned(opt, {"x": 0.5, "y": 0.5}, {"c": 0.5}, 1.0) == []
    assert opt.suspects == ()
    assert warned(opt, {"x": 0.5, "y": 0.5}, {"c": 0.5}, 1.1) == []  # of what size differences are is unknown
    assert opt.suspects == ()
    assert math.isfinite(opt.recommend().expected)


def test_at_most_a_tenth_is_ever_left_out():
    rng = np.random.default_rng(0)
    rows = [(d, c, float(rng.standard_cauchy())) for d, c, _ in rows_of(60)]
    assert len(suspects(dataset(rows))) <= 0.1 * 60 + 1


@pytest.mark.parametrize("count", [500, 2000])
def test_noticing_takes_less_than_a_second_of_processor_time(count):
    rows = rows_of(count)
    rows[count // 2] = with_value(rows[count // 2], 200.0)
    data = dataset(rows)
    start = time.process_time()
    assert oddities(data, *rows[0][:2], 1e3)
    spent = time.process_time() - start
    assert spent < 1, spent
    start = time.process_time()
    assert suspects(data) == (count // 2,)
    spent = time.process_time() - start
    assert spent < (1 if count == 500 else 4), spent


def test_methods_of_every_kind_take_the_screen():
    for method in ("gp-ucb", "sbo-kde", "drbo-kde"):
        opt = optimizer(method)
        rng = np.random.default_rng(0)
        for _ in range(10):
            x, y = rng.uniform(size=2).tolist()
            opt.tell({"x": x, "y": y}, {"c": 0.5 + 0.1 * y}, 10 + x - y)
        assert warned(opt, {"x": 0.5, "y": 0.5}, {"c": 0.55}, 100.0)
        assert opt.suspects == (10,)
        assert 0 <= opt.ask().decision["x"] <= 1


@pytest.mark.parametrize("slips", [(), (7,), (7, 40), (0, 69)])
def test_a_glance_at_a_large_block_finds_what_fits_of_their_own_find(monkeypatch, slips):
    rows = rows_of(70)
    for row in slips:
        rows[row] = with_value(rows[row], 10 * rows[row][2] + 5 * row)
    data = dataset(rows)
    quick = outliers.suspects(data)
    monkeypatch.setattr(outliers, "GLANCE", -1.0)
    assert quick == outliers.suspects(data)
    if len(slips) == 1:
        assert quick == slips
