"""Mistakes of a study: corrected, forgotten, undone, saved; beside one that was told right."""

import json
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts import CONTEXT, DECISION, easy, mixed, optimizer, quick, run
from windage import ConfigurationError, InputError, Optimizer, Real, TrialError, WindageError, changes
from windage.changes import standing

RNG = np.random.default_rng(0)
ROWS = []
for _ in range(12):
    x, y, c = RNG.uniform(size=3).round(3).tolist()
    ROWS.append(({"x": x, "y": y}, {"c": c}, easy({"x": x, "y": y}, {"c": c})))


def told(rows=ROWS, **settings):
    opt = optimizer("auto", **{"screen": False, "raw_samples": 32, "restarts": 2, **settings})
    for row in rows:
        opt.tell(*row)
    return opt


def everything(opt):
    """All that a study says, to the last bit."""
    return json.dumps([vars_of(opt.recommend()), opt.ask().decision, list(opt.observations.values)])


def vars_of(best):
    return {**{k: v for k, v in vars(best).items() if k != "outcome"}, "outcome": best.outcome.to_dict()}


def test_after_a_typo_is_corrected_the_study_is_as_if_told_right_to_the_last_bit():
    wrong = list(ROWS)
    wrong[5] = (ROWS[5][0], ROWS[5][1], 10 * ROWS[5][2])
    right, repaired = told(), told(wrong)
    assert repaired.recommend() != right.recommend()
    repaired.correct(5, value=ROWS[5][2], why="a zero too many")
    assert everything(repaired) == everything(right)


@pytest.mark.parametrize("screen", [True, False])
def test_what_was_learnt_from_a_mistake_does_not_stay(screen):
    """Fits that an ask kept would start the next ones."""
    rows = [*ROWS[:11], (ROWS[11][0], ROWS[11][1], ROWS[11][2] - 3.0)]
    opt = told(rows[:11], screen=screen)
    with pytest.warns() if screen else nullcontext():
        opt.tell(*rows[11])
    opt.cancel(opt.ask())
    opt.correct(11, value=ROWS[11][2])
    assert opt.recommend() == told(screen=screen).recommend()
    assert not opt.to_dict()["fits"]


def test_contexts_and_decisions_are_corrected_too():
    wrong = list(ROWS)
    wrong[2] = ({**ROWS[2][0], "x": 0.999}, {"c": 0.001}, ROWS[2][2])
    repaired = told(wrong)
    repaired.correct(2, context=ROWS[2][1], decision={"x": ROWS[2][0]["x"]})
    assert repaired.observations == told().observations
    assert everything(repaired) == everything(told())


def test_a_forgotten_observation_is_as_if_never_told_but_for_its_number():
    opt, without = told(), told([*ROWS[:5], *ROWS[6:]])
    opt.forget(5, why="the scale was broken")
    assert opt.recommend() == without.recommend()
    assert opt.observations.numbers == (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11)
    assert len(opt.observations.to_pandas()) == 11
    opt.undo(5)
    assert everything(opt) == everything(told())


def test_history_has_every_change_in_order_with_its_reason():
    opt = told()
    opt.correct(1, value=2.0, why="misread")
    opt.forget(2)
    opt.undo(1, why="it was right")
    assert [(c.number, c.kind, c.why) for c in opt.history] == [
        (1, "correct", "misread"),
        (2, "forget", ""),
        (1, "undo", "it was right"),
    ]
    times = [c.time for c in opt.history]
    assert times == sorted(times)
    assert [o["value"] for o in opt.to_dict()["observations"]] == [row[2] for row in ROWS]


def test_pending_trials_stay_as_they_are():
    opt = told(ROWS[:6])
    trials = opt.ask(2)
    opt.correct(0, value=0.5)
    opt.forget(1)
    opt.undo(1)
    assert list(opt.pending) == trials
    opt.tell(trials[0], {"c": 0.5}, 0.1)
    assert opt.observations.numbers[-1] == 6
    assert list(opt.pending) == trials[1:]


