"""Recommendations and predictions: the best decision, what to expect of one, and how sure that is."""

import numpy as np
import pytest

from contracts import METHODS, optimizer, quick, run
from windage import ConfigurationError, InputError, Optimizer, Real


@pytest.mark.filterwarnings("ignore:.*It is taken")
def test_recommend_from_the_first_observation_on_and_in_words():
    opt = optimizer()
    opt.tell({"x": 0.2, "y": 0.3}, context={"c": 0.5}, value=1.0)
    best = opt.recommend()
    assert "Only 1 observation" in best.note
    assert best.interval[0] < best.interval[1]
    for i in range(5):
        opt.tell({"x": 0.2, "y": i / 5}, context={"c": 0.5}, value=1.0)
    assert "outcomes told so far are equal" in opt.recommend().note
    assert "contexts told so far are equal" in opt.recommend().note
    run(opt, 4)
    assert opt.recommend().note == ""


def test_notes_speak_up_to_ten_observations():
    opt = optimizer(initial=20)
    run(opt, 7)
    assert "rough" in opt.recommend().note
    run(opt, 5)
    assert opt.recommend().note == ""


def test_recommend_is_the_best_of_predict():
    opt = optimizer()
    run(opt, 15)
    best = opt.recommend()
    axis = np.linspace(0, 1, 15)
    others = opt.predict([{"x": float(a), "y": float(b)} for a in axis for b in axis])
    assert best.expected >= max(p.expected for p in others) - 1e-9
    again = opt.predict(best.decision)
    assert again.expected == pytest.approx(best.expected, abs=1e-9)
    assert again.interval == pytest.approx(best.interval, abs=1e-9)
    assert again.worst_case == pytest.approx(best.worst_case, abs=1e-9)
    with pytest.raises(InputError):
        opt.predict({"x": 2.0, "y": 0.0})


def test_predictions_of_many_decisions_are_those_of_each():
    opt = optimizer("drbo-kde")
    run(opt, 7)
    decisions = [{"x": a, "y": b} for a in (0.0, 0.4, 1.0) for b in (0.1, 0.9)]
    together = opt.predict(decisions)
    assert [p.decision for p in together] == decisions
    for found, decision in zip(together, decisions, strict=True):
        alone = opt.predict(decision)
        assert alone.expected == pytest.approx(found.expected, abs=1e-12)
        assert alone.interval == pytest.approx(found.interval, abs=1e-12)
        assert alone.worst_case == pytest.approx(found.worst_case, abs=1e-12)
    assert opt.predict(tuple(decisions)) == together


def test_predicting_no_decisions_gives_none():
    opt = optimizer()
    opt.tell({"x": 0.2, "y": 0.3}, context={"c": 0.5}, value=1.0)
    assert opt.predict([]) == []
    assert opt.predict(()) == []


@pytest.mark.parametrize("method", [*METHODS, "random"])
@pytest.mark.parametrize("contexts", [1, 3])
def test_what_is_predicted_follows_from_what_was_told_alone(method, contexts):
    """Asks that are still pending, and how many there were before, have no part in it."""
    space, names = {"x": Real(0, 1)}, ["c", "d", "e"][:contexts]
    few, many = (
        Optimizer(space, {n: Real(0, 1) for n in names}, method, seed=1, **quick(method)) for _ in range(2)
    )
    rng = np.random.default_rng(0)
    for _ in range(8):
        x, *context = rng.uniform(size=1 + contexts).tolist()
        for opt in (few, many):
            opt.tell({"x": x}, dict(zip(names, context, strict=True)), x * sum(context))
    for trial in many.ask(3)[:2]:
        many.cancel(trial)
    assert many.predict({"x": 0.7}) == few.predict({"x": 0.7})
    assert many.recommend() == few.recommend()
    assert many.density.sample(3).tolist() == few.density.sample(3).tolist()


def test_the_interval_narrows_with_data():
    few, many = optimizer(), optimizer()
    run(few, 8)
    run(many, 40)
    width = [high - low for low, high in (few.recommend().interval, many.recommend().interval)]
    assert width[1] < width[0]


def coverage(seeds: range, steps: int) -> float:
    """How often the interval of the expectation at a fixed decision holds the truth."""
    hits = 0
    at = {"x": 0.4, "y": 0.6}
    truth = -np.sum((np.array([0.4, 0.6]) - [0.6, 0.3]) ** 2) - 2 * 0.01 * 0.15**2 + 0.1
    for seed in seeds:
        opt = optimizer(seed=seed, initial=steps)
        run(opt, steps, seed=seed)
        low, high = opt.predict(at).interval
        hits += low <= truth <= high
    return hits / len(seeds)


def test_the_interval_covers_the_truth():
    assert coverage(range(40), 20) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize(("count", "least"), [(5, 0.85), (10, 0.85), (20, 0.9)])
def test_the_interval_covers_the_truth_at_the_recommended_decision(count, least):
    """A shop with Weibull demand: how often the interval at the recommendation holds the true expectation."""
    demand = np.random.default_rng(0).weibull(2, 100_000) * 12
    hits = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        opt = Optimizer({"stock": Real(0, 40)}, {"demand": Real(low=0)}, seed=seed, **quick(members=None))
        for _ in range(count):
            trial, met = opt.ask(), float(rng.weibull(2) * 12)
            stock = trial.decision["stock"]
            opt.tell(trial, {"demand": met}, 9 * min(stock, met) - 5 * stock)
        best = opt.recommend()
        stock = best.decision["stock"]
        truth = float(np.mean(9 * np.minimum(stock, demand)) - 5 * stock)
        hits += best.interval[0] <= truth <= best.interval[1]
    assert hits / 60 >= least


def test_without_contexts_gp_ucb_is_plain_bayesian_optimisation():
    opt = Optimizer({"x": Real(0, 1)}, method="gp-ucb", seed=0, **quick("gp-ucb", initial=4))
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, value=-((trial.decision["x"] - 0.3) ** 2))
    best = opt.recommend()
    assert best.decision["x"] == pytest.approx(0.3, abs=0.03)
    assert best.worst_case == best.expected
    with pytest.raises(ConfigurationError, match="no contexts"):
        _ = opt.density
    assert Optimizer.from_dict(opt.to_dict()).ask() == opt.ask()
