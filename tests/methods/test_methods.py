"""One contract suite for all methods."""

import numpy as np
import pytest

import windage
from contracts import METHODS, draw, easy, optimizer, quick, regret, run
from windage.methods import get_method

BUDGET = 22
WORST = {"drbo-mmd": 0.0, "drbo-mmd-minimax": 0.0}
"""The context for which a method's best decision is the best: theirs is the worst of all while the radius is
wide. For the others it is the middle."""


def random_search(seed: int) -> list[dict]:
    rng = np.random.default_rng(1000 + seed)
    return [{"x": rng.uniform(), "y": rng.uniform()} for _ in range(BUDGET)]


def luckiest(taken: list[dict], seed: int) -> dict:
    """What random search recommends: the decision with the best single outcome."""
    rng = np.random.default_rng(seed)
    return max(taken, key=lambda decision: easy(decision, draw(rng)))


def test_random_decisions_learn_nothing_and_differ():
    first = run(optimizer("random"), 12)
    assert first == run(optimizer("random"), 12, function=lambda d, c: -easy(d, c))
    assert len({d["x"] for d in first}) == 12
    assert 0.2 < np.mean([d["x"] for d in first]) < 0.8
    assert optimizer("random").ask().decision != optimizer("random", seed=2).ask().decision


def test_auto_with_a_single_surrogate_is_bq_kde():
    """Its bound is that of the mixture; a mixture of one is the one."""
    assert get_method("auto").name == optimizer("auto").to_dict()["method"] == "auto"
    single = {"members": 0, "kernel": "matern", "sqrt_beta": 1.5, "forget": None}
    assert run(optimizer("auto", **single), 8) == run(optimizer("bq-kde", **single), 8)
    assert run(optimizer("auto"), 8) != run(optimizer("bq-kde", sqrt_beta=1.5), 8)


def test_the_aim_decides_how_much_is_explored():
    assert run(optimizer("auto", aim="learn"), 8) == run(optimizer("auto", sqrt_beta=2.0), 8)
    assert run(optimizer("auto", aim="learn"), 8) != run(optimizer("auto"), 8)


@pytest.mark.parametrize("method", METHODS)
def test_finds_the_optimum_region_better_than_random_search(method):
    mine_late, random_late, mine_best, random_best = [], [], [], []
    for seed in range(3):
        opt = optimizer(method, seed)
        taken = run(opt, BUDGET, seed)
        control = random_search(seed)
        mine_late.append(np.mean([regret(d, WORST.get(method, 0.5)) for d in taken[-8:]]))
        random_late.append(np.mean([regret(d) for d in control[-8:]]))
        mine_best.append(regret(opt.recommend().decision, WORST.get(method, 0.5)))
        random_best.append(regret(luckiest(control, seed)))
    # the control fails what the method passes
    assert np.mean(random_late) > 0.1
    assert np.mean(mine_late) < 0.03
    assert np.mean(mine_best) < 0.002
    assert np.mean(mine_best) < 0.2 * np.mean(random_best)


def degenerate(case: str) -> list[tuple[dict, dict, float]]:
    rng = np.random.default_rng(4)
    rows = []
    for i in range(8):
        decision, context = {"x": rng.uniform(), "y": rng.uniform()}, draw(rng)
        value = easy(decision, context)
        if case == "equal outcomes":
            value = 0.1
        elif case == "equal contexts":
            context = {"c": 0.3}
        elif case == "repeated decisions":
            decision = {"x": 0.5, "y": 0.5}
        elif case == "all the same":
            decision, context, value = {"x": 0.5, "y": 0.5}, {"c": 0.3}, 2.0
        elif case == "huge values":
            value = 1e12 * (1 + value)
        elif case == "tiny values":
            value = 1e-12 * value
        elif case == "astronomic values":
            value = 1e300 * value
        elif case == "outlier":
            value = value + (1e6 if i == 3 else 0)
        elif case == "contexts on a bound":
            context = {"c": float(i % 2)}
        rows.append((decision, context, value))
    return rows[:1] if case == "one observation" else rows


