"""Changes of what was told: nothing is erased, the last word counts, and every change can be undone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windage import TrialError
from windage.changes import Change, Record, current, standing
from windage.observations import Observations, Row

ROWS = [Row({"x": float(i), "kind": "a"}, {"c": i / 10}, 10.0 * i) for i in range(4)]


def record(count=4):
    return Record(Observations(columns=("x", "kind", "c")).add(ROWS[:count]))


def correct(number, value=None, context=None, decision=None, why=""):
    return Change(number, "correct", decision, context, value, why)


def forget(number):
    return Change(number, "forget")


def undo(number):
    return Change(number, "undo")


def changed(*changes, count=4):
    found = record(count)
    for change in changes:
        found = found.changed(change)
    return found


def slow(told, changes):
    """What counts now, the obvious way: a stack of changes for each observation, from the first on."""
    rows = []
    for number, decision, context, value in zip(
        told.numbers, told.decisions, told.contexts, told.values, strict=True
    ):
        stack = []
        for change in (c for c in changes if c.number == number):
            stack = stack[:-1] if change.kind == "undo" else [*stack, change]
        if stack and stack[-1].kind == "forget":
            continue
        for change in stack:
            decision = {**decision, **(change.decision or {})}
            context = {**context, **(change.context or {})}
            value = value if change.value is None else change.value
        rows.append((number, decision, context, value))
    return rows


def rows_of(observations):
    o = observations
    return list(zip(o.numbers, o.decisions, o.contexts, o.values, strict=True))


numbers = st.integers(0, 3)
floats = st.floats(-9, 9).map(lambda v: round(v, 2))
DECISIONS = st.fixed_dictionaries({}, optional={"x": floats, "kind": st.just("b")})
CHANGES = st.one_of(
    st.builds(forget, numbers),
    st.builds(undo, numbers),
    st.builds(correct, numbers, value=floats),
    st.builds(correct, numbers, context=st.fixed_dictionaries({"c": floats})),
    st.builds(correct, numbers, decision=DECISIONS),
)


@given(st.lists(CHANGES, max_size=20))
def test_any_story_of_changes_ends_as_the_obvious_way_says_and_erases_nothing(changes):
    now, taken = record(), []
    for change in changes:
        try:
            now = now.changed(change)
        except TrialError:
            continue  # nothing to undo, or forgotten already
        taken.append(change)
    assert rows_of(now.current) == slow(now.told, taken)
    assert now.told == record().told
    assert [(c.number, c.kind, c.value) for c in now.changes] == [(c.number, c.kind, c.value) for c in taken]
    assert set(now.current.numbers) <= set(now.told.numbers)


@given(st.lists(CHANGES, max_size=20))
def test_undoing_as_often_as_was_changed_gives_back_what_was_told(changes):
    now = record()
    for change in changes:
        try:
            now = now.changed(change)
        except TrialError:
            continue
    for number in range(4):
        while number in standing(now.changes):
            now = now.changed(undo(number))
    assert now.current == now.told


def test_without_changes_what_counts_is_what_was_told():
    assert record().current == record().told
    assert current(record().told, ()) == record().told


def test_the_last_correction_wins_and_parts_add_up():
    now = changed(correct(1, value=5.0), correct(1, context={"c": 0.9}), correct(1, value=6.0)).current
    assert (now.values[1], now.contexts[1], now.decisions[1]) == (6.0, {"c": 0.9}, ROWS[1].decision)


def test_undo_takes_the_last_change_of_that_observation_alone():
    story = [correct(1, value=5.0), correct(2, value=7.0), correct(1, value=6.0), undo(1)]
    assert changed(*story).current.values == (0.0, 5.0, 7.0, 30.0)
    assert changed(*story, undo(1)).current.values == (0.0, 10.0, 7.0, 30.0)
    assert changed(*story, undo(2), undo(1)).current.values == (0.0, 10.0, 20.0, 30.0)


def test_after_an_undo_the_next_undo_takes_the_change_before_and_undoes_no_undo():
    story = [correct(0, value=1.0), undo(0)]
    with pytest.raises(TrialError, match="observation 0 is as it was told: there is nothing to undo"):
        changed(*story, undo(0))


def test_a_correction_brings_back_what_was_forgotten_and_undo_forgets_it_again():
    story = [forget(3), correct(3, value=1.0)]
    assert changed(*story).current.values == (0.0, 10.0, 20.0, 1.0)
    assert changed(*story, undo(3)).current.numbers == (0, 1, 2)
    assert changed(*story, undo(3), undo(3)).current == record().told


def test_numbers_stay_when_others_are_forgotten_and_when_more_is_told():
    now = changed(forget(0), forget(2))
    assert now.current.numbers == (1, 3)
    more = now.add(ROWS[:1])
    assert more.current.numbers == (1, 3, 4)
    assert more.changed(undo(2)).current.numbers == (1, 2, 3, 4)


def test_everything_may_be_forgotten():
    now = changed(*(forget(i) for i in range(4)))
    assert len(now.current) == 0
    assert now.current.columns == ("x", "kind", "c")
    assert now.add(ROWS[:1]).current.numbers == (4,)


@pytest.mark.parametrize(
    ("story", "words"),
    [
        ([forget(4)], "there is no observation 4: the last is 3"),
        ([correct(9, value=1.0)], "there is no observation 9"),
        ([undo(2)], "observation 2 is as it was told: there is nothing to undo"),
        ([forget(2), forget(2)], "observation 2 is forgotten already; undo brings it back"),
    ],
)
def test_what_cannot_be_changed_is_said_in_words(story, words):
    with pytest.raises(TrialError, match=words):
        changed(*story)


def test_with_nothing_told_there_is_nothing_to_change():
    with pytest.raises(TrialError, match="there is no observation 0: nothing was told yet"):
        changed(forget(0), count=0)


def test_a_change_has_its_time_and_its_reason_and_leaves_out_what_is_not_given():
    before = time.time()
    (change,) = changed(correct(1, value=0.0, why="a digit too many")).changes
    assert before <= change.time <= time.time()
    found = change.to_dict()
    assert found.pop("time") == change.time
    assert found == {"number": 1, "kind": "correct", "value": 0.0, "why": "a digit too many"}
    assert set(forget(0).to_dict()) == {"number", "kind"}


def test_a_record_is_never_changed_in_place():
    first = record()
    first.changed(forget(0))
    first.add(ROWS[:1])
    assert first == record()
    assert len(first.current) == 4
