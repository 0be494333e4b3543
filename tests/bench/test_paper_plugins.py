"""The benchmarks beside the paper: the joint kernel, contexts as reported, draws of a GP."""

from pathlib import Path

import numpy as np
import pandas
import pytest

import reference
from windage.bench import problems, run
from windage.methods import METHODS
from windage.optimizer import Optimizer

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def plugins():
    """The three files by name; what they register is gone afterwards, for other tests count it."""
    before = dict(METHODS), dict(problems.PROBLEMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import exponents
        import joint
        import raw_contexts

        yield {"exponents": exponents, "joint": joint, "raw_contexts": raw_contexts}
    for table, old in zip((METHODS, problems.PROBLEMS), before, strict=True):
        for name in set(table) - set(old):
            del table[name]


@pytest.fixture
def joint(plugins):
    return plugins["joint"]


@pytest.fixture
def exponents(plugins):
    return plugins["exponents"]


def played(problem, method, count, **settings):
    optimizer = Optimizer(
        problem.decisions, problem.contexts, method=METHODS[method], seed=0, screen=False, **settings
    )
    rng = np.random.default_rng(0)
    x = rng.random((count, len(problem.decisions)))
    c = problem.sample_contexts(count, rng)
    for row, met, value in zip(x, c, problem.evaluate(x, c), strict=True):
        decision = dict(zip(problem.decisions, map(float, row), strict=True))
        optimizer.tell(decision, dict(zip(problem.contexts, map(float, met), strict=True)), float(value))
    return optimizer


def test_the_joint_form_has_the_posterior_of_the_dense_one_and_its_gradient(joint):
    optimizer = played(problems.get("branin"), "sbo-kde-joint", 20, surrogate="2023")
    state = optimizer._state(True)
    model, nodes = joint.joint(state), np.random.default_rng(1).random((6, 2))
    posterior, x = joint.JointPosterior(model, nodes), np.random.default_rng(2).random((3, 2))
    moments = posterior.moments(x)
    dense = reference.JointMatern(state.models[0].data)
    h = model.hyperparameters
    theta = np.log([*h.x, h.scale, h.scale * h.noise])
    for row, mean, variance in zip(x, moments.mean, moments.variance, strict=True):
        expected = dense.posterior(theta, np.array([[*row, *c] for c in nodes]))
        assert np.allclose(mean, expected.mean, atol=1e-8)
        assert np.allclose(variance, expected.variance, atol=1e-8)
    by = np.random.default_rng(3).normal(size=(2, 3, 6))

    def pulled(points):
        found = posterior.moments(points)
        return (found.mean * by[0] + found.variance * by[1]).sum(axis=1)

    assert np.allclose(posterior.vjp(moments, *by), reference.differences(pulled, x, 1e-6), atol=1e-5)


def test_reported_contexts_lie_outside_of_the_box_and_the_function_sees_them_clipped(plugins):
    raw, clipped = problems.get("hartmann-complicated-raw"), problems.get("hartmann-complicated")
    c = raw.sample_contexts(400, np.random.default_rng(0))
    assert c.max() > 1
    assert np.array_equal(np.clip(c, 0, 1), clipped.sample_contexts(400, np.random.default_rng(0)))
    x = np.random.default_rng(1).random((400, 5))
    assert np.array_equal(raw.evaluate(x, c), clipped.evaluate(x, np.clip(c, 0, 1)))
    optimizer = played(raw, "sbo-kde-raw", 120, raw_samples=64, restarts=3)
    found = optimizer._acquisition(optimizer._state(True))
    assert np.abs(found.model.data.c - 0.5).max() > 0.5  # in its own units
    assert 0 <= found.nodes.points.min() <= found.nodes.points.max() <= 1
    assert 0 <= optimizer.ask().decision["x1"] <= 1


def test_draws_have_the_covariance_of_the_kernel_and_an_exact_average(exponents):
    at = np.array([[0.2, 0.4, 0.5], [0.3, 0.4, 0.5]])
    values = np.array([exponents.Draw(3, seed)(at[:, :2], at[:, 2:]) for seed in range(2000)])
    expected = np.exp(-0.5 * 0.1**2 / exponents.LENGTHSCALE**2)
    assert np.cov(values.T) == pytest.approx(np.array([[1, expected], [expected, 1]]), abs=0.1)
    f, rng = exponents.Draw(4, 0), np.random.default_rng(0)
    x, c, w = rng.random((5, 2)), rng.random((3000, 2)), rng.random(3000)
    assert np.allclose(f(x[:, None], c[None]) @ w, f.average(c, w)(x))


def test_the_exponent_of_a_power_is_found(exponents):
    steps = np.arange(1, 351)
    assert exponents.slope(3 * steps**0.6) == pytest.approx(0.6)
    assert exponents.slope(2.0 * steps) == pytest.approx(1.0)


def test_the_table_of_exponents_has_a_row_a_method_and_the_bound(exponents):
    curves = {
        (method, contexts): np.cumsum(np.arange(1, 101.0) ** -0.3 * np.ones((3, 1)), axis=1)
        for method in ("sbo-kde, √β = 1.5", "drbo-kde, √β = 1.5")
        for contexts in exponents.CONTEXTS
    }
    rows = dict(exponents.sheet(curves).rows)
    assert [cell.text for cell in rows["(2 + Dc)/(4 + Dc)"]] == ["0.60", "0.60", "0.67", "0.67"]
    whole, late, *_ = (cell.values[0] for cell in rows["sbo-kde, √β = 1.5"])
    assert 0.7 < late < whole < 0.8


def test_each_draw_has_contexts_and_noise_of_its_own(exponents, monkeypatch, tmp_path):
    def plan(folder, problem_names, seeds, **_):
        return [(problem, seed) for seed in seeds for problem in problem_names]

    monkeypatch.setattr(exponents, "plan", plan)
    found = exponents.planned(tmp_path, 2, 40, {})
    assert found == [("draw-1-0", 0), ("draw-2-0", 0), ("draw-1-1", 1), ("draw-2-1", 1)]
    problem = problems.get("draw-1-1")
    assert run.context_at(problem, 0, 0) != run.context_at(problem, 1, 0)


def test_there_are_draws_enough_and_more_are_refused(exponents, monkeypatch, capsys):
    assert problems.get(exponents.name(2, 19)).name == "draw-2-19"
    monkeypatch.setattr("sys.argv", ["exponents.py", "--draws", str(exponents.DRAWS + 1)])
    with pytest.raises(SystemExit):
        exponents.main()
    assert "--draws" in capsys.readouterr().err


def test_curves_are_those_of_each_draw_s_own_seed(exponents):
    rows = [
        {"method": m, "problem": exponents.name(c, i), "seed": seed, "regret": 1.0 + i + 10 * (seed != i)}
        for m in exponents.METHODS
        for c in exponents.CONTEXTS
        for i in range(3)
        for seed in (0, i)[: 1 + (i > 0)]
        for _ in range(4)
    ]
    curves = exponents.curves_of(pandas.DataFrame(rows), 3, "as given")
    assert set(curves) == {(f"{m}, as given", c) for m in exponents.METHODS for c in exponents.CONTEXTS}
    assert np.array_equal(curves["drbo-kde, as given", 2], np.outer([1, 2, 3], [1, 2, 3, 4]))


def test_the_error_is_that_of_the_slope_of_the_mean(exponents):
    """Where one draw has nearly all of the regret, the mean has its slope, with or without the others."""
    steps = np.arange(1, 351)
    runs = np.stack([100 * steps**0.5, 1e-6 * steps**0.1, 1e-6 * steps**0.1])
    assert exponents.slope(runs.mean(axis=0)) == pytest.approx(0.5, abs=1e-4)
    slopes = [0.1, 0.5, 0.5]  # without the first, the second, the third
    jackknife = np.sqrt(2 / 3 * np.sum((np.array(slopes) - np.mean(slopes)) ** 2))
    assert exponents.error(runs) == pytest.approx(jackknife, abs=1e-4)
    assert exponents.error(np.stack([steps**0.6, 3 * steps**0.6])) == pytest.approx(0, abs=1e-12)
    assert np.isnan(exponents.error(runs[:1]))