def test_a_study_with_changes_continues_exactly_after_it_was_saved():
    opt = told()
    opt.correct(3, value=0.25, context={"c": 0.5}, decision={"y": 0.125}, why="typed twice")
    opt.forget(4)
    opt.forget(7)
    opt.undo(7)
    saved = json.loads(json.dumps(opt.to_dict(), allow_nan=False))
    again = Optimizer.from_dict(saved)
    assert again.history == opt.history
    assert again.observations == opt.observations
    again.undo(4)
    again.undo(3)
    assert again.observations == told().observations
    assert everything(Optimizer.from_dict(saved)) == everything(opt)


def test_each_change_is_read_beside_those_of_its_own_observation(monkeypatch):
    """Beside all before it, a study of a thousand corrections would be read in half a million steps."""
    opt = told()
    for value in range(3):
        for number in range(12):
            opt.correct(number, value=float(value))
    saved, seen = opt.to_dict(), []
    monkeypatch.setattr(changes, "standing", lambda before: seen.append(len(before)) or standing(before))
    again = Optimizer.from_dict(saved)
    *each, of_all = (count for count in seen if count)
    assert each == [1] * 12 + [2] * 12
    assert of_all == 36
    assert again.observations == opt.observations


def test_a_study_saved_before_there_were_changes_is_read():
    saved = told().to_dict()
    del saved["changes"]
    assert Optimizer.from_dict(saved).history == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"number": 12, "kind": "forget"}, "there is no observation 12: 12 were told"),
        ({"number": 0, "kind": "erase"}, "'erase' is no change"),
        ({"number": 0, "kind": "undo"}, "nothing to undo"),
        ({"number": 0, "kind": "correct"}, "say what is right"),
        ({"number": 0, "kind": "correct", "value": float("nan")}, "must be finite"),
        ({"number": 0, "kind": "correct", "context": {"d": 1}}, "there is no context 'd'"),
        ({"number": -1, "kind": "forget"}, "whole number"),
        ({"number": 0}, "damaged"),
        ({"number": 0, "kind": "forget", "colour": "red"}, "damaged"),
        ("forget", "damaged"),
    ],
)
def test_damaged_changes_are_refused_with_what_is_wrong(change, words):
    saved = {**told().to_dict(), "changes": [change]}
    with pytest.raises(ConfigurationError, match=words):
        Optimizer.from_dict(saved)


WRONG = [
    (lambda o: o.correct(99, value=1.0), TrialError, "there is no observation 99: the last is 11"),
    (lambda o: o.forget(99), TrialError, "there is no observation 99"),
    (lambda o: o.undo(3), TrialError, "observation 3 is as it was told: there is nothing to undo"),
    (lambda o: o.forget(1), TrialError, "observation 1 is forgotten already"),
    (lambda o: o.correct(0), InputError, "say what is right: value=..., context=.* or decision="),
    (lambda o: o.correct(0, context={}), InputError, "say what is right"),
    (lambda o: o.correct(0, decision={}, context={}), InputError, "say what is right"),
    (lambda o: o.correct(0, value=float("nan")), InputError, "value is nan, but must be finite"),
    (lambda o: o.correct(0, value=float("inf")), InputError, "must be finite"),
    (lambda o: o.correct(0, value="120"), InputError, "value must be a number"),
    (lambda o: o.correct(0, value=True), InputError, "value must be a number"),
    (
        lambda o: o.correct(0, context={"cc": 0.5}),
        InputError,
        "no context 'cc'; there is c. Did you mean 'c'",
    ),
    (lambda o: o.correct(0, decision={"X": 0.5}), InputError, "no decision variable 'X'.*Did you mean 'x'"),
    (lambda o: o.correct(0, decision={"x": 1.5}), InputError, "outside its bounds"),
    (lambda o: o.correct(0, context={"c": float("nan")}), InputError, "must be finite"),
    (lambda o: o.correct(0, context=0.5), InputError, "a correction names each context"),
    (lambda o: o.correct(0, value=1.0, context={"c": 7}), InputError, "outside its bounds"),
    (lambda o: o.correct("0", value=1.0), InputError, "number must be a whole number"),
    (lambda o: o.correct(True, value=1.0), InputError, "number must be a whole number"),
    (lambda o: o.forget(-1), InputError, "number must be a whole number"),
    (lambda o: o.undo(1.0), InputError, "number must be a whole number"),
]


