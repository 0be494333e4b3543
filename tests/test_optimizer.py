"""The optimizer's contract: ask, tell, cancel, and what never changes by it."""

import json
import pickle
import random

import numpy as np
import pytest

import windage
from contracts import CONTEXT, DECISION, easy, mixed, optimizer, quick, run
from windage import Categorical, InputError, Integer, Optimizer, Real, Trial, TrialError
from windage.space import DecisionSpace


def test_public_names():
    for name in windage.__all__:
        assert getattr(windage, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = windage.nonsense
    assert set(windage.__all__) <= set(dir(windage))
    assert "told" in repr(optimizer())
    assert DecisionSpace.of(optimizer().decisions).names == ("x", "y")
    assert list(optimizer().contexts) == ["c"]


def test_first_decisions_are_a_scrambled_sobol_sequence():
    opt = optimizer(initial=8)
    points = np.array([[t.decision["x"], t.decision["y"]] for t in opt.ask(8)])
    # each half and each quarter of every axis is hit equally often
    for axis in points.T:
        assert np.bincount((axis * 4).astype(int), minlength=4).tolist() == [2, 2, 2, 2]
    other = optimizer(initial=8, seed=2).ask(8)
    assert other[0].decision != {"x": points[0, 0], "y": points[0, 1]}


def test_initial_decisions_do_not_depend_on_the_method():
    assert optimizer("gp-ucb").ask(5) == optimizer("drbo-mmd").ask(5) == optimizer("auto").ask(5)


@pytest.mark.parametrize(
    ("budget", "auto", "others"), [(None, 4, 10), (400, 4, 10), (40, 4, 10), (20, 4, 5), (8, 2, 2), (3, 1, 1)]
)
def test_default_number_of_first_decisions(budget, auto, others):
    def initial(**more):
        return Optimizer({"x": Real(0, 1)}, {"c": Real()}, budget=budget, seed=0, **more).to_dict()["initial"]

    assert (initial(), initial(method="sbo-kde"), initial(method="bq-kde")) == (auto, others, others)
    assert initial(initial=7) == initial(method="sbo-kde", initial=7) == 7


def test_among_choices_the_default_takes_as_many_first_decisions_as_the_others():
    opt = Optimizer({"x": Real(0, 1), "kind": Categorical(["a", "b"])}, {"c": Real()}, seed=0)
    assert opt.to_dict()["initial"] == 10


def test_after_four_outcomes_the_default_chooses_by_them():
    def fifth(outcome):
        opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, seed=3, **quick())
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
    opt = Optimizer({"a": Categorical(["p", "q", "r"])}, {"c": Real(0, 1)}, seed=0, initial=1, **quick())
    assert {t.decision["a"] for t in opt.ask(3)} == {"p", "q", "r"}
    assert opt.ask().decision["a"] in {"p", "q", "r"}  # all are pending: a repeat is all that is left
    for trial in opt.pending:
        opt.tell(trial, context={"c": 0.5}, value={"p": 0.0, "q": 1.0, "r": 0.5}[trial.decision["a"]])
    assert len({t.decision["a"] for t in opt.ask(3)}) == 3


def test_telling_the_decision_of_a_pending_trial_settles_it():
    opt, other = optimizer(), optimizer()
    for _ in range(8):
        trial, same = opt.ask(), other.ask()
        assert trial == same
        opt.tell(trial, {"c": 0.5}, trial.decision["x"])
        other.tell(dict(same.decision), {"c": 0.5}, same.decision["x"])
    assert not other.pending
    assert opt.ask() == other.ask()
    only = Optimizer({"n": Integer(0, 3)}, {"c": Real()}, seed=0)
    waiting = only.ask()
    only.tell(dict(waiting.decision), {"c": 0.5}, 1.0)  # may well be history: nothing real tells them apart
    assert only.pending == (waiting,)


def test_a_cancelled_trial_is_forgotten():
    opt = optimizer()
    run(opt, 6)
    trial = opt.ask()
    opt.cancel(trial)
    assert not opt.pending
    with pytest.raises(TrialError, match="cancelled"):
        opt.tell(trial, context={"c": 0.5}, value=1.0)


def test_trials_are_keys():
    opt = optimizer()
    trials = opt.ask(3)
    assert len({trial: trial.number for trial in trials}) == 3


def test_equal_trials_have_equal_hashes():
    opt, other = optimizer(), optimizer()
    trial, same = opt.ask(), other.ask()
    restored = Optimizer.from_dict(opt.to_dict())
    sent = pickle.loads(pickle.dumps(trial))
    by_hand = Trial(np.int64(trial.number), dict(reversed(trial.decision.items())))
    for equal in (same, opt.pending[0], restored.pending[0], sent, by_hand):
        assert equal == trial
        assert hash(equal) == hash(trial)
        assert {trial: "told"}[equal] == "told"
    assert Trial(3, {"x": 1}) == Trial(3, {"x": 1.0})
    assert hash(Trial(3, {"x": 1})) == hash(Trial(3, {"x": 1.0}))
    assert trial != opt.ask()
    assert trial != Trial(trial.number, {**trial.decision, "x": 0.123})


