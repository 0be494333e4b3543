"""The test of a change: its false alarms, and what it finds."""

import numpy as np
import pytest
from scipy.stats import rankdata

from windage.contexts.shift import FALSE_ALARM, FEWEST, Shift, _ranks, find
from windage.space import ContextKind

REAL, CHOICE = ContextKind(), ContextKind(3, True)


def test_ranks_are_those_of_scipy():
    values = np.random.default_rng(0).integers(5, size=30).astype(float)
    np.testing.assert_allclose(_ranks(values), rankdata(values))


def stable(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(20, 100))
    kind = seed % 4
    if kind == 0:
        return generator.standard_normal((n, 1)), [REAL]
    if kind == 1:
        return generator.standard_cauchy((n, 2)), [REAL, REAL]
    if kind == 2:
        return np.maximum(generator.standard_normal((n, 1)), 0), [REAL]
    return generator.integers(3, size=(n, 1)).astype(float), [CHOICE]


def test_false_alarms_are_as_rare_as_is_said():
    found = sum(find(*stable(seed)) is not None for seed in range(200))
    assert found <= 200 * FALSE_ALARM + 2.6 * np.sqrt(200 * FALSE_ALARM * (1 - FALSE_ALARM))


def test_a_shift_of_one_deviation_is_found_within_fifteen():
    hits = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        values = generator.standard_normal(60)
        values[45:] += 1
        hits += any(find(values[:n, None], [REAL]) for n in range(46, 61))
    assert hits >= 30


def test_it_says_where_and_of_which_context():
    generator = np.random.default_rng(1)
    contexts = generator.standard_normal((60, 2))
    contexts[48:, 1] += 4
    found = find(contexts, [REAL, REAL])
    assert (found.context, found.level, found.after) == (1, None, 12)
    levels = np.repeat([0.0, 1.0, 2.0], [25, 25, 12])[:, None]
    levels[:50] = generator.permutation(levels[:50])
    found = find(levels, [CHOICE])
    assert (found.context, found.level, found.after) == (0, 2, 12)


@pytest.mark.parametrize("n", [0, 1, 2 * FEWEST - 1])
def test_few_contexts_show_nothing(n):
    assert find(np.arange(n, dtype=float)[:, None], [REAL]) is None


def test_equal_contexts_and_missing_ones_are_no_shift():
    assert find(np.full((40, 1), 3.0), [REAL]) is None
    assert find(np.full((40, 1), np.nan), [REAL]) is None
    some = np.random.default_rng(0).standard_normal((40, 1))
    some[::3] = np.nan
    assert find(some, [REAL]) is None


def test_words_of_a_shift():
    shift = Shift("demand", 61, None, 0.001, 60.0, 110.0)
    assert shift.words() == "demand seems to have changed since observation 61: 110 on average, before 60."
    level = Shift("weather", 8, None, 0.01, 0.25, 0.8, "rain")
    words = "weather seems to have changed since Monday: rain in 80 %, before in 25 %."
    assert level.words(since="Monday") == words