@pytest.mark.parametrize(("act", "kind", "words"), WRONG)
def test_a_wrong_change_is_refused_in_words_and_changes_nothing(act, kind, words):
    opt = told()
    opt.forget(1)
    opt.cancel(opt.ask())
    before = json.dumps(opt.to_dict())
    with pytest.raises(kind, match=words):
        act(opt)
    assert json.dumps(opt.to_dict()) == before


def test_near_names_are_offered_among_several():
    opt = mixed()
    opt.tell(DECISION, CONTEXT, 1.0)
    with pytest.raises(InputError, match=r"heat\. Did you mean 'demand'"):
        opt.correct(0, context={"demmand": 8.0})
    with pytest.raises(InputError, match="Did you mean 'shelf'"):
        opt.correct(0, decision={"shelff": "low"})
    opt.correct(0, decision={"shelf": "low", "crates": 4})
    assert opt.observations.decisions == ({**DECISION, "shelf": "low", "crates": 4},)


def test_a_corrected_context_is_clipped_as_a_told_one_is():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1, outside="clip")}, seed=0)
    opt.tell({"x": 0.5}, {"c": 0.2}, 0.0)
    opt.correct(0, context={"c": 1.7})
    assert opt.observations.contexts[0] == {"c": 1.0}


def test_observations_and_history_cannot_be_changed_from_outside():
    opt, given = told(ROWS[:3]), {"c": 0.5}
    opt.correct(0, context=given)
    given["c"] = 99.0
    opt.observations.contexts[0]["c"] = 99.0
    assert opt.observations.contexts[0] == {"c": 0.5}


def test_when_all_is_forgotten_the_study_begins_again_and_comes_back():
    opt = told(ROWS[:3])
    for number in range(3):
        opt.forget(number)
    with pytest.raises(WindageError, match="at least 1 observation"):
        opt.recommend()
    assert opt.suspects == ()
    assert opt.ask().decision == optimizer("auto").ask().decision
    opt.undo(1)
    assert len(opt.observations) == 1
    assert opt.recommend().decision


def test_changes_in_a_study_that_asks_keep_it_reproducible():
    def story():
        opt = optimizer("auto", screen=False, raw_samples=32, restarts=2)
        run(opt, 7)
        opt.correct(6, value=0.0)
        run(opt, 2, seed=1)
        opt.forget(2)
        run(opt, 1, seed=2)
        opt.undo(6)
        return everything(opt)

    assert story() == story()


@settings(max_examples=10)
@given(
    st.lists(st.tuples(st.sampled_from(["correct", "forget", "undo"]), st.integers(0, 5), st.floats(-2, 2)))
)
def test_any_changes_leave_a_study_that_equals_one_told_what_counts_now(changes):
    opt = told(ROWS[:5])
    for kind, number, value in changes:
        before = opt.history
        try:
            opt.correct(number, value=value) if kind == "correct" else getattr(opt, kind)(number)
        except TrialError:
            assert opt.history == before
    now = opt.observations
    again = Optimizer.from_dict(json.loads(json.dumps(opt.to_dict())))
    assert again.observations == now
    rows = list(zip(now.decisions, now.contexts, now.values, strict=True))
    if rows:
        decision = {"x": 0.3, "y": 0.6}
        assert opt.predict(decision) == again.predict(decision) == told(rows).predict(decision)


def test_a_study_without_contexts_takes_corrections():
    opt = Optimizer({"x": Real(0, 1)}, method="gp-ucb", seed=0, **quick("gp-ucb"))
    for i in range(6):
        opt.tell({"x": i / 6}, value=float(i))
    opt.correct(5, value=-5.0)
    opt.forget(0)
    assert opt.observations.values == (1.0, 2.0, 3.0, 4.0, -5.0)
    with pytest.raises(InputError, match="there is no context 'c'"):
        opt.correct(0, context={"c": 1.0})
    assert opt.recommend().decision
