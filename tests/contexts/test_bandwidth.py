"""Rules for the bandwidth: against scipy, and on distributions whose best width is known."""

import math

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval
from scipy import stats
from scipy.optimize import brentq

from windage.contexts import Kde
from windage.contexts.bandwidth import FEWEST, RULES, isj, rule_of_thumb, silverman


def contexts(count: int, dimensions: int, seed: int) -> np.ndarray:
    return np.clip(0.5 + 0.2 * np.random.default_rng(seed).normal(size=(count, dimensions)), 0, 1)


def humps(n: int, seed: int) -> np.ndarray:
    """Two narrow humps, far apart."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.5, rng.normal(0.2, 0.02, n), rng.normal(0.8, 0.03, n))[:, None]


def humps_pdf(c: np.ndarray) -> np.ndarray:
    return 0.5 * stats.norm.pdf(c, 0.2, 0.02) + 0.5 * stats.norm.pdf(c, 0.8, 0.03)


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_rule_of_thumb_as_in_the_paper(dimensions):
    c = contexts(50, dimensions, 0)
    expected = (4 / ((dimensions + 2) * 50)) ** (1 / (dimensions + 4)) * c.std(axis=0)
    np.testing.assert_allclose(rule_of_thumb(c), expected)
    # scipy calls the same factor Silverman's
    np.testing.assert_allclose(rule_of_thumb(c), stats.gaussian_kde(c.T).silverman_factor() * c.std(axis=0))


def test_silverman_by_its_formula():
    c = contexts(50, 2, 1)
    spread = np.minimum(c.std(axis=0), stats.iqr(c, axis=0) / 1.34)
    np.testing.assert_allclose(silverman(c), 0.9 * spread * 50 ** (-1 / 6))


def test_silverman_resists_an_outlier():
    c = np.concatenate([contexts(50, 1, 0), [[1e4]]])
    assert silverman(c)[0] < 0.2 < rule_of_thumb(c)[0]


def test_silverman_where_more_than_half_are_equal_takes_the_deviation():
    c = np.array([[0.3]] * 9 + [[0.8]])
    assert silverman(c)[0] == pytest.approx(0.9 * c.std() * 10 ** (-1 / 5))


def roughness(values: np.ndarray, s: int, time: float) -> float:
    """‖f⁽ˢ⁾‖² of a KDE of variance ``time``: (-1)ˢ times the mean over all pairs of φ⁽²ˢ⁾ of twice that."""
    width = np.sqrt(2 * time)
    scaled = np.subtract.outer(values, values) / width
    hermite = hermeval(scaled, np.eye(2 * s + 1)[2 * s])
    return (-1) ** s * (hermite * stats.norm.pdf(scaled)).mean() / width ** (2 * s + 1)


def slow_isj(values: np.ndarray) -> float:
    """Botev, Grotowski & Kroese (2010), Algorithm 1, with sums over pairs in place of a cosine transform."""
    n = len(values)

    def excess(log_time: float) -> float:
        rough = roughness(values, 7, np.exp(log_time))
        for s in range(6, 1, -1):
            odd = math.prod(range(1, 2 * s, 2))
            factor = (1 + 0.5 ** (s + 0.5)) / 3 * odd / (n * math.sqrt(math.pi / 2) * rough)
            rough = roughness(values, s, factor ** (2 / (3 + 2 * s)))
        return log_time + 0.4 * math.log(2 * n * math.sqrt(math.pi) * rough)

    near = 2 * math.log(rule_of_thumb(values[:, None])[0])
    return math.exp(brentq(excess, near - 6, near + 1) / 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("draw", [humps, lambda n, seed: contexts(n, 1, seed) + 3])
def test_isj_equals_its_slow_form(draw, seed):
    c = draw(150, seed)
    assert isj(c)[0] == pytest.approx(slow_isj(c[:, 0]), rel=5e-3)


@pytest.mark.parametrize("seed", range(3))
def test_isj_finds_humps_that_the_rule_of_thumb_smooths_away(seed):
    c = humps(300, seed)
    line = np.linspace(0, 1, 2001)[:, None]
    true = humps_pdf(line[:, 0])
    errors = [np.abs(Kde.of(c, rule).pdf(line) - true).mean() for rule in ("isj", "rule-of-thumb")]
    assert errors[0] < 0.25 < 0.9 < errors[1]
    # and is as wide as the best width for one hump of half of the points, within a third
    best = 0.025 * (4 / (3 * 150)) ** 0.2
    assert isj(c)[0] == pytest.approx(best, rel=0.35)


@pytest.mark.parametrize("seed", range(3))
def test_isj_of_a_normal_distribution_is_near_the_best(seed):
    c = np.random.default_rng(seed).normal(0.5, 0.1, 400)[:, None]
    np.testing.assert_allclose(isj(c), rule_of_thumb(c), rtol=0.35)
    np.testing.assert_allclose(isj(3 * c + 1), 3 * isj(c), rtol=1e-6)
    two = np.concatenate([c, humps(400, seed)], axis=1)
    assert isj(two)[0] > 1.1 * isj(c)[0]  # wider in more dimensions, as the rule of thumb is
    assert isj(two)[1] < 0.2 * rule_of_thumb(two)[1]


def test_isj_where_it_has_no_answer():
    few = np.random.default_rng(0).random((FEWEST - 1, 1))
    np.testing.assert_array_equal(isj(few), rule_of_thumb(few))
    counted = np.tile([[0.1], [0.5]], (100, 1))  # many, but two of a kind
    np.testing.assert_array_equal(isj(counted), rule_of_thumb(counted))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_equal_contexts_is_zero_and_the_density_has_a_width_nonetheless(rule):
    same = np.full((50, 2), 0.3)
    np.testing.assert_allclose(RULES[rule](same), 0, atol=1e-15)
    assert (Kde.of(same, rule).bandwidth > 1e-4).all()


@pytest.mark.parametrize("rule", RULES)
def test_widths_shift_and_scale_with_the_contexts(rule):
    c = contexts(80, 2, 3)
    np.testing.assert_allclose(RULES[rule](c * [2, 5] + [1, -3]), RULES[rule](c) * [2, 5], rtol=1e-6)
