"""Inputs that are hard: far contexts, loose bounds, large offsets, ill-conditioned balls, odd types."""

import json
import math
from decimal import Decimal

import numpy as np
import pytest
import torch

import reference
from contracts import METHODS, QUICK, optimizer, run
from windage import (
    Categorical,
    ConfigurationError,
    InputError,
    Integer,
    Optimizer,
    Real,
    Trial,
    TrialError,
    plots,
)
from windage.functionals import MmdSolver, mmd, total_variation
from windage.space import ContextSpace
from windage.surrogate import kernel_factor


def hill(method: str, contexts, values=lambda v: v, decisions=None, **more) -> Optimizer:
    """A study of -(2(x - 0.3))² plus a little of the context, with the contexts given."""
    opt = Optimizer(decisions or {"x": Real(0, 1)}, {"c": Real()}, method=method, seed=1, **{**QUICK, **more})
    rng = np.random.default_rng(0)
    for c in contexts:
        x = float(rng.uniform())
        opt.tell({"x": x}, {"c": c}, values(-4 * (x - 0.3) ** 2 + 0.1 * math.sin(min(max(c, -5), 5))))
    return opt


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12])
@pytest.mark.parametrize("method", METHODS)
def test_one_far_context_does_not_spoil_the_study(method, far):
    contexts = np.random.default_rng(5).normal(size=40)
    contexts[20] = far
    opt = hill(method, contexts.tolist())
    best = opt.recommend()
    assert best.decision["x"] == pytest.approx(0.3, abs=0.06)
    assert best.expected == pytest.approx(0, abs=0.3)
    assert opt.density.bandwidth["c"] < 3
    assert opt.density.pdf(0.0) > 0.1


def test_heavy_tails_and_ties_keep_their_mass_in_the_box():
    rng = np.random.default_rng(0)
    tied = np.concatenate([np.zeros(30), [0.05], rng.uniform(5, 10, 10)])
    heavy = rng.lognormal(0, 2, 200)
    for seen, parameter in ((tied, Real()), (heavy, Real(low=0))):
        unit = ContextSpace({"c": parameter}).scale(seen[:, None]).to_unit(seen[:, None])
        assert (unit <= 1).mean() >= 0.95
        assert unit.min() >= 0


@pytest.mark.parametrize("context", [Real(0, 1e2), Real(0, 1e4), Real(0, 1e6), Real(low=-1e6)])
def test_the_bandwidth_does_not_depend_on_loose_bounds(context):
    contexts = np.random.default_rng(0).normal(5, 1, 50)
    opt = Optimizer({"x": Real(0, 1)}, {"c": context}, seed=0)
    for c in contexts:
        opt.tell({"x": 0.5}, {"c": float(c)}, 0.0)
    width = opt.density.bandwidth["c"]
    assert width == pytest.approx((4 / 150) ** 0.2 * contexts.std(), rel=1e-6)
    assert opt.density.pdf(5.0) == pytest.approx(
        float(reference.scipy_kde(contexts, width)(5.0)[0]), rel=1e-6
    )


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e12, -1e12])
def test_a_large_offset_of_the_values_is_no_loss(offset):
    opt = hill("sbo-kde", np.random.default_rng(1).normal(size=25).tolist(), lambda v: offset + v)
    assert opt.recommend().decision["x"] == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("radius", [1e-6, 1e-4, 1e-3, 0.0167, 0.05, 0.2])