CASES = [
    "equal outcomes",
    "equal contexts",
    "repeated decisions",
    "all the same",
    "huge values",
    "tiny values",
    "astronomic values",
    "outlier",
    "contexts on a bound",
    "one observation",
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_degenerate_data_work(method, case):
    opt = optimizer(method, initial=1)
    for decision, context, value in degenerate(case):
        opt.tell(decision, context=context, value=value)
    for trial in opt.ask(2):
        assert 0 <= trial.decision["x"] <= 1
        opt.tell(trial, context={"c": 0.4}, value=opt.observations.values[0])
    best = opt.recommend()
    low, high = best.interval
    assert np.isfinite([best.expected, low, high, best.worst_case]).all()
    assert low <= best.expected <= high
    slack = 1e-9 * max(abs(best.expected), abs(best.worst_case))
    assert best.worst_case <= best.expected + slack


@pytest.mark.parametrize("method", METHODS)
def test_affine_outcomes_do_not_change_the_decisions(method):
    plain = run(optimizer(method), 8)
    shifted = run(optimizer(method), 8, function=lambda d, c: 1e6 * easy(d, c) + 3e7)
    for one, other in zip(plain, shifted, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_minimising_mirrors_maximising(method):
    up, down = optimizer(method), optimizer(method, direction="minimize")
    assert run(up, 8) == run(down, 8, function=lambda d, c: -easy(d, c))
    best, mirrored = up.recommend(), down.recommend()
    assert best.decision == mirrored.decision
    assert mirrored.expected == pytest.approx(-best.expected)
    assert mirrored.interval == pytest.approx((-best.interval[1], -best.interval[0]))
    assert mirrored.worst_case == pytest.approx(-best.worst_case)
    assert mirrored.worst_case >= mirrored.expected


@pytest.mark.parametrize("method", METHODS)
def test_asks_before_a_tell_differ(method):
    opt = optimizer(method)
    run(opt, 7)
    points = np.array([[t.decision["x"], t.decision["y"]] for t in opt.ask(5)])
    apart = np.abs(points[:, None] - points).max(axis=2) + np.eye(5)
    assert apart.min() > 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "contexts",
    [
        {"c": windage.Real()},
        {"c": windage.Real(low=0)},
        {"c": windage.Real(high=2000)},
        {"c": windage.Real(1, 2000, log=True)},
        {"c": windage.Real(), "d": windage.Real(-1, 1)},
        {"c": windage.Real(), "d": windage.Real(), "e": windage.Real(0, 9)},
    ],
    ids=["free", "above", "below", "log", "two", "three"],
)
def test_every_kind_of_context(method, contexts):
    rng = np.random.default_rng(2)
    opt = windage.Optimizer(
        {"x": windage.Real(0.1, 10, log=True)},
        contexts,
        method=method,
        seed=3,
        initial=4,
        kernel="matern",
        **quick(method),
    )
    for _ in range(8):
        trial = opt.ask()
        context = {
            "c": float(rng.uniform(100, 900)),
            "d": float(rng.uniform(-1, 1)),
            "e": float(rng.uniform(0, 9)),
        }
        context = {name: context[name] for name in contexts}
        opt.tell(trial, context=context, value=trial.decision["x"] * context["c"])
    assert 0.1 <= opt.recommend().decision["x"] <= 10
    assert opt.density.sample(5).shape == (5, len(contexts))


@pytest.mark.parametrize("method", METHODS)
def test_mixed_decisions(method):
    rng = np.random.default_rng(2)
    opt = windage.Optimizer(
        {
            "n": windage.Integer(1, 8),
            "mode": windage.Categorical(["a", "b", "c"]),
            "x": windage.Real(0, 1),
        },
        {"c": windage.Real(0, 1)},
        method=method,
        seed=3,
        initial=8,
        **quick(method),
    )
    for _ in range(22):
        trial = opt.ask()
        d, c = trial.decision, float(rng.uniform())
        bonus = {"a": 0.0, "b": 1.0, "c": 0.3}[d["mode"]]
        opt.tell(
            trial, context={"c": c}, value=bonus - 0.05 * (d["n"] - 5) ** 2 - (d["x"] - 0.7) ** 2 + 0.1 * c
        )
    best = opt.recommend().decision
    assert best["mode"] == "b"
    assert best["n"] in (4, 5, 6)
    assert best["x"] == pytest.approx(0.7, abs=0.2)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_works_with_its_own_settings(method):
    """Nothing made quick: 1,024 draws, a grid of its own, eight surrogates."""
    space = {"x": windage.Real(0, 1), "y": windage.Real(0, 1)}
    opt = windage.Optimizer(space, {"c": windage.Real(0, 1), "d": windage.Real()}, method, seed=3, initial=1)
    rng = np.random.default_rng(1)
    for _ in range(30):
        decision = {"x": float(rng.uniform()), "y": float(rng.uniform())}
        context = draw(rng)
        opt.tell(decision, {**context, "d": float(rng.normal())}, easy(decision, context))
    assert regret(opt.ask().decision, WORST.get(method, 0.5)) < 0.3
    assert regret(opt.recommend().decision, WORST.get(method, 0.5)) < 0.01
