"""One contract suite for all methods."""

import json
import subprocess
import sys

import numpy as np
import pytest

import windage
from contracts import METHODS, QUICK, draw, easy, optimizer, regret, run
from windage.methods import METHODS as TABLE
from windage.schedules import (
    mmd_radius,
    root_sqrt_beta,
    steep_sqrt_beta,
    theorem_sqrt_beta,
    total_variation_radius,
    wasserstein_radius,
)

BUDGET = 22


def random_search(seed: int) -> list[dict]:
    rng = np.random.default_rng(1000 + seed)
    return [{"x": rng.uniform(), "y": rng.uniform()} for _ in range(BUDGET)]


def luckiest(taken: list[dict], seed: int) -> dict:
    """What random search recommends: the decision with the best single outcome."""
    rng = np.random.default_rng(seed)
    return max(taken, key=lambda decision: easy(decision, draw(rng)))


def test_the_table_is_complete():
    assert list(TABLE) == [*METHODS, "random"]


def test_random_decisions_learn_nothing_and_differ():
    first, second = run(optimizer("random"), 12), run(optimizer("random", samples=64), 12)
    assert first == second
    assert len({d["x"] for d in first}) == 12
    assert 0.2 < np.mean([d["x"] for d in first]) < 0.8
    assert optimizer("random").ask().decision != optimizer("random", seed=2).ask().decision


@pytest.mark.parametrize("method", METHODS)
def test_finds_the_optimum_region_better_than_random_search(method):
    mine_late, random_late, mine_best, random_best = [], [], [], []
    for seed in range(3):
        opt = optimizer(method, seed)
        taken = run(opt, BUDGET, seed)
        control = random_search(seed)
        mine_late.append(np.mean([regret(d) for d in taken[-8:]]))
        random_late.append(np.mean([regret(d) for d in control[-8:]]))
        mine_best.append(regret(opt.recommend().decision))
        random_best.append(regret(luckiest(control, seed)))
    # the control fails what the method passes
    assert np.mean(random_late) > 0.1
    assert np.mean(mine_late) < 0.03
    assert np.mean(mine_best) < 0.002
    assert np.mean(mine_best) < 0.2 * np.mean(random_best)


@pytest.mark.parametrize("method", METHODS)
def test_is_deterministic_in_seed_and_tells(method):
    assert run(optimizer(method), 8) == run(optimizer(method), 8)
    assert run(optimizer(method, seed=1), 8)[-1] != run(optimizer(method, seed=2), 8)[-1]


@pytest.mark.parametrize("method", METHODS)
def test_looking_does_not_change_what_is_asked(method):
    blind, curious = optimizer(method), optimizer(method)
    rng = np.random.default_rng(0)
    for _ in range(9):
        context = draw(rng)
        for opt in (blind, curious):
            trial = opt.ask()
            opt.tell(trial, context=context, value=easy(trial.decision, context))
        curious.recommend()
        curious.density.pdf(0.5)
        curious.density.sample(3)
        curious.predict({"x": 0.1, "y": 0.2})
    assert blind.ask() == curious.ask()


@pytest.mark.parametrize("method", METHODS)
def test_a_restored_optimizer_continues_exactly(method):
    whole = optimizer(method)
    run(whole, 9)
    waiting = whole.ask()
    saved = json.loads(json.dumps(whole.to_dict(), sort_keys=True))
    restored = windage.Optimizer.from_dict(saved)
    assert restored.to_dict() == whole.to_dict()
    assert restored.pending == (waiting,)
    for opt in (whole, restored):
        opt.tell(waiting, context={"c": 0.4}, value=0.1)
    assert run(whole, 4, seed=5) == run(restored, 4, seed=5)
    assert restored.recommend() == whole.recommend()
    assert restored.to_dict() == whole.to_dict()


def test_results_are_equal_across_processes_and_thread_counts(tmp_path):
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from contracts import *\n"
        "print(json.dumps({m: run(optimizer(m), 8) for m in METHODS}))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code, str(__file__).rsplit("/", 1)[0]],
            capture_output=True,
            text=True,
            check=True,
            env={"OMP_NUM_THREADS": threads, "PATH": "", "PYTHONHASHSEED": threads},
        ).stdout
        for threads in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0]) == {m: run(optimizer(m), 8) for m in METHODS}


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
        **QUICK,
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
        **QUICK,
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


@pytest.mark.parametrize(
    "changed",
    [
        {"sqrt_beta": "theorem"},
        {"sqrt_beta": 0.0},
        {"samples": "nodes"},
        {"samples": 16},
        {"kernel": "matern"},
        {"boundary": "reflect"},
        {"boundary": "none"},
        {"bandwidth": "silverman"},
        {"bandwidth": 0.2},
        {"bandwidth": "held-out", "boundary": "held-out"},
        {"members": 0},
        {"members": 3},
        {"radius": 0.0},
        {"radius": 5.0},
        {"grid": 12},
        {"gamma": 0.5},
        {"space_points": 16},
    ],
    ids=str,
)
def test_every_setting_can_be_changed(changed):
    for method in METHODS:
        opt = optimizer(method, **changed)
        run(opt, 7)
        assert opt.to_dict()["settings"] == {**QUICK, **changed}


def test_a_setting_reaches_the_method():
    """A changed setting that matters changes the decision; one of another method does not."""

    def last(method, **changed):
        return run(optimizer(method, **changed), 7)[-1]

    assert last("drbo-kde", radius=1.5) != last("drbo-kde")
    assert last("drbo-kde", radius=0.0) == pytest.approx(last("sbo-kde"), abs=1e-4)
    assert last("drbo-mmd", radius=0.05) != last("drbo-mmd")
    assert last("sbo-kde", sqrt_beta=5.0) != last("sbo-kde")
    assert last("rbq-kde", radius=1.5) != last("rbq-kde")
    assert last("rbq-kde", radius=0.0) == pytest.approx(last("bq-kde"), abs=1e-4)
    assert last("wdrbo", radius=1.5) != last("wdrbo")
    assert last("wdrbo", radius=0.0) == pytest.approx(last("erbo"), abs=1e-4)
    assert last("sbo-kde", samples="nodes") == pytest.approx(last("sbo-kde"), abs=0.05)
    assert last("sbo-kde", radius=1.5) == last("sbo-kde")


def test_schedules():
    assert total_variation_radius(100, 1) == pytest.approx(100 ** (-0.4))
    assert mmd_radius(100) == pytest.approx((2 + np.sqrt(2 * np.log(10))) / 10)
    assert wasserstein_radius(100) == pytest.approx(0.03)
    assert theorem_sqrt_beta(1, 1) == 0
    beta = 2 * np.log(50**2 / np.sqrt(2 * np.pi)) + 4 * np.log(50**2 * 2 * 3 * np.sqrt(np.pi) / 2)
    assert theorem_sqrt_beta(50, 2, 3.0) ** 2 == pytest.approx(beta)
    assert [steep_sqrt_beta(dx) for dx in (1, 2, 3, 5, 6, 20)] == [0.35, 2 / 3, 1, 5 / 3, 5 / 3, 5 / 3]
    assert [root_sqrt_beta(dx) for dx in (1, 4, 9)] == [0.5, 1, 1.5]
