"""Settings: each method takes those that it uses, which then matter, and refuses the others in words."""

from functools import cache

import numpy as np
import pytest

from contracts import METHODS, easy, optimizer, quick, run
from windage import ConfigurationError, Optimizer, Real
from windage.methods import METHODS as TABLE
from windage.methods import Settings

CHANGED = {
    "sqrt_beta": 0.7,
    "lipschitz": 1e-3,
    "samples": 50,
    "space_points": 40,
    "grid": 17,
    "radius": 0.05,
    "gamma": 0.97,
    "bandwidth": 0.3,
    "boundary": "reflect",
    "kernel": "matern-3/2",
    "members": 3,
    "surrogate": "2023",
    "as_published": True,
    "raw_samples": 60,
    "restarts": 3,
}
PAIRS = [(method, setting) for method in TABLE for setting in CHANGED]
USED = [(method, setting) for method, setting in PAIRS if setting in TABLE[method].used]
UNUSED = [pair for pair in PAIRS if pair not in USED]


def bare(method: str, **settings) -> Optimizer:
    return Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, {"c": Real(0, 1)}, method, seed=1, **settings)


def beside(setting: str) -> dict[str, str]:
    """What a setting needs beside it."""
    needed = {"lipschitz": {"sqrt_beta": "theorem"}, "as_published": {"surrogate": "2023"}}
    return needed.get(setting, {})


@pytest.mark.parametrize(("method", "setting"), UNUSED)
def test_a_setting_that_the_method_does_not_use_is_refused_naming_who_does(method, setting):
    with pytest.raises(ConfigurationError) as error:
        bare(method, **{setting: CHANGED[setting]})
    said = str(error.value)
    assert said.startswith(f"method {method!r} does not use {setting}: leave it out, or use one of ")
    users = said.removesuffix(".").rpartition("use one of ")[2].split(", ")
    assert users == [name for name in TABLE if setting in TABLE[name].used]
    assert users


@pytest.mark.parametrize(("method", "setting"), UNUSED)
def test_a_setting_left_at_its_default_is_not_refused(method, setting):
    bare(method, **{setting: getattr(Settings(), setting)})


@pytest.mark.parametrize(("method", "setting"), USED)
def test_a_setting_that_the_method_uses_is_taken_and_saved(method, setting):
    given = {setting: CHANGED[setting], **beside(setting)}
    opt = bare(method, **given)
    assert opt.to_dict()["settings"] == given
    assert Optimizer.from_dict(opt.to_dict()).to_dict()["settings"] == given


@cache
def answers(method: str, **settings) -> tuple:
    """What a study says of a rough function and narrow contexts: the next decision, the recommendation."""
    opt = bare(method, initial=1, **quick(method, **settings))
    rng = np.random.default_rng(3)
    for _ in range(14):
        x, y, c = (rng.uniform(size=3) * [1, 1, 0.3] + [0, 0, 0.4]).tolist()
        opt.tell({"x": x, "y": y}, {"c": c}, float(np.sin(9 * x) + np.cos(8 * y + 9 * c) + x * c))
    best = opt.recommend()
    return tuple(opt.ask().decision.values()), tuple(best.decision.values()), best.expected, best.worst_case


SEARCH = {"raw_samples", "restarts"}
"""That more of them find nothing better is as it should be."""


@pytest.mark.parametrize(("method", "setting"), [pair for pair in USED if pair[1] not in SEARCH])
def test_a_setting_that_the_method_uses_matters(method, setting):
    before = beside(setting)
    assert answers(method, **before) != answers(method, **before, **{setting: CHANGED[setting]})


@pytest.mark.parametrize("method", [name for name in TABLE if name != "random"])
def test_the_search_is_as_wide_as_the_settings_say(method, monkeypatch):
    import windage.proposal

    found = []
    search = windage.proposal.maximize
    monkeypatch.setattr(
        windage.proposal, "maximize", lambda *given: found.append(given[2:4]) or search(*given)
    )
    opt = bare(method, initial=1, **quick(method, raw_samples=37, restarts=3))
    opt.tell({"x": 0.2, "y": 0.5}, {"c": 0.4}, 1.0)
    opt.ask()
    opt.recommend()
    assert found == [(37, 3)] * 2


@pytest.mark.parametrize("sqrt_beta", [None, 2.0])
@pytest.mark.parametrize("method", METHODS)
def test_lipschitz_is_refused_without_the_theorem(method, sqrt_beta):
    with pytest.raises(ConfigurationError, match='lipschitz is of sqrt_beta="theorem" alone'):
        bare(method, lipschitz=2.0, sqrt_beta=sqrt_beta)
    bare(method, lipschitz=2.0, sqrt_beta="theorem")
    bare(method, lipschitz=1.0, sqrt_beta=sqrt_beta)  # its default


@pytest.mark.parametrize(
    "changed",
    [
        {"sqrt_beta": "theorem"},
        {"sqrt_beta": 0.0},
        {"samples": "nodes"},
        {"samples": 16},
        {"kernel": "matern"},
        {"boundary": "reflect"},
        {"boundary": "none"},
        {"bandwidth": "silverman"},
        {"bandwidth": "isj"},
        {"bandwidth": 0.2},
        {"bandwidth": "held-out", "boundary": "held-out"},
        {"members": 0},
        {"members": 3},
        {"radius": 0.0},
        {"radius": 5.0},
        {"grid": 12},
        {"gamma": 0.5},
        {"space_points": 16},
    ],
    ids=str,
)
def test_every_value_of_a_setting_works_with_every_method_that_uses_it(changed):
    for method in METHODS:
        if TABLE[method].used >= changed.keys():
            opt = optimizer(method, **changed)
            run(opt, 7)
            assert opt.to_dict()["settings"] == {**quick(method), **changed}


def test_a_setting_reaches_the_method():
    """Methods that differ by one setting agree where it makes them the same."""

    def last(method, **changed):
        return run(optimizer(method, **changed), 7)[-1]

    assert last("drbo-kde", radius=1.5) != last("drbo-kde")
    assert last("drbo-kde", radius=0.0) == pytest.approx(last("sbo-kde"), abs=1e-4)
    assert last("drbo-mmd", radius=0.05) != last("drbo-mmd")
    assert last("sbo-kde", sqrt_beta=5.0) != last("sbo-kde")
    assert last("rbq-kde", radius=1.5) != last("rbq-kde")
    assert last("rbq-kde", radius=0.0) == pytest.approx(last("bq-kde"), abs=1e-4)
    assert last("wdrbo", radius=1.5) != last("wdrbo")
    assert last("wdrbo", radius=0.0) == pytest.approx(last("erbo"), abs=1e-4)
    assert last("sbo-kde", samples="nodes") == pytest.approx(last("sbo-kde"), abs=0.05)


def test_the_quick_settings_of_the_tests_are_those_that_the_method_uses():
    for method in TABLE:
        bare(method, **quick(method))
    assert quick("random").keys() == {"raw_samples", "restarts"}
    assert easy({"x": 0.6, "y": 0.3}, {"c": 0.5}) == pytest.approx(0.1)
