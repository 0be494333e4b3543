"""The optimizer: its contract, and that bad input gets a clear error and changes nothing."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
import torch

import windage
from contracts import QUICK, draw, easy, optimizer, run
from windage import (
    ConfigurationError,
    InputError,
    NotEnoughDataError,
    Optimizer,
    Real,
    Trial,
    TrialError,
    WindageError,
)
from windage.methods import BEST
from windage.space import DecisionSpace

DECISIONS = {
    "stock": Real(0, 40),
    "crates": windage.Integer(1, 5),
    "shelf": windage.Categorical(["top", "low"]),
}
CONTEXTS = {"demand": Real(0, 50), "heat": Real()}
DECISION = {"stock": 3.0, "crates": 2, "shelf": "top"}
CONTEXT = {"demand": 7.0, "heat": 20.0}


def shop(**more) -> Optimizer:
    return Optimizer(DECISIONS, CONTEXTS, seed=1, **{"initial": 3, **QUICK, **more})


# ---------------------------------------------------------------- bad input


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
        (DECISION, {**CONTEXT, "demand": None}, 1.0, ["demand", "number"]),
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
    opt = shop()
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
    opt = shop()
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


def test_a_restored_optimizer_knows_what_was_told():
    opt = optimizer()
    told, waiting = opt.ask(2)
    opt.tell(told, context={"c": 0.5}, value=1.0)
    restored = Optimizer.from_dict(opt.to_dict())
    with pytest.raises(TrialError):
        restored.tell(told, context={"c": 0.5}, value=1.0)
    with pytest.raises(TrialError, match="another optimizer"):
        restored.tell(Trial(waiting.number, {"x": 0.1, "y": 0.1}), context={"c": 0.5}, value=1.0)
    restored.tell(restored.pending[0], context={"c": 0.5}, value=1.0)


def test_a_study_restored_at_every_step_asks_the_same_to_the_last_bit():
    """Past the first fits, where hyper-parameters are kept and inverses extended."""
    steady, fitted = optimizer(seed=3, raw_samples=32, restarts=2, samples=16), []
    rng = np.random.default_rng(0)
    for _ in range(30):
        x, y, c = rng.uniform(size=3)
        steady.tell({"x": x, "y": y}, context={"c": c}, value=float(np.sin(5 * x) + y * c))
    broken = Optimizer.from_dict(steady.to_dict())
    for _ in range(12):
        trial, same = steady.ask(), broken.ask()
        assert trial.decision == same.decision
        context = {"c": float(rng.uniform())}
        value = float(
            np.sin(5 * trial.decision["x"]) + trial.decision["y"] * context["c"] + 0.1 * rng.normal()
        )
        steady.tell(trial, context=context, value=value)
        broken.tell(same, context=context, value=value)
        steady.recommend()  # looking changes nothing
        broken = Optimizer.from_dict(json.loads(json.dumps(broken.to_dict())))
        fitted.append(broken.to_dict()["fits"]["joint rbf"]["count"])
    assert 1 < len(set(fitted)) < 12  # some fits were kept


def test_a_trial_may_travel_to_another_process_and_back():
    opt = optimizer()
    trial = pickle.loads(pickle.dumps(opt.ask()))
    opt.tell(trial, context={"c": 0.5}, value=1.0)
    assert len(opt.observations) == 1


def test_changing_a_trials_decision_is_noticed():
    opt = optimizer()
    trial = opt.ask()
    trial.decision["x"] = 0.123
    with pytest.raises(TrialError):
        opt.tell(trial, context={"c": 0.5}, value=1.0)
    assert opt.pending[0].decision["x"] != 0.123


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
    ],
)
def test_wrong_configurations_are_refused(arguments, words):
    with pytest.raises(ConfigurationError) as error:
        Optimizer(**{"decisions": DECISIONS, "contexts": CONTEXTS, **arguments})
    for word in words:
        assert word in str(error.value)


def test_questions_that_need_observations():
    opt = shop()
    for question in (opt.recommend, lambda: opt.density, lambda: opt.predict(DECISION)):
        with pytest.raises(NotEnoughDataError, match="at least 1 observation"):
            question()
    with pytest.raises(NotEnoughDataError, match=rf"{BEST}.*initial"):
        shop(initial=0).ask()


def test_every_error_is_a_windage_error():
    for kind in (ConfigurationError, InputError, NotEnoughDataError, TrialError):
        assert issubclass(kind, WindageError)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: None,
        lambda d: {},
        lambda d: {**d, "format": 99},
        lambda d: {k: v for k, v in d.items() if k != "observations"},
        lambda d: {**d, "method": "nonsense"},
        lambda d: {**d, "observations": [{"decision": {}, "context": {}, "value": 1}]},
        lambda d: {**d, "observations": 5},
        lambda d: {**d, "pending": [{"number": 0}]},
        lambda d: {**d, "fits": {"joint rbf": {}}},
        lambda d: {**d, "asked": "x"},
        lambda d: {**d, "decisions": [{"name": "x", "kind": "complex"}]},
    ],
)
def test_a_damaged_dictionary_is_refused(damage):
    opt = optimizer()
    run(opt, 6)
    with pytest.raises(ConfigurationError, match="saved optimizer"):
        Optimizer.from_dict(damage(opt.to_dict()))


@pytest.mark.parametrize("n", [-1, 1.5, "3", True])
def test_ask_wants_a_count(n):
    with pytest.raises(InputError, match="n must be"):
        optimizer().ask(n)


# ---------------------------------------------------------------- the contract


def test_outside_clip_puts_the_context_on_the_bound():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1, outside="clip")}, seed=0)
    opt.tell({"x": 0.5}, context={"c": 1.7}, value=0.0)
    assert opt.observations.contexts[0] == {"c": 1.0}


def test_first_decisions_are_a_scrambled_sobol_sequence():
    opt = optimizer(initial=8)
    points = np.array([[t.decision["x"], t.decision["y"]] for t in opt.ask(8)])
    # each half and each quarter of every axis is hit equally often
    for axis in points.T:
        assert np.bincount((axis * 4).astype(int), minlength=4).tolist() == [2, 2, 2, 2]
    other = optimizer(initial=8, seed=2).ask(8)
    assert other[0].decision != {"x": points[0, 0], "y": points[0, 1]}


def test_initial_decisions_do_not_depend_on_the_method():
    assert optimizer("gp-ucb").ask(5) == optimizer("drbo-mmd").ask(5)


def test_the_defaults_first_decisions_keep_off_the_ends():
    space = {**DECISIONS, "colour": windage.Categorical([f"c{i}" for i in range(20)])}

    def first(method):
        trials = Optimizer(space, CONTEXTS, method=method, seed=1, initial=5, **QUICK).ask(5)
        return [trial.decision for trial in trials]

    auto, plain = first("auto"), first("sbo-kde")
    assert any(abs(d["stock"] - 20) > 16 for d in plain)  # else there is nothing to keep off from
    for mine, theirs in zip(auto, plain, strict=True):
        assert 4 <= mine["stock"] <= 36
        assert mine["stock"] == pytest.approx(20 + 0.8 * (theirs["stock"] - 20))
        assert abs(mine["crates"] - 3) <= abs(theirs["crates"] - 3)
        assert (mine["shelf"], mine["colour"]) == (theirs["shelf"], theirs["colour"])


def test_a_single_first_decision_is_the_middle_and_more_are_not():
    space = {"x": Real(0, 8), "n": windage.Integer(1, 5)}
    trials = Optimizer(space, {"c": Real(0, 1)}, seed=7, initial=1, **QUICK).ask(4)
    assert trials[0].decision == {"x": 4.0, "n": 3}
    assert len({tuple(trial.decision.values()) for trial in trials}) == 4


@pytest.mark.parametrize(
    ("budget", "auto", "others"), [(None, 4, 10), (400, 4, 10), (40, 4, 10), (20, 4, 5), (8, 2, 2), (3, 1, 1)]
)
def test_default_number_of_first_decisions(budget, auto, others):
    def initial(**more):
        return Optimizer({"x": Real(0, 1)}, {"c": Real()}, budget=budget, seed=0, **more).to_dict()["initial"]

    assert (initial(), initial(method="sbo-kde"), initial(method="bq-kde")) == (auto, others, others)
    assert initial(initial=7) == initial(method="sbo-kde", initial=7) == 7


def test_among_choices_the_default_takes_as_many_first_decisions_as_the_others():
    opt = Optimizer({"x": Real(0, 1), "kind": windage.Categorical(["a", "b"])}, {"c": Real()}, seed=0)
    assert opt.to_dict()["initial"] == 10


def test_after_four_outcomes_the_default_chooses_by_them():
    def fifth(outcome):
        opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, seed=3, **QUICK)
        for i in range(4):
            trial = opt.ask()
            opt.tell(trial, context={"c": i / 3}, value=outcome(trial.decision["x"]))
        return opt.ask().decision["x"]

    rising, falling = fifth(lambda x: x), fifth(lambda x: -x)
    assert falling < 0.5 < rising


def test_history_counts_towards_the_first_decisions():
    opt, fresh = optimizer(initial=4), optimizer(initial=4)
    for i in range(4):
        opt.tell({"x": i / 4, "y": 0.5}, context={"c": 0.5}, value=float(i))
    assert opt.ask() != fresh.ask()  # the model's choice, not the sequence's


def test_ask_without_any_tell_goes_on():
    trials = optimizer(initial=2).ask(6)
    assert len({tuple(t.decision.values()) for t in trials}) == 6


def test_small_discrete_spaces_are_not_asked_twice_at_once():
    opt = Optimizer(
        {"a": windage.Categorical(["p", "q", "r"])}, {"c": Real(0, 1)}, seed=0, initial=1, **QUICK
    )
    assert {t.decision["a"] for t in opt.ask(3)} == {"p", "q", "r"}
    assert opt.ask().decision["a"] in {"p", "q", "r"}  # all are pending: a repeat is all that is left
    for trial in opt.pending:
        opt.tell(trial, context={"c": 0.5}, value={"p": 0.0, "q": 1.0, "r": 0.5}[trial.decision["a"]])
    assert len({t.decision["a"] for t in opt.ask(3)}) == 3


def test_cancel_frees_the_place_of_a_trial():
    opt = optimizer()
    run(opt, 6)
    trial = opt.ask()
    opt.cancel(trial)
    assert not opt.pending
    with pytest.raises(TrialError, match="cancelled"):
        opt.tell(trial, context={"c": 0.5}, value=1.0)


def test_a_random_seed_is_drawn_and_kept():
    one, other = (Optimizer({"x": Real(0, 1)}, {"c": Real()}) for _ in range(2))
    assert one.to_dict()["seed"] != other.to_dict()["seed"]
    assert Optimizer.from_dict(one.to_dict()).ask() == one.ask()


def test_the_default_type_and_threads_of_torch_are_left_alone():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        run(optimizer(), 7)
        assert torch.get_num_threads() == 2
        assert torch.get_default_dtype() == torch.float32
    finally:
        torch.set_num_threads(threads)


def test_global_random_state_is_left_alone_and_does_not_matter():
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = (torch.rand(1).item(), np.random.rand())  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    first = run(optimizer(), 8)
    assert (torch.rand(1).item(), np.random.rand()) == expected  # noqa: NPY002
    assert run(optimizer(), 8) == first


def test_observations_are_frozen_and_become_a_table():
    opt = shop()
    opt.tell(DECISION, context=CONTEXT, value=np.float32(1.5))
    record = opt.observations
    opt.tell({**DECISION, "stock": 4}, context=CONTEXT, value=2)
    assert len(record) == 1
    assert len(opt.observations) == 2
    table = opt.observations.to_pandas()
    assert list(table.columns) == ["stock", "crates", "shelf", "demand", "heat", "value"]
    assert table["value"].tolist() == [1.5, 2.0]
    assert len(shop().observations.to_pandas()) == 0


def test_scalars_of_numpy_and_torch_are_numbers():
    opt = shop()
    context = {"demand": torch.tensor(7.0), "heat": np.float32(20)}
    opt.tell({**DECISION, "stock": np.int64(3)}, context=context, value=torch.tensor(1.5, dtype=torch.double))
    assert opt.observations.values == (1.5,)
    assert json.dumps(opt.to_dict())
    for wrong in (
        np.bool_(True),
        torch.tensor(True),
        torch.tensor([1.0]),
        np.array([1.0]),
        np.datetime64("2024"),
    ):
        with pytest.raises(InputError, match="value must be a number"):
            opt.tell(DECISION, context=CONTEXT, value=wrong)


def test_the_state_is_plain_json():
    opt = shop()
    opt.tell(DECISION, context=CONTEXT, value=np.float64(1.5))
    trial = opt.ask()
    text = json.dumps(opt.to_dict(), allow_nan=False)
    again = Optimizer.from_dict(json.loads(text))
    assert json.dumps(again.to_dict()) == text
    again.tell(trial, context=CONTEXT, value=1.0)


def test_the_state_does_not_share_memory_with_the_optimizer():
    opt = shop()
    opt.tell(DECISION, context=CONTEXT, value=1.5)
    saved = opt.to_dict()
    saved["observations"][0]["decision"]["stock"] = -1
    assert opt.observations.decisions[0]["stock"] == 3.0


# ---------------------------------------------------------------- recommend, predict, density


def test_recommend_from_the_first_observation_on_and_in_words():
    opt = optimizer()
    opt.tell({"x": 0.2, "y": 0.3}, context={"c": 0.5}, value=1.0)
    best = opt.recommend()
    assert "Only 1 observation" in best.note
    assert best.interval[0] < best.interval[1]
    for i in range(5):
        opt.tell({"x": 0.2, "y": i / 5}, context={"c": 0.5}, value=1.0)
    assert "outcomes told so far are equal" in opt.recommend().note
    assert "contexts told so far are equal" in opt.recommend().note
    run(opt, 4)
    assert opt.recommend().note == ""


def test_recommend_is_the_best_of_predict():
    opt = optimizer()
    run(opt, 15)
    best = opt.recommend()
    axis = np.linspace(0, 1, 15)
    others = opt.predict([{"x": float(a), "y": float(b)} for a in axis for b in axis])
    assert best.expected >= max(p.expected for p in others) - 1e-9
    again = opt.predict(best.decision)
    assert again.expected == pytest.approx(best.expected, abs=1e-9)
    assert again.interval == pytest.approx(best.interval, abs=1e-9)
    assert again.worst_case == pytest.approx(best.worst_case, abs=1e-9)
    with pytest.raises(InputError):
        opt.predict({"x": 2.0, "y": 0.0})


def test_the_interval_narrows_with_data():
    few, many = optimizer(), optimizer()
    run(few, 8)
    run(many, 40)
    width = [high - low for low, high in (few.recommend().interval, many.recommend().interval)]
    assert width[1] < width[0]


def coverage(seeds: range, steps: int) -> float:
    """How often the interval of the expectation at a fixed decision holds the truth."""
    hits = 0
    at = {"x": 0.4, "y": 0.6}
    truth = -np.sum((np.array([0.4, 0.6]) - [0.6, 0.3]) ** 2) - 2 * 0.01 * 0.15**2 + 0.1
    for seed in seeds:
        opt = optimizer(seed=seed, initial=steps)
        run(opt, steps, seed=seed)
        low, high = opt.predict(at).interval
        hits += low <= truth <= high
    return hits / len(seeds)


def test_the_interval_covers_the_truth():
    assert coverage(range(40), 20) >= 0.85


def test_without_contexts_gp_ucb_is_plain_bayesian_optimisation():
    opt = Optimizer({"x": Real(0, 1)}, method="gp-ucb", seed=0, initial=4, **QUICK)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, value=-((trial.decision["x"] - 0.3) ** 2))
    best = opt.recommend()
    assert best.decision["x"] == pytest.approx(0.3, abs=0.03)
    assert best.worst_case == best.expected
    with pytest.raises(ConfigurationError, match="no contexts"):
        _ = opt.density
    assert Optimizer.from_dict(opt.to_dict()).ask() == opt.ask()


def test_density_in_the_users_units():
    opt = Optimizer({"x": Real(0, 1)}, {"temperature": Real(), "rain": Real(low=0)}, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        context = {"temperature": rng.normal(15, 4), "rain": rng.exponential(3)}
        opt.tell({"x": 0.5}, context=context, value=0.0)
    law = opt.density
    draws = law.sample(4000)
    assert draws.shape == (4000, 2)
    assert draws[:, 0].mean() == pytest.approx(15, abs=1.5)
    assert draws[:, 1].min() >= 0
    assert np.array_equal(law.sample(5), opt.density.sample(5))
    assert not np.array_equal(law.sample(5), law.sample(5, seed=3))
    single = law.pdf({"temperature": 15.0, "rain": 2.0})
    assert isinstance(single, float)
    assert law.pdf([15.0, 2.0]) == pytest.approx(single)
    assert law.pdf([[15.0, 2.0], [15.0, -1.0]]) == pytest.approx([single, 0.0])
    assert law.pdf({"temperature": np.array([15.0, 15.0]), "rain": 2.0}) == pytest.approx([single] * 2)
    for wrong in ({"rain": 1.0}, [1.0, 2.0, 3.0], [[1.0, math.nan]], {"temprature": 1.0, "rain": 1.0}):
        with pytest.raises(InputError):
            law.pdf(wrong)
    with pytest.raises(InputError):
        law.sample(-1)
    assert set(law.bandwidth) == {"temperature", "rain"}
    assert "60 contexts" in repr(law)


@pytest.mark.parametrize("parameter", [Real(), Real(0.01, 100, log=True), Real(low=0), Real(-5, 200)])
def test_density_integrates_to_one(parameter):
    opt = Optimizer({"x": Real(0, 1)}, {"c": parameter}, seed=0, boundary="none")
    rng = np.random.default_rng(0)
    for _ in range(40):
        opt.tell({"x": 0.5}, context={"c": float(np.clip(rng.lognormal(1, 0.4), 0.02, 90))}, value=0.0)
    line = np.linspace(-60, 160, 400_001) if not parameter.log else np.geomspace(1e-4, 1e4, 400_001)
    assert np.trapezoid(opt.density.pdf(line), line) == pytest.approx(1.0, abs=1e-3)


def test_public_names():
    for name in windage.__all__:
        assert getattr(windage, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = windage.nonsense
    assert set(windage.__all__) <= set(dir(windage))
    assert "told" in repr(optimizer())
    assert DecisionSpace.of(optimizer().decisions).names == ("x", "y")
    assert list(optimizer().contexts) == ["c"]


def test_one_point_far_out_does_not_hide_the_rest():
    """An outlying context with stated bounds absent: the other contexts still count."""
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real()}, seed=0, initial=3, bandwidth="silverman", **QUICK)
    rng = np.random.default_rng(1)
    for i in range(25):
        x, c = float(rng.uniform()), draw(rng)["c"] + (1e6 if i == 7 else 0)
        value = -((x - 0.4) ** 2) + 0.1 * min(c, 1.0)
        opt.tell({"x": x}, context={"c": c}, value=value)
    assert opt.recommend().decision["x"] == pytest.approx(0.4, abs=0.1)


def test_easy_function_is_what_it_says():
    assert easy({"x": 0.6, "y": 0.3}, {"c": 0.5}) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("decisions", "chosen", "count"), [(1, None, 16), (2, None, 8), (1, 3, 3), (2, 3, 3)]
)
def test_with_one_decision_there_are_twice_as_many_members(decisions, chosen, count):
    names = ["a", "b"][:decisions]
    opt = Optimizer({n: Real(0, 1) for n in names}, {"w": Real(0, 1)}, seed=1, members=chosen, **QUICK)
    rng = np.random.default_rng(1)
    for _ in range(6):
        opt.tell({n: float(rng.uniform()) for n in names}, {"w": float(rng.uniform())}, float(rng.normal()))
    assert len(opt._models(True)) == count


def test_after_many_observations_the_likeliest_kernel_stands_for_all(monkeypatch):
    monkeypatch.setattr("windage.surrogates.DECIDED", 12)
    opt = optimizer("bq-kde")
    run(opt, 12)
    assert len(opt._models(True)) == 8
    run(opt, 3, seed=1)
    models = opt._models(True)
    assert len(models) == 1
    last = opt.fits_to_dict()
    best = max(last, key=lambda name: last[name]["log_posterior"] / last[name]["count"])
    assert best == f"joint {models[0].data.kernel}"
    again = windage.Optimizer.from_dict(opt.to_dict())
    assert again.ask().decision == opt.ask().decision
    assert again.recommend() == opt.recommend()


def test_the_lengthscales_of_numbers_are_alike_and_those_of_choices_their_own():
    space = {
        "heat": Real(0, 1),
        "feed": windage.Categorical(["a", "b", "c"]),
        "rate": windage.Integer(1, 9),
    }
    optimizer = Optimizer(space, {"wind": Real(0, 1)}, seed=1)
    optimizer.tell({"heat": 0.5, "feed": "a", "rate": 3}, {"wind": 0.5}, 1.0)
    assert optimizer._evidence.training(True, member=True).alike == (0, 2)
    assert optimizer._evidence.training(True).alike == ()
