"""The sizes that the engine keeps, and the page that prints them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import architecture


def test_no_module_is_over_300_lines_and_no_function_over_60():
    for path in architecture.modules():
        assert path.read_text().count("\n") <= 300, path
        for length, name in architecture.functions(path):
            assert length <= 60, name


def test_the_default_has_at_most_15_tuning_constants_each_with_its_reason():
    found = architecture.tuning()
    assert len(found) <= 15
    for constant in found:
        assert len(constant.reason) > 20, constant


def test_the_page_prints_what_is_counted_now():
    assert architecture.page() == architecture.PAGE.read_text(), "run python scripts/architecture.py --write"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x = 1\n\n# no\ny = 2\n", 2),
        ('"""Doc\n\nmore."""\n\n\ndef f():\n    """Doc."""\n    return 1\n', 2),
        ('x = (\n    1,\n    "two",\n)\n', 4),
    ],
)
def test_lines_of_code_leave_out_blank_lines_comments_and_docstrings(text, count):
    assert architecture.code_lines(text) == count


def test_constants_are_numbers_in_capitals_with_the_text_below_them(tmp_path, monkeypatch):
    monkeypatch.setattr(architecture, "SOURCE", tmp_path)
    path = tmp_path / "some.py"
    path.write_text('A, B = 1, 2 / 3\n"""Why."""\nNAME = "a"\nC = -1.5\nlower = 3\nD = f(2)\n')
    found = architecture.constants(path)
    assert [(c.name, c.value, c.reason) for c in found] == [
        ("A", "1", "Why."),
        ("B", "2 / 3", "Why."),
        ("C", "-1.5", ""),
    ]
