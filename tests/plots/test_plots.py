"""The pictures of a study: what they refuse, and what they need."""

import sys

import pytest

import windage
from windage import plots
from windage.errors import MissingExtraError


@pytest.fixture(scope="module")
def optimizer():
    decisions = {"stock": windage.Real(0, 1), "colour": windage.Categorical(["red", "blue"])}
    found = windage.Optimizer(decisions, {"demand": windage.Real(0, 1)}, seed=1)
    for stock, demand in ((0.2, 0.3), (0.5, 0.4), (0.8, 0.2)):
        found.tell({"stock": stock, "colour": "red"}, context={"demand": demand}, value=stock * demand)
    return found


@pytest.mark.parametrize(
    ("decision", "context", "words"),
    [
        ("stock", "y", "needs a context, not 'y'; there is 'demand'."),
        ("stock", "demnd", "Did you mean 'demand'?"),
        ("stock", "stock", "needs a context"),
        ("stok", "demand", "Real decision variable, not 'stok'; there is 'stock'. Did you mean 'stock'?"),
        ("colour", "demand", "needs a Real decision variable"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_refused_with_the_known_ones(optimizer, tmp_path, decision, context, words):
    path = tmp_path / "picture.png"
    with pytest.raises(windage.InputError) as refused:
        plots.overview(optimizer, decision, context, str(path))
    assert words in str(refused.value)
    assert not path.exists()


def test_a_study_without_contexts_has_no_density_to_draw(tmp_path):
    plain = windage.Optimizer({"stock": windage.Real(0, 1)}, method="gp-ucb")
    with pytest.raises(windage.InputError, match="this study has none"):
        plots.overview(plain, "stock", "demand", str(tmp_path / "picture.png"))


def test_a_missing_library_names_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'windage\[plots\]'"):
        plots.pyplot()
