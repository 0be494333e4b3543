"""Contexts that were not seen: the averaged kernel against dense conditioning on averages of f."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from windage.contexts import Nodes
from windage.gp import (
    KERNELS,
    ExpectationPosterior,
    Hyperparameters,
    LogPosterior,
    Mixtures,
    NodePosterior,
    ProductGP,
    SlopePosterior,
    Training,
    WorstPosterior,
    fit,
    row_contexts,
)
from windage.gp import mixtures as module
from windage.gp.forms import FORMS
from windage.gp.posterior import node_means

HYPER = Hyperparameters((0.4, 0.6), (0.5, 0.3), 0.05, 0.2, 0.0)


def training(t=20, dx=2, dc=2, seed=0, kernel="matern", holes=0.4) -> Training:
    """Random rows; some lack a context, the first all of them, and the last are whole."""
    generator = np.random.default_rng(seed)
    data = reference.random_training(t, dx, dc, seed, kernel)
    c = data.c.copy()
    c[generator.random(c.shape) < holes] = np.nan
    c[:2], c[-4:] = np.nan, data.c[-4:]
    whole = c[~np.isnan(c).any(axis=1)]
    return replace(data, c=row_contexts(c, whole))


def model(data: Training, dx=2, dc=2) -> ProductGP:
    return ProductGP(data, replace(HYPER, x=HYPER.x[:dx], c=HYPER.c[:dc]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_posterior_and_likelihood_equal_dense_conditioning_on_averages(kernel):
    data = training(kernel=kernel)
    gp, generator = model(data), np.random.default_rng(1)
    x, nodes, weights = generator.random((5, 2)), generator.random((9, 2)), generator.dirichlet(np.ones(9))
    theirs = reference.averaged(gp, x, nodes, weights)
    found = ExpectationPosterior(gp, Nodes(nodes, weights)).moments(x)
    assert np.allclose(found.mean[:, 0], theirs.expectation.mean, rtol=0, atol=1e-10)
    assert np.allclose(found.variance[:, 0], theirs.expectation.variance, rtol=0, atol=1e-10)
    for form in FORMS:
        at = NodePosterior(gp, nodes, form).moments(x)
        assert np.allclose(at.mean, theirs.nodes.mean, rtol=0, atol=1e-8)
        assert np.allclose(at.variance, theirs.nodes.variance, rtol=0, atol=1e-8)
    assert np.allclose(node_means(gp, x, nodes), theirs.nodes.mean, rtol=0, atol=1e-10)
    target = LogPosterior(data)
    theta = target.theta(gp.hyperparameters)
    assert target(theta).value - target.prior(theta)[0] == pytest.approx(
        reference.averaged_likelihood(gp, target(theta).mean), abs=1e-8
    )


@given(st.integers(6, 25), st.integers(1, 3), st.sampled_from(KERNELS), st.integers(0, 999))
def test_the_gradient_of_the_log_posterior(t, dc, kernel, seed):
    target = LogPosterior(training(t, 2, dc, seed, kernel))
    theta = target.start() + np.random.default_rng(seed).normal(size=2 + dc + 1) * 0.3
    slope = reference.differences(lambda rows: np.array([target(r).value for r in rows]), theta[None], 1e-5)
    assert np.allclose(target(theta).gradient, slope[0], rtol=1e-4, atol=1e-4)


def test_slopes_in_the_context_are_those_of_the_averaged_posterior():
    gp, generator = model(training()), np.random.default_rng(2)
    x, nodes = generator.random((3, 2)), generator.random((4, 2))
    posterior = SlopePosterior(gp, nodes)
    _, slopes = posterior.slopes(posterior.moments(x).mean)
    for d in range(2):
        step = 1e-6 * np.eye(2)[d]
        up, down = (node_means(gp, x, nodes + sign * step) for sign in (1, -1))
        assert np.allclose(slopes[:, :, d], (up - down) / 2e-6, atol=1e-6)


def test_a_known_factor_and_pending_decisions_extend_the_model():
    data = training()
    gp = model(data)
    whole = gp.covariance.noisy(data.x, data.c)
    assert np.allclose(whole @ gp.precision, np.eye(20), atol=1e-9)
    assert np.allclose(whole.diagonal(), 1 + HYPER.noise)
    first = gp.covariance.factor(data.x[:12], data.c[:12])
    assert np.allclose(gp.covariance.factor(data.x, data.c, first).inverse, gp.precision, atol=1e-9)
    x, c = np.full((2, 2), 0.5), np.array([[0.1, 0.2], [0.9, 0.7]])
    more, at = gp.extended(x, c), NodePosterior(gp, c)
    assert np.allclose(NodePosterior(more, c).moments(x).mean, at.moments(x).mean, atol=1e-8)
    assert (NodePosterior(more, c).moments(x).variance < at.moments(x).variance).all()
    target = LogPosterior(data)
    theta = target.theta(gp.hyperparameters)
    assert np.allclose(target(theta, gp.factor).gradient, target(theta).gradient, atol=1e-8)


def test_worst_weights_follow_the_averaged_means():
    gp, generator = model(training()), np.random.default_rng(3)
    x, nodes, space = (
        generator.random((4, 2)),
        Nodes.equal(generator.random((8, 2))),
        generator.random((6, 2)),
    )
    found = WorstPosterior(gp, nodes, 0.5, space).moments(x)
    means = node_means(gp, x, np.concatenate([nodes.points, space]))
    for row, mean in zip(means, found.mean[:, 0], strict=True):
        assert mean == pytest.approx(reference.worst_weights(row, nodes.weights, 0.5) @ row, abs=1e-9)


def test_where_the_context_says_nothing_such_a_row_is_an_ordinary_one():
    """A long lengthscale: f is constant in c."""
    data = training(dc=2)
    long = replace(HYPER, c=(1e5, 1e5))
    seen = ProductGP(replace(data, c=np.full((20, 2), 0.5)), long)
    x, nodes = np.random.default_rng(4).random((6, 2)), np.array([[0.3, 0.8]])
    mine, theirs = (NodePosterior(gp, nodes).moments(x) for gp in (ProductGP(data, long), seen))
    assert np.allclose(mine.mean, theirs.mean, atol=1e-8)
    assert np.allclose(mine.variance, theirs.variance, atol=1e-8)


def test_rows_withheld_leave_the_expectation_unbiased():
    """Draws of a GP, contexts of most rows withheld: the errors of F are as its posterior says.

    Negative control: the same rows with the mean context in place of what was not seen are too sure.
    """
    generator = np.random.default_rng(5)
    honest, imputed = [], []
    for _ in range(60):
        x, c = generator.random((40, 1)), generator.random((40, 1))
        places, law = generator.random((3, 1)), generator.random((64, 1))
        hyper = Hyperparameters((0.4,), (0.3,), 0.01, 0.0, 0.0)
        gp = ProductGP(Training(x, c, np.zeros(40), (0,), "rbf"), hyper)
        z = np.concatenate([x, np.repeat(places, 64, axis=0)]), np.concatenate([c, np.tile(law, (3, 1))])
        root = np.linalg.cholesky(gp.covariance(*z, *z) + 1e-8 * np.eye(len(z[0])))
        f = root @ generator.standard_normal(len(root))
        y = f[:40] + 0.1 * generator.standard_normal(40)
        truth = f[40:].reshape(3, 64).mean(axis=1)
        hidden = c.copy()
        hidden[:24] = np.nan
        rows = {
            "honest": row_contexts(hidden, law),
            "imputed": np.where(np.isnan(hidden), law.mean(), hidden),
        }
        for errors, contexts in ((honest, rows["honest"]), (imputed, rows["imputed"])):
            found = ExpectationPosterior(
                ProductGP(Training(x, contexts, y, (0,), "rbf"), hyper), Nodes.equal(law)
            )
            moments = found.moments(places)
            errors.append((truth - moments.mean[:, 0]) / np.sqrt(moments.variance[:, 0]))
    right, wrong = np.array(honest), np.array(imputed)
    assert abs(right.mean()) < 0.25
    assert 0.8 < right.std() < 1.25
    assert wrong.std() > 1.5


def test_nothing_missing_is_the_array_itself():
    c = np.random.default_rng(6).random((7, 2))
    assert row_contexts(c, c) is c


def test_what_was_seen_of_a_row_stays_and_weighs_what_was_not():
    centres = np.array([[0.1, 0.0], [0.12, 0.1], [0.9, 1.0], [0.88, 0.9]])
    c = np.array([[0.11, np.nan], [np.nan, np.nan], [0.9, 1.0], [np.nan, np.nan]])
    found = row_contexts(c, centres)
    assert isinstance(found, Mixtures)
    assert found.shape == (4, 2)
    first, rest = found[[0]], found[[1]]
    assert (first.points[:, 0] == 0.11).all()
    assert first.weights @ first.points[:, 1] < 0.2
    assert np.allclose(rest.weights, 0.25)
    assert found.rows[1] == found.rows[3] != found.rows[0]
    assert np.allclose(found[[2]].points, [[0.9, 1.0]])


def test_a_row_far_from_all_others_takes_the_nearest():
    found = row_contexts(np.array([[1e6, np.nan]]), np.array([[0.1, 0.2], [0.9, 0.7]]))
    assert np.allclose(found.points, [[1e6, 0.7]])


def test_many_centres_are_thinned_at_equal_steps_of_probability():
    generator = np.random.default_rng(7)
    centres = generator.random((500, 1))
    found = row_contexts(np.full((3, 1), np.nan), centres)
    assert len(found.points) == module.MOST
    assert found.points.mean() == pytest.approx(centres.mean(), abs=0.01)
    assert found.points.std() == pytest.approx(centres.std(), abs=0.01)
    c = np.column_stack([generator.random(300), np.full(300, np.nan)])
    many = row_contexts(c, generator.random((50, 2)))
    assert len(many.points) <= 300 * module.LEAST
    assert np.allclose(np.add.reduceat(many.weights, many.starts), 1)


def test_a_fit_of_rows_without_a_context_finds_the_lengthscale():
    """30 whole rows and 30 without: the fit is near that of all contexts."""
    generator = np.random.default_rng(8)
    x, c = generator.random((60, 1)), generator.random((60, 1))
    y = np.sin(6 * x[:, 0]) + 0.3 * c[:, 0] + 0.05 * generator.standard_normal(60)
    hidden = c.copy()
    hidden[:30] = np.nan
    whole, half = (fit(Training(x, rows, y, (0,), "rbf")) for rows in (c, row_contexts(hidden, c[30:])))
    assert half.x[0] == pytest.approx(whole.x[0], rel=0.3)
    assert half.noise < 0.1


def test_a_few_points_for_each_of_many_rows_are_nearly_as_good_as_all(monkeypatch):
    """The posterior of F moves by a fraction of its deviation; with one point for each it would not do."""
    generator, found = np.random.default_rng(9), []
    x, a = generator.random((120, 1)), generator.random(120)
    c = np.column_stack([a, np.clip(0.5 * a + 0.25 + 0.15 * generator.standard_normal(120), 0, 1)])
    y, hidden = np.sin(6 * x[:, 0]) + 2 * x[:, 0] * c[:, 1], c.copy()
    hidden[:80, 1] = np.nan
    hyper, at = Hyperparameters((0.4,), (0.5, 0.3), 0.01, 0.0, 0.0), generator.random((40, 1))
    for least, total in ((64, 64 * 80), (module.LEAST, 0), (1, 0)):
        monkeypatch.setattr(module, "LEAST", least)
        monkeypatch.setattr(module, "TOTAL", total)
        gp = ProductGP(Training(x, row_contexts(hidden, c[80:]), y, (0,), "matern"), hyper)
        found.append(ExpectationPosterior(gp, Nodes.equal(c)).moments(at))
    exact, few, one = found
    deviation = np.sqrt(exact.variance)
    assert (np.abs(few.mean - exact.mean) < 0.3 * deviation).all()
    assert np.allclose(few.variance, exact.variance, rtol=0.15)
    assert not np.allclose(one.variance, exact.variance, rtol=0.15)
