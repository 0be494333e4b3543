"""The scripts in ``benchmarks`` run: they use what is private, so a change inside can break them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from windage.bench import problems, study
from windage.bench.configuration import PAPER_METHODS
from windage.bench.runtime import Timing
from windage.gp import Training
from windage.methods import Settings, get_method

ROOT = Path(__file__).parents[2]
BENCHMARKS, SOURCE = ROOT / "benchmarks", ROOT / "src"


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)


def run(*arguments, code=0):
    command = [sys.executable, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == code, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def studies():
    """A study on Ackley, with and without the context."""
    played = study.dataset(study.play(problems.get("ackley"), "random", 14))
    return {joint: (played, Training.of(played, joint)) for joint in (True, False)}


@pytest.mark.parametrize("method", PAPER_METHODS)
def test_the_plain_way_computes_the_same(method, studies):
    """Each plain acquisition agrees with windage's, so the times compare like with like."""
    import plain

    data, training = studies[get_method(method).uses_context]
    model = plain.fit(training)
    settings = Settings(samples=32, space_points=32, grid=16)
    fast = plain.acquisition(method, data, plain.mirrored(training, model), 0, settings)
    slow = plain.twin(fast, model)
    x = np.random.default_rng(0).random((6, 2))
    assert fast.value(x) == pytest.approx(plain.value(slow, x), abs=1e-6)


@pytest.mark.parametrize("method", ["sbo-kde", "gp-ucb"])
def test_an_ask_is_timed(method):
    import bench

    seconds = bench.fast_ask(bench.saved_study(1, 12, method, seed=0), method)
    assert 0 < seconds["fit"] < seconds["ask"]
    assert seconds["fit"] + seconds["maximise"] == pytest.approx(seconds["ask"])


def test_a_row_of_the_bench_is_measured(monkeypatch):
    import bench

    monkeypatch.setattr(bench, "Settings", lambda: Settings(raw_samples=40, restarts=10, samples=32))
    row = bench.compare(1, 12, "sbo-kde", repeats=1, patience=0, seed=0)
    assert row["plain_share"] == 10
    assert row["lost"] < 1e-3
    assert abs(row["behind"]) < 1e-3
    assert 20 < row["peak_megabytes"] < 1000
    assert len(bench.cells(row)) == len(bench.HEAD) - 1


def test_the_time_of_an_ask_is_shared_out():
    import bench
    import where

    _, parts = where.shares(bench.saved_study(1, 12, "drbo-kde", 0), repeats=1)
    assert sum(parts.values()) == pytest.approx(1)
    assert all(0 < share < 1 for share in parts.values()), parts  # a part that is 0 has lost its functions


def test_growth_is_measured():
    import growth

    row = growth.measure("newsvendor", 12, "gp-ucb")
    assert row["ask"] > 0
    assert row["fit"] > 0
    assert 20 < row["megabytes"] < 1000
    rows = [{"observations": 10, "ask": 1.0}, {"observations": 100, "ask": 100.0}]
    assert [growth.exponent(rows, "ask", i) for i in (0, 1)] == ["", "t^2.0"]


def test_the_plain_ways_table_1_is_interpolated():
    import runtime

    asks = {10: 1.0, 100: 10.0}
    total = sum(1 + 9 * (t - 10) / 90 for t in range(10, 100))
    assert runtime.plain_seconds(asks, 100) == pytest.approx(total)
    shown = runtime.sheet([Timing("gp-ucb", 100, (2.0,))], {"gp-ucb": asks}).markdown()
    assert f"| gp-ucb | 2.00 | {total:.0f} | {total / 2:.0f} | 11.35 |" in shown
    assert "single asks at 10, 100 observations" in shown


def test_two_engines_are_compared(tmp_path):
    """windage with itself: the same decisions and no less memory, which the check does not let pass."""
    arguments = ["--old", SOURCE, "--new", SOURCE, "--methods", "gp-ucb", "--problems", "ackley"]
    arguments += ["--observations", 12, "--repeats", 2, "--out", tmp_path]
    shown = run(BENCHMARKS / "engines.py", *arguments)
    (kept,) = tmp_path.glob("engines-*.json")
    found = json.loads(kept.read_text())
    (row,) = found["rows"]
    assert "gp-ucb" in shown
    assert [len(seconds) for seconds in row["repeats"].values()] == [2, 2]
    assert all(seconds > 0 for seconds in row["seconds"].values())
    old, new = row["megabytes"].values()
    assert new == pytest.approx(old, rel=0.1)
    assert found["made_by"]["old"]["version"] == found["made_by"]["new"]["version"]
    assert str(ROOT) not in kept.read_text()


def test_an_engine_that_is_not_there_is_named(tmp_path):
    import engines

    class Elsewhere(engines.Engine):
        def __call__(self, job, *arguments):
            return {"source": str(SOURCE)}

    assert engines.made(Elsewhere("old", str(SOURCE), sys.executable)) == {}
    with pytest.raises(SystemExit, match="the old engine is not that of"):
        engines.made(Elsewhere("old", str(tmp_path), sys.executable))


