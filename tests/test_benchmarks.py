"""The scripts in ``benchmarks`` run: they use what is private, so a change inside can break them."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def run(*arguments):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.mark.parametrize("method", ["sbo-kde", "gp-ucb"])
def test_an_ask_is_timed(method, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import bench

    seconds = bench.fast_ask(bench.saved_study(1, 12, method, seed=0), method)
    assert 0 < seconds["fit"] < seconds["ask"]
    assert seconds["fit"] + seconds["maximise"] == pytest.approx(seconds["ask"])


def test_the_variants_of_the_default_are_methods():
    code = (
        "import runpy, sys; from windage.methods import METHODS; before = set(METHODS);"
        "runpy.run_path(sys.argv[1]); print(*sorted(set(METHODS) - before))"
    )
    found = run("-c", code, BENCHMARKS / "variants.py").split()
    assert found == ["bq-two-matern", "kg-fitted", "kg-without-logs", "kg-without-look"]


@pytest.mark.slow
def test_a_decision_is_measured_beside_the_plain_way(tmp_path):
    script = BENCHMARKS / "decision.py"
    out = run(script, "--problems", "newsvendor", "--observations", 12, "--repeats", 1, "--out", tmp_path)
    assert "plain SBO-KDE" in out
    assert (tmp_path / "decision.md").read_text().count("newsvendor") == 1


def test_first_decisions_are_measured_on_functions_drawn_at_random(tmp_path):
    counts = ("--initial", 1, 3, "--decisions", 4, "--seeds", 2)
    out = run(BENCHMARKS / "first_decisions.py", *counts, "--out", tmp_path)
    assert "a choice of four" in out
    assert (tmp_path / "first-decisions.md").read_text().count(" of 2") == 6


def test_bounds_are_measured_on_the_same_functions(tmp_path):
    counts = ("--numbers", 2, 6, "--decisions", 5, "--seeds", 2)
    out = run(BENCHMARKS / "bounds.py", *counts, "--out", tmp_path)
    assert "6 numbers" in out
    six = (tmp_path / "bounds.md").read_text().splitlines()[-1].split("|")[2:6]
    assert len(six) == 4
    assert len(set(six)) > 1  # √β of 3/2, 2, 5/3 and 1.22
