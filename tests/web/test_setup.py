"""A new study from the page and from questions in a terminal: one writer, and nothing is overwritten."""

import io

import pytest
from pages import serving
from typer.testing import CliRunner

import windage
from windage import cli
from windage.cli import questions, studies
from windage.studies import writing
from windage.studies.file import load
from windage.studies.writing import EXAMPLES, Plan, Variable

FORM = {
    "outcome": "profit",
    "unit": "€",
    "better": "larger",
    "decision-name-0": "bread",
    "decision-unit-0": "kg",
    "decision-low-0": "0",
    "decision-high-0": "80,5",
    "context-name-0": "demand",
    "context-unit-0": "kg",
}


@pytest.fixture
def newcomer(tmp_path, monkeypatch, come):
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path / "new.toml") as server:
        yield come(server)


def test_a_study_is_set_up_and_goes_on(newcomer, tmp_path):
    assert "A new study" in newcomer.html
    assert "new.toml" in newcomer.html
    html = newcomer.send("/setup", **{k.replace("-", "_"): v for k, v in FORM.items()})
    assert "The study is set up." in html
    newcomer.until("What happened?")
    file = load(tmp_path / "new.toml")
    assert (file.space["bread"].low, file.space["bread"].high) == (0, 80.5)
    assert list(file.contexts) == ["demand"]
    assert file.quantities["value"].description == "profit"
    assert newcomer.open("/setup").startswith("<!doctype html>")
    assert "What happened?" in newcomer.html


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"decision-high-0": "x"}, "no number"),
        ({"decision-high-0": ""}, "needs both ends"),
        ({"decision-high-0": "-5"}, "Bread is from 0 to -5: the first must be below the second."),
        ({"decision-name-0": "", "decision-low-0": "", "decision-high-0": ""}, "Say what you decide"),
        ({"decision-name-0": ""}, "has bounds and no name"),
        ({"context-name-0": "bread"}, "there twice"),
        ({"decision-name-0": "value"}, "is the name of the outcome"),
        ({"decision-name-0": "a=b"}, "leave it out"),
        ({"decision-whole-0": "yes"}, "whole bounds"),
        ({"context-whole-0": "yes"}, "needs both ends"),
        ({"context-choices-0": "sun"}, "two or more"),
        ({"context-choices-0": "sun, rain", "context-low-0": "3"}, "do not belong together"),
        ({"context-name-0": "", "context-choices-0": "sun, rain"}, "no name"),
    ],
)
def test_a_wrong_plan_is_explained_keeps_what_was_typed_and_leaves_no_file(newcomer, tmp_path, wrong, words):
    given = {**FORM, **wrong}
    html = newcomer.send("/setup", **{k.replace("-", "_"): v for k, v in given.items()})
    assert words in html
    assert newcomer.fields("/setup")["outcome"] == "profit"
    assert newcomer.fields("/setup")["decision-low-0"] == given["decision-low-0"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_fills_the_form_and_can_be_taken(newcomer, tmp_path, example):
    newcomer.open(f"/setup?example={example}")
    assert newcomer.fields("/setup")["outcome"] == EXAMPLES[example].outcome
    assert "The study is set up." in newcomer.send("/setup")
    assert len(load(tmp_path / "new.toml").space) == len(EXAMPLES[example].decisions)


def test_choices_and_what_is_known_are_set_up(newcomer, tmp_path):
    more = {
        "decision-choices-1": "round, long",
        "decision-name-1": "shape",
        "context-choices-1": 'sun,  "rain" , ',
        "context-name-1": "weather",
        "context-known-1": "yes",
        "context-name-2": "guests",
        "context-low-2": "0",
        "context-high-2": "90",
        "context-whole-2": "yes",
    }
    html = newcomer.send("/setup", **{k.replace("-", "_"): v for k, v in {**FORM, **more}.items()})
    assert "The study is set up." in html
    file = load(tmp_path / "new.toml")
    assert file.space["shape"].choices == ("round", "long")
    assert file.contexts["weather"].choices == ("sun", '"rain"')
    assert (file.known, file.contexts["guests"].high) == (("weather",), 90)
    assert "Say what is known of the day" in newcomer.open()


def test_nothing_is_overwritten(newcomer, tmp_path):
    path = tmp_path / "new.toml"
    newcomer.open("/setup")
    fields = newcomer.fields("/setup")
    path.write_text("mine")
    newcomer.client.post("/setup", data={**fields, **FORM})
    assert path.read_text() == "mine"
    with pytest.raises(windage.WindageError, match="there already"):
        writing.write(EXAMPLES["A bakery"], path)
    assert path.read_text() == "mine"


def test_in_a_folder_the_study_has_a_name(tmp_path, monkeypatch, come):
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path) as server:
        visitor = come(server)
        given = {k.replace("-", "_"): v for k, v in FORM.items()}
        assert "Give the study a name" in visitor.send("/setup", study="../..", **given)
        assert "The study is set up." in visitor.send("/setup", study="../../my shop", **given)
        assert [p.name for p in tmp_path.glob("*.toml")] == ["my shop.toml"]


@pytest.mark.parametrize("text", ['a "b" \\ c', "[x]", "é\u2028€", "#no", "'''", "{{7*7}}", "<b>", "\x7f"])
def test_every_name_and_unit_is_quoted(tmp_path, text):
    plan = Plan(text, text, False, [Variable(text + "d", text, -1.5, 2e20)], [Variable(text + "c", text)])
    path = tmp_path / "odd.toml"
    writing.write(plan, path)
    file = load(path)
    assert list(file.space) == [text + "d"]
    assert list(file.contexts) == [text + "c"]
    assert {q.unit for q in file.quantities.values()} == {text}
    assert file.quantities["value"].description == text
    assert (file.direction, file.space[text + "d"].high) == ("minimize", 2e20)


def test_a_study_without_conditions_has_a_method_that_needs_none(tmp_path):
    writing.write(Plan("x", "", True, [Variable("a", "", 0, 1)], []), tmp_path / "plain.toml")
    assert load(tmp_path / "plain.toml").method == "gp-ucb"


def test_in_a_terminal_init_asks_the_few_questions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    terminal = type("Terminal", (io.StringIO,), {"isatty": lambda _: True})
    answers = iter(
        ["stock", "kg", "0", "forty", "40,5", False, "", "demand", "kg", "", "profit", "EUR", True]
    )
    monkeypatch.setattr(studies.sys, "stdin", terminal())
    monkeypatch.setattr(studies.sys, "stdout", terminal())
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    monkeypatch.setattr("typer.confirm", lambda *_, **__: next(answers))
    studies.init(tmp_path / "shop.toml")
    file = load(tmp_path / "shop.toml")
    assert (file.space["stock"].high, list(file.contexts)) == (40.5, ["demand"])
    assert next(answers, "none") == "none"
    said = studies.sys.stdout.getvalue()
    assert "which is no number" in said
    assert "windage serve" in said


def test_a_plan_that_does_not_go_is_asked_for_again(tmp_path, monkeypatch, capsys):
    plans = iter([Plan("", "", True, [Variable("a", "", 2, 1)], []), EXAMPLES["A bakery"]])
    monkeypatch.setattr(questions, "_plan", lambda: next(plans))
    questions.answered(tmp_path / "shop.toml")
    assert "That does not go" in capsys.readouterr().out
    assert (tmp_path / "shop.toml").exists()


def test_elsewhere_init_writes_the_template(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli.app, ["init", "shop.toml"]).exit_code == 0
    assert "[decisions.stock]" in (tmp_path / "shop.toml").read_text()
