"""Robust methods recommend by their own worst case, which follows the radius, and say the mean beside it."""

import numpy as np
import pytest

from contracts import METHODS, quick
from windage import Optimizer, Real
from windage.gp.posterior import node_means
from windage.methods import METHODS as TABLE

ROBUST = [name for name in METHODS if TABLE[name].robust]
PLAIN = [name for name in TABLE if not TABLE[name].robust]
WIDE = {"drbo-kde": 1.2, "rbq-kde": 1.2, "wdrbo": 0.5}
"""Radii at which the worst case of the bet is a loss; the others' own are wide enough."""
BALLS = ["drbo-kde", "rbq-kde"]
"""Total-variation balls about the KDE."""


def bet(decision, context) -> float:
    """A stake x that pays on average, 0.16 x, and loses in a bad context: -0.14 x one deviation below."""
    return 2 * decision["x"] * (context["c"] - 0.52)


def told(method: str, direction: str = "maximize", function=bet, contexts=("c",), **settings) -> Optimizer:
    """A study of a function with 24 rows of history; each context normal about 0.6, within [0, 1]."""
    spaces = {"x": Real(0, 1)}, {name: Real(0, 1) for name in contexts}
    opt = Optimizer(*spaces, method, direction, seed=1, screen=False, **quick(method, **settings))
    rng = np.random.default_rng(0)
    sign = 1 if direction == "maximize" else -1
    for x in np.linspace(0, 1, 24).tolist():
        context = dict(
            zip(contexts, np.clip(rng.normal(0.6, 0.15, len(contexts)), 0, 1).tolist(), strict=True)
        )
        opt.tell({"x": x}, context, sign * function({"x": x}, context))
    return opt


def wide(method: str, **more) -> Optimizer:
    return told(method, **({"radius": WIDE[method]} if method in WIDE else {}), **more)


def test_the_robust_methods():
    assert ROBUST == ["drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt", "rbq-kde", "wdrbo"]


@pytest.mark.parametrize("method", PLAIN)
def test_other_methods_recommend_the_best_mean(method):
    best = told(method).recommend()
    assert best.criterion == "expected"
    assert best.decision["x"] > 0.9
    assert best.expected == pytest.approx(0.16, abs=0.05)
    assert best.worst_case < best.expected


@pytest.mark.parametrize("method", ROBUST)
def test_a_robust_method_recommends_the_best_worst_case_and_says_the_mean(method):
    opt = wide(method)
    best, bold = opt.recommend(), opt.predict({"x": 1.0})
    assert best.criterion == "worst_case"
    assert best.decision["x"] < 0.1
    # the mean would have had the other end, and clearly
    assert bold.expected > best.expected + 0.1
    assert bold.worst_case < best.worst_case - 0.05
    # beside the worst case stands the mean, as those methods say it that recommend by it
    peer = told("bq-kde" if method == "rbq-kde" else "sbo-kde")
    for found in (best, bold):
        mean = peer.predict(found.decision)
        assert found.expected == pytest.approx(mean.expected, abs=1e-9)
        assert found.interval == pytest.approx(mean.interval, abs=1e-9)


@pytest.mark.parametrize("method", ROBUST)
def test_no_decision_has_a_better_worst_case_than_the_recommended(method):
    opt = wide(method, function=lambda d, c: bet(d, c) - (d["x"] - 0.4) ** 2)
    best = opt.recommend()
    others = opt.predict([{"x": x} for x in np.linspace(0, 1, 201).tolist()])
    assert best.worst_case >= max(p.worst_case for p in others) - 1e-6
    assert opt.predict(best.decision).worst_case == pytest.approx(best.worst_case, abs=1e-9)


@pytest.mark.parametrize("method", ROBUST)
def test_a_robust_recommendation_is_mirrored_when_minimising(method):
    up, down = wide(method).recommend(), wide(method, direction="minimize").recommend()
    assert down.decision == up.decision
    assert down.criterion == "worst_case"
    assert down.worst_case == pytest.approx(-up.worst_case)
    assert down.expected == pytest.approx(-up.expected)
    assert down.worst_case >= down.expected


@pytest.mark.parametrize("contexts", [("c",), ("c", "d"), ("c", "d", "e")], ids=len)
@pytest.mark.parametrize("method", BALLS)
def test_with_radius_0_the_worst_case_is_the_mean(method, contexts):
    opt = told(method, radius=0.0, contexts=contexts)
    for found in (opt.recommend(), *opt.predict([{"x": 0.2}, {"x": 0.9}])):
        assert found.worst_case == pytest.approx(found.expected, abs=1e-9)
    assert opt.recommend().criterion == "worst_case"
    assert opt.recommend().decision["x"] > 0.9


@pytest.mark.parametrize("method", BALLS)
def test_with_radius_2_the_worst_case_is_the_infimum(method):
    opt = told(method, radius=2.0, space_points=1024)
    assert opt.recommend().decision["x"] < 0.1
    state = opt._state(joint=True)
    line = np.linspace(0, 1, 20_001)[:, None]
    for x in (0.1, 0.5, 1.0):
        lowest = np.mean([node_means(model, np.array([[x]]), line).min() for model in state.models])
        found = opt.predict({"x": x})
        assert found.worst_case == pytest.approx(float(state.data.outcome.restore(lowest)), abs=2e-3)
        assert found.worst_case < found.expected - 0.5 * x


@pytest.mark.parametrize("method", [*BALLS, "drbo-mmd", "drbo-mmd-minimax", "wdrbo"])
def test_the_worst_case_falls_as_the_radius_grows(method):
    radii = (0.0, 0.02, 0.1, 0.3, 0.6)
    at = {"x": 0.8}
    found = [told(method, radius=radius).predict(at).worst_case for radius in radii]
    assert (np.diff(found) < -1e-4).all()
    assert told(method).predict(at).worst_case != found[0]  # the schedule's own radius


def test_without_a_radius_the_worst_case_is_that_of_the_schedule():
    """Which is also what methods that are not robust say beside the mean."""
    opt = told("drbo-kde", space_points=1024)
    same = told("drbo-kde", space_points=1024, radius=24 ** (-2 / 5))
    at = {"x": 0.8}
    assert opt.predict(at) == same.predict(at)
    assert told("sbo-kde").predict(at).worst_case == pytest.approx(opt.predict(at).worst_case, abs=1e-3)


@pytest.mark.parametrize("method", ROBUST)
def test_the_worst_case_is_never_better_than_the_mean(method):
    """A box about the mean, or counts on a grid, need not hold all of the estimate: it counts beside them."""

    def ridge(decision, context):
        return -8 * (context["c"] - 0.6) ** 2 * decision["x"]

    opt = told(method, function=ridge, **({"radius": 0.0} if "radius" in TABLE[method].used else {}))
    for found in (opt.recommend(), *opt.predict([{"x": x} for x in (0.0, 0.3, 0.7, 1.0)])):
        assert found.worst_case <= found.expected + 1e-12
