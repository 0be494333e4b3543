"""The table of methods: one documented file each, and names and defaults that editors and types know."""

import inspect
import math
import pkgutil
from dataclasses import fields, replace
from importlib import import_module
from typing import get_args

import pytest

import windage.methods
from windage import ConfigurationError, Optimizer, Real
from windage.methods import METHODS, Method, MethodName, Settings, get_method, register
from windage.methods.schedules import (
    mmd_radius,
    paper_sqrt_beta,
    root_sqrt_beta,
    theorem_sqrt_beta,
    total_variation_radius,
    wasserstein_radius,
)

MODULES = [
    import_module(f"windage.methods.{found.name}") for found in pkgutil.iter_modules(windage.methods.__path__)
]
FILES = [module for module in MODULES if hasattr(module, "METHOD")]
LONGEST = 60


def name_of(module) -> str:
    return module.__name__.rpartition(".")[2]


@pytest.mark.parametrize("module", FILES, ids=name_of)
def test_a_method_is_one_short_file_whose_docstring_lists_its_steps(module):
    assert module.__doc__
    lines = [line.strip() for line in module.__doc__.splitlines()]
    assert any(line.startswith("1.") for line in lines)
    assert len(inspect.getsource(module).splitlines()) < LONGEST


def test_every_method_has_a_file_and_every_file_a_method():
    assert sorted(module.METHOD.name for module in FILES) == sorted(METHODS)
    for module in FILES:
        assert METHODS[module.METHOD.name] is module.METHOD
        file = "random_search" if module.METHOD.name == "random" else module.METHOD.name.replace("-", "_")
        assert name_of(module) == file


def test_the_names_that_types_know_are_those_of_the_table():
    assert get_args(MethodName) == tuple(METHODS)
    assert [name for name, method in METHODS.items() if method.name != name] == []
    assert next(iter(METHODS)) == "auto"


def test_the_keywords_of_the_optimizer_are_the_settings_and_their_defaults():
    parameters = inspect.signature(Optimizer).parameters
    named = [p for p in parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    keywords = [parameters["budget"], *named]
    settings = fields(Settings)
    assert [(p.name, p.default) for p in keywords] == [(f.name, f.default) for f in settings]
    assert [p.annotation for p in keywords] == [f.type for f in settings]


def test_methods_name_settings_that_there_are():
    names = {f.name for f in fields(Settings)}
    assert all(method.used <= names for method in METHODS.values())
    assert {name for method in METHODS.values() for name in method.used} == names


def test_every_method_says_what_it_does_in_words():
    for method in METHODS.values():
        assert method.distribution
        assert method.objective
        assert method.robust == ("worst" in method.objective or "steepest slope" in method.objective)


def test_a_method_of_your_own_is_given_or_registered(monkeypatch):
    mine = replace(get_method("sbo-kde"), name="mine", sqrt_beta=lambda dx: 0.0)
    space = {"decisions": {"x": Real(0, 1)}, "contexts": {"c": Real(0, 1)}, "seed": 0, "initial": 1}
    given = Optimizer(**space, method=mine)
    given.tell({"x": 0.3}, {"c": 0.5}, 1.0)
    with pytest.raises(ConfigurationError, match="unknown method 'mine'"):
        Optimizer.from_dict(given.to_dict())
    monkeypatch.setattr(windage.methods, "METHODS", METHODS)
    monkeypatch.delitem(METHODS, "mine", raising=False)
    register(mine)
    try:
        assert Optimizer.from_dict(given.to_dict()).ask() == given.ask()
        with pytest.raises(ConfigurationError, match="give yours another name"):
            register(mine)
    finally:
        del METHODS["mine"]


def test_a_robust_method_with_no_acquisition_recommends_by_the_mean():
    bare = Method("bare", "none", "nothing", None, uses_context=False)
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, bare, seed=0)
    opt.tell({"x": 0.3}, {"c": 0.5}, 1.0)
    assert opt.recommend().criterion == "expected"


def test_schedules():
    assert total_variation_radius(100, 1) == pytest.approx(100 ** (-0.4))
    assert mmd_radius(100) == pytest.approx((2 + math.sqrt(2 * math.log(10))) / 10)
    assert mmd_radius(100, 0.5) < mmd_radius(100)
    assert wasserstein_radius(100) == pytest.approx(0.03)
    assert theorem_sqrt_beta(1, 1) == 0
    beta = 2 * math.log(50**2 / math.sqrt(2 * math.pi)) + 4 * math.log(50**2 * 2 * 3 * math.sqrt(math.pi) / 2)
    assert theorem_sqrt_beta(50, 2, 3.0) ** 2 == pytest.approx(beta)
    assert [root_sqrt_beta(dx) for dx in (1, 4, 9)] == [0.5, 1, 1.5]
    assert {paper_sqrt_beta(dx) for dx in range(1, 20)} == {1.5}


@pytest.mark.parametrize(
    ("method", "expected"),
    [("auto", 1.5), ("bq-kde", 0.5 * 2**0.5), ("rbq-kde", 0.5 * 2**0.5), ("sbo-kde", 1.5)],
)
def test_each_method_has_its_own_sqrt_beta(method, expected):
    space, found = {"x": Real(0, 1), "y": Real(0, 1)}, get_method(method)
    data = Optimizer(space, {"c": Real()}, method, seed=0)._data
    assert found.sqrt_beta_at(data, Settings()) == pytest.approx(expected)
    assert found.sqrt_beta_at(data, Settings(sqrt_beta=0.25)) == 0.25


def test_auto_explores_more_where_only_the_recommendation_counts():
    data, auto = Optimizer({"x": Real(0, 1)}, {"c": Real()}, seed=0)._data, get_method("auto")
    assert auto.sqrt_beta_at(data, Settings(aim="learn")) == 2.0 > auto.sqrt_beta_at(data, Settings())
    assert auto.sqrt_beta_at(data, Settings(aim="learn", sqrt_beta=1.0)) == 1.0


def test_methods_with_one_aim_refuse_another():
    for method in METHODS:
        if method != "auto":
            with pytest.raises(
                ConfigurationError, match="does not use aim: leave it out, or use one of auto"
            ):
                Optimizer({"x": Real(0, 1)}, {"c": Real()}, method, aim="learn")
            Optimizer({"x": Real(0, 1)}, {"c": Real()}, method, aim="earn")
    with pytest.raises(ConfigurationError, match=r"aim must be one of earn, learn, not 'lern'.*'learn'"):
        Optimizer({"x": Real(0, 1)}, {"c": Real()}, aim="lern")