@pytest.mark.parametrize("scale", [0.06, 0.3, 4.8])
def test_mmd_at_the_limit_of_precision(scale, radius):
    """Long lengthscales and small radii: nearly singular kernels. Never infeasible, never far from CVXPY."""
    rng = np.random.default_rng(int(1e6 * radius) + int(100 * scale))
    grid = np.linspace(0, 1, 100)
    factor = kernel_factor(torch.tensor(np.exp(-0.5 * ((grid[:, None] - grid) / scale) ** 2)))
    weights = torch.tensor(np.bincount(rng.integers(0, 100, 60), minlength=100) / 60)
    values = torch.tensor(np.array([np.sin(k * grid + rng.uniform(0, 6)) for k in (1, 3, 6, 12, 20)]))
    laws = MmdSolver(weights, factor, radius)(values)
    assert (laws >= -1e-12).all()
    assert torch.allclose(laws.sum(1), torch.ones(5, dtype=torch.double), atol=1e-9)
    assert (((laws - weights) @ factor.mT).norm(dim=1) <= radius + 1e-8).all()
    if radius < 1e-3:
        return  # CVXPY itself is not sure there
    for row, law in zip(values, laws, strict=True):
        exact = reference.mmd_ball(row.numpy(), weights.numpy(), factor.numpy(), radius)
        assert float(law @ row) == pytest.approx(exact, abs=2e-6)


def test_many_random_balls_agree_with_and_without_memory():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        grid = np.linspace(0, 1, int(rng.choice([10, 30, 100])))
        scale, radius = (
            np.exp(rng.uniform(np.log(0.05), np.log(5))),
            np.exp(rng.uniform(np.log(0.01), np.log(2))),
        )
        factor = kernel_factor(torch.tensor(np.exp(-0.5 * ((grid[:, None] - grid) / scale) ** 2)))
        weights = torch.tensor(rng.dirichlet(np.ones(len(grid))))
        smooth = [np.sin(6 * a * grid + b) for a, b in rng.normal(size=(10, 2))]
        rough = [rng.normal(size=len(grid)) for _ in range(10)]
        values = torch.tensor(np.array(smooth + rough))
        solver = MmdSolver(weights, factor, float(radius))
        first, again = ((solver(values) * values).sum(1) for _ in range(2))
        spread = values.amax(1) - values.amin(1)
        assert ((first - again).abs() / spread).max() < 1e-7


def test_an_interior_point_that_fails_at_once_answers_with_the_reference_law(monkeypatch):
    import sys

    module = sys.modules["windage.functionals.mmd"]
    monkeypatch.setattr(module._InteriorPoint, "step", lambda self: None)  # the gap stays infinite
    weights = torch.tensor([0.2, 0.3, 0.5], dtype=torch.double)
    cost = torch.tensor([[0.0, 0.5, 1.0]], dtype=torch.double)
    laws = module.interior_point(cost, weights, torch.eye(3, dtype=torch.double), 0.1, 1e-9)
    assert torch.equal(laws[0], weights)


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


def test_clipping_comes_before_the_logarithm():
    assert Real(0.1, 10, log=True, outside="clip").check(0, "context 'c'") == 0.1
    assert Real(0.1, 10, log=True, outside="clip").check(-5, "context 'c'") == 0.1
    with pytest.raises(InputError, match="above 0"):
        Real(high=5, log=True, outside="clip").check(0, "context 'c'")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Real(1e-12, 1, log=True), 1e-15),
        (Real(low=0), -9e-10),
        (Real(0, 1), 1.0000001),
        (Integer(0, 3), 2.9999999999),
    ],
)
def test_slack_is_for_rounding_only_and_the_message_shows_the_number(parameter, value):
    with pytest.raises(InputError) as error:
        parameter.check(value, "context 'c'")
    assert repr(value) in str(error.value)


def test_the_hint_to_clip_is_for_contexts_alone():
    with pytest.raises(InputError) as error:
        Real(0, 1).check(2, "decision 'x'")
    assert "clip" not in str(error.value)


def test_observations_cannot_be_changed_from_outside():
    opt = optimizer()
    run(opt, 3)
    before = json.dumps(opt.to_dict())
    opt.observations.decisions[0]["x"] = 999
    opt.observations.contexts[0]["c"] = math.nan
    assert json.dumps(opt.to_dict()) == before


