"""Bad input gets an error that names the field and the remedy, and changes nothing."""

import copy
import math
from decimal import Decimal

import numpy as np
import pytest

from contracts import CONTEXT, DECISION, MIXED, MIXED_CONTEXTS, mixed, optimizer, run
from windage import (
    Categorical,
    ConfigurationError,
    InputError,
    Integer,
    NotEnoughDataError,
    Optimizer,
    Real,
    Trial,
    TrialError,
    WindageError,
)


@pytest.mark.parametrize(
    ("decision", "context", "value", "words"),
    [
        (DECISION, CONTEXT, math.nan, ["value", "finite"]),
        (DECISION, CONTEXT, math.inf, ["value", "finite"]),
        (DECISION, CONTEXT, -math.inf, ["value", "finite"]),
        (DECISION, CONTEXT, None, ["value", "missing"]),
        (DECISION, CONTEXT, "12", ["value", "number", "str"]),
        (DECISION, CONTEXT, True, ["value", "number", "bool"]),
        (DECISION, CONTEXT, [1.0], ["value", "number", "list"]),
        (DECISION, CONTEXT, 10**400, ["value", "finite"]),
        (DECISION, CONTEXT, 1 + 2j, ["value", "number"]),
        (DECISION, {**CONTEXT, "demand": math.nan}, 1.0, ["demand", "finite"]),
        (DECISION, {**CONTEXT, "heat": math.inf}, 1.0, ["heat", "finite"]),
        (DECISION, {**CONTEXT, "demand": "7"}, 1.0, ["demand", "number"]),
        (DECISION, {"demand": None}, 1.0, ["heat", "missing"]),
        (DECISION, {"demand": None, "heat": math.nan}, 1.0, ["heat", "finite"]),
        (DECISION, {"demand": None, "heta": 1.0}, 1.0, ["heta", "Did you mean 'heat'"]),
        (DECISION, {**CONTEXT, "demand": 50.1}, 1.0, ["demand", "50.1", "bounds", "clip"]),
        (DECISION, {"demand": 7.0}, 1.0, ["heat", "missing"]),
        (DECISION, {"demnad": 7.0, "heat": 1.0}, 1.0, ["demnad", "Did you mean 'demand'"]),
        (DECISION, {**CONTEXT, "rain": 1.0}, 1.0, ["rain", "unknown"]),
        (DECISION, None, 1.0, ["context", "missing"]),
        (DECISION, 7.0, 1.0, ["context", "dictionary"]),
        (DECISION, [7.0, 20.0], 1.0, ["context", "dictionary"]),
        ({**DECISION, "stock": 40.5}, CONTEXT, 1.0, ["stock", "40.5", "bounds"]),
        ({**DECISION, "stock": math.nan}, CONTEXT, 1.0, ["stock", "finite"]),
        ({**DECISION, "crates": 2.5}, CONTEXT, 1.0, ["crates", "whole"]),
        ({**DECISION, "crates": 6}, CONTEXT, 1.0, ["crates", "bounds"]),
        ({**DECISION, "shelf": "tpo"}, CONTEXT, 1.0, ["shelf", "'top'", "Did you mean"]),
        ({**DECISION, "shelf": 1}, CONTEXT, 1.0, ["shelf"]),
        ({"stock": 3.0}, CONTEXT, 1.0, ["missing"]),
        ({**DECISION, "Stock": 3.0}, CONTEXT, 1.0, ["Stock", "Did you mean 'stock'"]),
        (None, CONTEXT, 1.0, ["decision", "dictionary"]),
        (3.0, CONTEXT, 1.0, ["decision", "dictionary"]),
    ],
)
def test_bad_tells_are_refused_and_change_nothing(decision, context, value, words):
    opt = mixed()
    opt.tell(DECISION, context=CONTEXT, value=1.0)
    before = copy.deepcopy(opt.to_dict())
    with pytest.raises(InputError) as error:
        opt.tell(decision, context=context, value=value)
    for word in words:
        assert word in str(error.value)
    assert opt.to_dict() == before


