"""Widths of choices and whole numbers, against a grid search of the likelihood."""

import numpy as np
import pytest

from windage.contexts.axes import ChoiceAxis
from windage.contexts.kde import Kde
from windage.space import ContextKind

REAL, CHOICE, WHOLE = ContextKind(), ContextKind(4, True), ContextKind(5)


def held_out(kde, data, width):
    """The mean log likelihood of each row given the others, written out."""
    total = 0.0
    for i in range(len(data)):
        others = np.delete(data, i, axis=0)
        kernel = kde.axes[0].kernels(data[[i], 0], others[:, 0])[0]
        level = ChoiceAxis(width, 4).kernels(data[[i], 1], others[:, 1])[0]
        total += np.log((kernel * level).mean())
    return total / len(data)


@pytest.mark.parametrize("depends", [False, True])
def test_the_width_of_a_choice_is_the_likeliest(depends):
    generator = np.random.default_rng(3)
    level = generator.integers(4, size=50).astype(float)
    number = (level / 4 if depends else 0) + 0.1 * generator.standard_normal(50)
    data = np.column_stack([number, level])
    kde = Kde.of(data, kinds=(REAL, CHOICE))
    widths = np.linspace(0, 0.75, 151)
    scores = [held_out(kde, data, w) for w in widths]
    assert held_out(kde, data, float(kde.bandwidth[1])) >= max(scores) - 1e-6
    assert (kde.bandwidth[1] < 0.3) == depends


def test_whole_numbers_keep_their_shares():
    data = np.repeat([0.0, 0.25, 1.0], [30, 5, 25])[:, None]
    nodes = Kde.of(data, kinds=(WHOLE,), lower=np.zeros(1), upper=np.ones(1)).nodes()
    shares = dict(zip(nodes.points[:, 0].round(2), nodes.weights, strict=True))
    assert shares[0.0] == pytest.approx(0.5, abs=0.05)
    assert shares[1.0] == pytest.approx(25 / 60, abs=0.05)
    assert sum(shares.values()) == pytest.approx(1)


def test_choices_and_a_number_have_all_levels_and_enough_cells():
    generator = np.random.default_rng(0)
    data = np.column_stack([generator.integers(4, size=30), generator.random(30)]).astype(float)
    kde = Kde.of(data, kinds=(CHOICE, REAL))
    nodes = kde.nodes()
    assert set(nodes.points[:, 0]) == {0, 1, 2, 3}
    assert nodes.weights.sum() == pytest.approx(1)
    draws = kde.sample(20_000, generator)
    for function in (lambda p: p[:, 0] * p[:, 1], lambda p: np.cos(3 * p[:, 1]) * (p[:, 0] == 2)):
        assert nodes.weights @ function(nodes.points) == pytest.approx(function(draws).mean(), abs=0.03)


def test_too_many_levels_are_drawn():
    kinds = (ContextKind(30, True), ContextKind(30, True), REAL)
    data = np.column_stack([np.arange(60) % 30, np.arange(60) % 29, np.linspace(0, 1, 60)])
    nodes = Kde.of(data, kinds=kinds).nodes()
    assert len(nodes) == 512
    assert (nodes.points[:, 0] == nodes.points[:, 0].round()).all()