def test_a_fine_integer_is_found_and_quickly():
    opt = Optimizer({"n": Integer(0, 10**6), "x": Real(0, 1)}, {"c": Real(0, 1)}, seed=0, initial=6, **QUICK)
    rng = np.random.default_rng(0)
    for _ in range(18):
        trial = opt.ask()
        n, x = trial.decision["n"], trial.decision["x"]
        opt.tell(trial, {"c": float(rng.uniform())}, -((n / 1e6 - 0.42) ** 2) - (x - 0.6) ** 2)
    best = opt.recommend().decision
    assert best["n"] == pytest.approx(420_000, abs=30_000)
    assert type(best["n"]) is int


@pytest.mark.parametrize(
    "make",
    [
        lambda: Real(10**400, 10**401),
        lambda: Real(-(10**400), 0),
        lambda: Real(np.inf, None),
        lambda: Integer(2**60, 2**60 + 10),
        lambda: Integer(10**400, 10**400 + 5),
        lambda: optimizer(radius=10**400),
        lambda: optimizer(kernel=np.array(["a", "b"])),
        lambda: optimizer(samples=np.array([1, 2])),
        lambda: optimizer(sqrt_beta=np.array([1.0, 2.0])),
        lambda: optimizer(direction="maximise"),
    ],
)
def test_odd_configurations_are_refused_in_words(make):
    with pytest.raises(ConfigurationError):
        make()


def test_scalars_of_numpy_are_taken_everywhere():
    assert Categorical([np.int64(1), np.int64(2)]).choices == (1, 2)
    assert Categorical([True, False]).check(np.True_, "x") is True
    assert Integer(np.int64(0), 5.0).high == 5
    assert Real(np.float32(0), np.int64(2)).high == 2.0
    opt = optimizer(samples=np.int64(10), radius=np.float32(0.5), seed=np.int64(3))
    json.dumps(opt.to_dict())
    run(opt, 3)
    assert len(opt.ask(np.int64(2))) == 2
    assert opt.density.sample(np.int64(3), seed=np.int64(1)).shape == (3, 1)


@pytest.mark.parametrize(
    "act",
    [
        lambda o: o.predict(5),
        lambda o: o.predict(None),
        lambda o: o.predict("x"),
        lambda o: o.predict([1.0]),
        lambda o: o.density.pdf("a"),
        lambda o: o.density.pdf({"c": "x"}),
        lambda o: o.density.pdf([[0.1, 0.2]]),
        lambda o: o.density.sample(3, seed=1.5),
        lambda o: o.tell({"x": 0.5, "y": 0.5}, {"c": 0.5}, 1.5e308),
        lambda o: o.tell({"x": 0.5, "y": 0.5}, {"c": 0.5}, Decimal("1.5")),
        lambda o: o.tell({"x": np.array(["a"]), "y": 0.5}, {"c": 0.5}, 1.0),
    ],
)
def test_odd_questions_get_an_input_error(act):
    opt = optimizer()
    run(opt, 3)
    with pytest.raises(InputError):
        act(opt)


def test_odd_trials_get_a_trial_error():
    opt = optimizer()
    opt.ask()
    for wrong in (lambda: opt.cancel(5), lambda: opt.tell(Trial([1], {}), {"c": 0.5}, 1.0)):
        with pytest.raises(TrialError):
            wrong()
    with pytest.raises(InputError):
        Categorical(["a", "b"]).check(np.array(["a", "b"]), "decision 'm'")


def test_contexts_at_the_end_of_the_floats_are_refused():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real()}, seed=0)
    with pytest.raises(InputError, match="too large"):
        opt.tell({"x": 0.5}, {"c": 1.7e308}, 0.0)
    for c in (-1e149, 0.0, 1e149):
        opt.tell({"x": 0.5}, {"c": c}, 0.0)
    assert 0 <= opt.recommend().decision["x"] <= 1


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


