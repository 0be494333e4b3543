"""Damaged input of every kind ends in words."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import fuzz


@pytest.fixture(autouse=True)
def _own_storage(monkeypatch):
    monkeypatch.delenv("WINDAGE_STORAGE", raising=False)


def test_some_damaged_inputs_bring_no_traceback():
    assert fuzz.run(300) == []


@pytest.mark.slow
def test_many_damaged_inputs_bring_no_traceback():
    assert fuzz.run(9700, first=300) == []


def test_a_planted_fault_is_found(monkeypatch):
    """The negative control."""

    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(fuzz, "read_rows", broken)
    found = fuzz.run(30)
    assert found
    assert {(f.kind, f.line) for f in found} == {("table", "ZeroDivisionError: ")}
