"""A bakery, by the library: how many loaves to bake, a typo, and its repair."""

import warnings

import numpy as np
import pytest

from windage import Integer, Optimizer, Real, WindageWarning

DAYS = 12
TYPO, RIGHT = 1200.0, 120.0


def profit(loaves, demand):
    return 2.2 * min(loaves, demand) - 0.8 * loaves


def bakery(**settings):
    """A study after twelve good days, by ask and tell; nothing was odd about them."""
    loaves = settings.pop("loaves", Integer(0, 150))
    opt = Optimizer({"loaves": loaves}, {"demand": Real(0)}, seed=7, **settings)
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(DAYS):
            trial, demand = opt.ask(), float(np.round(rng.normal(100, 15)))
            opt.tell(trial, {"demand": demand}, round(profit(trial.decision["loaves"], demand), 2))
    return opt


def again(opt, rows):
    """A study that was told these rows and was never asked."""
    new = Optimizer.from_dict({**opt.to_dict(), "observations": [], "changes": [], "pending": [], "fits": {}})
    for decision, context, value in rows:
        new.tell(decision, context, value)
    return new


def rows_of(opt):
    told = opt.observations
    return list(zip(told.decisions, told.contexts, told.values, strict=True))


THIRTEENTH = ({"loaves": 90}, {"demand": 91.0})
"""A usual day: 2.2·90 - 0.8·90 = 126, and 120 with some bread given away."""


@pytest.fixture(scope="module")
def with_typo():
    """Twelve days, the recommendation then, and a thirteenth day with a zero too many."""
    opt = bakery()
    before = opt.recommend()
    with pytest.warns(WindageWarning) as caught:
        opt.tell(*THIRTEENTH, TYPO)
    return opt, before, [str(w.message) for w in caught]


def test_after_twelve_days_the_bakery_bakes_for_the_usual_demand():
    best = bakery().recommend()
    assert 85 <= best.decision["loaves"] <= 115  # the 64 % quantile of demand is 105
    assert best.outcome.interval[0] < 120 < best.outcome.interval[1]


def test_a_zero_too_many_is_warned_about_with_the_way_to_repair_it(with_typo):
    _, _, (words,) = with_typo
    assert "value 1200 is " in words
    assert "times the most so far" in words
    assert "If it is wrong: correct(12, value=...)." in words


def test_the_typo_is_taken_and_hardly_moves_the_recommendation(with_typo):
    opt, before, _ = with_typo
    assert opt.observations.values[DAYS] == TYPO
    assert opt.suspects == (DAYS,)
    after = opt.recommend()
    assert abs(after.decision["loaves"] - before.decision["loaves"]) <= 0.05 * 150
    assert after.expected == pytest.approx(before.expected, rel=0.05)
    assert after.outcome.interval[1] < 250


def test_without_screen_the_typo_is_believed(with_typo):
    opt = with_typo[0]
    believed = Optimizer.from_dict({**opt.to_dict(), "settings": {"screen": False}, "fits": {}})
    assert believed.suspects == ()
    assert believed.recommend().outcome.interval[1] > 250


@pytest.mark.parametrize("loaves", [Integer(0, 150), Real(0, 150)])
def test_once_corrected_the_recommendation_is_exactly_that_without_the_typo(loaves):
    opt = bakery(loaves=loaves)
    right = again(opt, [*rows_of(opt), (*THIRTEENTH, RIGHT)])
    with pytest.warns(WindageWarning):
        opt.tell(*THIRTEENTH, TYPO)
    wrong = opt.recommend()
    opt.correct(DAYS, value=RIGHT, why="a zero too many")
    assert opt.recommend() == right.recommend()
    assert opt.recommend() != wrong
    assert opt.suspects == ()
    assert rows_of(opt) == rows_of(right)
    assert [(c.number, c.kind, c.value, c.why) for c in opt.history] == [
        (DAYS, "correct", RIGHT, "a zero too many")
    ]
    opt.undo(DAYS)
    assert opt.recommend().decision["loaves"] == pytest.approx(wrong.decision["loaves"], abs=1)


def test_a_mistyped_demand_is_warned_about_too():
    opt = bakery()
    with pytest.warns(WindageWarning, match="demand 910 is .* If it is wrong: correct\\(12, context=...\\)"):
        opt.tell({"loaves": 90}, {"demand": 910.0}, RIGHT)
    opt.correct(DAYS, context={"demand": 91.0})
    assert opt.recommend() == again(opt, rows_of(opt)).recommend()
