"""Studies grow: contexts that were not seen, and decisions from before the bounds were narrowed."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import windage.botorch
from contracts import METHODS, MIXED, mixed, optimizer, quick, story
from windage import (
    Categorical,
    ConfigurationError,
    Integer,
    NotEnoughDataError,
    Optimizer,
    Real,
    WindageWarning,
)
from windage.contexts import Nodes
from windage.gp import ExpectationPosterior, Hyperparameters, ProductGP, Training
from windage.space import DecisionSpace

ALL = [*METHODS, "random"]


def history(count: int, seed: int = 0) -> list[tuple[dict, dict, float]]:
    """A shop that began to note the heat after a third, and lost all conditions of two days."""
    rng, rows = np.random.default_rng(seed), []
    for i in range(count):
        decision = {"stock": float(rng.uniform(0, 40)), "crates": int(rng.integers(1, 6)), "shelf": "low"}
        context = {"demand": float(rng.uniform(0, 50)), "heat": float(rng.normal(20, 5))}
        value = min(decision["stock"], context["demand"]) - 0.2 * decision["stock"] + 0.1 * context["heat"]
        if i < count // 3:
            context["heat"] = None
        if i in (1, count - 2):
            context = dict.fromkeys(context)
        rows.append((decision, context, value))
    return rows


def grown(method: str, count: int = 9, **more) -> Optimizer:
    opt = mixed(method, **more)
    for row in history(count):
        opt.tell(*row)
    return opt


def again(opt: Optimizer) -> Optimizer:
    return Optimizer.from_dict(json.loads(json.dumps(opt.to_dict())))


def assert_inside(decision) -> None:
    assert DecisionSpace.of(MIXED).check(decision) == decision
    assert isinstance(decision["crates"], int)


@pytest.mark.parametrize("method", ALL)
def test_every_method_works_with_contexts_that_were_not_seen(method):
    opt = grown(method)
    other = again(opt)
    for context in ({"demand": 12.0, "heat": None}, {"demand": None, "heat": 18.0}, None):
        trial, same = opt.ask(), other.ask()
        assert trial.decision == same.decision
        assert_inside(trial.decision)
        if context is not None:  # the last one stays pending
            opt.tell(trial, context, 5.0)
            other.tell(same, context, 5.0)
            other = again(other)
    assert opt.to_dict() == other.to_dict()
    best = opt.recommend()
    assert best == other.recommend()
    assert_inside(best.decision)
    assert math.isfinite(best.expected)
    assert best.interval[0] <= best.expected <= best.interval[1]
    assert best.note == ""
    assert opt.observations.contexts[-1] == {"demand": None, "heat": 18.0}


@pytest.mark.parametrize("method", ["auto", "sbo-kde", "wdrbo", "gp-ucb"])
def test_a_restored_study_continues_to_the_last_bit_past_the_first_fits(method):
    """31 rows before the first ask, so that some fits are kept; every third row has not seen its context."""
    seen = {"history": 31, "asks": 4, "seen": lambda k: k % 3 > 0}
    assert story(method, again, **seen) == story(method, **seen)


def two(method: str, more: bool) -> Optimizer:
    contexts = {"c": Real(0, 1), **({"new": Real()} if more else {})}
    space = {"x": Real(0, 1), "y": Real(0, 1)}
    return Optimizer(space, contexts, method, seed=2, **quick(method, initial=3))


@pytest.mark.parametrize("method", ALL)
def test_a_context_that_was_never_seen_is_as_if_it_were_not_there(method):
    opts, rng = (two(method, True), two(method, False)), np.random.default_rng(1)
    for _ in range(6):
        c, taken = float(rng.uniform()), [opt.ask() for opt in opts]
        assert taken[0].decision == taken[1].decision
        value = float(np.sin(5 * taken[0].decision["x"]) + c * taken[0].decision["y"])
        opts[0].tell(taken[0], {"c": c, "new": None}, value)
        opts[1].tell(taken[1], {"c": c}, value)
    best, plain = (opt.recommend() for opt in opts)
    assert "Context 'new' was not seen yet" in best.note
    assert replace(best, note="") == replace(plain, note="")
    opt = again(opts[0])
    assert opts[0].ask().decision == opt.ask().decision == opts[1].ask().decision
    for value in (0.3, 0.4):  # now it is seen for the first time
        trial, same = opts[0].ask(), opt.ask()
        assert trial.decision == same.decision
        opts[0].tell(trial, {"c": 0.5, "new": 7.0 + value}, value)
        opt.tell(same, {"c": 0.5, "new": 7.0 + value}, value)
        opt = again(opt)
    assert opt.recommend() == opts[0].recommend()
    assert "not seen" not in opt.recommend().note
    assert math.isfinite(opt.recommend().expected)


@pytest.mark.parametrize("method", ALL)
def test_a_study_asks_and_recommends_before_any_context_was_seen(method):
    opt = optimizer(method, initial=2)
    for x in (0.1, 0.4, 0.6, 0.9):
        opt.tell({"x": x, "y": 0.5}, {"c": None}, 1 - (x - 0.5) ** 2)
    same = again(opt)
    asked = opt.ask(2)
    assert [t.decision for t in asked] == [t.decision for t in same.ask(2)]
    best = opt.recommend()
    assert best == same.recommend()
    if method != "random":
        assert abs(best.decision["x"] - 0.5) < 0.15
    assert best.note.startswith("Context 'c' was not seen yet: how it varies is unknown.")
    with pytest.raises(NotEnoughDataError, match="Context 'c' was not seen yet"):
        opt.density  # noqa: B018
    opt.tell(asked[0], {"c": 0.5}, 0.9)
    assert opt.ask().number == 2
    assert math.isfinite(opt.recommend().expected)


def test_the_note_names_all_contexts_that_were_never_seen():
    opt = mixed()
    for decision, _, value in history(6):
        opt.tell(decision, {"demand": None, "heat": None}, value)
    assert "Contexts 'demand' and 'heat' were not seen yet" in opt.recommend().note


def test_no_row_with_all_contexts_is_enough():
    opt = mixed()
    for i, (decision, _, value) in enumerate(history(8)):
        opt.tell(
            decision,
            {"demand": 10.0 + i, "heat": None} if i % 2 else {"demand": None, "heat": 20.0 + i},
            value,
        )
    assert_inside(opt.ask().decision)
    assert math.isfinite(opt.recommend().expected)
    assert opt.density.sample(5).shape == (5, 2)


def test_the_density_counts_what_was_seen_of_each_row():
    opt, alone = grown("auto", 12), Optimizer({"stock": Real(0, 40)}, {"demand": Real(0, 50)}, forget=None)
    for decision, context, value in history(12):
        if context["demand"] is not None:
            alone.tell({"stock": decision["stock"]}, {"demand": context["demand"]}, value)
    seen = opt._data.boxed_c[:, 0] * 50
    assert sorted(seen) == pytest.approx(sorted(c["demand"] for c in alone.observations.contexts))
    assert {*opt._data.seen[4:10, 1]} >= {*opt._data.scale.to_user(opt._data.boxed_c)[:3, 1]}


def test_a_context_that_is_seldom_seen_leaves_what_is_known_of_the_others():
    """A shop that knows its Saturdays notes the rain for the first time."""
    rng = np.random.default_rng(0)
    contexts = {"weekday": Categorical(["work", "sat"]), "demand": Real(low=0), "rain": Real(0, 50)}
    shop = Optimizer({"stock": Integer(0, 200)}, contexts, seed=4)
    for day in range(50):
        weekday = "sat" if day % 6 == 5 else "work"
        demand, stock = float(rng.normal(110 if weekday == "sat" else 60, 8)), int(rng.integers(30, 140))
        context = {"weekday": weekday, "demand": demand, "rain": 3.0 if day == 47 else None}
        shop.tell({"stock": stock}, context, 9 * min(stock, demand) - 5 * stock)
    for weekday, best in (("work", 60), ("sat", 110)):
        found = shop.recommend(known={"weekday": weekday})
        assert abs(found.decision["stock"] - best) < 10
        assert found.expected == pytest.approx(4 * best, abs=50)
    assert shop.density.marginal("weekday").pdf("sat") == pytest.approx(8 / 50, abs=0.03)


def test_observations_show_what_was_not_seen():
    opt = grown("auto")
    assert opt.observations.contexts[1] == {"demand": None, "heat": None}
    assert again(opt).observations == opt.observations
    table = opt.observations.to_pandas()
    assert table["heat"].isna().sum() == 4
    assert table["demand"].dtype == table["heat"].dtype == float
    empty = mixed()
    empty.tell(history(9)[1][0], {"demand": None, "heat": None}, 1.0)
    assert empty.observations.to_pandas()["heat"].dtype == float


def test_a_context_can_be_corrected_to_not_seen_and_back():
    opt = grown("auto")
    before = opt.observations
    opt.correct(8, context={"demand": None})
    assert opt.observations.contexts[8]["demand"] is None
    assert again(opt).observations == opt.observations
    opt.undo(8)
    assert opt.observations == before
    opt.correct(0, context={"heat": 19.0})
    assert opt.observations.contexts[0]["heat"] == 19.0


def test_a_context_that_was_not_seen_is_not_odd_and_a_mistyped_value_is():
    opt = grown("auto", 24)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opt.tell(history(24)[5][0], {"demand": None, "heat": None}, 8.0)
    with pytest.warns(WindageWarning, match="value"):
        opt.tell(history(24)[6][0], {"demand": None, "heat": 20.0}, 8000.0)
    assert opt.suspects == (25,)


def test_few_rows_that_saw_a_context_do_not_make_another_odd():
    opt = mixed()
    for decision, context, value in history(9):
        opt.tell(decision, {**context, "heat": None}, value)
    for heat in (20.0, 20.1, 35.0):
        opt.tell(history(9)[0][0], {"demand": 20.0, "heat": heat}, 8.0)


def test_botorch_refuses_in_words():
    with pytest.raises(ConfigurationError, match="not seen"):
        windage.botorch.model(grown("auto"))


def test_a_saved_none_of_a_decision_variable_stays_an_error():
    saved = grown("auto").to_dict()
    saved["observations"][0]["decision"]["stock"] = None
    with pytest.raises(ConfigurationError, match="stock"):
        Optimizer.from_dict(saved)


# history outside of the bounds


def narrowed(method: str = "auto", rows=None, **more) -> Optimizer:
    """A study of a stock up to 60 and crates in halves, continued with 0 to 40 and whole crates."""
    saved = mixed(method, **more).to_dict()
    rng = np.random.default_rng(3)
    for stock in np.linspace(0, 60, 10) if rows is None else rows:
        demand = float(rng.uniform(30, 50))
        decision = {"stock": float(stock), "crates": float(rng.choice([1, 2.5, 4, 7.5])), "shelf": "top"}
        context = {"demand": demand, "heat": float(rng.normal(20, 3))}
        saved["observations"].append({"decision": decision, "context": context, "value": min(stock, demand)})
    return Optimizer.from_dict(saved)


@pytest.mark.parametrize("method", ALL)
def test_every_method_learns_from_decisions_outside_of_the_bounds_and_stays_inside(method):
    opt = narrowed(method)
    assert len(opt.observations) == 10
    other = again(opt)
    for _ in range(3):
        trial = opt.ask()
        assert trial.decision == other.ask().decision
        assert_inside(trial.decision)
        for each in (opt, other):
            each.tell(each.pending[0], {"demand": 40.0, "heat": 20.0}, min(trial.decision["stock"], 40.0))
    best = opt.recommend()
    assert_inside(best.decision)
    if method != "random":
        assert best.decision["stock"] > 25


def test_the_rows_beyond_a_bound_teach_as_they_did_before_it():
    """The posterior of F on 0 to 40 is that on 0 to 60 with the same lengthscales in the user's units."""
    rng = np.random.default_rng(4)
    rows = [
        (float(s), float(c), float(np.sin(s / 9) + c))
        for s, c in zip(np.linspace(0, 60, 15), rng.random(15), strict=True)
    ]
    nodes, found = Nodes.equal(rng.random((20, 1))), []
    for high in (40, 60):
        opt = Optimizer({"s": Real(0, 60)}, {"c": Real(0, 1)}, seed=1)
        for s, c, y in rows:
            opt.tell({"s": s}, {"c": c}, y)
        saved = opt.to_dict()
        saved["decisions"][0]["high"] = high
        data = Optimizer.from_dict(saved)._data
        hyper = Hyperparameters((12 / high,), (0.7,), 1e-3, 0.0, 0.0)
        gp = ProductGP(Training.of(data, True, "matern"), hyper)
        moments = ExpectationPosterior(gp, nodes).moments(np.array([[10.0], [38.0], [40.0]]) / high)
        found.append((moments.mean, moments.variance))
    assert np.allclose(found[0], found[1], rtol=0, atol=1e-9)