@pytest.mark.parametrize(
    ("context", "value"), [(None, 1.0), ({**CONTEXT, "demand": -1}, 1.0), (CONTEXT, math.nan)]
)
def test_a_refused_trial_stays_pending_and_can_be_told_rightly(context, value):
    opt = mixed()
    trial = opt.ask()
    with pytest.raises(InputError):
        opt.tell(trial, context=context, value=value)
    assert opt.pending == (trial,)
    opt.tell(trial, context=CONTEXT, value=1.0)
    assert not opt.pending


def test_a_trial_told_twice_or_of_another_optimizer():
    one, other = optimizer(seed=1), optimizer(seed=1)
    trial = one.ask()
    with pytest.raises(TrialError, match="another optimizer"):
        other.tell(trial, context={"c": 0.5}, value=1.0)
    other.ask()  # the same seed: the same number and decision, and still not its own
    with pytest.raises(TrialError, match="another optimizer"):
        other.tell(trial, context={"c": 0.5}, value=1.0)
    one.tell(trial, context={"c": 0.5}, value=1.0)
    with pytest.raises(TrialError, match="told or cancelled already"):
        one.tell(trial, context={"c": 0.5}, value=1.0)
    assert len(one.observations) == 1
    assert len(other.observations) == 0


def test_changing_a_trials_decision_is_noticed():
    opt = optimizer()
    trial = opt.ask()
    trial.decision["x"] = 0.123
    with pytest.raises(TrialError, match="was changed"):
        opt.tell(trial, context={"c": 0.5}, value=1.0)
    assert opt.pending[0].decision["x"] != 0.123


def test_odd_trials_get_a_trial_error():
    opt = optimizer()
    opt.ask()
    for wrong in (lambda: opt.cancel(5), lambda: opt.tell(Trial([1], {}), {"c": 0.5}, 1.0)):
        with pytest.raises(TrialError):
            wrong()
    with pytest.raises(InputError):
        Categorical(["a", "b"]).check(np.array(["a", "b"]), "decision 'm'")


@pytest.mark.parametrize("n", [-1, 1.5, "3", True])
def test_ask_wants_a_count(n):
    with pytest.raises(InputError, match="n must be"):
        optimizer().ask(n)


@pytest.mark.parametrize(
    "act",
    [
        lambda o: o.predict(5),
        lambda o: o.predict(None),
        lambda o: o.predict("x"),
        lambda o: o.predict([1.0]),
        lambda o: o.density.pdf("a"),
        lambda o: o.density.pdf({"c": "x"}),
        lambda o: o.density.pdf([[0.1, 0.2]]),
        lambda o: o.density.sample(3, seed=1.5),
        lambda o: o.tell({"x": 0.5, "y": 0.5}, {"c": 0.5}, 1.5e308),
        lambda o: o.tell({"x": 0.5, "y": 0.5}, {"c": 0.5}, Decimal("1.5")),
        lambda o: o.tell({"x": np.array(["a"]), "y": 0.5}, {"c": 0.5}, 1.0),
    ],
)
def test_odd_questions_get_an_input_error(act):
    opt = optimizer()
    run(opt, 3)
    with pytest.raises(InputError):
        act(opt)


def test_questions_that_need_observations():
    opt = mixed()
    for question in (opt.recommend, lambda: opt.density, lambda: opt.predict(DECISION)):
        with pytest.raises(NotEnoughDataError, match="at least 1 observation"):
            question()
    with pytest.raises(NotEnoughDataError, match=r"auto.*initial"):
        mixed(initial=0).ask()


def test_contexts_at_the_end_of_the_floats_are_refused():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real()}, seed=0)
    with pytest.raises(InputError, match="too large"):
        opt.tell({"x": 0.5}, {"c": 1.7e308}, 0.0)
    for c in (-1e149, 0.0, 1e149):
        opt.tell({"x": 0.5}, {"c": c}, 0.0)
    assert 0 <= opt.recommend().decision["x"] <= 1