def test_trials_are_keys():
    opt = optimizer()
    trials = opt.ask(3)
    assert len({trial: trial.number for trial in trials}) == 3


def test_a_changed_decision_is_named_as_such():
    opt = optimizer()
    trial = opt.ask()
    trial.decision["x"] = 0.123
    with pytest.raises(TrialError, match="was changed"):
        opt.tell(trial, {"c": 0.5}, 1.0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d["fits"]["joint rbf"].update(x=[0.1]),
        lambda d: d["fits"]["joint rbf"].update(noise=0.0),
        lambda d: d["fits"]["joint rbf"].update(noise=math.nan),
        lambda d: d.update(asked=0),
        lambda d: d["pending"].append(d["pending"][0]),
        lambda d: d.update(seed=None),
    ],
)
def test_a_saved_state_that_does_not_fit_together_is_refused(damage):
    opt = optimizer()
    run(opt, 6)
    opt.ask()
    saved = opt.to_dict()
    damage(saved)
    with pytest.raises(ConfigurationError, match="saved optimizer"):
        Optimizer.from_dict(saved)


def test_asking_inside_inference_mode():
    opt, other = optimizer(), optimizer()
    run(opt, 6)
    run(other, 6)
    with torch.inference_mode():
        trial = opt.ask()
        opt.recommend()
    assert trial == other.ask()


def test_an_empty_table_has_its_columns():
    assert list(optimizer().observations.to_pandas().columns) == ["x", "y", "c", "value"]


def test_functionals_take_single_precision_values():
    values = torch.tensor([[3.0, 1.0, 2.0]])
    weights = torch.tensor([0.2, 0.3, 0.5], dtype=torch.double)
    assert float(total_variation(values, weights, 0.4)) == pytest.approx(1.5)


def test_a_pending_best_leaves_the_next_best_and_not_a_far_top():
    """Two hills, one much lower: with the top pending, its neighbourhood is still the best place."""
    from reference import value_and_slope
    from windage.maximize import maximize
    from windage.space import Block

    class Hills:
        chunk = 64
        stand_in_is_close = smooth = jumps = False

        def stand_in(self):
            return self

        def value_and_slope(self, x):
            return value_and_slope(self, x)

        def __call__(self, X):
            x = X.squeeze(-2)
            high = torch.exp(-((x - 0.7) ** 2).sum(1) / 0.02)
            return high + 0.1 * torch.exp(-((x - 0.2) ** 2).sum(1) / 0.02)

    top = torch.tensor([[0.7]], dtype=torch.double)
    found = maximize(Hills(), (Block(0, 1, 0, False),), 256, 8, 0, avoid=top)
    assert abs(float(found.point) - 0.7) < 0.05
    assert abs(float(found.point) - 0.7) > 1e-3


def test_mmd_on_a_case_worked_by_hand():
    """Two nodes that have nothing to do with each other."""
    factor = torch.eye(2, dtype=torch.double)
    weights = torch.tensor([0.5, 0.5], dtype=torch.double)
    values = torch.tensor([[1.0, 0.0]], dtype=torch.double)
    # moving p from the first node to the second costs √2·p of distance
    assert float(mmd(values, weights, factor, 0.2)) == pytest.approx(0.5 - 0.2 / math.sqrt(2), abs=1e-8)


