"""The smoke suite, tables, figures, and the paper's Tables 1 and 2 and Proposition 1."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy import stats
from typer.testing import CliRunner

import windage.bench
from windage import cli
from windage.bench import context_density, figures, problems, runtime, saa, tables
from windage.bench.configuration import PAPER_METHODS
from windage.methods import AUTO, METHODS

pytestmark = pytest.mark.xdist_group("results")
PNG, PDF = b"\x89PNG", b"%PDF"


@pytest.mark.parametrize(
    ("chosen", "pictures"),
    [
        (
            ["ackley", "hartmann-complicated", "newsvendor", "branin@0.2"],
            ["figure-1a", "figure-1b", "figure-others"],
        ),
        pytest.param(
            list(problems.PROBLEMS),
            ["figure-1a", "figure-1b", "figure-ackley-4", "figure-others"],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["some", "all"],
)
def test_the_smoke_suite(tmp_path, chosen, pictures):
    """By the command line: all methods on problems, then the tables and the figures."""
    out = tmp_path / "results"
    arguments = ["run", "--suite", "smoke", "--problems", ",".join(chosen), "--out", str(out)]
    result = CliRunner().invoke(cli.app, ["bench", *arguments])
    assert result.exit_code == 0, result.output
    has_all_methods(windage.bench.load(out), chosen)
    has_tables(out, chosen)
    drawn = CliRunner().invoke(cli.app, ["bench", "figures", str(out), "--json"])
    assert drawn.exit_code == 0, drawn.exception
    files = [out / "figures" / f"{name}{ending}" for name in pictures for ending in (".png", ".pdf")]
    assert json.loads(drawn.stdout) == [str(file) for file in files]
    assert all(file.read_bytes().startswith(PNG if file.suffix == ".png" else PDF) for file in files)


def has_all_methods(table, chosen):
    assert list(dict.fromkeys(table["problem"])) == chosen
    assert set(table["method"]) == set(PAPER_METHODS)
    assert len(table) == len(chosen) * len(PAPER_METHODS) * 5
    assert np.isfinite(table[["value", "expected", "regret"]].to_numpy()).all()
    assert (table["regret"] >= -1e-9).all()


def has_tables(out, chosen):
    shown = CliRunner().invoke(cli.app, ["bench", "tables", str(out)])
    assert shown.exit_code == 0, shown.exception
    records = json.loads(CliRunner().invoke(cli.app, ["bench", "tables", str(out), "--json"]).stdout)
    assert len(records["regret"]) == len(PAPER_METHODS) * len(chosen)
    for name in ("regret", "reward", "seconds"):
        text = (out / "tables" / f"{name}.md").read_text()
        assert all(method in text for method in PAPER_METHODS)
        assert all(f"| {problem} |" in text for problem in chosen)
        rows = list(csv.DictReader(io.StringIO((out / "tables" / f"{name}.csv").read_text())))
        assert len(rows) == len(PAPER_METHODS) * len(chosen)
        latex = (out / "tables" / f"{name}.tex").read_text()
        assert latex.count(r"\\") == len(chosen) + 1


def made_up():
    """Three seeds of two problems; a is best on p, b ties with it, c does not; d is missing on q."""
    rows = []
    levels = {"a": (1.0, 1.1, 0.9), "b": (0.8, 1.5, 1.0), "c": (3.0, 3.1, 2.9), "d": (9.0, 9.0, 9.0)}
    for problem in ("p", "q"):
        for method, regrets in levels.items():
            if (problem, method) == ("q", "d"):
                continue
            for seed, regret in enumerate(regrets):
                rows += [(problem, method, seed, step, -regret, -regret, regret, 0.5) for step in range(4)]
    names = ["problem", "method", "seed", "step", "value", "expected", "regret", "ask_seconds"]
    return pandas.DataFrame(rows, columns=names)


def test_a_table_has_means_errors_the_best_and_its_ties():
    regret, reward, seconds = tables.sheets(made_up())
    marks = {name: [cell.mark for cell in cells] for name, cells in regret.rows}
    assert marks["p"] == ["best", "tie", "", ""]
    assert marks["q"] == ["best", "tie", "", ""]
    assert [cell.mark for cell in reward.rows[0][1]] == ["best", "tie", "", ""]
    assert not any(cell.mark for _, cells in seconds.rows for cell in cells)
    mean, error, runs = regret.rows[0][1][0].values
    assert (mean, runs) == (pytest.approx(4.0), 3)
    assert error == pytest.approx(np.std([4.0, 4.4, 3.6], ddof=1) / np.sqrt(3))
    assert regret.rows[1][1][3].text == ""
    assert "| p | **4.00 ± 0.23** | 4.40 ± 0.83 * | 12.0 ± 0.2 | 36.0 ± 0.0 |" in regret.markdown()
    assert r"p & \textbf{4.00 $\pm$ 0.23} & 4.40 $\pm$ 0.83$^{*}$ &" in regret.latex()
    rows = list(csv.DictReader(io.StringIO(regret.csv())))
    assert rows[0]["problem"] == "p"
    assert float(rows[0]["mean"]) == pytest.approx(4.0)
    assert rows[0]["mark"] == "best"


def test_a_method_with_fewer_seeds_is_neither_best_nor_a_tie():
    table = made_up()
    partial = table[~((table["method"] == "b") & (table["seed"] > 0))]
    sheet = tables.sheets(partial)[0]
    (_, cells), _ = sheet.rows
    assert "cells of fewer seeds are not compared" in sheet.title
    assert "fewer seeds" not in tables.sheets(table)[0].title
    assert [cell.mark for cell in cells] == ["best", "", "", ""]
    assert cells[1].text == "3.20 (1 of 3 seeds)"


def test_the_room_needs_no_torch():
    heavy = re.compile(r"^\s*(import|from) (torch|botorch|gpytorch|cvxpy)\b", re.MULTILINE)
    files = sorted(Path(windage.bench.__file__).parent.glob("*.py"))
    assert len(files) > 20
    assert not [file.name for file in files if heavy.search(file.read_text())]


def test_a_mean_of_zero_is_short():
    assert tables.spread([0.0, 0.0]).text == "0.00 ± 0.00"


def test_one_seed_has_no_error_and_no_ties():
    table = made_up()
    regret = tables.sheets(table[table["seed"] == 0])[0]
    assert regret.rows[0][1][1].mark == "best"
    assert "±" not in regret.rows[0][1][0].text
    assert sum(cell.mark != "" for cell in regret.rows[0][1]) == 1


def test_figures_take_what_they_are_given(tmp_path):
    table = made_up()
    (png, pdf) = figures.draw(table, tmp_path / "new")
    assert (png.name, pdf.name) == ("figure-others.png", "figure-others.pdf")
    figures.draw(table[(table["seed"] == 0) & (table["step"] == 0)], tmp_path / "one")


def test_lines_can_be_told_apart_in_grey():
    lines = [figures.style(m, list(METHODS)) for m in METHODS]
    assert len({str(line.dashes) + line.mark for line in lines}) == len(METHODS)
    assert set(figures.STYLES) == {*PAPER_METHODS, AUTO}


def test_table_2_is_the_papers():
    """Seven of eight cells within two standard errors of the difference."""
    rows = list(context_density.measure(20, rules=("rule-of-thumb",)))
    near = 0
    for name, cells in context_density.PAPER.items():
        for n, cell in zip(context_density.COUNTS, cells, strict=True):
            mean, error = map(float, cell.split(" ± "))
            mine = tables.mean_and_error([d for a, _, m, d in rows if (a, m) == (name, n)])
            near += abs(mine[0] - mean) <= 2 * np.hypot(mine[1], error)
    assert near >= 7
    sheet = context_density.sheet(rows)
    assert [name for name, _ in sheet.rows][:2] == ["normal, paper", "normal, rule-of-thumb"]
    assert "20 repetitions" in sheet.title


def test_the_distance_of_densities_is_exact():
    """Two points and a fine even grid; and points so far out that nothing is in common."""
    truth = stats.norm(0.5, 0.1)
    one = np.array([0.5, 0.7])
    h = float((4 / (3 * 2)) ** 0.2 * one.std())
    grid = np.linspace(-3, 4, 2_000_001)
    kde = (stats.norm(0.5, h).pdf(grid) + stats.norm(0.7, h).pdf(grid)) / 2
    slow = np.trapezoid(np.abs(kde - truth.pdf(grid)), grid)
    assert context_density.distance(truth, one, "rule-of-thumb") == pytest.approx(slow, rel=1e-5)
    far = context_density.distance(truth, np.array([1e5, 1e5 + 1]), "silverman")
    assert far == pytest.approx(2, abs=1e-3)


def test_proposition_1_is_shown(tmp_path):
    errors = list(saa.measure(problems.get("newsvendor"), observations=12, repetitions=5))
    means = [np.mean([e.distance for e in errors if (e.kind, e.nodes) == ("samples", n)]) for n in saa.SIZES]
    assert means[-1] < 0.5 * means[0]
    cells = [e for e in errors if e.kind == "cells"]
    assert cells[-1].distance < means[-1]
    assert all(e.loss > -1e-7 for e in errors)
    sheet = saa.sheet(errors, "title")
    assert len(sheet.rows) == len(saa.SIZES) + len(saa.CELLS)
    saa.picture(errors, tmp_path / "new" / "saa.png", "title")
    assert (tmp_path / "new" / "saa.png").read_bytes().startswith(PNG)


def test_table_1_is_measured_beside_the_papers():
    said = []
    timing = runtime.measure("gp-ucb", budget=14, repeats=2, report=said.append)
    assert said == ["gp-ucb: 14 decisions, 1 of 2", "gp-ucb: 14 decisions, 2 of 2"]
    assert len(timing.seconds) == 2
    assert all(0 < seconds < 60 for seconds in timing.seconds)
    shown = runtime.sheet([timing, runtime.Timing("mine", 14, (1.5,))])
    assert "| gp-ucb |" in shown.markdown()
    assert "| 11.35 |" in shown.markdown()
    assert "| mine | 1.50 |  |" in shown.markdown()


def test_the_small_commands_run(tmp_path):
    calls = [
        ["density", "--repetitions", "1", "--out", str(tmp_path / "d")],
        [
            "saa",
            "--problem",
            "newsvendor",
            "--observations",
            "4",
            "--repetitions",
            "1",
            "--out",
            str(tmp_path / "s"),
        ],
        ["runtime", "--methods", "gp-ucb", "--budget", "12", "--repeats", "1", "--json"],
    ]
    for call in calls:
        result = CliRunner().invoke(cli.app, ["bench", *call])
        assert result.exit_code == 0, (call, result.exception)
    assert json.loads(result.stdout)[0]["paper_seconds"] == 11.35
    assert {p.name for p in (tmp_path / "s").iterdir()} == {"saa.md", "saa.csv", "saa.tex", "saa.png"}
    assert (tmp_path / "d" / "density.md").exists()


def test_with_many_contexts_sobol_points_err_less_than_as_many_samples(monkeypatch):
    monkeypatch.setattr(saa, "SIZES", (256,))
    monkeypatch.setattr(saa, "SOBOL", (256,))
    monkeypatch.setattr(saa, "FINE_SOBOL", 2**12)
    problem = problems.get("ackley-4")
    errors = list(saa.measure(problem, observations=20, repetitions=4))
    assert len(errors) == saa.extent(problem, 4)[0]
    loss = {kind: np.mean([e.loss for e in errors if e.kind == kind]) for kind in ("Sobol points", "samples")}
    assert 0 < loss["Sobol points"] < 0.7 * loss["samples"]
