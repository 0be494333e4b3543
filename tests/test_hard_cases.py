"""Inputs that are hard: far contexts, large offsets, fine integers, a best decision that is pending."""

import math

import numpy as np
import pytest

from contracts import METHODS, draw, quick
from windage import Categorical, InputError, Integer, Optimizer, Real, plots
from windage.search import Valued, maximize
from windage.space import Block, ContextSpace


def hill(method: str, contexts, values=lambda v: v) -> Optimizer:
    """A study of -(2(x - 0.3))² plus a little of the context, with the contexts given."""
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real()}, method=method, seed=1, **quick(method))
    rng = np.random.default_rng(0)
    for c in contexts:
        x = float(rng.uniform())
        opt.tell({"x": x}, {"c": c}, values(-4 * (x - 0.3) ** 2 + 0.1 * math.sin(min(max(c, -5), 5))))
    return opt


@pytest.mark.filterwarnings("ignore:.*It is taken")
@pytest.mark.parametrize("far", [1e3, 1e6, 1e12])
@pytest.mark.parametrize("method", METHODS)
def test_one_far_context_does_not_spoil_the_study(method, far):
    contexts = np.random.default_rng(5).normal(size=40)
    contexts[20] = far
    opt = hill(method, contexts.tolist())
    best = opt.recommend()
    assert best.decision["x"] == pytest.approx(0.3, abs=0.06)
    assert best.expected == pytest.approx(0, abs=0.3)
    assert opt.density.bandwidth["c"] < 3
    assert opt.density.pdf(0.0) > 0.1


@pytest.mark.filterwarnings("ignore:.*It is taken")
def test_one_point_far_out_does_not_hide_the_rest():
    """An outlying context with stated bounds absent: the other contexts still count."""
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real()}, seed=0, bandwidth="silverman", **quick())
    rng = np.random.default_rng(1)
    for i in range(25):
        x, c = float(rng.uniform()), draw(rng)["c"] + (1e6 if i == 7 else 0)
        value = -((x - 0.4) ** 2) + 0.1 * min(c, 1.0)
        opt.tell({"x": x}, context={"c": c}, value=value)
    assert opt.recommend().decision["x"] == pytest.approx(0.4, abs=0.1)


def test_heavy_tails_and_ties_keep_their_mass_in_the_box():
    rng = np.random.default_rng(0)
    tied = np.concatenate([np.zeros(30), [0.05], rng.uniform(5, 10, 10)])
    heavy = rng.lognormal(0, 2, 200)
    for seen, parameter in ((tied, Real()), (heavy, Real(low=0))):
        unit = ContextSpace({"c": parameter}).scale(seen[:, None]).to_unit(seen[:, None])
        assert (unit <= 1).mean() >= 0.95
        assert unit.min() >= 0


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e12, -1e12])
def test_a_large_offset_of_the_values_is_no_loss(offset):
    opt = hill("sbo-kde", np.random.default_rng(1).normal(size=25).tolist(), lambda v: offset + v)
    assert opt.recommend().decision["x"] == pytest.approx(0.3, abs=0.05)


def test_a_fine_integer_is_found_and_quickly():
    opt = Optimizer(
        {"n": Integer(0, 10**6), "x": Real(0, 1)}, {"c": Real(0, 1)}, seed=0, initial=6, **quick()
    )
    rng = np.random.default_rng(0)
    for _ in range(18):
        trial = opt.ask()
        n, x = trial.decision["n"], trial.decision["x"]
        opt.tell(trial, {"c": float(rng.uniform())}, -((n / 1e6 - 0.42) ** 2) - (x - 0.6) ** 2)
    best = opt.recommend().decision
    assert best["n"] == pytest.approx(420_000, abs=30_000)
    assert type(best["n"]) is int


def test_a_pending_best_leaves_the_next_best_and_not_a_far_top():
    """Two hills, one much lower: with the top pending, the best is still beside it."""

    class Hills:
        chunk = 64
        coarse_is_close = smooth = jumps = False

        def coarse(self):
            return self

        def value(self, x):
            return self.value_and_gradient(x).value

        def value_and_gradient(self, x):
            high, low = (h * np.exp(-((x - at) ** 2) / 0.02) for h, at in ((1.0, 0.7), (0.1, 0.2)))
            return Valued((high + low)[:, 0], -(high * (x - 0.7) + low * (x - 0.2)) / 0.01)

    found = maximize(Hills(), (Block(0, 1, 0, False),), 256, 8, 0, avoid=np.array([[0.7]]))
    assert abs(found.point[0] - 0.7) < 0.05
    assert abs(found.point[0] - 0.7) > 1e-3


def test_marginal_densities_and_pictures_of_a_larger_study(tmp_path):
    opt = Optimizer(
        {"x": Real(0, 1), "mode": Categorical(["a", "b"])},
        {"c": Real(), "d": Real(0.1, 10, log=True)},
        seed=0,
    )
    rng = np.random.default_rng(0)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, {"c": rng.normal(), "d": rng.lognormal(0, 0.3)}, rng.normal())
    line = np.linspace(-6, 6, 20_001)
    assert np.trapezoid(opt.density.marginal("c").pdf(line), line) == pytest.approx(1.0, abs=1e-3)
    assert opt.density.marginal("d").sample(4).shape == (4, 1)
    with pytest.raises(InputError, match="unknown context"):
        opt.density.marginal("e")
    for context in ("c", "d"):
        plots.overview(opt, "x", context, str(tmp_path / f"{context}.png"))
        assert (tmp_path / f"{context}.png").stat().st_size > 10_000
    with pytest.raises(InputError, match="needs a Real decision"):
        plots.overview(opt, "mode", "c", str(tmp_path / "no.png"))


@pytest.mark.filterwarnings("ignore:.*It is taken")
@pytest.mark.parametrize("method", ["ledrbo", "auto", "drbo-kde"])
def test_a_context_beyond_all_bounds_leaves_numbers(method):
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real()}, method, seed=1, initial=0, raw_samples=32, restarts=2)
    for i in range(10):
        opt.tell({"x": i / 9}, context={"c": 1e149 if i == 4 else 1e-10 * i}, value=float(i % 4))
    best = opt.recommend()
    assert all(map(math.isfinite, (best.expected, *best.interval, best.worst_case)))