def test_a_trial_may_travel_to_another_process_and_back():
    opt = optimizer()
    trial = pickle.loads(pickle.dumps(opt.ask()))
    opt.tell(trial, context={"c": 0.5}, value=1.0)
    assert len(opt.observations) == 1


def test_outside_clip_puts_the_context_on_the_bound():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1, outside="clip")}, seed=0)
    opt.tell({"x": 0.5}, context={"c": 1.7}, value=0.0)
    assert opt.observations.contexts[0] == {"c": 1.0}


def test_global_random_state_is_left_alone_and_does_not_matter():
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    expected = np.random.rand(), random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    first = run(optimizer(), 8)
    assert (np.random.rand(), random.random()) == expected  # noqa: NPY002
    assert run(optimizer(), 8) == first


def test_observations_are_frozen_and_become_a_table():
    opt = mixed()
    opt.tell(DECISION, context=CONTEXT, value=np.float32(1.5))
    record = opt.observations
    opt.tell({**DECISION, "stock": 4}, context=CONTEXT, value=2)
    assert len(record) == 1
    assert len(opt.observations) == 2
    table = opt.observations.to_pandas()
    assert list(table.columns) == ["stock", "crates", "shelf", "demand", "heat", "value"]
    assert table["value"].tolist() == [1.5, 2.0]
    assert len(mixed().observations.to_pandas()) == 0


def test_observations_cannot_be_changed_from_outside():
    opt = optimizer()
    run(opt, 3)
    before = json.dumps(opt.to_dict())
    opt.observations.decisions[0]["x"] = 999
    opt.observations.contexts[0]["c"] = float("nan")
    assert json.dumps(opt.to_dict()) == before


def test_observations_have_a_short_name():
    opt = optimizer()
    run(opt, 3)
    assert repr(opt.observations) == "Observations(3 of x, y, c, value)"


def test_an_empty_table_has_its_columns():
    assert list(optimizer().observations.to_pandas().columns) == ["x", "y", "c", "value"]


def test_a_scalar_of_numpy_is_a_number_and_an_array_is_not():
    opt = mixed()
    context = {"demand": np.array(7.0), "heat": np.float32(20)}
    opt.tell({**DECISION, "stock": np.int64(3), "crates": np.array(2)}, context, np.float64(1.5))
    assert opt.observations.values == (1.5,)
    assert type(opt.observations.decisions[0]["crates"]) is int
    assert json.dumps(opt.to_dict())
    before = opt.to_dict()
    for wrong in (np.bool_(True), np.array([1.0]), np.array([]), np.datetime64("2024"), np.complex128(1)):
        with pytest.raises(InputError, match="value must be a number"):
            opt.tell(DECISION, CONTEXT, wrong)
        with pytest.raises(InputError, match="'stock' must be a number"):
            opt.tell({**DECISION, "stock": wrong}, CONTEXT, 1.0)
        with pytest.raises(InputError, match="'heat' must be a number"):
            opt.tell(DECISION, {**CONTEXT, "heat": wrong}, 1.0)
    assert opt.to_dict() == before


def test_a_scalar_of_torch_is_a_number_and_a_tensor_is_not():
    torch = pytest.importorskip("torch")
    opt = mixed()
    context = {**CONTEXT, "demand": torch.tensor(7.0)}
    opt.tell(DECISION, context, torch.tensor(1.5, dtype=torch.double))
    assert opt.observations.values == (1.5,)
    for wrong in (torch.tensor(True), torch.tensor([1.0])):
        with pytest.raises(InputError, match="value must be a number"):
            opt.tell(DECISION, CONTEXT, wrong)


def test_scalars_of_numpy_are_taken_everywhere():
    assert Categorical([np.int64(1), np.int64(2)]).choices == (1, 2)
    assert Categorical([True, False]).check(np.True_, "x") is True
    assert Integer(np.int64(0), 5.0).high == 5
    assert Real(np.float32(0), np.int64(2)).high == 2.0
    numbers = {"space_points": np.int64(10), "radius": np.float32(0.5), "sqrt_beta": np.array(2.0)}
    opt = optimizer("drbo-kde", seed=np.int64(3), initial=np.int64(2), **numbers)
    plain = optimizer("drbo-kde", seed=3, initial=2, space_points=10, radius=0.5, sqrt_beta=2.0)
    assert json.dumps(opt.to_dict()) == json.dumps(plain.to_dict())
    assert run(opt, 4) == run(plain, 4)
    assert opt.ask(np.int64(2)) == plain.ask(2)
    assert opt.density.sample(np.int64(3), seed=np.int64(1)).shape == (3, 1)
    here, there = opt.predict([{"x": np.float64(0.5), "y": np.array(0.25)}, {"x": 0.5, "y": 0.25}])
    assert here == there
    budget = Optimizer({"x": Real(0, 1)}, {"c": Real()}, seed=0, budget=np.int64(8))
    assert budget.to_dict()["initial"] == 2


