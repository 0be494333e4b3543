"""What one single outcome will be: quantiles of a mixture, against scipy and against draws by the million."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from contracts import mixed, optimizer, run
from windage import InputError, Optimizer, Real
from windage.contexts import NO_CONTEXT, Nodes
from windage.gp import NodePosterior
from windage.outcome import LEVELS, Mixture, outcomes, widening
from windage.prediction import context_nodes
from windage.space import OutcomeScale


def noisy(direction="maximize", sign=1.0, count=14, **settings):
    """A study of a slope with noise."""
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, direction=direction, seed=1,
                    raw_samples=64, restarts=2, **settings)  # fmt: skip
    rng = np.random.default_rng(3)
    for _ in range(count):
        x, c = rng.uniform(size=2).tolist()
        opt.tell({"x": x}, {"c": c}, sign * (5 + 2 * x + 3 * c + 0.3 * rng.normal()))
    return opt


def test_of_one_normal_the_quantiles_and_probabilities_are_scipys():
    one = Mixture(np.array([[1.5], [-2.0]]), np.array([[0.5], [3.0]]), np.array([7.0]))
    levels = np.array(LEVELS)
    expected = np.stack([norm(1.5, 0.5).ppf(levels), norm(-2, 3).ppf(levels)])
    assert one.quantiles(levels) == pytest.approx(expected, abs=1e-5)
    values = np.array([[0.0, 1.0, 2.0]] * 2)
    expected = np.stack([norm(1.5, 0.5).cdf(values[0]), norm(-2, 3).cdf(values[1])])
    assert one.below(values) == pytest.approx(expected, abs=1e-14)


def test_of_a_mixture_the_quantiles_are_those_of_a_million_draws():
    rng = np.random.default_rng(0)
    means, deviations, weights = rng.normal(0, 3, 6), rng.uniform(0.1, 2, 6), rng.uniform(0.1, 1, 6)
    mixture = Mixture(means[None], deviations[None], weights)
    part = rng.choice(6, 10**6, p=weights / weights.sum())
    draws = rng.normal(means[part], deviations[part])
    assert mixture.quantiles(np.array(LEVELS))[0] == pytest.approx(np.quantile(draws, LEVELS), abs=0.03)
    for value in (-4.0, 0.0, 2.5):
        share = (draws < value).mean()
        assert mixture.below(np.array([[value]]))[0, 0] == pytest.approx(share, abs=0.002)


@given(
    st.lists(
        st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.floats(1e-3, 1)), min_size=1, max_size=8
    )
)
def test_quantiles_are_where_the_probability_is_theirs_and_rise(parts):
    means, deviations, weights = (np.array(column) for column in zip(*parts, strict=True))
    mixture = Mixture(means[None], deviations[None], weights)
    found = mixture.quantiles(np.array(LEVELS))
    assert (np.diff(found[0]) >= 0).all()
    width = np.ptp(means) + 16 * deviations.max()
    below, above = (mixture.below(found + step) for step in (-1e-6 * width, 1e-6 * width))
    assert (below <= LEVELS).all()
    assert (above >= LEVELS).all()


def test_a_studys_outcome_is_the_mixture_over_its_members_and_contexts():
    opt = noisy()
    state = opt._state(True).without_exploration()
    nodes, point = context_nodes(state), np.array([[0.4]])
    rng, draws = np.random.default_rng(0), []
    for model in state.models:  # equally likely
        moments = NodePosterior(model, nodes.points).moments(point)
        which = rng.choice(len(nodes), 100_000, p=nodes.weights / nodes.weights.sum())
        spread = widening(14) * np.sqrt(moments.variance[0, which] + model.hyperparameters.noise)
        draws.append(rng.normal(moments.mean[0, which], spread))
    brute = state.data.outcome.restore(np.concatenate(draws))
    found = opt.predict({"x": 0.4}, threshold=6.0).outcome
    assert list(found) == list(LEVELS)
    assert list(found.values()) == pytest.approx(np.quantile(brute, LEVELS), abs=0.02)
    assert found.below == pytest.approx((brute < 6.0).mean(), abs=0.003)


def test_with_one_node_and_one_member_it_is_a_normal_distribution():
    opt = noisy(members=1)
    (model,) = opt._state(True).models
    node, point = np.array([[0.5]]), np.array([[0.3]])
    moments = NodePosterior(model, node).moments(point)
    scale = OutcomeScale(1.0, 10.0, 0.2, 0.5)
    (found,) = outcomes([model], Nodes.equal(node), point, scale, 3.0)
    deviation = widening(14) * np.sqrt(moments.variance[0, 0] + model.hyperparameters.noise)
    exact = norm(10 * (0.2 + 0.5 * moments.mean[0, 0]), 5 * deviation)
    assert list(found.values()) == pytest.approx(exact.ppf(LEVELS), abs=1e-4)
    assert found.below == pytest.approx(exact.cdf(3.0), abs=1e-9)


@pytest.mark.parametrize("count", [2, 5, 20, 1000])
def test_a_part_is_as_wide_as_students_distribution_of_what_was_estimated(count):
    assert widening(count) * norm.ppf(0.975) == pytest.approx(student(count - 1).ppf(0.975))
    assert widening(1) == widening(2)
    assert widening(10**6) == pytest.approx(1, abs=1e-5)


def test_many_decisions_at_once_are_those_one_by_one(monkeypatch):
    opt = noisy()
    decisions = [{"x": float(x)} for x in np.linspace(0, 1, 7)]
    together = [p.outcome for p in opt.predict(decisions, threshold=7.0)]
    monkeypatch.setattr("windage.outcome.CHUNK", 1)
    for one, decision in zip(together, decisions, strict=True):
        alone = opt.predict(decision, threshold=7.0).outcome
        assert list(alone.values()) == pytest.approx(list(one.values()), abs=1e-9)
        assert alone.below == pytest.approx(one.below, abs=1e-12)


def test_minimising_the_opposite_flips_every_quantile():
    best = noisy().predict({"x": 0.7}, threshold=7.5)
    flipped = noisy("minimize", -1.0).predict({"x": 0.7}, threshold=-7.5)
    for level in LEVELS:
        assert flipped.outcome[round(1 - level, 3)] == pytest.approx(-best.outcome[level], rel=1e-5)
    assert flipped.outcome.below == pytest.approx(1 - best.outcome.below, abs=1e-9)
    low, high = flipped.outcome.interval
    assert low < flipped.expected < high


def test_quantiles_rise_and_hold_the_interval_of_the_mean():
    for opt in (noisy(), noisy("minimize"), noisy(count=40)):
        best = opt.recommend()
        values = list(best.outcome.values())
        assert values == sorted(values)
        (low, high), (mean_low, mean_high) = best.outcome.interval, best.interval
        assert low < mean_low < best.expected < mean_high < high
        assert best.outcome.interval == (best.outcome[0.025], best.outcome[0.975])


def test_a_threshold_gives_the_probability_below_it_and_none_gives_none():
    opt = noisy()
    assert opt.recommend().outcome.below is None
    assert opt.recommend().outcome.threshold is None
    shares = [opt.recommend(threshold=value).outcome.below for value in (-1e6, 5.0, 8.0, 9.5, 1e6)]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, pytest.approx(1.0))
    assert opt.recommend(threshold=8).outcome.threshold == 8.0
    best = opt.recommend()
    assert opt.recommend(threshold=best.outcome[0.25]).outcome.below == pytest.approx(0.25, abs=1e-4)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), "8", True, [1.0]])
def test_a_threshold_that_is_no_number_is_refused(wrong):
    opt = noisy()
    with pytest.raises(InputError, match="threshold"):
        opt.recommend(threshold=wrong)
    with pytest.raises(InputError, match="threshold"):
        opt.predict({"x": 0.5}, threshold=wrong)


def test_it_is_plain_json_and_a_mapping():
    outcome = noisy().recommend(threshold=8.0).outcome
    found = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert found["quantiles"]["0.5"] == outcome[0.5]
    assert found["quantiles"]["0.025"] == outcome.interval[0]
    assert (found["threshold"], found["below"]) == (8.0, outcome.below)
    assert len(outcome) == len(found["quantiles"]) == len(LEVELS)
    assert dict(outcome) == outcome.quantiles
    assert 0.33 not in outcome


def test_every_kind_of_study_has_one():
    opt = mixed()
    rng = np.random.default_rng(0)
    for i in range(6):
        decision = {"stock": 5.0 * i, "crates": 1 + i % 5, "shelf": ("top", "low")[i % 2]}
        opt.tell(decision, {"demand": float(rng.uniform(0, 50)), "heat": 20.0 + i}, float(i))
    assert opt.recommend().outcome.interval[0] < opt.recommend().outcome.interval[1]
    plain = Optimizer({"x": Real(0, 1)}, method="gp-ucb", seed=0, raw_samples=64, restarts=2)
    for i in range(6):
        plain.tell({"x": i / 6}, value=float(np.sin(i)))
    (model,) = plain._state(False).models
    best = plain.predict({"x": 0.4})
    moments = NodePosterior(model, NO_CONTEXT.points).moments(np.array([[0.4]]))
    median = plain._data.outcome.restore(moments.mean[0, 0])
    assert best.outcome[0.5] == pytest.approx(float(median), abs=1e-5)


def test_of_a_single_observation_it_is_finite_and_wide():
    opt = optimizer("auto")
    opt.tell({"x": 0.5, "y": 0.5}, {"c": 0.5}, 3.0)
    low, high = opt.recommend().outcome.interval
    assert -100 < low < 3 < high < 100
    run(opt, 3)
    assert opt.recommend().outcome[0.5] == pytest.approx(0.2, abs=3)
