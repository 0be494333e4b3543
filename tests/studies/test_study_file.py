"""The study file: what it describes, and what it says of its faults."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest

import windage.studies
from shops import ask, fault, run
from windage.errors import WindageWarning
from windage.studies.file import load
from windage.studies.storage import StorageError
from windage.studies.store import StudyStore

SHUFFLED = """
direction = "maximize"
initial = 2
[decisions.width]
low = 0
high = 4
[decisions.angle]
low = 0
high = 9
integer = true
[decisions.paint]
choices = ["red", "blue"]
[contexts.wind]
[settings]
raw_samples = 32
restarts = 2
members = 4
"""


def test_decision_variables_come_in_the_order_of_the_file_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("kite.toml")
    path.write_text(SHUFFLED)
    order = ["width", "angle", "paint"]
    for index in range(3):
        assert list(ask(path)["decision"]) == order
        told = run("tell", "kite.toml", str(index), "--value", str(index), "--context", "wind=2", "--json")
        assert list(json.loads(told.stdout)["decision"]) == order
    assert list(json.loads(run("recommend", "kite.toml", "--json").stdout)["decision"]) == order
    shown = run("recommend", "kite.toml").stdout
    assert [line.split(" = ")[0] for line in shown.splitlines()[:3]] == order
    ask(path)
    (pending,) = json.loads(run("status", "kite.toml", "--json").stdout)["pending"]
    assert list(pending["decision"]) == order
    store = StudyStore.open(load(path))
    assert all(list(entry.decision) == order for entry in store.entries())
    assert list(store.everything().optimizer.decisions) == sorted(
        order
    )  # what is asked does not depend on it


def test_a_file_of_the_method_that_was_continues_as_auto_and_says_so(shop):
    shop.write_text(shop.read_text().replace('method = "auto"', 'method = "kg-kde"'))
    store = StudyStore.open(load(shop))
    with pytest.warns(WindageWarning, match="'kg-kde' is no longer there: the study continues as 'auto'"):
        assert store.ask().number == 0
    assert windage.studies.WindageWarning is WindageWarning
    assert run("status", "shop.toml").exit_code == 0


def test_aim_and_budget_are_lines_of_the_file(shop):
    text = shop.read_text()
    assert 'aim = "earn"' in text
    shop.write_text(text.replace('aim = "earn"', 'aim = "learn"\nbudget = 12'))
    sampler = StudyStore.open(load(shop)).sampler()
    saved = sampler.new_optimizer(load(shop).axes, "maximize").to_dict()
    assert saved["settings"].items() >= {"aim": "learn", "budget": 12}.items()
    assert saved["initial"] == 3
    assert ask(shop)["number"] == 0


def test_telling_needs_neither_method_nor_settings(shop):
    """They are checked before a decision is asked for, and nothing is changed."""
    ask(shop)
    text = shop.read_text()
    for old, new, words in (
        ('method = "auto"', 'method = "sbo"', "unknown method"),
        ("members = 4", "memebrs = 4", "Did you mean 'members'"),
        ("members = 4", "members = -1", "members"),
        ("[settings]", "[settings]\nseed = 3", "seed"),
    ):
        shop.write_text(text.replace(old, new, 1))
        message = fault("ask", "shop.toml")
        assert message.startswith("shop.toml: ")
        assert words in message
        assert len(StudyStore.open(load(shop)).trials()) == 1
    assert run("tell", "shop.toml", "0", "--value", "1", "--context", "demand=2").exit_code == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('direction = "maximize"', 'direction = "up"', "direction"),
        ('direction = "maximize"', 'diretion = "maximize"', "Did you mean 'direction'"),
        ("high = 40", "hihg = 40", "Did you mean 'high'"),
        ("high = 40", "", "[decisions.stock]: high is missing"),
        ("high = 40", "high = -1", "[decisions.stock]"),
        ("high = 40", "high = [", "is not right"),
        ("[decisions.stock]", "[decision.stock]", "decisions"),
        ('method = "auto"', 'method = "sbo"', "unknown method"),
        ('"sqlite:///shop.db"', '"shop.db"', "URL"),
        ("lease_days = 7", "lease_days = 0", "lease_days"),
        ("members = 4", "memebrs = 4", "Did you mean 'members'"),
        ("[contexts.demand]", "[contexts.stock]", "stock"),
        ("[contexts.demand]", "[contexts.value]", "another"),
        ("[contexts.demand]", "[contexts.told]", "give the variable another name"),
        ("[decisions.stock]", "[decisions.number]", "give the variable another name"),
        ("[decisions.stock]", '[decisions."a=b"]', 'has "=" in it'),
        ("[contexts.demand]", '[contexts."a=b"]', 'has "=" in it'),
        ("high = 40", "high = 40\ninteger = 1", "[decisions.stock]: integer must be true or false, not 1"),
        ("high = 40", 'high = 40\nlog = "no"', "[decisions.stock]: log must be true or false, not 'no'"),
        ("[contexts.demand]", "[contexts.demand]\nlog = 0", "[contexts.demand]: log must be true or false"),
        ('unit = "EUR"', "unit = 3", '[value]: unit must be text in quotes, such as unit = "3"'),
        ('unit = "kg"', "unit = true", "[decisions.stock]: unit must be text"),
        ("high = 40", 'choices = ["a", "b"]', "choices and low do not belong together"),
        ("high = 40", "high = 40\nstep = 0", "[decisions.stock]: step must be above 0"),
        ("high = 40", "high = 40\nstep = 50", "at most high - low, which is 40, not 50"),
        ("high = 40", "high = 40\ninteger = true\nstep = 50", "[decisions.stock]: step must be"),
        ('"sqlite:///shop.db"', '"sqlite://"', 'names no file: write "sqlite:///shop.db"'),
        ('"sqlite:///shop.db"', '"sqlite:///"', "names no file"),
        ('"sqlite:///shop.db"', '"sqlite://shop.db"', "with three slashes"),
        ('"sqlite:///shop.db"', '"sqlite:///:memory:"', "names no file"),
        ("lease_days = 7", "lease_days = inf", "lease_days is inf, but must be finite"),
        ("lease_days = 7", "lease_days = 1e9", "lease_days must be above 0 and at most 36500"),
        ("lease_days = 7", "members = 4", "'members' is a setting of the method: put it in [settings]"),
        ('aim = "earn"', 'aim = "lern"', "aim must be one of earn, learn, not 'lern'. Did you mean 'learn'?"),
        ('aim = "earn"', "aim = 3", "aim must be one of earn, learn"),
        ('aim = "earn"', "budget = 0", "budget"),
        ("members = 4", 'aim = "learn"', "'aim' in [settings] stands above the tables: put it on top"),
        (
            'unit = "EUR"',
            'unit = "EUR"\naim = "earn"',
            "'aim' in [value] stands above the tables: put it on top",
        ),
        ('method = "auto"', 'method = "sbo-kde"\nbudget = 9', "'sbo-kde' does not use members"),
    ],
)
def test_a_wrong_study_file_says_what_to_do(shop, old, new, words):
    text = shop.read_text()
    assert old in text
    shop.write_text(text.replace(old, new, 1))
    assert words in fault("ask", "shop.toml")
    assert not Path("shop.db").exists()


def test_a_step_may_be_the_whole_range_in_spite_of_rounding(shop):
    shop.write_text(shop.read_text().replace("low = 0\nhigh = 40", "low = 0.1\nhigh = 0.3\nstep = 0.2"))
    assert ask(shop)["decision"]["stock"] in (0.1, 0.3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("seed = 5000000000", "seed must be"),
        ('storage = "mysql://me@host/db"', "driver"),
        ('storage = "postgresql+psycopg://me@host:port/db"', "URL"),
        ('storage = "nonsense://me@host/db"', "URL"),
    ],
)
def test_faults_of_the_file_in_one_line(shop, change, words):
    key = change.split(" = ")[0]
    lines = [line for line in shop.read_text().splitlines() if not line.startswith(key)]
    shop.write_text("\n".join([change, *lines]))
    assert words in fault("status", "shop.toml")


def test_choices_and_steps_that_cannot_be(shop):
    text = shop.read_text()
    shop.write_text(text.replace("low = 0\nhigh = 40", "choices = [07:00:00, 08:00:00]"))
    assert "words or numbers" in fault("ask", "shop.toml")
    shop.write_text(text.replace("low = 0\nhigh = 40", "low = 0\nhigh = 40\ninteger = true\nstep = 2.7"))
    assert "whole step" in fault("ask", "shop.toml")
    shop.write_text(f'name = "shop [/eur] [red]"\n{text}')
    assert "shop [/eur] [red]" in run("status", "shop.toml").stdout


def test_an_ask_whose_lock_ends_in_a_fault_is_cut_off(shop, monkeypatch):
    """The storage may go away after the decision is chosen, and before anybody knows of it."""
    store = StudyStore.open(load(shop))

    @contextmanager
    def broken(*_):
        yield
        raise StorageError("the storage went away")

    with monkeypatch.context() as patch:
        patch.setattr("windage.studies.locks.hold", broken)
        patch.setattr(store, "_fail_cut_off", lambda: None)  # nor can it be marked as failed now
        with pytest.raises(StorageError):
            store.ask()
    assert store.ask().number == 1
    assert [trial.state.name for trial in store.trials()] == ["FAIL", "RUNNING"]