def test_arrays_are_taken_by_the_density():
    opt = optimizer()
    run(opt, 6)
    line = np.linspace(0, 1, 5)
    expected = [opt.density.pdf(float(c)) for c in line]
    for points in (line, line[:, None], line.tolist(), {"c": line}):
        assert opt.density.pdf(points) == pytest.approx(expected, rel=1e-12)


ORDERED = {"z": Real(0, 1), "kind": Categorical(["q", "b"]), "a": Integer(0, 9), "m": Real(1, 2)}
"""In no order of the alphabet."""


@pytest.mark.parametrize("method", ["auto", "drbo-kde", "gp-ucb", "random"])
def test_decision_variables_keep_the_order_in_which_they_were_given(method):
    contexts = {"w": Real(0, 1), "c": Real()}
    opt = Optimizer(ORDERED, contexts, method, seed=0, initial=3, **quick(method))
    for i in range(5):
        trial = opt.ask()
        assert list(trial.decision) == list(ORDERED)
        mirrored = dict(reversed(trial.decision.items()))
        opt.tell(mirrored if i % 2 else trial, {"c": 0.1 * i, "w": 0.2}, float(i))
    waiting = opt.ask()
    saved = json.loads(json.dumps(opt.to_dict(), sort_keys=True))
    for study in (opt, Optimizer.from_dict(saved)):
        assert list(study.decisions) == list(ORDERED)
        assert list(study.contexts) == list(study.observations.contexts[0]) == ["w", "c"]
        assert [list(d) for d in study.observations.decisions] == [list(ORDERED)] * 5
        assert [list(t.decision) for t in study.pending] == [list(ORDERED)]
        assert list(study.recommend().decision) == list(ORDERED)
        predicted = study.predict([dict(sorted(waiting.decision.items())), waiting.decision])
        assert [list(p.decision) for p in predicted] == [list(ORDERED)] * 2
        assert predicted[0] == predicted[1]
        assert list(study.ask().decision) == list(ORDERED)


def test_easy_function_is_what_it_says():
    assert easy({"x": 0.6, "y": 0.3}, {"c": 0.5}) == pytest.approx(0.1)


@pytest.mark.parametrize(("decisions", "chosen", "count"), [(1, None, 8), (2, None, 8), (1, 3, 3)])
def test_the_number_of_members_is_the_methods_unless_it_is_set(decisions, chosen, count):
    names = ["a", "b"][:decisions]
    opt = Optimizer({n: Real(0, 1) for n in names}, {"w": Real(0, 1)}, seed=1, **quick(members=chosen))
    rng = np.random.default_rng(1)
    for _ in range(6):
        opt.tell({n: float(rng.uniform()) for n in names}, {"w": float(rng.uniform())}, float(rng.normal()))
    assert len(opt._state(joint=True).models) == count


def test_after_many_observations_the_likeliest_kernel_stands_for_all(monkeypatch):
    monkeypatch.setattr("windage.gp.ensemble.DECIDED", 12)
    opt = optimizer("bq-kde", members=8)
    run(opt, 12)
    assert len(opt._state(joint=True).models) == 8
    run(opt, 3, seed=1)
    models = opt._state(joint=True).models
    assert len(models) == 1
    last = opt.fits_to_dict()
    best = max(last, key=lambda name: last[name]["log_posterior"] / last[name]["count"])
    assert best == f"joint {models[0].data.kernel}"
    again = windage.Optimizer.from_dict(opt.to_dict())
    assert again.ask().decision == opt.ask().decision
    assert again.recommend() == opt.recommend()


def test_the_lengthscales_of_numbers_are_exchangeable_and_those_of_choices_their_own():
    space = {"heat": Real(0, 1), "feed": Categorical(["a", "b", "c"]), "rate": Integer(1, 9)}
    opt = Optimizer(space, {"wind": Real(0, 1)}, seed=1)
    opt.tell({"heat": 0.5, "feed": "a", "rate": 3}, {"wind": 0.5}, 1.0)
    (first, *_) = opt._state(joint=True).models
    assert first.data.exchangeable == (0, 2)
    alone = Optimizer(space, {"wind": Real(0, 1)}, "sbo-kde", seed=1)
    alone.tell({"heat": 0.5, "feed": "a", "rate": 3}, {"wind": 0.5}, 1.0)
    assert alone._state(joint=True).models[0].data.exchangeable == ()