def test_predictions_near_a_bound_use_the_rows_beyond_it():
    near, beyond = narrowed(rows=np.linspace(0, 40, 8)), narrowed(rows=np.linspace(0, 60, 12))
    at = {"stock": 40.0, "crates": 3, "shelf": "top"}
    with_them, without = beyond.predict(at), near.predict(at)
    assert np.diff(with_them.interval) < np.diff(without.interval)


def test_a_row_very_far_out_overflows_nothing():
    opt = narrowed(rows=[1.0, 10.0, 20.0, 30.0, 1e140, -1e140])
    assert_inside(opt.ask().decision)
    assert math.isfinite(opt.recommend().expected)
    assert np.isfinite(opt._data.x).all()


@pytest.mark.parametrize(
    ("space", "told"),
    [
        ({"a": Categorical(["x", "y"])}, {"a": "z"}),
        ({"a": Real(1, 10, log=True)}, {"a": 0.0}),
        ({"a": Real(1, 10, log=True)}, {"a": -3.0}),
        ({"a": Real(0, 1)}, {"a": math.nan}),
        ({"a": Integer(0, 5)}, {"a": "3"}),
        ({"a": Integer(0, 5)}, {}),
    ],
)
def test_what_cannot_be_placed_stays_an_error(space, told):
    saved = Optimizer(space, {"c": Real(0, 1)}).to_dict()
    saved["observations"] = [{"decision": told, "context": {"c": 0.5}, "value": 1.0}]
    with pytest.raises(ConfigurationError, match="'a'"):
        Optimizer.from_dict(saved)


def test_a_past_decision_within_the_bounds_is_an_ordinary_one():
    space = DecisionSpace.of(MIXED)
    recalled = space.recall({"stock": 40 + 1e-9, "crates": 2.0, "shelf": "top"})
    assert recalled == {"stock": 40.0, "crates": 2, "shelf": "top"}
    assert isinstance(recalled["crates"], int)


def test_pending_trials_and_corrections_from_before_the_bounds_are_kept():
    opt = Optimizer({"s": Real(0, 60)}, {"c": Real(0, 1)}, "sbo-kde", seed=1, **quick("sbo-kde", initial=2))
    for s in (5.0, 30.0, 55.0):
        opt.tell({"s": s}, {"c": 0.5}, s)
    opt.correct(0, decision={"s": 58.0})
    saved = opt.to_dict()
    saved.update(pending=[{"number": 0, "decision": {"s": 50.0}}], asked=1)
    saved["decisions"][0]["high"] = 40
    back = Optimizer.from_dict(saved)
    assert back.observations.decisions[0] == {"s": 58.0}
    assert back.ask().decision["s"] <= 40
    back.tell(back.pending[0], {"c": 0.4}, 50.0)
    assert back.observations.decisions[-1] == {"s": 50.0}
