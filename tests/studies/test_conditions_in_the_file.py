"""Contexts of every kind in the study file, what is known beforehand, and how the past is forgotten."""

import pytest

from windage import Categorical, Integer, Optimizer, Real
from windage.errors import ConfigurationError, InputError
from windage.studies import beforehand
from windage.studies.file import load

STUDY = """
[decisions.stock]
low = 0
high = 40
[contexts.demand]
low = 0
unit = "kg"
"""
WEEKDAY = """[contexts.weekday]
choices = ["mon", "Sat", 3]
known = true
"""
GUESTS = """[contexts.guests]
low = 0
high = 12
integer = true
optional = true
"""


def study(tmp_path, text):
    path = tmp_path / "shop.toml"
    path.write_text(text)
    return load(path)


@pytest.fixture
def shop(tmp_path):
    return study(tmp_path, STUDY + WEEKDAY + GUESTS)


def test_contexts_are_of_every_kind(shop):
    assert shop.contexts == {
        "demand": Real(low=0),
        "weekday": Categorical(["mon", "Sat", 3]),
        "guests": Integer(0, 12),
    }
    assert (shop.known, shop.optional) == (("weekday",), ("guests",))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('choices = ["mon"]', "two or more"),
        ('choices = ["mon", "tue"]\nlow = 0', "choices and low do not belong together"),
        ('choices = ["mon", "tue"]\noutside = "clip"', "choices and outside do not belong together"),
        ('choises = ["mon", "tue"]', "Did you mean 'choices'?"),
        ("integer = true\nlow = 0", "high is missing: an integer context needs both bounds"),
        ("integer = true\nlow = 0\nhigh = 2.5", "whole number"),
        ('integer = true\nlow = 0\nhigh = 9\noutside = "clip"', "integer and outside do not belong"),
        ("integer = 1\nlow = 0\nhigh = 9", "integer must be true or false"),
        ('known = "yes"', "known must be true or false"),
        ("known = true\noptional = true", "known and optional do not belong together"),
        ("optinal = true", "Did you mean 'optional'?"),
    ],
)
def test_a_wrong_context_is_named(tmp_path, row, words):
    with pytest.raises(ConfigurationError) as fault:
        study(tmp_path, f"{STUDY}[contexts.other]\n{row}\n")
    assert words in str(fault.value)
    assert "contexts.other" in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('forget = "auto"', "auto"),
        ('forget = "never"', None),
        ("forget = 30", 30),
        ("forget = 7.5", 7.5),
        ('forget = "30 days"', "30 days"),
        ('forget = "1 Day"', "1 days"),
    ],
)
def test_how_the_past_is_forgotten(tmp_path, line, found):
    assert study(tmp_path, line + STUDY).settings == {"forget": found}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("forget = 0", "above 0"),
        ("forget = -3", "above 0"),
        ("forget = true", 'forget must be "auto"'),
        ('forget = "0 days"', "above 0"),
        ('forget = "nver"', "Did you mean 'never'?"),
        ('forget = "30 weeks"', '"30 days"'),
        ("forget = [30]", "forget must be"),
        ("drift = 1", "drift must be true or false"),
        ("forgett = 3", "Did you mean 'forget'?"),
    ],
)
def test_a_wrong_way_to_forget_is_named(tmp_path, line, words):
    with pytest.raises(ConfigurationError, match=r"shop\.toml") as fault:
        study(tmp_path, line + STUDY)
    assert words in str(fault.value)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{demand = "80±15"}', {"demand": (80, 15)}),
        ('{demand = "80+-1,5 kg"}', {"demand": (80, 1.5)}),
        ("{demand = [70, 80, 95]}", {"demand": [70, 80, 95]}),
        ("{weekday = {mon = 1, Sat = 3}}", {"weekday": {"mon": 1, "Sat": 3}}),
    ],
)
def test_a_distribution_that_is_known_for_good(tmp_path, line, found):
    given = study(tmp_path, STUDY + WEEKDAY + f"[settings]\ndistribution = {line}\n")
    assert given.settings["distribution"] == found
    Optimizer({"stock": Real(0, 40)}, given.contexts, distribution=found)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{demand = [80, 15]}", r'two numbers. A mean with a deviation is "80±15"'),
        ('{demand = "many"}', "many"),
        ('{demands = "80±15"}', "Did you mean 'demand'?"),
        ("80", "must be a table from contexts"),
    ],
)
def test_a_wrong_distribution_is_named(tmp_path, line, words):
    with pytest.raises(ConfigurationError, match=words):
        study(tmp_path, STUDY + f"[settings]\ndistribution = {line}\n")


