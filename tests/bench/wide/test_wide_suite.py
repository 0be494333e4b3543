"""The runs, scores and command of the wide suite."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from windage import __version__
from windage.bench.wide import families, players, scores, sweep
from windage.bench.wide.instance import Instance
from windage.bench.wide.report import plan
from windage.bench.wide.sweep import Checkpoint, WideRun, WideTask
from windage.cli import app
from windage.errors import ConfigurationError, WindageError
from windage.methods import METHODS

SHORT = 6
NAMES = ("random", "last-context", "auto", "optuna-tpe")


def task(method="random", problem="gp-smooth+0", seed=0, budget=SHORT):
    return WideTask(problem, method, seed, budget)


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


@pytest.mark.parametrize("problem", ["gp-smooth+0", "mixed-plant+0", "queue-staffing+2"])
def test_everyone_meets_the_same_contexts_and_first_decisions(problem, monkeypatch):
    met = {}

    def meet(instance, stream, x, real=sweep.meet):
        found = real(instance, stream, x)
        met[name].append((found[0], x.tolist()))
        return found

    monkeypatch.setattr(sweep, "meet", meet)
    for name in NAMES:
        met[name] = []
        sweep.play(task(name, problem))
    for name in NAMES:
        assert [context for context, _ in met[name]] == [context for context, _ in met["random"]], name
        first = [[x for _, x in met[one][: players.INITIAL]] for one in (name, "random")]
        np.testing.assert_allclose(*first, rtol=1e-9, err_msg=name)
    assert len({str(rows) for rows in met.values()}) == len(NAMES)
    assert len({str(context) for context, _ in met["random"]}) == SHORT


def test_a_run_is_the_same_again_and_problems_differ():
    one, again, other = (sweep.play(task("auto", p)) for p in ("steps+1", "steps+1", "steps+0"))
    assert (again.regret, again.checkpoints) == (one.regret, one.checkpoints)
    assert other.regret != one.regret


def test_auto_learn_is_auto_with_that_aim():
    problem = families.instance("gp-smooth+0")
    learning = players.player("auto-learn", problem, 0, SHORT, {})
    assert learning.optimizer.to_dict()["settings"] == {"aim": "learn", "budget": SHORT, "screen": False}


def test_regret_is_a_share_of_a_random_decisions():
    problem = families.instance("gp-smooth+1")
    assert problem.regret_share(problem.optimum.decision[None])[0] == pytest.approx(0, abs=1e-9)
    x = problem.valid(np.random.default_rng(0).random((4000, 2)))
    assert problem.regret_share(x).mean() == pytest.approx(1, abs=0.05)
    assert (problem.regret_share(x) >= -1e-9).all()


@pytest.mark.parametrize("name", [name for name in families.problems() if not name.endswith("+0")])
def test_noise_is_a_share_of_the_spread(name):
    problem, rng = families.instance(name), np.random.default_rng(0)
    x = problem.valid(rng.random((8000, len(problem.decisions))))
    c = problem.sample_contexts(8000, rng)
    clean = problem.evaluate(x, c)
    noise = problem.observe(x, c, np.random.default_rng(1)) - clean
    if not problem.growing:
        assert noise.std() == pytest.approx(problem.noise * clean.std(), rel=0.1)
        return
    high = clean > np.median(clean)
    assert noise[high].std() > 1.3 * noise[~high].std()
    middle = np.abs(clean - np.median(clean)) < 0.1 * clean.std()
    assert noise[middle].std() == pytest.approx(problem.noise * clean.std(), rel=0.3)


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


def test_a_run_that_fails_is_told_and_tried_again(tmp_path):
    wrong, seen = task(problem="nowhere+0"), []
    for _ in range(2):
        (run,) = sweep.sweep(tmp_path, [wrong], 1, lambda run, *_: seen.append(run.error))
        assert "unknown problem 'nowhere+0'" in run.error
    assert len(seen) == 2
    assert scores.sheets([run], ["random"], ["random"]) == []


@pytest.mark.parametrize("content", [b"123\n", b"\xff\n", b'{"task": 3}\n', b"{}\n{}\n"])
def test_a_file_of_something_else_is_refused(tmp_path, content):
    (tmp_path / sweep.RUNS).write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"line 1 of .* is no run of this suite"):
        sweep.read(tmp_path)


def test_an_output_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(WindageError, match="cannot write to"):
        sweep.sweep(tmp_path / "out", [task()], 1, lambda *_: None)


def test_runs_of_another_version_are_not_mixed(tmp_path):
    sweep.sweep(tmp_path, [task()], 1, lambda *_: None)
    file = tmp_path / sweep.RUNS
    file.write_text(file.read_text().replace(f'"version":"{__version__}"', '"version":"0.0.1"'))
    with pytest.raises(ConfigurationError, match=r"runs of windage 0\.0\.1"):
        sweep.sweep(tmp_path, [task(seed=1)], 1, lambda *_: None)


def test_a_changed_plugin_has_runs_of_its_own(tmp_path):
    keys = set()
    for beta in (1, 2):
        file = tmp_path / f"own{beta}.py"
        file.write_text(
            "from dataclasses import replace\n"
            "from windage.methods import METHODS, register\n"
            "METHODS.pop('wide-own', None)\n"
            f"register(replace(METHODS['auto'], name='wide-own', sqrt_beta=lambda dx: {beta}))\n"
        )
        try:
            (one,) = plan("development", ["wide-own"], ["levy+0"], [0], 6, {}, [str(file)])
        finally:
            METHODS.pop("wide-own", None)
        keys.add(one.key)
    assert len(keys) == 2


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
    # seed 1 of p+0 is of one method alone: it does not count
    assert "0.71 (0.25–2.00)" in made_sheets[0].markdown()


def test_a_method_that_fails_is_not_better_for_it():
    runs = [made("a", "p+0", 0, 0.1, 0.1), made("b", "p+0", 0, 0.2, 0.1), made("b", "q+0", 0, 0.9, 0.9)]
    failed = replace(made("a", "q+0", 0, 0.0, 0.0), error="too hard")
    assert [r.task.problem for r in scores.common([*runs, failed], ["a", "b"])] == ["p+0", "p+0"]
    (sheet, *_) = scores.sheets([*runs, failed], ["a", "b"], ["b"])
    assert "1 runs of each method" in sheet.title
    with pytest.raises(ConfigurationError, match="several budgets"):
        scores.common([runs[0], replace(runs[1], task=replace(runs[1].task, budget=3))], ["a", "b"])


def test_families_are_drawn_whole():
    alike = {f"p+{i}": 0.1 for i in range(3)} | {f"q+{i}": 0.9 for i in range(3)}
    assert scores.bootstrap(alike, lambda v: float(v.mean())) == (pytest.approx(0.1), pytest.approx(0.9))
    assert all(math.isnan(v) for v in scores.ratio({"p+0": 1.0}, {"q+0": 1.0}))


def test_the_command_prints_tables_and_draws_a_figure(tmp_path):
    words = ["bench", "wide", "--out", str(tmp_path), "--methods", "random,last-context", "--budget", "6"]
    words += ["--problems", "gp-smooth+0,steps+1", "--seeds", "0", "--against", "random"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "Shares of a random decision" in result.output.replace("\n", " ")
    for name in ("wide-earn.md", "wide-learn.csv", "wide-sureness.tex", "wide.png"):
        assert (tmp_path / name).stat().st_size > 100
    wrong = CliRunner().invoke(app, [*words[:-1], "sbo-kd"])
    assert "sbo-kde" in str(wrong.exception)
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
        ({"problems": ["levy+00"]}, "a family and a number"),
        ({"methods": ["optuna-tpe"], "settings": {"restarts": 3}}, "takes no setting"),
        ({"methods": ["auto-learn"], "settings": {"aim": "earn"}}, "leave aim out"),
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
        decision = sweep.decision_of(problem, row)
        np.testing.assert_array_equal(problem.row(decision)[0], row)
    assert isinstance(problem, Instance)
