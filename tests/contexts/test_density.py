"""The density that users see: of their contexts, in their units and names."""

import math

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from windage import InputError, Optimizer, Real


def test_density_in_the_users_units():
    opt = Optimizer({"x": Real(0, 1)}, {"temperature": Real(), "rain": Real(low=0)}, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        context = {"temperature": rng.normal(15, 4), "rain": rng.exponential(3)}
        opt.tell({"x": 0.5}, context=context, value=0.0)
    density = opt.density
    draws = density.sample(4000)
    assert draws.shape == (4000, 2)
    assert draws[:, 0].mean() == pytest.approx(15, abs=1.5)
    assert draws[:, 1].min() >= 0
    assert np.array_equal(density.sample(5), opt.density.sample(5))
    assert not np.array_equal(density.sample(5), density.sample(5, seed=3))
    single = density.pdf({"temperature": 15.0, "rain": 2.0})
    assert isinstance(single, float)
    assert density.pdf([15.0, 2.0]) == pytest.approx(single)
    assert density.pdf([[15.0, 2.0], [15.0, -1.0]]) == pytest.approx([single, 0.0])
    assert density.pdf({"temperature": np.array([15.0, 15.0]), "rain": 2.0}) == pytest.approx([single] * 2)
    for wrong in ({"rain": 1.0}, [1.0, 2.0, 3.0], [[1.0, math.nan]], {"temprature": 1.0, "rain": 1.0}):
        with pytest.raises(InputError):
            density.pdf(wrong)
    with pytest.raises(InputError):
        density.sample(-1)
    assert set(density.bandwidth) == {"temperature", "rain"}
    assert "60 contexts" in repr(density)


@pytest.mark.parametrize("parameter", [Real(), Real(0.01, 100, log=True), Real(low=0), Real(-5, 200)])
def test_density_integrates_to_one(parameter):
    opt = Optimizer({"x": Real(0, 1)}, {"c": parameter}, seed=0, boundary="none")
    rng = np.random.default_rng(0)
    for _ in range(40):
        opt.tell({"x": 0.5}, context={"c": float(np.clip(rng.lognormal(1, 0.4), 0.02, 90))}, value=0.0)
    line = np.linspace(-60, 160, 40_001) if not parameter.log else np.geomspace(1e-4, 1e4, 40_001)
    assert np.trapezoid(opt.density.pdf(line), line) == pytest.approx(1.0, abs=1e-3)


def test_pdf_does_not_guess_at_shapes():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1), "d": Real(0, 1)}, seed=0)
    for c in (0.2, 0.5, 0.6):
        opt.tell({"x": 0.5}, {"c": c, "d": 1 - c}, 0.0)
    for wrong in (
        [0.1, 0.2, 0.3, 0.4],
        [[0.1], [0.2]],
        np.zeros((2, 3)),
        0.5,
        {"c": [0.1, 0.2], "d": [0.1] * 3},
    ):
        with pytest.raises(InputError, match="n × 2"):
            opt.density.pdf(wrong)
    assert opt.density.pdf(np.zeros((0, 2))).shape == (0,)


@pytest.mark.parametrize("context", [Real(0, 1e2), Real(0, 1e4), Real(0, 1e6), Real(low=-1e6)])
def test_the_bandwidth_does_not_depend_on_loose_bounds(context):
    contexts = np.random.default_rng(0).normal(5, 1, 50)
    opt = Optimizer({"x": Real(0, 1)}, {"c": context}, seed=0, forget=None)
    for c in contexts:
        opt.tell({"x": 0.5}, {"c": float(c)}, 0.0)
    width = opt.density.bandwidth["c"]
    assert width == pytest.approx((4 / 150) ** 0.2 * contexts.std(), rel=1e-6)
    assert opt.density.pdf(5.0) == pytest.approx(
        float(gaussian_kde(contexts, width / contexts.std(ddof=1))(5.0)[0]), rel=1e-6
    )


def test_reflection_is_a_density_for_any_bandwidth():
    for width in (0.05, 0.5, 2.0):
        opt = Optimizer({"x": Real(0, 1)}, {"c": Real(2, 4)}, seed=0, boundary="reflect", bandwidth=width)
        for c in (2.0, 2.1, 4.0):
            opt.tell({"x": 0.5}, {"c": c}, 0.0)
        line = np.linspace(2, 4, 20_001)
        assert np.trapezoid(opt.density.pdf(line), line) == pytest.approx(1.0, abs=1e-3)
        draws = opt.density.sample(20_000)[:, 0]
        assert draws.min() >= 2
        assert draws.max() <= 4
        assert draws.mean() == pytest.approx(np.trapezoid(line * opt.density.pdf(line), line), abs=0.02)


def test_without_a_boundary_samples_follow_the_density_over_the_bounds():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, seed=0, boundary="none")
    for c in (0.0, 0.1, 0.9, 1.0):
        opt.tell({"x": 0.5}, {"c": c}, 0.0)
    draws = opt.density.sample(5000)[:, 0]
    assert draws.min() < -0.2
    assert opt.density.pdf(-0.1) > 0


@pytest.mark.parametrize("parameter", [Real(0, 1), Real(), Real(0.1, log=True)])
def test_far_contexts_and_wide_kernels_raise_no_warning(parameter):
    opt = Optimizer({"x": Real(0, 1)}, {"c": parameter}, "gp-ucb", seed=1, bandwidth=1000.0)
    for c in (0.2, 0.4, 0.9):
        opt.tell({"x": c}, context={"c": c}, value=c)
    with np.errstate(all="raise"):
        assert opt.density.pdf(1e200) == 0 or parameter.log
        assert np.isfinite(opt.density.sample(200)).all()


def test_a_wide_reflected_kernel_is_uniform_and_quick():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 2)}, "gp-ucb", bandwidth=1e6, boundary="reflect")
    opt.tell({"x": 0.5}, context={"c": 0.3}, value=1.0)
    assert np.allclose(opt.density.pdf(np.linspace(0, 2, 9)), 0.5)
