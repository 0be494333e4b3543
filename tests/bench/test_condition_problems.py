"""Problems with a known part or a change: their optima, expectations, streams; runs, and the script."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from windage.bench.conditions import KINDS, alarms, change, changing, days, known, known_problems, stable
from windage.bench.conditions import runs as runs_module
from windage.bench.conditions.runs import ARMS, Run, Task, by_problem, problem_of, read, said_on, sweep
from windage.bench.conditions.varying import MATTERS
from windage.errors import ConfigurationError
from windage.space import Integer

SCRIPT = Path(__file__).parents[2] / "benchmarks/conditions.py"
USEFUL = known_problems()
USELESS = [name + known.USELESS for name in USEFUL]
CHANGING = [name for kind in KINDS for name in changing(kind)]
ALL = [*USEFUL, *USELESS, *CHANGING, *stable()]
GRID = {1: 1001, 2: 61, 3: 17}
"""Points a decision variable of a brute search."""


def judged(problem):
    """One or two of the instances that decisions are judged by."""
    return [problem.pooled] if problem.useless else [problem.situations[0], problem.situations[-1]]


def grid(instance):
    count = len(instance.decisions)
    axes = [
        np.arange(low, high + 1) if isinstance(p, Integer) else np.linspace(low, high, GRID[count])
        for p, low, high in zip(instance.decisions.values(), *instance.box, strict=True)
    ]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)


def test_there_are_enough_problems_of_different_kinds():
    assert len(USEFUL) >= 10
    found = [problem_of(name) for name in USEFUL]
    assert {p.kind for p in found} == {"weekday", "season", "choice", "temperature", "forecast"}
    assert {len(p.decisions) for p in found} == {len(p.contexts) for p in found} == {1, 2, 3}
    assert {p.noise for p in found} == {0.0, 0.05, 0.2}
    assert all(len(changing(kind)) >= 5 for kind in KINDS)
    assert {problem_of(name).noise for name in stable()} == {0.0, 0.05, 0.2}


@pytest.mark.parametrize("name", [*USEFUL, *changing("shift")])
def test_situations_matter(name):
    assert problem_of(name).worth >= MATTERS - 1e-3


@pytest.mark.parametrize("name", ALL)
def test_no_decision_of_a_grid_is_better_than_the_optimum(name):
    problem = problem_of(name)
    for instance in judged(problem):
        tolerance = 1e-4 * problem.scale
        assert instance.expected(grid(instance)).max() <= instance.optimum.value + tolerance
        assert instance.expected(instance.optimum.decision[None])[0] == pytest.approx(instance.optimum.value)


@pytest.mark.parametrize("name", ALL)
def test_expectations_are_those_of_many_draws(name):
    problem, rng = problem_of(name), np.random.default_rng(0)
    for instance in judged(problem):
        parts = problem.situations if problem.useless else [instance]
        c = np.concatenate([part.sample_contexts(16_000 // len(parts), rng) for part in parts])
        for row in instance.valid(rng.random((2, len(instance.decisions)))):
            values = instance.evaluate(np.repeat(row[None], len(c), axis=0), c)
            error = values.std() / np.sqrt(len(c))
            exact = instance.expected(row[None])[0]
            assert abs(values.mean() - exact) < 4.5 * error + 0.005 * problem.scale


def test_the_best_stock_of_a_day_is_the_critical_quantile():
    shop = problem_of("shop")
    best = [situation.optimum.decision[0] for situation in shop.situations]
    means = np.array([60, 60, 60, 65, 75, 110, 90])
    assert best == pytest.approx(stats.norm(means, 12).ppf(5 / 9), abs=0.1)


@pytest.mark.parametrize("name", ALL)
def test_a_day_is_the_same_for_everyone_and_another_for_another_seed(name):
    one, two = problem_of(name), problem_of(name)
    a, b, other = one.day(1, 7), two.day(1, 7), one.day(2, 7)
    assert a.context == b.context
    assert (a.situation, a.noise) == (b.situation, b.noise)
    assert str(a.words).split(" object")[0] == str(b.words).split(" object")[0]
    assert a.noise != other.noise
    assert set(a.context) == set(one.contexts)
    assert set(a.words.known) <= set(one.contexts)
    decision = {name: parameter.low for name, parameter in one.decisions.items()}
    assert one.value(decision, a) == two.value(decision, b)
    assert one.regret(decision, a) > -1e-6


def correlation(name, context, count=1500):
    """Of the mean of a forecast with what came."""
    found = [problem_of(name).day(0, step) for step in range(count)]
    said = [_mean(day.words.forecast[context]) for day in found]
    return np.corrcoef(said, [day.context[context] for day in found])[0, 1]


def _mean(given):
    if isinstance(given, tuple):
        return given[0]
    return float(given.mean()) if callable(given.mean) else given.mean


@pytest.mark.parametrize(
    ("name", "context"),
    [
        ("calls", "arrivals_day"),
        ("calls", "arrivals_night"),
        ("turbine", "production"),
        ("market", "demand"),
        ("biased", "demand"),
        ("half", "wind"),
        ("valley", "wind"),
    ],
)
def test_forecasts_have_the_skill_that_is_stated(name, context):
    assert correlation(name, context) == pytest.approx(0.9, abs=0.04)
    assert abs(correlation(name + known.USELESS, context)) < 0.1


@pytest.mark.parametrize("name", USEFUL[:8])
def test_what_is_known_tells_of_the_day_unless_it_is_useless(name):
    for useless in (False, True):
        problem = problem_of(name + known.USELESS if useless else name)
        found = [problem.day(0, step) for step in range(600)]
        pairs = {(str(day.words.known), day.situation) for day in found}
        assert (len(pairs) > 2 * len(problem.situations)) == useless


def test_moves_are_as_described():
    move = change.Move(2.0, 3.0, 1.5)
    assert [change.moved_by("shift", move, step) for step in (0, 59, 60, 119)] == [0, 0, 2, 2]
    assert [change.moved_by("drift", move, step) for step in (0, 43, 80)] == [0, 0, 1.5]
    assert 2.7 < change.moved_by("drift", move, 119) < 3
    assert change.moved_by("season", move, 16) == pytest.approx(1.5, abs=0.02)
    assert {change.moved_by("stable", move, step) for step in range(120)} == {0.0}


def test_the_useless_twin_judges_by_all_situations_together():
    problem = problem_of("shop/useless")
    days_ = [problem.day(0, step) for step in range(40)]
    regrets = {problem.regret({"stock": 70.0}, day) for day in days_}
    assert len(regrets) == 1
    assert problem.regret({"stock": problem.pooled.optimum.decision[0]}, days_[0]) == pytest.approx(
        0, abs=1e-9
    )


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(ConfigurationError, match="no problem 'shops'"):
        problem_of("shops")
    with pytest.raises(ConfigurationError, match="no problem 'stocks/shift'"):
        problem_of("stocks/shift")


def test_words_are_the_keywords_of_ask():
    assert said_on(days.Day(0, days.Words(), {}, np.zeros((1, 1)), 0.0)) == {}
    assert said_on(problem_of("shop").day(0, 5)) == {"known": {"weekday": "sat"}}
    assert said_on(problem_of("turbine").day(0, 5)).keys() == {"forecast"}
    assert ARMS["with"].settings == ARMS["without"].settings == {}


def test_a_sweep_continues_what_was_stopped(tmp_path, monkeypatch):
    played = []

    def play(task, version=""):
        played.append(task)
        return Run(task, (1.0 + task.seed, 0.5), 0.0, version)

    monkeypatch.setattr(runs_module, "play", play)
    tasks = [Task("shop", arm, seed, 2) for seed in range(2) for arm in ("with", "without")]
    sweep(tmp_path, tasks[:2], lambda *_: None)
    with (tmp_path / "runs.jsonl").open("a") as out:
        out.write('{"task": {"prob')
    assert len(read(tmp_path)) == 2
    found = sweep(tmp_path, tasks, lambda *_: None)
    assert played == tasks
    assert [run.task for run in found] == tasks
    assert by_problem(found, "with") == {"shop": 1.0}
    assert by_problem(found, "with", 1) == {"shop": 0.5}
    assert sweep(tmp_path, tasks, lambda *_: None) == found
    assert len(played) == 4
    (tmp_path / "runs.jsonl").write_text("no run\n")
    with pytest.raises(ConfigurationError, match="line 1 of"):
        read(tmp_path)


def test_the_deviations_of_the_sources_are_true():
    for source in alarms.SOURCES:
        if source.deviation is not None:
            values = source.draw(100_000, np.random.default_rng(0))
            tolerance = 0.2 if source.name == "heavy-tailed" else 0.02
            assert values.std() == pytest.approx(source.deviation, rel=tolerance), source.name


def script(*arguments):
    result = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "problems", "rows"),
    [
        ("known", ["shop", "turbine"], 2),
        ("useless", ["bakery", "market"], 2),
        ("change", ["stock", "staff"], 2),
        ("stable", ["pieces"], 1),
    ],
)
def test_each_table_of_runs_is_printed_and_continued(command, problems, rows, tmp_path):
    arguments = (command, "--out", tmp_path, "--seeds", "0", "--decisions", 6, "--problems", *problems)
    out = script(*arguments)
    before = "" if command == "useless" else "| "
    assert sum(out.count(f"{before}{problem} ") for problem in problems) == rows
    assert "eometric mean of the ratios (95 %)" in out
    lines = (tmp_path / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 2 * rows * (3 if command == "change" else 1)
    assert {len(json.loads(line)["regret"]) for line in lines} == {6}
    assert script(*arguments) == out
    assert (tmp_path / "runs.jsonl").read_text().splitlines() == lines


@pytest.mark.slow
def test_alarms_are_counted():
    out = script("alarms", "--studies", 16)
    assert out.count("| all |") == 1
    assert all(f"| {source.name} |" in out for source in alarms.SOURCES)


@pytest.mark.slow
def test_asks_are_timed():
    out = script("speed", "--problems", "shop", "half", "--observations", 12, "--repeats", 1)
    rows = [line.split("|")[1:4] for line in out.splitlines() if line.startswith(("| shop", "| half"))]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["shop", "weekday", "12"],
        ["half", "forecast", "12"],
    ]