def test_a_study_without_contexts_says_so():
    opt = Optimizer({"x": Real(0, 1)}, method="gp-ucb", seed=0)
    with pytest.raises(InputError, match="this study has no contexts"):
        opt.tell({"x": 0.5}, {"a": 1.0}, 1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "sbo-kd"}, ["sbo-kd", "stableopt", "Did you mean 'sbo-kde'"]),
        ({"method": None}, ["None", "gp-ucb"]),
        ({"decisions": {}}, ["no decisions"]),
        ({"decisions": None}, ["decisions", "dictionary"]),
        ({"contexts": {}}, ["context", "gp-ucb"]),
        ({"contexts": None}, ["context", "gp-ucb"]),
        ({"contexts": {"stock": Real()}}, ["stock", "both"]),
        ({"direction": "max"}, ["direction", "maximize"]),
        ({"seed": -1}, ["seed"]),
        ({"seed": 1.5}, ["seed"]),
        ({"initial": -1}, ["initial"]),
        ({"initial": "ten"}, ["initial"]),
        ({"budget": -3}, ["budget"]),
        ({"restart": 5}, ["restart", "Did you mean 'restarts'"]),
        ({"restarts": 0}, ["restarts"]),
        ({"samples": "many"}, ["samples", "nodes"]),
        ({"samples": 0}, ["samples"]),
        ({"sqrt_beta": -1}, ["sqrt_beta"]),
        ({"sqrt_beta": math.nan}, ["sqrt_beta"]),
        ({"sqrt_beta": "theorm"}, ["sqrt_beta", "theorem"]),
        ({"radius": -0.1}, ["radius"]),
        ({"gamma": 1.5}, ["gamma"]),
        ({"bandwidth": "scot"}, ["bandwidth", "rule-of-thumb"]),
        ({"bandwidth": 0}, ["bandwidth"]),
        ({"boundary": "wrap"}, ["boundary", "reflect"]),
        ({"kernel": "mattern"}, ["kernel", "Did you mean 'matern'"]),
        ({"grid": 1}, ["grid"]),
        ({"raw_samples": True}, ["raw_samples"]),
        ({"raw_samples": 10**7}, ["raw_samples", "at most 65536", "memory"]),
        ({"restarts": 10**6}, ["restarts", "at most 4096"]),
        ({"method": "drbo-kde", "space_points": 10**7}, ["space_points", "at most 65536"]),
        ({"method": "sbo-kde", "samples": 10**5000}, ["samples", "at most 65536"]),
        ({"method": "drbo-mmd", "grid": 10**5}, ["grid", "at most 4096"]),
        ({"members": 1000}, ["members", "at most 256"]),
        ({"seed": -(10**5000)}, ["seed"]),
        ({"budget": 10**5000}, ["budget"]),
        ({"kernel": 10**5000}, ["kernel"]),
    ],
)
def test_wrong_configurations_are_refused(arguments, words):
    with pytest.raises(ConfigurationError) as error:
        Optimizer(**{"decisions": MIXED, "contexts": MIXED_CONTEXTS, **arguments})
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Real(10**400, 10**401), "low is infinite or over"),
        (lambda: Real(-(10**400), 0), "low is infinite or over"),
        (lambda: Real(np.inf, None), "low is infinite or over"),
        (lambda: Integer(2**60, 2**60 + 10), "low is beyond"),
        (lambda: Integer(10**400, 10**400 + 5), "low is beyond"),
        (lambda: optimizer("drbo-kde", radius=10**400), "radius must be"),
        (lambda: optimizer("drbo-kde", radius=np.array([0.1, 0.2])), "radius must be"),
        (lambda: optimizer("drbo-mmd", gamma=np.array([0.1])), "gamma must be"),
        (lambda: optimizer("drbo-mmd", grid=np.array([12, 13])), "grid must be"),
        (lambda: optimizer("bq-kde", members=np.array([2])), "members must be"),
        (lambda: optimizer(kernel=np.array(["a", "b"])), "kernel must be one of"),
        (lambda: optimizer(bandwidth=np.array([0.1, 0.2])), "bandwidth must be"),
        (lambda: optimizer(boundary=np.array(["clamp", "none"])), "boundary must be one of"),
        (lambda: optimizer(samples=np.array([1, 2])), "samples must be"),
        (lambda: optimizer(samples=np.array([1])), "samples must be"),
        (lambda: optimizer(sqrt_beta=np.array([1.0, 2.0])), "sqrt_beta must be"),
        (lambda: optimizer(seed=np.array([1, 2])), "seed must be"),
        (lambda: optimizer(direction="maximise"), "Did you mean 'maximize'"),
        (lambda: optimizer(direction=np.array(["maximize", "minimize"])), "direction must be"),
    ],
)
def test_odd_configurations_are_refused_in_words(make, words):
    with pytest.raises(ConfigurationError, match=words):
        make()


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [("directon", "direction"), ("metod", "method"), ("context", "contexts"), ("restart", "restarts")],
)
def test_misspelt_keywords_are_recognised(keyword, meant):
    with pytest.raises(ConfigurationError, match=f"Did you mean '{meant}'"):
        Optimizer({"x": Real(0, 1)}, **{keyword: "minimize"})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Optimizer({"x": Real(0, 1)}, {"w": ["sun", "rain"]}), "Real or Integer or Categorical"),
        (lambda: Optimizer({"p": (0, 1)}, {"w": Real()}), r"'p': Real\(low, high\)"),
        (lambda: Optimizer({"x": Real(0, 1)}, {"w": Real()}, budget=0), "budget"),
        (lambda: Real(outside="clip"), "bound to clip at"),
        (lambda: Optimizer.from_dict("{}"), "json.loads"),
        (lambda: Categorical(["a", "a"]), "Leave out the repeats"),
    ],
)
def test_messages_name_the_remedy(make, words):
    with pytest.raises(ConfigurationError, match=words):
        make()