def test_engines_fail_where_they_are_slower_or_larger():
    import engines

    row = {"method": "m", "problem": "p", "observations": 30}
    good = {**row, "ratio": 1.2, "megabytes": {"old": 300.0, "new": 299.0}}
    slow, large = {**good, "ratio": 1.21}, {**good, "megabytes": {"old": 300.0, "new": 300.0}}
    assert engines.failures([good]) == []
    assert engines.failures([slow, good]) == ["m on p, t = 30: 1.21 times the old seconds"]
    assert engines.failures([good, large]) == ["m on p, t = 30: 300 MB are no less than the old ones"]


def test_both_engines_are_told_the_same_history():
    import engines

    history = engines.rows("branin", 12)
    saved = engines.study("branin", "gp-ucb", history, 3)
    assert saved["observations"] == history
    assert saved["settings"] == {}
    assert {fit["count"] for fit in saved["fits"].values()} == {11}
    assert engines.ask(saved) > 0


@pytest.mark.slow
def test_a_decision_is_measured_beside_the_plain_way(tmp_path):
    script = BENCHMARKS / "decision.py"
    out = run(script, "--problems", "newsvendor", "--observations", 12, "--repeats", 1, "--out", tmp_path)
    assert "plain SBO-KDE" in out
    assert (tmp_path / "decision.md").read_text().count("newsvendor") == 1


@pytest.mark.slow
def test_values_are_compared_with_the_plain_ways(tmp_path):
    run(BENCHMARKS / "values.py", "--sets", 1, "--methods", "gp-ucb", "--out", tmp_path)
    (kept,) = tmp_path.glob("values-*.json")
    assert json.loads(kept.read_text())["rows"][0]["lost"] <= 1e-6


@pytest.fixture
def _own_methods():
    """The candidates are registered for this test alone."""
    from windage.methods import METHODS

    before = dict(METHODS)
    yield
    METHODS.clear()
    METHODS.update(before)
    for name in ("candidates", "ablation"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("_own_methods")
def test_candidates_climb_along_their_gradients():
    import candidates

    optimizer = study.play(problems.get("branin"), "auto", 14)
    state, x = optimizer._state(True), np.random.default_rng(0).random((5, 2))
    for name, build in candidates.CANDIDATES.items():
        function = build(state)
        steps = 1e-6 * np.eye(2)
        slopes = [(function.value(x + e) - function.value(x - e)) / 2e-6 for e in steps]
        assert function.value_and_gradient(x).gradient == pytest.approx(np.stack(slopes, 1), abs=1e-5), name


@pytest.mark.usefixtures("_own_methods")
def test_draws_of_thompson_sampling_have_the_moments_of_the_posterior():
    import candidates
    from windage.gp import ExpectationPosterior

    state = study.play(problems.get("branin"), "auto", 14)._state(True)
    x, nodes, model = np.random.default_rng(0).random((4, 2)), state.deterministic_nodes(), state.models[0]
    exact = ExpectationPosterior(model, nodes).moments(x)
    draws = [candidates.Drawn(model, nodes, np.random.default_rng(i)).value(x) for i in range(400)]
    error = exact.variance[:, 0] ** 0.5 / 20
    assert (np.abs(np.mean(draws, axis=0) - exact.mean[:, 0]) < 5 * error + 0.02).all()
    assert np.std(draws, axis=0) == pytest.approx(exact.variance[:, 0] ** 0.5, rel=0.3)


@pytest.mark.slow
@pytest.mark.usefixtures("_own_methods")
def test_the_ablation_runs_every_variant(tmp_path):
    import ablation

    out = run(BENCHMARKS / "ablation.py", tmp_path, "--seeds", "0", "--jobs", "2", "--budget", "6",
              "--problems", "gp-smooth+1")  # fmt: skip
    assert all(name in (tmp_path / "wide-earn.md").read_text() for name in ("auto", *ablation.VARIANTS))
    assert "Regret of a decision" in out


@pytest.mark.slow
def test_mistakes_are_measured():
    out = run(BENCHMARKS / "mistakes.py", "--quick")
    titles = (
        "Honest results that look",
        "Regret that the screen",
        "One value of 30",
        "Single outcomes inside",
    )
    assert all(title in out for title in titles)
    assert out.count("| both |") == 3 + 2 + 4 + 2


def test_a_move_of_a_decision_is_the_largest_of_its_variables():
    import mistakes
    from windage.bench.wide.families import instance

    problem = instance("mixed-recipes+0")
    unit = np.random.default_rng(0).random((2, len(problem.decisions)))
    a, b = (mistakes.decision_of(problem, row) for row in problem.valid(unit))
    assert mistakes.distance(problem, a, a) == 0
    moves = [mistakes.distance(problem, a, {**a, name: b[name]}) for name in a]
    assert mistakes.distance(problem, a, b) == max(moves)
    choice = next(name for name, p in problem.decisions.items() if hasattr(p, "choices"))
    other = next(c for c in problem.decisions[choice].choices if c != a[choice])
    assert mistakes.distance(problem, a, {**a, choice: other}) == 1
