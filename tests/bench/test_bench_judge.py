"""How a method is judged: against others on the same seeds, the published figures, and local optima."""

import json

import numpy as np
import pandas
import pytest
from scipy import stats
from typer.testing import CliRunner

from windage.bench import configuration, distribution_regret, judge, manifest, run
from windage.bench.problems import get
from windage.cli import app
from windage.errors import ConfigurationError


def table(regrets: dict[str, dict[str, list[float]]], steps: int = 20) -> pandas.DataFrame:
    """Runs of constant regret a step: method → problem → one figure a seed."""
    rows = [
        {"problem": problem, "method": method, "seed": seed, "step": step, "regret": regret}
        for method, problems in regrets.items()
        for problem, figures in problems.items()
        for seed, regret in enumerate(figures)
        for step in range(steps)
    ]
    return pandas.DataFrame(rows)


def test_holm_as_in_a_textbook():
    assert judge.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert judge.holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert judge.holm([]) == []


def test_pairs_are_of_the_same_seeds_and_corrected_for_all_tests():
    rng = np.random.default_rng(0)
    mine = rng.uniform(1, 2, 10)
    runs = table(
        {
            "mine": {"a": [*mine], "b": [*mine]},
            "worse": {"a": [*(mine + rng.uniform(0.1, 0.2, 10))], "b": [*mine[:4]]},
            "equal": {"a": [*(mine + rng.normal(0, 0.1, 10))]},
        }
    )
    sheet = judge.paired(runs, "mine")
    assert sheet.head == ("problem", "worse", "equal")
    found = {(name, sheet.head[k + 1]): cell for name, cells in sheet.rows for k, cell in enumerate(cells)}
    least = stats.wilcoxon(np.arange(1, 11), alternative="greater").pvalue
    assert found["a", "worse"].values[3] == pytest.approx(3 * least)
    assert found["a", "worse"].mark == "best"
    assert "10 of 10" in found["a", "worse"].text
    assert found["b", "worse"].values[2:] == (4, 1.0)  # the same runs are not worse
    assert found["a", "equal"].mark == ""
    assert found["b", "equal"].text == ""


def test_first_decisions_are_told_apart():
    runs = table({"mine": {"newsvendor": [1.0, 2.0]}, "other": {"newsvendor": [1.0, 2.5], "a": [1.0]}})
    mine = (runs["method"] == "mine") & (runs["step"] < judge.INITIAL)
    runs.loc[mine, "regret"] /= 4
    cells = dict(judge.first(runs).rows)
    assert [cell.values[:1] for cell in cells["newsvendor"]] == [(1.875,), (8.75,)]
    assert cells["a"][0].text == ""
    sheets = {sheet.name: sheet for sheet in judge.sheets(runs[runs["problem"] == "newsvendor"], "mine")}
    whole, later = (sheets[name].rows[0][1][0].values[0] for name in ("paired", "paired-later"))
    assert (whole, later) == pytest.approx((8.75 - 1.875 + 3.75, 3.75))
    assert "after the first 5 decisions" in sheets["paired-later"].title


def test_a_seed_that_is_stuck_is_counted():
    ranges = {"newsvendor": 2.0}
    sheet = judge.ends(table({"m": {"newsvendor": [0.0, 0.1, 0.3]}}), ranges)
    assert [cell.text for cell in sheet.rows[0][1]] == ["0.2", "0.3, 1 of 3"]


def test_the_range_of_an_expectation():
    newsvendor = get("newsvendor")
    x = np.linspace(0, 1, 201)[:, None]
    values = newsvendor.expected(x)
    assert judge.expectation_range("newsvendor") == pytest.approx(values.max() - values.min(), rel=1e-3)


def test_published_figures_are_beside_those_of_a_long_enough_run():
    runs = table({"m": {"newsvendor": [0.01, 0.03], "ackley@0.2": [1.0]}}, steps=120)
    sheet = judge.published(runs, "m")
    assert [name for name, _ in sheet.rows] == ["ackley@0.2, 100 decisions", "newsvendor, 100 decisions"]
    cells = dict(sheet.rows)["newsvendor, 100 decisions"]
    assert cells[0].values[0] == pytest.approx(2.0)
    assert cells[1].values[0] == pytest.approx(2.0 / 6.9)
    assert [cell.text for cell in cells if cell.mark == "best"] == ["6.9"]


def test_a_method_that_was_not_run_is_named():
    with pytest.raises(ConfigurationError, match=r"no run of 'x' is there; the methods run are m"):
        judge.sheets(table({"m": {"newsvendor": [0.1]}}), "x")


def test_the_command_judges_a_folder(tmp_path):
    out = tmp_path / "runs"
    tasks = configuration.plan(out, "later", ["newsvendor"], ["auto", "random"], budget=6, seeds=[1, 2])
    assert all(run.execute(task).error is None for task in tasks)
    manifest.write(out, tasks[0].configuration)
    shown = CliRunner().invoke(app, ["bench", "judge", str(out), "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout[: shown.stdout.rindex("}") + 1])
    assert set(found) == {"published", "paired", "paired-later", "first", "ends"}
    assert (out / "tables" / "paired.md").exists()


def test_the_distribution_alone_costs_less_the_more_is_seen(monkeypatch):
    monkeypatch.setattr(distribution_regret, "DECISIONS", 256)
    newsvendor = get("newsvendor")
    early, late = {}, {}
    for seed in range(6):
        short, whole = (dict(distribution_regret.regrets(newsvendor, seed, budget, 5)) for budget in (20, 60))
        for name in short:
            early[name] = early.get(name, 0.0) + short[name] / 15
            late[name] = late.get(name, 0.0) + (whole[name] - short[name]) / 40
    assert set(early) == {distribution_regret.EMPIRICAL, *distribution_regret.ESTIMATES}
    for name in early:
        assert 0 < late[name] < early[name] < 6 * 0.2


def test_the_best_decision_is_among_those_to_choose_from():
    newsvendor = get("newsvendor")
    best = newsvendor.expected(distribution_regret.candidates(newsvendor)).max()
    assert best == pytest.approx(newsvendor.optimum.value, abs=1e-4)


def test_the_least_costly_estimate_is_marked():
    rows = [("p", seed, name, regret) for name, regret in (("a", 2.0), ("b", 1.0)) for seed in (0, 1)]
    sheet = distribution_regret.sheet(rows, 20)
    assert [cell.mark for cell in sheet.rows[0][1]] == ["", "best"]
