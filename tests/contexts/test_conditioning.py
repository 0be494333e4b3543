"""A part of the context is known or forecast: against statsmodels, and against exact conditioning."""

import numpy as np
import pytest
from statsmodels.nonparametric.kernel_density import KDEMultivariateConditional

from windage.contexts.conditioning import (
    Marginal,
    choose_widths,
    conditioned,
    forecast,
    given_widths,
    log_kernels,
)
from windage.contexts.kde import Kde
from windage.space import ContextKind

REAL, CHOICE = ContextKind(), ContextKind(3, True)
BOUNDS = np.array([-np.inf, -np.inf]), np.array([np.inf, np.inf])


def rows(n=60, seed=0):
    """A choice of three levels, and a number whose mean follows it."""
    generator = np.random.default_rng(seed)
    level = generator.integers(3, size=n).astype(float)
    return np.column_stack([level, 0.2 + 0.3 * level + 0.05 * generator.standard_normal(n)])


@pytest.mark.parametrize("known", [0.0, 2.0])
def test_a_known_choice_conditions_as_in_statsmodels(known):
    data, h, width = rows(), 0.08, 0.15
    kde = Kde(data, np.array([width, h]), *BOUNDS, "none", kinds=(CHOICE, REAL))
    weights = np.exp(log_kernels(kde.axis(0, width), np.array([known]), data[:, 0]))[0]
    ours = given_widths(kde, {0: known}, weights / weights.sum(), 1.0)
    at = np.linspace(-0.2, 1.4, 17)
    points = np.column_stack([np.full(17, known), at])
    theirs = KDEMultivariateConditional(data[:, [1]], data[:, [0]], "c", "u", [h, width], rng=0)
    expected = theirs.pdf(at[:, None], np.full((17, 1), known))
    np.testing.assert_allclose(ours.pdf(points), expected, atol=1e-6)


@pytest.mark.parametrize("known", [0.1, 0.5, 0.9])
def test_a_known_number_conditions_as_in_statsmodels(known):
    generator = np.random.default_rng(1)
    first = generator.random(50)
    data, widths = np.column_stack([first, first**2 + 0.1 * generator.random(50)]), np.array([0.1, 0.07])
    kde = Kde(data, widths, *BOUNDS, "none")
    weights = np.exp(log_kernels(kde.axis(0, 0.1), np.array([known]), data[:, 0]))[0]
    ours = given_widths(kde, {0: known}, weights / weights.sum(), 1.0)
    at = np.linspace(-0.2, 1.2, 15)
    theirs = KDEMultivariateConditional(data[:, [1]], data[:, [0]], "c", "c", [0.07, 0.1], rng=0)
    expected = theirs.pdf(at[:, None], np.full((15, 1), known))
    np.testing.assert_allclose(ours.pdf(np.column_stack([np.full(15, known), at])), expected, atol=1e-6)


def test_a_known_part_that_matters_moves_the_rest_and_one_that_does_not_leaves_it():
    data = rows()
    kde = Kde.of(data, kinds=(CHOICE, REAL))
    for level in (0.0, 1.0, 2.0):
        nodes = conditioned(kde, {0: level}).nodes()
        assert (nodes.points[:, 0] == level).all()
        assert nodes.weights @ nodes.points[:, 1] == pytest.approx(0.2 + 0.3 * level, abs=0.04)
    shuffled = data.copy()
    shuffled[:, 0] = np.random.default_rng(5).permutation(data[:, 0])
    apart = Kde.of(shuffled, kinds=(CHOICE, REAL))
    found = choose_widths(apart, [0], [1])
    assert found.known == {0: None}
    np.testing.assert_allclose(conditioned(apart, {0: 1.0}).shares, apart.shares)


def test_a_kernel_is_rarely_chosen_by_chance():
    chosen = 0
    for seed in range(100):
        generator = np.random.default_rng(seed)
        data = np.column_stack([generator.integers(3, size=40), generator.random(40)]).astype(float)
        chosen += choose_widths(Kde.of(data, kinds=(CHOICE, REAL)), [0], [1]).known[0] is not None
    assert chosen <= 10


def test_all_known_is_one_node():
    kde = conditioned(Kde.of(rows(), kinds=(CHOICE, REAL)), {0: 2.0, 1: 0.7})
    nodes = kde.nodes()
    assert nodes.points.tolist() == [[2.0, 0.7]]
    assert nodes.weights.tolist() == [1.0]


def test_a_level_that_was_never_met_says_nothing():
    data = rows()[rows()[:, 0] < 2]
    kde = Kde.of(data, kinds=(CHOICE, REAL))
    np.testing.assert_allclose(conditioned(kde, {0: 2.0}).shares, kde.shares)


def test_a_known_value_far_from_all_takes_the_nearest():
    kde = Kde.of(np.column_stack([np.linspace(0, 1, 30), np.linspace(0, 1, 30)]))
    nodes = conditioned(kde, {0: 1e6}).nodes()
    assert np.isfinite(nodes.weights).all()
    assert nodes.weights @ nodes.points[:, 1] > 0.8


def test_a_forecast_of_all_contexts_is_its_own_distribution():
    kde = Kde.of(np.random.default_rng(0).random((40, 1)))
    points = 0.3 + 0.05 * np.linspace(-2, 2, 64)
    nodes = forecast(kde, {}, {0: Marginal(points, 0.005)}).nodes()
    assert nodes.weights @ nodes.points[:, 0] == pytest.approx(0.3, abs=1e-3)
    spread = np.sqrt(nodes.weights @ (nodes.points[:, 0] - 0.3) ** 2)
    assert spread == pytest.approx(points.std(), rel=0.05)


def test_the_rest_follows_a_forecast_conditionally():
    generator = np.random.default_rng(2)
    first = generator.random(120)
    kde = Kde.of(np.column_stack([first, 1 - first + 0.03 * generator.standard_normal(120)]))
    found = forecast(kde, {}, {0: Marginal(np.linspace(0.7, 0.9, 64), 0.01)})
    nodes = found.nodes()
    assert nodes.weights @ nodes.points[:, 0] == pytest.approx(0.8, abs=0.02)
    assert nodes.weights @ nodes.points[:, 1] == pytest.approx(0.2, abs=0.06)
    assert np.corrcoef(found.centres.T)[0, 1] < -0.3


def test_two_forecasts_are_independent_of_each_other():
    kde = Kde.of(np.random.default_rng(0).random((40, 2)))
    points = np.linspace(0.2, 0.8, 64)
    found = forecast(kde, {}, {0: Marginal(points, 0.01), 1: Marginal(points, 0.01)})
    assert abs(np.corrcoef(found.centres.T)[0, 1]) < 0.1


def test_weights_of_age_stay_in_a_conditional_distribution():
    data = rows(40)
    weights = np.linspace(1, 3, 40) / np.linspace(1, 3, 40).sum()
    kde = Kde.of(data, kinds=(CHOICE, REAL), weights=weights)
    found = conditioned(kde, {0: 1.0})
    inside = data[:, 0] == 1
    ratio = found.shares[inside] / weights[inside]
    np.testing.assert_allclose(ratio, ratio[0])
    assert found.count < kde.count
