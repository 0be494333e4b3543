"""Kernels of one coordinate, against SciPy's and statsmodels'."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.nonparametric.kernels import aitchison_aitken

from windage.contexts.axes import ChoiceAxis, IntegerAxis, KnownAxis, RealAxis, integer_axis

CENTRES = np.array([0.0, 2.0, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("width", [0.0, 0.2, 0.75])
def test_the_kernel_of_a_choice_is_that_of_statsmodels(width):
    axis, levels = ChoiceAxis(width, 4), np.arange(4.0)
    theirs = [aitchison_aitken(width, CENTRES, level, num_levels=4) for level in levels]
    np.testing.assert_allclose(axis.kernels(levels, CENTRES), np.array(theirs), atol=1e-12)
    np.testing.assert_allclose(axis.kernels(levels, CENTRES).sum(axis=0), 1)


def test_the_kernel_of_a_whole_number_is_the_normal_mass_of_its_cell():
    axis, centres = IntegerAxis(0.13, 6), np.array([0.0, 0.4, 1.0])
    levels = np.linspace(0, 1, 6)
    edges = np.concatenate([[-np.inf], (levels[1:] + levels[:-1]) / 2, [np.inf]])
    for i, centre in enumerate(centres):
        mass = np.diff(stats.norm(centre, 0.13).cdf(edges))
        np.testing.assert_allclose(axis.kernels(levels, centres)[:, i], mass, atol=1e-12)
        np.testing.assert_allclose(axis.cells(centres, 9).masses[i], mass, atol=1e-12)


def test_many_whole_numbers_are_taken_as_a_real_number():
    assert isinstance(integer_axis(0.1, 64, 64), IntegerAxis)
    assert isinstance(integer_axis(0.1, 65, 64), RealAxis)


@pytest.mark.parametrize("axis", [ChoiceAxis(0.3, 4), IntegerAxis(0.2, 5)])
def test_draws_are_as_frequent_as_the_kernel_says(axis):
    normal = np.random.default_rng(0).standard_normal(40_000)
    centre = 1.0 if isinstance(axis, ChoiceAxis) else 0.25
    cells = axis.cells(np.array([centre]), 1)
    drawn = axis.draw(np.full(len(normal), centre), normal)
    shares = [(np.abs(drawn - point) < 1e-9).mean() for point in cells.points]
    np.testing.assert_allclose(shares, cells.masses[0], atol=0.01)


def test_a_choice_of_no_width_is_drawn_as_it_is():
    assert ChoiceAxis(0.0, 4).draw(CENTRES, np.full(5, 3.0)).tolist() == CENTRES.tolist()


def test_what_is_known_is_one_cell():
    cells = KnownAxis().cells(np.full(3, 0.4), 64)
    assert cells.points.tolist() == [0.4]
    assert cells.masses.tolist() == [[1.0]] * 3
    assert KnownAxis().kernels(np.array([0.4, 0.5]), np.full(3, 0.4)).tolist() == [[1.0] * 3, [0.0] * 3]