def test_clipping_comes_before_the_logarithm():
    assert Real(0.1, 10, log=True, outside="clip").check(0, "context 'c'") == 0.1
    assert Real(0.1, 10, log=True, outside="clip").check(-5, "context 'c'") == 0.1
    with pytest.raises(InputError, match="above 0"):
        Real(high=5, log=True, outside="clip").check(0, "context 'c'")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Real(1e-12, 1, log=True), 1e-15),
        (Real(low=0), -9e-10),
        (Real(0, 1), 1.0000001),
        (Integer(0, 3), 2.9999999999),
    ],
)
def test_slack_is_for_rounding_only_and_the_message_shows_the_number(parameter, value):
    with pytest.raises(InputError) as error:
        parameter.check(value, "context 'c'")
    assert repr(value) in str(error.value)


def test_the_hint_to_clip_is_for_contexts_alone():
    with pytest.raises(InputError) as error:
        Real(0, 1).check(2, "decision 'x'")
    assert "clip" not in str(error.value)


def test_every_error_is_a_windage_error():
    for kind in (ConfigurationError, InputError, NotEnoughDataError, TrialError):
        assert issubclass(kind, WindageError)


def test_a_misspelt_keyword_names_the_right_one():
    opt = optimizer()
    with pytest.raises(InputError, match=r"unknown keyword 'contexts'.*Did you mean 'context'"):
        opt.tell({"x": 0.1, "y": 0.2}, contexts={"c": 0.3}, value=1.0)
    assert not len(opt.observations)
    with pytest.raises(ConfigurationError, match="Did you mean 'radius'"):
        optimizer("drbo-kde", raduis=0.2)


@pytest.mark.parametrize("context", [5e-324, -5e-324, 1e-300, 1e150])
@pytest.mark.parametrize("real", [Real(), Real(low=-1.0)])
@pytest.mark.parametrize("method", ["auto", "drbo-mmd"])
def test_a_single_context_of_any_size_can_be_computed_with(method, real, context):
    opt = Optimizer({"x": Real(0, 1)}, {"c": real}, method, initial=1, seed=1, raw_samples=16, restarts=2)
    opt.tell({"x": 0.3}, context={"c": context}, value=1.0)
    assert 0 <= opt.ask().decision["x"] <= 1
    assert math.isfinite(opt.recommend().expected)
