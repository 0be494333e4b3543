"""Spaces: coding, scaling, and the errors of their construction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windage import Categorical, ConfigurationError, InputError, Integer, Real
from windage.space import ContextSpace, DecisionSpace, OutcomeScale

SPACE = DecisionSpace.of(
    {
        "temperature": Real(-20, 60),
        "rate": Real(1e-5, 1e2, log=True),
        "workers": Integer(1, 9),
        "mode": Categorical(["slow", "fast", 3, True]),
    }
)


@given(
    st.floats(-20, 60),
    st.floats(1e-5, 1e2),
    st.integers(1, 9),
    st.sampled_from(["slow", "fast", 3, True]),
)
def test_decisions_survive_the_unit_box(temperature, rate, workers, mode):
    decision = SPACE.check({"temperature": temperature, "rate": rate, "workers": workers, "mode": mode})
    point = SPACE.encode([decision])
    assert point.shape == (1, 7)
    assert (point >= 0).all()
    assert (point <= 1).all()
    back = SPACE.decode(point[0])
    assert back["temperature"] == pytest.approx(temperature, abs=1e-12)
    assert back["rate"] == pytest.approx(rate, rel=1e-12)
    assert back["workers"] == workers
    assert type(back["workers"]) is int
    assert back["mode"] is mode or (back["mode"] == mode and type(back["mode"]) is type(mode))
    assert SPACE.check(back) == back


@given(st.lists(st.floats(0, 1), min_size=7, max_size=7))
def test_every_point_of_the_box_is_a_valid_decision(point):
    assert SPACE.check(SPACE.decode(np.array(point)))


def test_two_choices_are_at_distance_one():
    rows = SPACE.encode([{"temperature": 0, "rate": 1.0, "workers": 1, "mode": m} for m in ("slow", "fast")])
    assert np.linalg.norm(rows[0] - rows[1]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Real(1, 0),
        lambda: Real(1, 1),
        lambda: Real(0, float("nan")),
        lambda: Real(0, float("inf")),
        lambda: Real("0", 1),
        lambda: Real(0, 1, log=True),
        lambda: Real(0, 1, log="yes"),
        lambda: Real(0, 1, outside="ignore"),
        lambda: Real(-1e308, 1e308),
        lambda: Integer(0.5, 2),
        lambda: Integer(3, 3),
        lambda: Integer(4, 3),
        lambda: Integer(True, 3),
        lambda: Integer(0, 2**60),
        lambda: Categorical([]),
        lambda: Categorical(["one"]),
        lambda: Categorical(["a", "a"]),
        lambda: Categorical([1, True]),
        lambda: Categorical("ab"),
        lambda: Categorical([None, "a"]),
        lambda: Categorical([float("nan"), 1.0]),
        lambda: DecisionSpace.of({}),
        lambda: DecisionSpace.of({"x": (0, 1)}),
        lambda: DecisionSpace.of([Real(0, 1)]),
        lambda: DecisionSpace.of({"x": Real()}),
        lambda: DecisionSpace.of({"x": Real(0)}),
        lambda: DecisionSpace.of({"x": Real(0, 1, outside="clip")}),
        lambda: DecisionSpace.of({"": Real(0, 1)}),
        lambda: DecisionSpace.of({"value": Real(0, 1)}),
        lambda: ContextSpace.of({"c": (0, 1)}, SPACE),
        lambda: ContextSpace.of({"rate": Real()}, SPACE),
    ],
)
def test_wrong_spaces_are_refused(make):
    with pytest.raises(ConfigurationError) as error:
        make()
    assert str(error.value).endswith((".", "?"))


def test_rounding_over_a_bound_is_forgiven_but_no_more():
    space = DecisionSpace.of({"x": Real(0, 0.3)})
    assert space.check({"x": 0.1 + 0.2}) == {"x": 0.3}
    with pytest.raises(InputError, match="outside its bounds"):
        space.check({"x": 0.300001})


def test_numpy_numbers_are_numbers():
    space = DecisionSpace.of({"x": Real(0, 1), "n": Integer(0, 3)})
    checked = space.check({"x": np.float32(0.5), "n": np.int64(2)})
    assert checked == {"x": 0.5, "n": 2}
    assert [type(v) for v in checked.values()] == [float, int]
    assert space.check({"x": np.array(0.25), "n": 1.0}) == {"x": 0.25, "n": 1}


@pytest.mark.parametrize(
    ("parameter", "seen"),
    [
        (Real(2, 6), [3.0, 4.0]),
        (Real(), [3.0, 4.0, 9.0]),
        (Real(), [5.0]),
        (Real(), [0.0]),
        (Real(), [1e12, 1e12 + 1e6]),
        (Real(), [1e-12, 3e-12]),
        (Real(low=0), [3.0, 4.0]),
        (Real(high=0), [-3.0, -4.0]),
        (Real(log=True), [1e-6, 1e3]),
        (Real(low=1, log=True), [1.0, 1.0]),
        (Real(low=0), [0.0, 0.0]),
    ],
)
def test_contexts_survive_the_unit_box(parameter, seen):
    scale = ContextSpace({"c": parameter}).scale(np.array(seen)[:, None])
    array = np.array(seen)[:, None]
    unit = scale.to_unit(array)
    assert np.isfinite(unit).all()
    assert (unit >= -1e-9).all()
    assert (unit <= 1 + 1e-9).all()
    assert np.allclose(scale.to_user(unit), array, rtol=1e-9)
    assert scale.lower[0] == (-np.inf if parameter.low is None else 0)
    assert scale.upper[0] == (np.inf if parameter.high is None else 1)


def test_an_outlying_context_does_not_squeeze_the_others():
    seen = np.append(np.linspace(0, 1, 40), 1e6)[:, None]
    unit = ContextSpace({"c": Real()}).scale(seen).to_unit(seen)
    assert np.ptp(unit[:40]) > 0.2
    assert unit[40] > 1e3


def test_jacobian_turns_densities_into_the_users_units():
    space = ContextSpace({"c": Real(1, 100, log=True), "d": Real(0, 50)})
    scale = space.scale(np.empty((0, 2)))
    at = np.array([[7.0, 3.0]])
    step = 1e-6
    move = np.array([[step, 0.0]])
    ahead = scale.to_unit(at + move) - scale.to_unit(at - move)
    slope = ahead[0, 0] / (2 * step) / 50
    assert scale.jacobian(at)[0] == pytest.approx(slope, rel=1e-6)


def test_the_scale_of_one_context_is_its_part_of_the_whole():
    space = ContextSpace({"c": Real(1, 100, log=True), "d": Real()})
    seen = np.array([[7.0, 3.0], [20.0, 4.0]])
    scale = space.scale(seen)
    for d in range(2):
        alone = scale.marginal(d)
        np.testing.assert_array_equal(alone.to_unit(seen[:, [d]]), scale.to_unit(seen)[:, [d]])
        assert (alone.lower[0], alone.upper[0]) == (scale.lower[d], scale.upper[d])
    assert scale.possible(np.array([[1.0, -5.0], [0.0, 1.0], [-1.0, 1.0]])).tolist() == [True, False, False]


def test_contexts_come_back_inside_their_bounds_unless_told_otherwise():
    scale = ContextSpace({"c": Real(2, 6), "d": Real(low=0)}).scale(np.array([[3.0, 1.0]]))
    outside = np.array([[1.5, -0.5], [-1.0, 0.5]])
    inside, free = scale.to_user(outside), scale.to_user(outside, clip=False)
    assert inside[:, 0].tolist() == [6, 2]
    assert inside[0, 1] == 0
    assert free[:, 0].tolist() == [8, -2]
    assert free[0, 1] < 0


def test_without_contexts_there_is_nothing_to_scale():
    scale = ContextSpace.of(None, SPACE).scale(np.empty((3, 0)))
    assert scale.to_unit(np.empty((3, 0))).shape == (3, 0)
    assert scale.to_user(np.empty((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize(
    "values",
    [
        [3.0],
        [2.0, 2.0, 2.0],
        [0.0, 0.0],
        [1.0, 2.0, 4.0],
        [1e300, -1e300],
        [1e-300, 3e-300],
        [0.1 + 0.2, 0.3],
    ],
)
def test_outcomes_survive_their_scaling_at_any_magnitude(values, maximize):
    values = np.array(values)
    scale = OutcomeScale.of(values, maximize)
    y = scale.standardise(values)
    np.testing.assert_allclose(scale.restore(y), values, rtol=1e-12)
    assert y.mean() == pytest.approx(0, abs=1e-12)
    if np.ptp(values) <= 1e-12 * values.max():  # nothing but rounding is no scale
        assert np.abs(y).max() < 1e-12
    else:
        assert y.std(ddof=1) == pytest.approx(1)
        assert y.argmax() == (values.argmax() if maximize else values.argmin())  # larger is better
