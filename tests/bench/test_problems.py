"""The benchmark problems: functions, distributions, expectations, optima, the portfolio's table."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from windage import Categorical, Integer, Real, gp
from windage.bench import cache, distributions, functions, portfolio, problems
from windage.botorch import to_botorch
from windage.errors import ConfigurationError, InputError

NAMES = list(problems.PROBLEMS)


def literal(name, x, c):
    """Each function as the paper (with its errata) writes it, one point at a time."""
    z = [*x, *c]
    if "ackley" in name:
        w = [65.536 * v - 32.768 for v in z]
        root = math.sqrt(sum(v * v for v in w) / len(w))
        waves = sum(math.cos(2 * math.pi * v) for v in w) / len(w)
        return 20 * math.exp(-0.2 * root) + math.exp(waves) - 20 - math.e
    if "branin" in name:

        def h(u, v):
            first = v - 5.1 / (4 * math.pi**2) * u * u + 5 / math.pi * u - 6
            return first**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(u) + 10

        return -math.sqrt(h(15 * x[0] - 5, 15 * c[0]) * h(15 * c[1] - 5, 15 * x[1]))
    if "hartmann" in name:
        total = 0.0
        for alpha, a, p in zip((1.0, 1.2, 3.0, 3.2), functions.HARTMANN_A, functions.HARTMANN_P, strict=True):
            total += alpha * math.exp(-sum(a[j] * (z[j] - p[j]) ** 2 for j in range(6)))
        return total
    assert name == "newsvendor"
    return 9 * min(x[0], c[0]) + max(0, x[0] - c[0]) - 5 * x[0]


@pytest.mark.parametrize("name", [n for n in NAMES if "portfolio" not in n])
def test_functions_are_what_the_paper_writes(name):
    problem = problems.get(name)
    rng = np.random.default_rng(3)
    x, c = rng.random((40, len(problem.decisions))), rng.random((40, len(problem.contexts)))
    slow = [literal(name, *pair) for pair in zip(x, c, strict=True)]
    assert problem.evaluate(x, c) == pytest.approx(slow, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_all_decisions_beside_all_contexts_are_the_pairs(name):
    problem = problems.get(name)
    rng = np.random.default_rng(4)
    x, c = rng.random((7, len(problem.decisions))), rng.random((5, len(problem.contexts)))
    outer = problem.function(x[:, None], c[None])
    pairs = problem.evaluate(np.repeat(x, 5, axis=0), np.tile(c, (7, 1))).reshape(7, 5)
    assert outer == pytest.approx(pairs, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(
    ("name", "value", "best"),
    [
        ("newsvendor", 0.46394, [0.18779]),
        ("ackley", -10.9523, [0.5, 0.5]),
        ("ackley@0.2", -12.53142, [0.5, 0.5]),
        ("branin", -9.6039, None),
        ("branin@0.2", -16.0649, None),
        ("hartmann", 2.61356, None),
        ("hartmann@0.2", 2.31692, None),
        ("hartmann-complicated", 1.9452, [0.2001, 0.1547, 0.4868, 0.2742, 0.3122]),
    ],
)
def test_optima_are_computed_and_agree_with_the_known_ones(name, value, best):
    problem = problems.get(name)
    assert problem.optimum.value == pytest.approx(value, rel=1e-4)
    if best is not None:
        assert problem.optimum.decision == pytest.approx(best, abs=2e-4)
    rng = np.random.default_rng(0)
    draws = problem.sample_contexts(200_000, rng)
    x = np.repeat(problem.optimum.decision[None], len(draws), axis=0)
    assert problem.evaluate(x, draws).mean() == pytest.approx(value, rel=1e-2)
    assert problem.expected(problem.optimum.decision[None]).shape == (1,)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "ackley-4"])
def test_quadrature_agrees_with_sobol_points(name, monkeypatch):
    monkeypatch.setattr(distributions, "SOBOL", {"exact": 15})
    problem = problems.get(name)
    x = np.random.default_rng(5).random((3, len(problem.decisions)))
    assert problem.expected(x, sobol=True) == pytest.approx(problem.expected(x), rel=1e-3, abs=2e-4)


def ackley_4_reference(x):
    """E f by other means: bumps factorise over contexts, the bowl needs only the distribution of Σ z_c²."""
    points, weights = distributions._axis(stats.norm(0.5, 0.15), 0, 1, 2048)
    z = 65.536 * points - 32.768
    bump = weights @ np.exp(np.cos(2 * math.pi * z) / 6)
    w = 65.536 * np.asarray(x) - 32.768
    bumps = math.exp(np.cos(2 * math.pi * w).sum() / 6) * bump**4
    # the distribution of z² of one context on a grid, folded with itself twice
    step = 0.25
    cells = np.rint(z**2 / step).astype(int)
    one = np.bincount(cells, weights, minlength=cells.max() + 1)
    four = np.convolve(np.convolve(one, one), np.convolve(one, one))
    squares = step * np.arange(len(four)) + (w**2).sum()
    return four @ (20 * np.exp(-0.2 * np.sqrt(squares / 6))) + bumps - 20 - math.e


def test_the_expectation_of_four_contexts_is_right():
    problem = problems.get("ackley-4")
    x = np.array([[0.5, 0.5], [0.1, 0.8], [0.52, 0.47]])
    reference = [ackley_4_reference(row) for row in x]
    assert problem.expected(x) == pytest.approx(reference, rel=2e-4)


@pytest.mark.slow
def test_the_optimum_of_four_contexts_is_the_middle():
    optimum = problems.get("ackley-4").optimum
    assert optimum.decision == pytest.approx([0.5, 0.5], abs=1e-3)
    assert optimum.value == pytest.approx(ackley_4_reference([0.5, 0.5]), rel=2e-4)


@pytest.mark.parametrize("name", ["portfolio-normal", "portfolio-uniform"])
def test_no_decision_of_a_portfolio_beats_its_optimum(name):
    problem = problems.get(name)
    x = np.random.default_rng(6).random((20_000, 3))
    x[:10_000, 0] = 0.1 * x[:10_000, 0] ** 2
    expected = problem.expected(x)
    assert expected.max() <= problem.optimum.value + 1e-9
    assert problem.expected(problem.optimum.decision[None])[0] == pytest.approx(problem.optimum.value)
    assert expected.max() > problem.optimum.value - 0.1 * np.ptp(expected)


def test_the_portfolio_is_the_posterior_mean_of_a_gp():
    rng = np.random.default_rng(7)
    x, c = rng.random((60, 3)), rng.random((60, 2))
    samples = portfolio.Samples(x, c, np.sin(5 * x[:, 0]) + c[:, 0] * x[:, 1])
    f = portfolio.Portfolio.of(samples, portfolio.fit(samples))
    y = (samples.y - samples.y.mean()) / samples.y.std()
    h = f.hyperparameters
    hyper = gp.Hyperparameters(tuple(h["x"]), tuple(h["c"]), h["noise"], h["mean"], 0.0)
    model = to_botorch(gp.ProductGP(gp.Training(x, c, y, (0, 1, 2), "matern"), hyper))
    new_x, new_c = rng.random((9, 3)), rng.random((9, 2))
    with torch.no_grad():
        mean = model.posterior(torch.from_numpy(np.hstack([new_x, new_c]))).mean[:, 0].numpy()
    assert f(new_x, new_c) == pytest.approx(samples.y.mean() + samples.y.std() * mean, rel=1e-8)
    weights = rng.dirichlet(np.ones(9))
    tiled = f(new_x[:, None], new_c[None]) @ weights
    assert f.average(new_c, weights)(new_x) == pytest.approx(tiled, rel=1e-10)


def test_the_portfolio_that_comes_along_is_fitted_already_and_predicts(monkeypatch):
    monkeypatch.setattr(portfolio, "fit", lambda _: pytest.fail("fitted again"))
    f = portfolio.Portfolio()
    samples = f.samples
    assert len(samples.y) == 3000
    error = f(samples.x, samples.c) - samples.y
    assert error.std() < 0.1 * samples.y.std()


@pytest.mark.slow
def test_the_hyperparameters_that_come_along_are_those_of_the_table():
    f = portfolio.Portfolio()
    again = portfolio.fit(f.samples)
    assert again["log_posterior"] == pytest.approx(f.hyperparameters["log_posterior"], abs=2e-4)
    for part in ("x", "c", "noise", "mean"):
        assert again[part] == pytest.approx(f.hyperparameters[part], rel=1e-2)


def table(rows=30, seed=0):
    return np.random.default_rng(seed).random((rows, 6))


def write_csv(path, numbers, columns=portfolio.COLUMNS):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in numbers)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_another_table_of_samples_in_any_format(tmp_path):
    import pandas

    numbers = table()
    read = portfolio.read(write_csv(tmp_path / "t.csv", numbers))
    np.savez(tmp_path / "t.npz", x=numbers[:, :3], c=numbers[:, 3:5], y=numbers[:, 5])
    shuffled = pandas.DataFrame(numbers, columns=portfolio.COLUMNS)[list(reversed(portfolio.COLUMNS))]
    shuffled.to_parquet(tmp_path / "t.parquet")
    assert read.digest == portfolio.read(tmp_path / "t.npz").digest
    assert read.digest == portfolio.read(tmp_path / "t.parquet").digest
    problem = problems.get("portfolio-normal", portfolio_data=tmp_path / "t.csv")
    assert problem.evaluate(numbers[:2, :3], numbers[:2, 3:5]).shape == (2,)
    assert problems.get("ackley", portfolio_data=tmp_path / "t.csv") is problems.PROBLEMS["ackley"]


def test_wrong_tables_are_refused(tmp_path):
    good = table()
    nan, outside, flat = good.copy(), good.copy(), good.copy()
    nan[4, 3], outside[2, 0], flat[:, 5] = np.nan, 7.0, 1.0
    cases = [
        (write_csv(tmp_path / "a.csv", good, [*portfolio.COLUMNS[:-1], "y"]), "lacks annual_return_percent"),
        (write_csv(tmp_path / "b.csv", nan), "row 5, column bid_ask_spread"),
        (write_csv(tmp_path / "c.csv", outside), r"7 in row 3, column risk_aversion.*scaled to 0 … 1"),
        (write_csv(tmp_path / "d.csv", flat), "same annual_return_percent"),
        (write_csv(tmp_path / "e.csv", good[:5]), "5 rows"),
        (tmp_path / "nowhere.csv", "cannot be read"),
        (tmp_path, "cannot be read"),
    ]
    np.savez(tmp_path / "f.npz", x=good[:, :3], y=good[:, 5])
    np.savez(tmp_path / "g.npz", x=good[:, :2], c=good[:, 3:5], y=good[:, 5])
    (tmp_path / "h.csv").write_bytes(b"\xff\xfe\x00broken")
    (tmp_path / "i.npz").write_bytes(b"not a zip")
    (tmp_path / "j.parquet").write_bytes(b"not parquet")
    write_csv(tmp_path / "k.csv", [["a"] * 6] * 30)
    cases += [(tmp_path / "f.npz", "no array c"), (tmp_path / "g.npz", "not t × 3")]
    (tmp_path / "l.npz").write_bytes((tmp_path / "g.npz").read_bytes()[:200])
    (tmp_path / "m.csv").write_text(",".join(portfolio.COLUMNS) + "\n1,2,3\n")
    (tmp_path / "n.csv").write_text(",".join(portfolio.COLUMNS) + "\n")
    cases += [(tmp_path / n, "cannot be read") for n in ("h.csv", "i.npz", "j.parquet", "l.npz")]
    cases += [(tmp_path / "k.csv", "row 1, column risk_aversion"), (tmp_path / "m.csv", "3 entries in row 1")]
    cases += [(tmp_path / "n.csv", "0 rows")]
    for path, words in cases:
        with pytest.raises(InputError, match=words) as raised:
            portfolio.read(path)
        assert "\n" not in str(raised.value)
    excel = tmp_path / "excel.csv"
    excel.write_text(
        '"' + '","'.join(portfolio.COLUMNS) + '"\n' + "\n".join(",".join(map(str, r)) for r in good)
    )
    excel.write_bytes(b"\xef\xbb\xbf" + excel.read_bytes())
    assert len(portfolio.read(excel).y) == len(good)


def test_unknown_problems_and_wrong_noise():
    with pytest.raises(ConfigurationError, match=r"newsvendor.*Did you mean 'ackley'"):
        problems.get("akley")
    for noise in (-1.0, math.nan, math.inf):
        with pytest.raises(ConfigurationError, match="standard deviation"):
            problems.get("ackley", noise=noise)


def test_noise_is_of_the_observation_alone():
    problem = problems.get("newsvendor", noise=0.5)
    x, c = np.full((20_000, 1), 0.3), np.full((20_000, 1), 0.2)
    seen = problem.observe(x, c, np.random.default_rng(0))
    assert seen.std() == pytest.approx(0.5, rel=0.05)
    assert seen.mean() == pytest.approx(problem.evaluate(x[:1], c[:1])[0], abs=0.02)
    assert problem.expected(x[:1]) == problems.get("newsvendor").expected(x[:1])
    assert problem.optimum.value == problems.get("newsvendor").optimum.value


def test_distributions_sample_what_their_density_says():
    mixture = problems.COMPLICATED
    draws = mixture.rvs(size=50_000, random_state=np.random.default_rng(1))
    for point in (0.1, 0.25, 0.5, 0.8, 1.0):
        assert np.mean(draws <= point) == pytest.approx(mixture.cdf(point), abs=0.01)
    assert mixture.cdf(0.7) + mixture.sf(0.7) == pytest.approx(1)
    kept = distributions.ClippedDistribution((mixture,)).sample(5000, np.random.default_rng(2))
    assert kept.max() == 1
    assert draws.max() > 1
    for name in NAMES:
        points, weights = problems.get(name).distribution.nodes(distributions.SCAN)
        assert weights.sum() == pytest.approx(1)
        assert points.min() >= 0
        assert points.max() <= 1


def test_an_optimum_is_kept_and_follows_its_problem(tmp_path, monkeypatch):
    monkeypatch.setenv("WINDAGE_CACHE", str(tmp_path / "cache"))
    first = replace(problems.get("newsvendor"))
    value = first.optimum.value
    (file,) = (tmp_path / "cache").iterdir()
    saved = json.loads(file.read_text())
    assert saved["value"] == value
    file.write_text(json.dumps({**saved, "value": 99.0}))
    assert replace(first).optimum.value == 99.0  # it was read
    file.write_text("{}")
    assert replace(first).optimum.value == value
    file.write_text("{broken")
    assert replace(first).optimum.value == value  # it was computed anew
    other = replace(first, function=lambda x, c: functions.newsvendor(x, c) + 1)
    assert other.optimum.value == pytest.approx(value + 1)
    monkeypatch.setenv("WINDAGE_CACHE", str(file / "under-a-file"))
    assert replace(first).optimum.value == value
    assert cache.folder() == file / "under-a-file"


def test_narrow_distributions_get_more_panels():
    for deviation in (0.01, 0.003):
        narrow = distributions.ClippedDistribution((stats.norm(0.33, deviation),) * 2)
        points, weights = narrow.nodes()
        spread = weights @ (points - 0.33) ** 2 / deviation**2
        assert spread == pytest.approx([1, 1], rel=1e-3)


def own(**changes):
    """A problem of one's own on its own scale, with an integer."""
    given = {
        "name": "own",
        "summary": "",
        "decisions": {"boxes": Integer(0, 12), "price": Real(1, 5)},
        "contexts": {"demand": Real(0, 40)},
        "distribution": distributions.ClippedDistribution((stats.norm(20, 5),), bounds=[(0, 40)]),
        "function": lambda x, c: (
            x[..., 1] * np.minimum(4 * x[..., 0], c[..., 0] * (6 - x[..., 1])) - 5 * x[..., 0]
        ),
    }
    return problems.Problem(**{**given, **changes})


