"""Weights by age: against the formula written out, and what they do to a distribution that moves."""

import numpy as np
import pytest

from windage.contexts.bandwidth import rule_of_thumb
from windage.contexts.forgetting import (
    ALPHA,
    NEVER,
    NEW,
    RATES,
    by_half_life,
    half_life,
    learnt,
    one_step_ahead,
    rate_chances,
)
from windage.errors import ConfigurationError
from windage.space import ContextKind

REAL, CHOICE = ContextKind(), ContextKind(3, True)


def test_weights_halve_with_the_half_life():
    weights = by_half_life(np.array([30.0, 20.0, 10.0, 0.0]), 10)
    np.testing.assert_allclose(weights, np.array([1, 2, 4, 8]) / 15)


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, None), ("auto", None), (30, (30.0, False)), ("30 days", (30.0, True)), ("1.5 d", (1.5, True))],
)
def test_half_lives_are_read(given, found):
    assert half_life(given) == found


@pytest.mark.parametrize("given", [0, -1, "0 days", "soon", True, float("nan"), float("inf"), [3]])
def test_wrong_half_lives_are_refused_with_what_is_right(given):
    with pytest.raises(ConfigurationError, match="half-life in observations such as 30"):
        half_life(given)


def slowly(contexts, rate):
    """log p̂(c_t | c_<t), one context after another."""
    found = []
    for t in range(1, len(contexts)):
        past, weights = contexts[:t], rate ** np.arange(t)[::-1]
        weights = weights / weights.sum()
        h = np.maximum(rule_of_thumb(past, weights), 1e-3)
        kernels = np.exp(-0.5 * ((contexts[t] - past) / h) ** 2) / (h * np.sqrt(2 * np.pi))
        found.append(np.log((1 - NEW) * weights @ kernels.prod(axis=1) + NEW))
    return np.array(found)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_likelihood_one_step_ahead_is_that_of_each_kde(dimensions):
    contexts = np.random.default_rng(0).random((25, dimensions))
    found = one_step_ahead(contexts, [REAL] * dimensions, RATES)
    for k, rate in enumerate(RATES):
        np.testing.assert_allclose(found[:, k], slowly(contexts, rate), atol=1e-9)


def test_the_chances_of_the_rates_follow_the_recursion():
    contexts = np.random.default_rng(1).random((30, 1))
    prior = np.array([NEVER, *[(1 - NEVER) / (len(RATES) - 1)] * (len(RATES) - 1)])
    chances = prior
    for t in range(29):
        likely = [np.exp(slowly(contexts, rate)[t]) for rate in RATES]
        chances = chances**ALPHA * prior ** (1 - ALPHA) * likely
        chances /= chances.sum()
    np.testing.assert_allclose(rate_chances(contexts, [REAL]), chances, rtol=1e-9)


def test_on_a_distribution_that_stays_never_to_forget_wins_and_most_contexts_count():
    studies = [np.random.default_rng(seed).normal(0.5, 0.15, (120, 1)) for seed in range(20)]
    chances = np.mean([rate_chances(contexts, [REAL]) for contexts in studies], axis=0)
    assert chances[0] > 0.8
    counted = [1 / (learnt(contexts, [REAL]) ** 2).sum() for contexts in studies]
    assert np.median(counted) > 0.95 * 120


def test_on_one_that_moved_what_came_before_hardly_counts():
    generator = np.random.default_rng(0)
    moved = np.concatenate([generator.normal(0.3, 0.05, 60), generator.normal(0.8, 0.05, 12)])[:, None]
    weights = learnt(moved, [REAL])
    assert weights.sum() == pytest.approx(1)
    assert weights[60:].sum() > 0.85


def test_levels_that_moved_are_noticed_too():
    levels = np.repeat([0.0, 2.0], [60, 15])[:, None]
    assert learnt(levels, [CHOICE])[60:].sum() > 0.85
    mixed = np.column_stack([levels, np.random.default_rng(0).random((75, 1))])
    assert learnt(mixed, [CHOICE, REAL])[60:].sum() > 0.7


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_contexts_have_weights_too(count):
    weights = learnt(np.full((count, 1), 0.5), [REAL])
    assert weights.sum() == pytest.approx(1)
    assert np.isfinite(weights).all()