def test_what_stands_on_top_is_no_setting_of_the_method(tmp_path):
    assert study(tmp_path, "drift = true" + STUDY).settings == {"drift": True}
    for line in ("drift = true", "forget = 3"):
        with pytest.raises(ConfigurationError, match="put it on top of the file"):
            study(tmp_path, f"{STUDY}[settings]\n{line}\n")


def test_levels_are_told_in_any_capitals_and_as_text(shop):
    for told, level in (("mon", "mon"), ("MON", "mon"), (" sat ", "Sat"), ("3", 3), (3, 3)):
        assert shop.check_context({"demand": 1, "weekday": told})["weekday"] == level


def test_an_unknown_level_has_its_near_match(shop):
    with pytest.raises(InputError) as fault:
        shop.check_context({"demand": 1, "weekday": "satt"})
    assert (
        str(fault.value) == "context 'weekday' is 'satt', not one of ['mon', 'Sat', 3]. Did you mean 'Sat'?"
    )


def test_what_is_known_or_optional_need_not_be_told(shop):
    assert shop.check_context({"demand": "8 kg"}, {"weekday": "mon"}) == {"demand": 8.0, "weekday": "mon"}
    both = shop.check_context({"demand": 8, "weekday": "Sat", "guests": 4.0}, {"weekday": "mon"})
    assert both == {"demand": 8.0, "weekday": "Sat", "guests": 4}
    assert shop.check_context({"demand": 8, "weekday": 3, "guests": None}) == {"demand": 8.0, "weekday": 3}
    for given in ({"demand": 8}, {"weekday": "mon"}, {"demand": None, "weekday": "mon"}):
        with pytest.raises(InputError):
            shop.check_context(given)


def test_whole_numbers_are_whole_and_within_bounds(shop):
    for given, words in (("2.5", "whole number"), ("13", "outside its bounds"), ("many", "no number")):
        with pytest.raises(InputError, match=words):
            shop.check_context({"demand": 1, "weekday": "mon", "guests": given})
    assert shop.check_past_context({"guests": "13"}) == {"guests": 13}
    with pytest.raises(InputError, match="whole number"):
        shop.check_past_context({"guests": "2.5"})


@pytest.mark.parametrize(
    ("text", "mean", "deviation"),
    [
        ("80±15", 80, 15),
        ("80+-15", 80, 15),
        ("80 +/- 15 kg", 80, 15),
        ("80 kg ± 15 kg", 80, 15),
        ("80", 80, None),
        ("-3,5±0,25", -3.5, 0.25),
        ("1e2±1", 100, 1),
    ],
)
def test_forecasts_as_people_write_them(shop, text, mean, deviation):
    assert beforehand.one_forecast(shop, "demand", text) == {"mean": mean, "deviation": deviation}


@pytest.mark.parametrize(
    ("known", "forecast", "words"),
    [
        ({}, {"demand": "nan"}, "finite"),
        ({}, {"demand": "80±nan"}, "finite"),
        ({}, {"demand": "80±0"}, "above 0"),
        ({}, {"demand": "80±-3"}, "above 0"),
        ({}, {"demand": "80±"}, "write it as 80±15"),
        ({}, {"demand": "1±2±3"}, "write it as 80±15"),
        ({}, {"demand": "much"}, "no number"),
        ({}, {"demnad": "80"}, "Did you mean 'demand'?"),
        ({}, {"weekday": "mon"}, "--known weekday=..."),
        ({"demand": "8"}, {"demand": "8"}, "both known and forecast"),
        ({"weekday": "satt"}, {}, "Did you mean 'Sat'?"),
        ({"wekday": "mon"}, {}, "Did you mean 'weekday'?"),
        ({"demand": "-1"}, {}, "outside its bounds"),
        ({"guests": "13"}, {}, "outside its bounds"),
    ],
)
def test_what_is_said_wrong_beforehand_is_named(shop, known, forecast, words):
    with pytest.raises(InputError) as fault:
        beforehand.check(shop, known, forecast)
    assert words in str(fault.value)
    assert "\n" not in str(fault.value)


def test_what_must_be_known_and_is_missing_is_named_with_its_option(shop):
    with pytest.raises(beforehand.MissingKnownError, match="--known weekday=mon") as fault:
        beforehand.refuse_missing(shop, beforehand.NOTHING)
    assert fault.value.names == ("weekday",)
    beforehand.refuse_missing(shop, beforehand.check(shop, {"weekday": "mon"}, {}))


def test_in_words(shop):
    given = beforehand.check(shop, {"weekday": "sat"}, {"demand": "80.26±15"})
    assert beforehand.words(shop, given) == "weekday Sat, demand forecast 80.3±15 kg"
    assert beforehand.exact(given.forecast["demand"]) == "80.26±15"
