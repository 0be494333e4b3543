"""Changes as a study's attributes have them, whoever wrote them."""

import pytest

from windage.changes import Change
from windage.errors import ConfigurationError
from windage.studies.corrections import changes_in

RIGHT = {"number": 0, "kind": "correct", "value": 3.0, "time": 1.7e9}
ODD = {
    "number": [True, "0", None, 1.5, []],
    "kind": ["erase", [], None],
    "decision": [[1], "x", {"stock": None}, {"stock": [1]}, {"stock": 10**400}],
    "context": ["x", {"demand": None}, {"demand": [3]}, {"demand": 10**400}, {"demand": float("inf")}],
    "value": ["3", True, [], float("nan"), 10**400],
    "why": [3, None, {}],
    "time": ["now", 1e300, -1.0, float("nan"), 10**400],
    "more": [1],
}


@pytest.mark.parametrize(
    "row",
    [1, None, [], "x", {}, [1, "forget"], {"a": 1}]
    + [{**RIGHT, name: value} for name, values in ODD.items() for value in values],
)
def test_a_damaged_change_is_named(row):
    with pytest.raises(ConfigurationError, match="attribute 'windage:change:00000000' is damaged"):
        changes_in({"windage:change:00000000": row})


@pytest.mark.parametrize("place", ["", "x", "1", "-0000001", "000000001", "٠٠٠٠٠٠٠١", "00000001\n"])
def test_a_change_in_no_place_is_named(place):
    with pytest.raises(ConfigurationError, match="is damaged"):
        changes_in({f"windage:change:{place}": RIGHT})


def test_what_windage_writes_is_right():
    parts = {"decision": {"stock": 2, "shelf": "top", "open": True}, "context": {"demand": 3}}
    change = Change(4, "correct", **parts, value=0.0, why="a typo", time=1.7e9)
    assert changes_in({"windage:change:00000002": change.to_dict(), "other": 1}) == (change,)
