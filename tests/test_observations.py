"""Trials, observations and the dataset made of them."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windage import Categorical, Integer, Real
from windage.dataset import Dataset, filled
from windage.observations import Observations, Row, Trial
from windage.space import ContextKind, ContextSpace, DecisionSpace

DECISIONS = DecisionSpace.of({"x": Real(0, 10), "n": Integer(1, 5), "kind": Categorical(["a", "b"])})
CONTEXTS = ContextSpace.of({"c": Real(0, 4), "d": Real()}, DECISIONS)
ROWS = [
    Row({"x": 2.0, "n": 3, "kind": "b"}, {"c": 1.0, "d": -5.0}, 7.0),
    Row({"x": 10.0, "n": 1, "kind": "a"}, {"c": 4.0, "d": 5.0}, 9.0),
    Row({"x": 0.0, "n": 5, "kind": "a"}, {"c": 0.0, "d": 0.0}, 2.0),
]
EMPTY = Observations(columns=("x", "n", "kind", "c", "d"))


FEW, NAMES = st.integers(0, 2), st.sampled_from(["", "shop", "plant"])


@given(FEW, FEW, FEW, FEW, NAMES, NAMES)
def test_equal_trials_have_equal_hashes(first, second, x, y, study, other):
    """Whoever gave them out: the study is no part of what a trial is."""
    one, two = Trial(first, {"x": x}, study), Trial(second, {"x": y}, other)
    assert (one == two) == (first == second and x == y)
    if one == two:
        assert hash(one) == hash(two)
    same = Trial(first, {"x": x}, other)
    assert one == same
    assert {one: "here"}[same] == "here"
    assert len({one, same}) == 1


def test_a_trial_comes_back_from_another_process_as_it_was():
    trial = Trial(3, {"x": 0.5, "kind": "a"}, "a study")
    for back in (pickle.loads(pickle.dumps(trial)), copy.deepcopy(trial)):
        assert back == trial
        assert hash(back) == hash(trial)
        assert back.study == "a study"
    assert "study" not in repr(trial)
    with pytest.raises(FrozenInstanceError):
        trial.number = 4


def test_adding_observations_returns_a_new_record():
    first = EMPTY.add(ROWS[:1])
    both = first.add(ROWS[1:])
    assert [len(o) for o in (EMPTY, first, both)] == [0, 1, 3]
    assert both.values == (7.0, 9.0, 2.0)
    assert both == EMPTY.add(ROWS)
    assert repr(both) == "Observations(3 of x, n, kind, c, d, value)"


def test_a_record_shares_no_dictionary_with_what_it_was_made_of():
    decision, context = dict(ROWS[0].decision), dict(ROWS[0].context)
    record = EMPTY.add([Row(decision, context, 7.0)])
    apart = record.copy()
    decision["x"] = context["c"] = 3.0
    assert record.decisions[0]["x"] == 2.0
    assert record.contexts[0]["c"] == 1.0
    record.decisions[0]["x"] = 4.0
    assert apart.decisions[0]["x"] == 2.0


def test_contexts_as_an_array_in_the_order_asked_for():
    record = EMPTY.add(ROWS)
    assert record.context_array(("d", "c")).tolist() == [[-5.0, 1.0], [5.0, 4.0], [0.0, 0.0]]
    assert record.context_array(()).shape == (3, 0)
    assert EMPTY.context_array(("c", "d")).shape == (0, 2)


def test_the_luckiest_draw():
    record = EMPTY.add(ROWS)
    assert (record.best(maximize=True), record.best(maximize=False)) == (1, 2)


def test_a_table_has_a_row_an_observation_and_its_columns_even_when_empty():
    table = EMPTY.add(ROWS).to_pandas()
    assert list(table.columns) == list(EMPTY.to_pandas().columns) == ["x", "n", "kind", "c", "d", "value"]
    assert table["value"].tolist() == [7.0, 9.0, 2.0]
    assert table["kind"].tolist() == ["b", "a", "a"]
    assert len(EMPTY.to_pandas()) == 0


@pytest.mark.parametrize("maximize", [True, False])
def test_a_dataset_is_the_observations_on_unit_boxes(maximize):
    data = Dataset(DECISIONS, CONTEXTS, EMPTY.add(ROWS), maximize)
    height = np.sqrt(0.5)
    assert len(data) == 3
    np.testing.assert_allclose(data.x, [[0.2, 0.5, 0, height], [1, 0, height, 0], [0, 1, height, 0]])
    np.testing.assert_allclose(data.c[:, 0], [0.25, 1, 0])
    np.testing.assert_allclose(data.c[:, 1], [1 / 12, 11 / 12, 0.5])  # a margin of a tenth on either side
    np.testing.assert_allclose(data.scale.to_user(data.c), data.seen, atol=1e-12)
    standard = (np.array([7, 9, 2]) - 6) / np.std([7, 9, 2], ddof=1)
    np.testing.assert_allclose(data.y, standard if maximize else -standard)


def test_a_context_far_out_is_put_on_the_end_of_the_box_for_its_distribution_only():
    rows = [Row(ROWS[0].decision, {"c": 1.0, "d": d}, 0.0) for d in [*np.linspace(0, 1, 40), 1e6]]
    data = Dataset(DECISIONS, CONTEXTS, EMPTY.add(rows), maximize=True)
    assert data.c[-1, 1] > 1e3
    assert data.boxed_c[-1, 1] == 1
    np.testing.assert_array_equal(data.boxed_c[:-1], data.c[:-1])


def test_a_dataset_without_observations_or_contexts_has_shapes_nonetheless():
    data = Dataset(DECISIONS, ContextSpace({}), Observations(), maximize=True)
    assert (data.x.shape, data.c.shape, data.boxed_c.shape) == ((0, 4), (0, 0), (0, 0))
    data = Dataset(DECISIONS, CONTEXTS, EMPTY, maximize=True)
    assert (data.x.shape, data.c.shape, data.boxed_c.shape) == ((0, 4), (0, 2), (0, 2))


def test_what_was_not_seen_is_filled_in_from_rows_that_are_alike():
    """Two groups far apart, and a choice: each row that lacks a value gets one of its own group."""
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    whole = np.stack([group + 0.05 * rng.normal(size=60), group, 3 * group + rng.random(60)], axis=1)
    kinds, lacks = (ContextKind(), ContextKind(2, True), ContextKind()), rng.random((60, 3)) < 0.4
    lacks[lacks.all(axis=1), 0] = False
    told = np.where(lacks, np.nan, whole)
    found = filled(told, kinds)
    np.testing.assert_array_equal(found[~lacks], whole[~lacks])
    for d in range(3):
        assert {*found[:, d]} == {*whole[~lacks[:, d], d]}
    np.testing.assert_array_equal(found[:, 1], group)
    np.testing.assert_array_equal(found[:, 2] > 2, group == 1)
    np.testing.assert_array_equal(filled(whole, kinds), whole)


def test_rows_that_have_nothing_in_common_are_filled_in_evenly():
    told = np.full((40, 2), np.nan)
    told[:20, 0], told[20:, 1] = np.linspace(0, 1, 20), np.linspace(0, 1, 20)
    found = filled(told, (ContextKind(), ContextKind()))
    for d in range(2):
        assert found[:, d].mean() == pytest.approx(0.5, abs=0.05)
        assert len({*found[:, d]}) == 20
    assert abs(np.corrcoef(found.T)[0, 1]) < 0.3
