"""Noise of which a part is the decision's own: the fit, the posterior, the evidence, and what is decided."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import reference
from windage import Integer, Optimizer, Real
from windage.combined import ExpectedBound, ExpectedGain
from windage.density import Nodes, sobol
from windage.maximize import score
from windage.methods import METHODS
from windage.nearby import best_nearby, surer_than_noise, value
from windage.surrogate import ProductGP, Training, ensemble, expectation, fit, follow, likeliest_grain, look
from windage.surrogate.ensemble import RECENT
from windage.surrogate.fit import LogPosterior
from windage.surrogate.grain import SCALE, SHARE, pattern

KERNELS = ["rbf", "matern", "matern-3/2", "rational-quadratic"]
NODES = Nodes.equal(sobol(8, 1, 5))


def clustered(t=40, seed=0, kernel="matern", own=0.3, noise=0.1, free=True, each=3) -> Training:
    """Observations of a smooth function, so many around each of some decisions with a noise of its own."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*size):
        return torch.randn(*size, generator=generator, dtype=torch.double)

    centres = torch.rand(-(-t // each), 2, generator=generator, dtype=torch.double)
    which = torch.arange(t) % len(centres)
    x = (centres[which] + 0.1 * SCALE * normal(t, 2)).clamp(0, 1)
    c = torch.rand(t, 1, generator=generator, dtype=torch.double)
    y = torch.sin(5 * x[:, 0]) + x[:, 1] * c[:, 0] + own * normal(len(centres))[which] + noise * normal(t)
    return Training(x, c, (y - y.mean()) / y.std(), (0, 1), kernel, free)


def grained(data: Training) -> Training:
    return replace(data, grain=SCALE)


def test_what_observations_share_is_a_part_of_their_noise():
    x = clustered(9).x
    found = pattern(x, SCALE)
    for i in range(9):
        for j in range(9):
            root = math.sqrt(5) * float((x[i] - x[j]).norm()) / SCALE
            own = SHARE * (1 + root + root**2 / 3) * math.exp(-root)
            assert float(found[i, j]) == pytest.approx(own + (1 - SHARE) * (i == j), abs=1e-12)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_log_posterior_and_its_gradient(kernel, free):
    data = grained(clustered(30, 1, kernel, free=free))
    target = LogPosterior(data)
    theta = target.start() + np.random.default_rng(1).normal(size=4) * 0.3
    _, gradient, _ = target(theta)
    for i, step in enumerate(1e-5 * np.eye(4)):
        slope = (target(theta + step)[0] - target(theta - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_log_posterior_is_that_of_the_matrix_written_out(kernel):
    data = grained(clustered(24, 2, kernel, free=False))
    plain = LogPosterior(replace(data, grain=0.0))
    target, theta = LogPosterior(data), LogPosterior(data).start()
    model = ProductGP(data, target.hyperparameters(theta, np.zeros((4, 4))))
    kernel_matrix = model.covariance(data.x, data.c, data.x, data.c)
    noise = math.exp(theta[-1])
    for found, n in (
        (target(theta)[0], noise * pattern(data.x, SCALE)),
        (plain(theta)[0], noise * torch.eye(24).double()),
    ):
        k = (kernel_matrix + n).numpy()
        inverse = np.linalg.inv(k)
        mean = inverse.sum(0) @ data.y.numpy() / inverse.sum()
        away = data.y.numpy() - mean
        fits = -0.5 * (away @ inverse @ away + np.linalg.slogdet(k)[1] + 24 * math.log(2 * math.pi))
        assert found == pytest.approx(fits + plain._prior(theta)[0], abs=1e-8)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_best_noise_is_that_of_the_log_posterior(kernel, free):
    data, steps = clustered(30, 1, kernel, free=free), (-0.6, 0.0, 0.6)
    target = LogPosterior(data)
    theta = target.start()
    for scale in (0.0, SCALE):
        whole = LogPosterior(replace(data, grain=scale))
        expected = max(whole(np.append(theta[:-1], theta[-1] + step))[0] for step in steps)
        noise = pattern(data.x, SCALE) if scale else torch.eye(30).double()
        assert target.best_noise(theta, noise, steps) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_inverse_grows_and_follows_with_the_grain(kernel):
    data = grained(clustered(40, 3, kernel))
    last, before = None, None
    for count in range(25, 41):
        seen = replace(data, x=data.x[:count], c=data.c[:count], y=data.y[:count])
        now = follow(seen, last, before)
        last, before = (now.count, now.hyperparameters), now
        direct = ProductGP(seen, now.model.hyperparameters)
        assert torch.allclose(now.model.alpha, direct.alpha, rtol=1e-6, atol=1e-7)
    # a factor without the grain is of no use
    other = follow(replace(data, grain=0.0), last, now)
    assert torch.allclose(
        other.model.alpha, follow(replace(data, grain=0.0), last, None).model.alpha, atol=1e-8
    )
    assert not torch.allclose(other.model.alpha, now.model.alpha, atol=1e-3)
    for member in ensemble([now.model], 4, 0):
        direct = ProductGP(member.data, member.hyperparameters)
        assert torch.allclose(member.alpha, direct.alpha, rtol=1e-6, atol=1e-7)


def models(kernel="matern", t=40, knee=0.0, seed=4):
    data = grained(clustered(t, seed, kernel).in_logs(knee))
    return ProductGP(data, fit(data))


def near_told(model, count=6):
    """Some decisions that are told, some close to those, some elsewhere."""
    told = model.data.x[:count]
    return torch.cat([told, (told + 0.5 * SCALE).clamp(0, 1), sobol(count, 2, 3)])


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_expected_with_the_own_noise_equals_botorch(kernel):
    model = models(kernel)
    x = near_told(model)
    for posterior in (of(model, NODES.points, NODES.weights) for of in (expectation, look)):
        mine = posterior.with_noise(x, posterior.moments(x))
        theirs = reference.tiled_expectation(model, x, NODES.points, NODES.weights)
        for fast, plain in zip(mine, theirs, strict=True):
            assert torch.allclose(fast, plain.detach(), rtol=0, atol=1e-7)
    smooth, variance, _ = posterior.moments(x)
    assert (smooth - mine[0]).abs().max() > 0.05  # the own noise counts
    assert mine[1][0] < variance[0, 0]  # and what is told of a decision is of both together


@pytest.mark.parametrize("kernel", KERNELS)
def test_in_logs_too(kernel):
    model = models(kernel, knee=0.3)
    x, logs = near_told(model), model.data.logs
    posterior = expectation(model, NODES.points, NODES.weights)
    for point, mean, variance in zip(x, *posterior.with_noise(x, posterior.moments(x)), strict=True):
        with torch.no_grad():
            joint = model.posterior(torch.cat([point.expand(8, -1), NODES.points], dim=1)).distribution
        v = NODES.weights * logs.above(joint.mean)
        assert float(mean) == pytest.approx(float(logs.floor + v.sum()), abs=1e-7)
        spread = logs.deviation**2 * (v @ joint.covariance_matrix @ v)
        assert float(variance) == pytest.approx(float(spread), abs=1e-7)


def test_a_pretended_observation_shares_the_noise_of_its_decision():
    model = models()
    x, c = model.data.x[:2], torch.tensor([[0.2], [0.8]]).double()
    assert torch.allclose(model.mean_at(x, c), model.posterior(torch.cat([x, c], 1)).mean[:, 0].detach())
    more = model.extended(x, c)
    for of in (model, more):
        posterior = expectation(of, NODES.points, NODES.weights)
        of.found = posterior.with_noise(x, posterior.moments(x))
    assert torch.allclose(model.found[0], more.found[0], atol=1e-7)
    assert (more.found[1] < model.found[1]).all()


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_outcomes_tell_which_noise_it_is(seed):
    own, ordinary = (clustered(60, seed, own=e, noise=n) for e, n in ((0.3, 0.1), (0.0, 0.4)))
    assert likeliest_grain(own, fit(grained(own))) == SCALE
    assert likeliest_grain(ordinary, fit(grained(ordinary))) == 0


def test_where_no_decisions_are_close_a_grain_is_possible_and_changes_nothing():
    data = reference.random_training(40, 2, 1, 0, "matern", 0.3)
    plain, own = fit(data), fit(grained(data))
    assert likeliest_grain(data, plain) == SCALE
    assert own.log_posterior == pytest.approx(plain.log_posterior, abs=0.05)


def test_of_a_long_history_the_last_observations_tell():
    ordinary, own = (clustered(n, 0, own=e, each=10) for n, e in ((200, 0.0), (RECENT, 0.3)))
    both = [
        replace(own, **{k: torch.cat([getattr(d, k) for d in pair]) for k in ("x", "c", "y")})
        for pair in ((ordinary, own), (own, ordinary))
    ]
    assert [likeliest_grain(data, fit(grained(own))) for data in both] == [SCALE, 0]


# ---------------------------------------------------------------- the decision nearby


def rippled(t=60, seed=0, knee=0.0, top=(0.42, 0.58)):
    """A study that has settled: most decisions around the top of a hill with a noise of their own."""
    generator = torch.Generator().manual_seed(seed)
    top = torch.tensor(top, dtype=torch.double)
    around = top + 0.02 * torch.randn(t - 20, 2, generator=generator, dtype=torch.double)
    x = torch.cat([sobol(20, 2, seed), around]).clamp(0, 1)
    c = torch.rand(t, 1, generator=generator, dtype=torch.double)
    ripple = torch.cos(2 * math.pi * (x - top) / 0.04).sum(1)
    y = -20 * (x - top).square().sum(1) + 0.3 * c[:, 0] + 0.1 * ripple
    data = grained(Training(x, c, (y - y.mean()) / y.std(), (0, 1), "matern", True).in_logs(knee))
    return ProductGP(data, fit(data))


@pytest.mark.parametrize("knee", [0.0, 0.3])
@pytest.mark.parametrize("kind", [ExpectedBound, ExpectedGain])
def test_the_value_has_the_bound_on_what_is_expected_with_the_own_noise(kind, knee):
    members = ensemble([rippled(knee=knee)], 3, 0)
    acquisition = kind(members, NODES, 0.5, *([2.0] if kind is ExpectedGain else []))
    x = near_told(members[0])
    plain, bounds = score(acquisition, x), []
    logs = members[0].data.logs
    for model in members:
        posterior = expectation(model, NODES.points, NODES.weights)
        found = posterior.moments(x)
        pair = []
        for mean, variance in (posterior.with_noise(x, found), found[:2]):
            if logs is None:
                pair.append(mean + 0.5 * variance.sqrt())
            else:
                above = mean - logs.floor
                pair.append(logs.floor + above * (0.5 * variance.sqrt() / above).exp())
        bounds.append(pair[0] - pair[1])
    assert torch.allclose(value(acquisition, x), plain + torch.stack(bounds).mean(0), atol=1e-6)


def settled(model, sqrt_beta=0.0):
    acquisition = ExpectedBound([model], NODES, sqrt_beta)
    grid = sobol(4096, 2, 1)
    return acquisition, grid[int(score(acquisition, grid).argmax())]


@pytest.mark.parametrize("knee", [0.0, 0.3])
def test_it_goes_to_a_decision_nearby_that_is_better_with_its_own_noise(knee):
    acquisition, top = settled(rippled(knee=knee))
    none = top.new_zeros(0, 2)
    found = best_nearby(acquisition, top, none, 0)
    told = acquisition.posteriors[0].model.data.x
    close = told[(told - top).abs().amax(1) < 0.01]
    best = value(acquisition, torch.cat([top[None], close])).max()
    assert value(acquisition, found[None])[0] >= best
    assert best > value(acquisition, top[None])[0] + 0.01
    assert 0 < (found - top).norm() < 0.15
    assert torch.equal(found, best_nearby(acquisition, top, none, 0))
    # what waits is left alone
    other = best_nearby(acquisition, top, found[None], 0)
    assert (other - found).abs().max() > 1e-3


def test_it_stays_in_the_box():
    acquisition, _ = settled(rippled(top=(0.0, 1.0)), 3.0)
    for seed in range(5):
        found = best_nearby(acquisition, torch.tensor([0.0, 1.0]).double(), torch.zeros(0, 2).double(), seed)
        assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("knee", [0.0, 0.3])
def test_first_the_smooth_part(knee):
    acquisition, top = settled(rippled(knee=knee))
    assert surer_than_noise(acquisition, top)
    far = torch.tensor([0.97, 0.03], dtype=torch.double)
    assert not surer_than_noise(acquisition, far)
    assert torch.equal(best_nearby(acquisition, far, far[None], 0), far)


def test_without_a_grain_nothing_moves():
    model = rippled()
    acquisition, top = settled(ProductGP(replace(model.data, grain=0.0), model.hyperparameters))
    assert torch.equal(best_nearby(acquisition, top, top[None], 0), top)


# ---------------------------------------------------------------- in a study


def hilly(x, ripple=0.3):
    """A hill with ripples of period 0.02 in the unit box."""
    return sum(-8 * (v - 0.55) ** 2 + ripple * math.cos(2 * math.pi * (v - 0.55) / 0.02) for v in x.values())


def play(optimizer, steps, noise=0.0):
    rng = np.random.default_rng(3)
    for _ in range(steps):
        trial = optimizer.ask()
        wind, luck = rng.uniform(0, 1), noise * rng.normal()
        optimizer.tell(trial, context={"c": wind}, value=hilly(trial.decision) + 0.2 * wind + luck)
    return optimizer


def study(seed=0, **more):
    return Optimizer(
        {"a": Real(0, 1), "b": Real(0, 1)},
        {"c": Real(0, 1)},
        seed=seed,
        **({"raw_samples": 64, "restarts": 4, "members": 2} | more),
    )


def grains(optimizer):
    return {fitted.model.data.grain for fitted in optimizer._fitted.values()}


def test_a_study_finds_the_tops_of_ripples(monkeypatch):
    late = []
    for row in (METHODS["kg-kde"], replace(METHODS["kg-kde"], grain=False)):
        monkeypatch.setitem(METHODS, "kg-kde", row)
        told = play(study(), 60)._observations
        late.append(np.mean([hilly(d) for d in told.decisions[-15:]]))
        # ordinary noise would leave the decisions anywhere on the ripples
    assert late[0] > late[1] + 0.1


def test_what_is_predicted_of_a_decision_is_with_its_own_noise():
    optimizer = play(study(), 50)
    assert grains(optimizer) == {SCALE}
    best = optimizer.recommend()
    assert best.expected == pytest.approx(optimizer.predict(best.decision).expected)
    assert best.interval[0] < hilly(best.decision) + 0.1 < best.interval[1]
    beside = optimizer.predict({k: v + 0.01 for k, v in best.decision.items()})
    assert best.interval[1] - best.interval[0] < beside.interval[1] - beside.interval[0]


def test_a_study_with_a_grain_is_saved_and_continues_exactly():
    optimizer = play(study(), 30)
    again = Optimizer.from_dict(optimizer.to_dict())
    assert again.recommend() == optimizer.recommend()
    trials = [o.ask() for o in (optimizer, again)]
    assert trials[0].decision == trials[1].decision


@pytest.mark.parametrize("numbers", [{"a": Real(0, 1), "n": Integer(0, 9)}, {"a": Real(0, 1)}])
def test_whole_numbers_and_a_single_decision_have_no_grain(numbers):
    optimizer = Optimizer(numbers, {"c": Real(0, 1)}, seed=0, raw_samples=64, restarts=4)
    for i in range(12):
        trial = optimizer.ask()
        outcome = trial.decision.get("n", 0) - (trial.decision["a"] - 0.3) ** 2
        optimizer.tell(trial, context={"c": i / 12}, value=outcome)
    assert grains(optimizer) == {0.0}


def test_trials_on_their_way_are_apart():
    optimizer = play(study(), 45)
    several = [optimizer.ask().decision for _ in range(3)]
    points = np.array([[d["a"], d["b"]] for d in several])
    for i in range(3):
        for j in range(i):
            assert np.abs(points[i] - points[j]).max() > 1e-3