def test_a_problem_on_its_own_scale_with_integers():
    problem = own()
    draws = problem.sample_contexts(1000, np.random.default_rng(0))
    assert 15 < draws.mean() < 25
    best = problem.optimum
    boxes, prices = np.meshgrid(np.arange(13), np.linspace(1, 5, 401), indexing="ij")
    brute = problem.expected(np.column_stack([boxes.ravel(), prices.ravel()]))
    assert best.decision[0] == round(best.decision[0])
    assert best.value >= brute.max() - 1e-9
    assert best.value == pytest.approx(brute.max(), rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "a/b"}, "letters, digits"),
        ({"decisions": {"seed": Real(0, 1)}}, "column of the results"),
        ({"decisions": {"kind": Categorical(["a", "b"])}}, "not Categorical"),
        ({"contexts": {"demand": Real(0, 1)}}, "must agree"),
        ({"contexts": {"demand": Real()}}, "must agree"),
        ({"contexts": {"a": Real(0, 40), "b": Real(0, 40)}}, "must agree"),
        ({"distribution": distributions.ClippedDistribution((stats.poisson(3),), bounds=[(0, 40)])}, "pdf"),
        ({"function": lambda x, c: x[:, 0] - c[:, 0]}, "broadcast"),
        ({"function": lambda x, c: 1 / 0}, "ZeroDivisionError"),
        ({"name": "ackley"}, "already"),
    ],
)
def test_a_wrong_problem_is_refused_before_it_runs(changes, words):
    with pytest.raises(ConfigurationError, match=words) as raised:
        problems.register(own(**changes))
    assert "\n" not in str(raised.value)
    assert "own" not in problems.PROBLEMS