def test_telling_the_decision_of_a_pending_trial_settles_it():
    opt, other = optimizer(), optimizer()
    for _ in range(8):
        trial, same = opt.ask(), other.ask()
        assert trial == same
        opt.tell(trial, {"c": 0.5}, trial.decision["x"])
        other.tell(dict(same.decision), {"c": 0.5}, same.decision["x"])
    assert not other.pending
    assert opt.ask() == other.ask()
    only = Optimizer({"n": Integer(0, 3)}, {"c": Real()}, seed=0)
    waiting = only.ask()
    only.tell(dict(waiting.decision), {"c": 0.5}, 1.0)  # may well be history: nothing real tells them apart
    assert only.pending == (waiting,)


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [("directon", "direction"), ("metod", "method"), ("context", "contexts"), ("restart", "restarts")],
)
def test_misspelt_keywords_are_recognised(keyword, meant):
    with pytest.raises(ConfigurationError, match=f"Did you mean '{meant}'"):
        Optimizer({"x": Real(0, 1)}, **{keyword: "minimize"})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Optimizer({"x": Real(0, 1)}, {"w": Categorical(["sun", "rain"])}),
            "Real of its own, 0 or 1",
        ),
        (lambda: Optimizer({"p": (0, 1)}, {"w": Real()}), r"'p': Real\(low, high\)"),
        (lambda: Optimizer({"x": Real(0, 1)}, {"w": Real()}, budget=0), "budget"),
        (lambda: Real(outside="clip"), "bound to clip at"),
        (lambda: Optimizer.from_dict("{}"), "json.loads"),
        (lambda: Categorical(["a", "a"]), "Leave out the repeats"),
    ],
)
def test_messages_name_the_remedy(make, words):
    with pytest.raises(ConfigurationError, match=words):
        make()


def test_a_study_without_contexts_says_so():
    opt = Optimizer({"x": Real(0, 1)}, method="gp-ucb", seed=0)
    with pytest.raises(InputError, match="this study has no contexts"):
        opt.tell({"x": 0.5}, {"a": 1.0}, 1.0)


def test_notes_speak_up_to_ten_observations():
    opt = optimizer(initial=20)
    run(opt, 7)
    assert "rough" in opt.recommend().note
    run(opt, 5)
    assert opt.recommend().note == ""


def test_observations_have_a_short_name():
    opt = optimizer()
    run(opt, 3)
    assert repr(opt.observations) == "Observations(3 of x, y, c, value)"


def test_marginal_densities_and_pictures_of_a_larger_study(tmp_path):
    opt = Optimizer(
        {"x": Real(0, 1), "mode": Categorical(["a", "b"])},
        {"c": Real(), "d": Real(0.1, 10, log=True)},
        seed=0,
    )
    rng = np.random.default_rng(0)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, {"c": rng.normal(), "d": rng.lognormal(0, 0.3)}, rng.normal())
    line = np.linspace(-6, 6, 20_001)
    assert np.trapezoid(opt.density.marginal("c").pdf(line), line) == pytest.approx(1.0, abs=1e-3)
    assert opt.density.marginal("d").sample(4).shape == (4, 1)
    with pytest.raises(InputError, match="unknown context"):
        opt.density.marginal("e")
    for context in ("c", "d"):
        plots.overview(opt, "x", context, str(tmp_path / f"{context}.png"))
        assert (tmp_path / f"{context}.png").stat().st_size > 10_000
    with pytest.raises(InputError, match="needs a Real decision"):
        plots.overview(opt, "mode", "c", str(tmp_path / "no.png"))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "least"), [(5, 0.85), (10, 0.85), (20, 0.9)])
def test_the_interval_covers_the_truth_at_the_recommended_decision(count, least):
    """A shop with Weibull demand: how often the interval at the recommendation holds the true expectation."""
    demand = np.random.default_rng(0).weibull(2, 100_000) * 12
    hits = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        opt = Optimizer({"stock": Real(0, 40)}, {"demand": Real(low=0)}, seed=seed, **QUICK)
        for _ in range(count):
            trial, met = opt.ask(), float(rng.weibull(2) * 12)
            stock = trial.decision["stock"]
            opt.tell(trial, {"demand": met}, 9 * min(stock, met) - 5 * stock)
        best = opt.recommend()
        stock = best.decision["stock"]
        truth = float(np.mean(9 * np.minimum(stock, demand)) - 5 * stock)
        hits += best.interval[0] <= truth <= best.interval[1]
    assert hits / 60 >= least
