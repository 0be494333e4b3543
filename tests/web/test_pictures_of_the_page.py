"""Pictures: every kind of variable is drawn, with round numbers and escaped names."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from windage.studies.file import load
from windage.studies.store import StudyStore
from windage.web import jobs, svg

MIXED = """
direction = "minimize"
[value]
unit = "<EUR>"
[decisions.heat]
low = 10
high = 1000
log = true
[decisions.rounds]
low = 1
high = 9
integer = true
[decisions.colour]
choices = ["red & blue", "green"]
[decisions.share]
low = 0
high = 1
step = 0.25
[contexts.wind]
[contexts.price]
low = 0.1
high = 10
log = true
[contexts.weather]
choices = ["sun & rain", "<snow>", 3, true]
known = true
[contexts.guests]
low = 0
high = 9
integer = true
optional = true
[contexts.crowd]
low = -50
high = 50000
integer = true
[settings]
raw_samples = 32
restarts = 2
members = 4
"""


def _met(i):
    weather = ("sun & rain", "<snow>", 3, True)[i % 4]
    met = {"wind": i - 4, "price": i / 2, "weather": weather, "guests": i, "crowd": 100 * i}
    return {name: value for name, value in met.items() if i != 5 or name != "guests"}


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """The pictures of a study of many kinds, by their keys; of one day and of eight."""
    monkeypatch.chdir(tmp_path)
    path = Path("mixed.toml")
    path.write_text(MIXED)
    store = StudyStore.open(load(path))

    def draw(days):
        for i in range(1, days + 1):
            decision = {
                "heat": 20 * i,
                "rounds": i,
                "colour": ("red & blue", "green")[i % 2],
                "share": i % 5 / 4,
            }
            store.add(decision, _met(i), i * i - 6 * i)
        best = jobs.best(str(path))
        found = jobs.draw(str(path), best["decision"])["figures"]
        while (last := jobs.settle(str(path)))["left"]:
            pass
        return {f["key"]: f for f in [*found, *last["figures"]]}

    return draw


@pytest.mark.parametrize("days", [1, 8])
def test_every_kind_of_variable_is_drawn(drawn, days):
    found = drawn(days)
    assert sorted(found) == ["e0", "e1", "e2", "e3", "s0", "s1", "s2", "s3", "v0", "v1", "v2", "v3", "v4"]
    for figure in found.values():
        tree = ElementTree.fromstring(figure["svg"])
        assert tree.attrib["role"] == "img"
        assert [part.tag for part in tree][:2] == ["title", "desc"]
        assert "nan" not in figure["svg"]
        assert "inf" not in figure["svg"]
        assert not any(name in {"style"} for part in tree.iter() for name in part.attrib)


def test_choices_and_whole_numbers_have_a_column_each(drawn):
    found = drawn(8)
    assert found["v2"]["svg"].count('class="bar"') == 4
    assert found["v2"]["svg"].count('class="mean"') == 4
    assert "&lt;snow&gt;" in found["v2"]["svg"]
    assert found["v3"]["svg"].count('class="bar"') == 10
    assert 3 < found["v4"]["svg"].count('class="bar"') <= 12
    assert "Bars are the days so far, the dots what to expect." in found["v2"]["words"]
    assert "seen so far: 100 to 800" in found["v4"]["words"]


def test_round_numbers():
    assert svg.nice(0, 40) == [0, 10, 20, 30, 40]
    assert svg.nice(-0.3, 1.1) == pytest.approx([-0.25, 0, 0.25, 0.5, 0.75, 1.0])
    assert svg.nice(3, 3) == [3]
    assert [w for _, w in svg.across(10, 1000, log=True).ticks()] == ["10", "100", "1e+03"]


def test_numbers_that_would_cover_each_other_are_left_out():
    picture = svg.Picture(
        "a", "b", svg.across(-0.5, 19.5, words=tuple("longwords" for _ in range(20))), svg.upward(0, 1)
    )
    assert 3 < picture.svg("k").count("longwor…") < 12
