"""The runs, scores and command of the wide suite."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from windage.bench.wide import families, players, scores, sweep
from windage.bench.wide.instance import Instance
from windage.bench.wide.report import plan
from windage.bench.wide.sweep import Checkpoint, WideRun, WideTask
from windage.cli import app
from windage.errors import ConfigurationError

SHORT = 6
NAMES = ("random", "last-context", "auto", "optuna-tpe")


def task(method="random", problem="gp-smooth+0", seed=0, budget=SHORT):
    return WideTask(problem, method, seed, budget)


@pytest.fixture(scope="module")
def short_runs():
    return {name: sweep.play(task(name)) for name in NAMES}


def test_every_family_is_in_one_half_and_both_halves_are_wide():
    development, validation = families.problems("development"), families.problems("validation")
    assert not set(development) & set(validation)
    assert set(development) | set(validation) == set(families.problems())
    assert len(families.FAMILIES) >= 16
    instances = [families.instance(name) for name in families.problems()]
    for half in (development, validation):
        found = [i for i in instances if i.name in half]
        assert {i.noise for i in found} >= {0.0, 0.05, 0.2}
        assert any(i.growing for i in found)
        assert max(len(i.decisions) for i in found) == 8
        assert {len(i.contexts) for i in found} >= {1, 2, 3, 4}
        assert any(i.distribution.bounds is None for i in found)


def test_everyone_meets_the_same_contexts_and_first_decisions(short_runs):
    first = {name: run.regret[: players.INITIAL] for name, run in short_runs.items()}
    for name in NAMES:
        np.testing.assert_allclose(first[name], first["random"], rtol=1e-9, err_msg=name)
    assert len({tuple(run.regret) for run in short_runs.values()}) == len(NAMES)


def test_a_run_is_the_same_again(short_runs):
    again = sweep.play(task("auto"))
    assert again.regret == short_runs["auto"].regret
    assert again.checkpoints == short_runs["auto"].checkpoints


def test_auto_learn_is_auto_with_that_aim():
    problem = families.instance("gp-smooth+0")
    learning = players.player("auto-learn", problem, 0, SHORT, {})
    assert learning.optimizer.to_dict()["settings"] == {"aim": "learn", "budget": SHORT}


def test_regret_is_a_share_of_a_random_decisions():
    problem = families.instance("gp-smooth+1")
    assert problem.regret_share(problem.optimum.decision[None])[0] == pytest.approx(0, abs=1e-9)
    x = problem.valid(np.random.default_rng(0).random((4000, 2)))
    assert problem.regret_share(x).mean() == pytest.approx(1, abs=0.05)
    assert (problem.regret_share(x) >= -1e-9).all()


def test_noise_is_a_share_of_the_spread_and_may_grow_with_the_outcome():
    problem = families.instance("gp-smooth+2")
    rng = np.random.default_rng(0)
    x = problem.valid(rng.random((4000, 3)))
    c = problem.sample_contexts(4000, rng)
    clean = problem.evaluate(x, c)
    noisy = problem.observe(x, c, np.random.default_rng(1)) - clean
    assert noisy.std() == pytest.approx(0.2 * clean.std(), rel=0.05)
    growing = replace(problem, growing=True)
    noisy = growing.observe(x, c, np.random.default_rng(1)) - clean
    high = clean > np.median(clean)
    assert noisy[high].std() > 1.5 * noisy[~high].std()


def test_a_sweep_goes_on_after_a_torn_line_and_does_nothing_twice(tmp_path):
    tasks = [task(seed=seed) for seed in (0, 1, 2)]
    seen = []
    sweep.sweep(tmp_path, tasks[:2], 1, lambda run, done, total: seen.append(run.task.seed))
    file = tmp_path / sweep.RUNS
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])  # killed while it wrote the second run
    runs = sweep.sweep(tmp_path, tasks, 1, lambda run, done, total: seen.append(run.task.seed))
    assert seen == [0, 1, 1, 2]
    assert [run.task.seed for run in runs] == [0, 1, 2]
    again = sweep.sweep(tmp_path, tasks, 1, lambda *_: pytest.fail("nothing is left to do"))
    assert [run.regret for run in again] == [run.regret for run in runs]
    assert len(sweep.read(tmp_path)) == 3


def test_a_run_that_fails_is_told_and_tried_again(tmp_path, monkeypatch):
    def fail(_):
        raise ValueError("no such luck")

    monkeypatch.setattr(sweep, "play", fail)
    (run,) = sweep.sweep(tmp_path, [task()], 1, lambda *_: None)
    assert run.error == "ValueError: no such luck"
    monkeypatch.undo()
    (run,) = sweep.sweep(tmp_path, [task()], 1, lambda *_: None)
    assert not run.error


def made(method, problem, seed, earned, learnt, covered=True):
    points = [Checkpoint(2, learnt, covered, 0.9)]
    return WideRun(WideTask(problem, method, seed, 2), [earned, earned], points, 0.1)


def test_scores_by_hand():
    runs = [
        made("a", "p+0", 0, 0.1, 0.02),
        made("a", "p+0", 1, 0.3, 0.2, covered=False),
        made("a", "q+0", 0, 0.8, 0.0),
        made("b", "p+0", 0, 0.4, 0.1),
        made("b", "q+0", 0, 0.4, 0.1),
    ]
    a, b = scores.Runs.of("a", runs), scores.Runs.of("b", runs)
    assert a.score(scores.earned) == {"p+0": pytest.approx(0.2), "q+0": pytest.approx(0.8)}
    share, low, high = scores.ratio(a.score(scores.earned), b.score(scores.earned))
    assert share == pytest.approx(math.sqrt(0.5 * 2))
    assert low == pytest.approx(0.5)
    assert high == pytest.approx(2)
    # a regret of 0 counts as a thousandth
    assert scores.geometric(np.array([0.1, 0.0])) == pytest.approx(math.sqrt(0.1 * 1e-3))
    assert scores.interquartile(np.array([9.0, 1.0, 2.0, -50.0])) == pytest.approx(1.5)
    assert scores.off(a.all, 2) == pytest.approx(1 / 3)
    assert scores.worst(a.all, 2) == pytest.approx(0.2)
    assert scores.coverage(a.all, 2) == (pytest.approx(2 / 3), pytest.approx(0.9))
    made_sheets = scores.sheets(runs, ["a", "b"], ["b", "none"])
    assert [sheet.name for sheet in made_sheets] == ["wide-earn", "wide-learn", "wide-sureness"]
    assert "1.00 (0.50–2.00)" in made_sheets[0].markdown()


def test_the_command_prints_tables_and_draws_a_figure(tmp_path):
    words = ["bench", "wide", "--out", str(tmp_path), "--methods", "random,last-context", "--budget", "6"]
    words += ["--problems", "gp-smooth+0,steps+1", "--seeds", "0", "--against", "random"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "share of a random decision" in result.output.replace("\n", " ")
    for name in ("wide-earn.md", "wide-learn.csv", "wide-sureness.tex", "wide.png"):
        assert (tmp_path / name).stat().st_size > 100
    again = CliRunner().invoke(app, [*words, "--json"])
    assert again.exit_code == 0
    assert set(json.loads(again.stdout)) == {"wide-earn", "wide-learn", "wide-sureness"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"split": "valid"}, "development or validation"),
        ({"methods": ["sbo-kd"]}, "sbo-kde"),
        ({"problems": ["levi+0"]}, "levy"),
        ({"problems": ["levy"]}, "a family and a number"),
        ({"settings": {"seed": 3}}, "cannot be set"),
        ({"settings": {"radius": 3}}, "does not use radius"),
        ({"plugins": ["/nowhere.py"]}, "cannot be read"),
    ],
)
def test_wrong_inputs_are_refused_before_anything_runs(given, words):
    usual = {"split": "development", "methods": ["sbo-kde"], "problems": [], "seeds": [0], "budget": 6}
    with pytest.raises(ConfigurationError, match=words):
        plan(**{**usual, "settings": {}, "plugins": [], **given})


def test_choices_and_integers_become_rows_and_back():
    problem = families.instance("mixed-plant+0")
    rows = problem.valid(np.random.default_rng(0).random((50, len(problem.decisions))))
    for row in rows:
        decision = sweep._decision(problem, row)
        np.testing.assert_array_equal(problem.row(decision)[0], row)
    assert isinstance(problem, Instance)
