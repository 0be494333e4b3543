"""Saved studies: plain JSON, restored exactly, refused where damaged, and read if they are old."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from contracts import CONTEXT, DECISION, METHODS, mixed, optimizer, run
from windage import ConfigurationError, Optimizer, Real, Trial, TrialError, WindageWarning
from windage.methods import METHODS as TABLE
from windage.methods import Settings


def test_the_state_is_plain_json():
    opt = mixed()
    opt.tell(DECISION, context=CONTEXT, value=np.float64(1.5))
    trial = opt.ask()
    text = json.dumps(opt.to_dict(), allow_nan=False)
    again = Optimizer.from_dict(json.loads(text))
    assert json.dumps(again.to_dict()) == text
    again.tell(trial, context=CONTEXT, value=1.0)


def test_the_state_does_not_share_memory_with_the_optimizer():
    opt = mixed()
    opt.tell(DECISION, context=CONTEXT, value=1.5)
    saved = opt.to_dict()
    saved["observations"][0]["decision"]["stock"] = -1
    assert opt.observations.decisions[0]["stock"] == 3.0


def test_a_restored_optimizer_knows_what_was_told():
    opt = optimizer()
    told, waiting = opt.ask(2)
    opt.tell(told, context={"c": 0.5}, value=1.0)
    restored = Optimizer.from_dict(opt.to_dict())
    with pytest.raises(TrialError):
        restored.tell(told, context={"c": 0.5}, value=1.0)
    with pytest.raises(TrialError, match="another optimizer"):
        restored.tell(Trial(waiting.number, {"x": 0.1, "y": 0.1}), context={"c": 0.5}, value=1.0)
    restored.tell(restored.pending[0], context={"c": 0.5}, value=1.0)


def test_a_study_restored_at_every_step_asks_the_same_to_the_last_bit():
    """Past the first fits, where hyper-parameters are kept and inverses extended."""
    steady, fitted = optimizer(seed=3, raw_samples=32, restarts=2, samples=16), []
    rng = np.random.default_rng(0)
    for _ in range(30):
        x, y, c = rng.uniform(size=3)
        steady.tell({"x": x, "y": y}, context={"c": c}, value=float(np.sin(5 * x) + y * c))
    broken = Optimizer.from_dict(steady.to_dict())
    for _ in range(12):
        trial, same = steady.ask(), broken.ask()
        assert trial.decision == same.decision
        context = {"c": float(rng.uniform())}
        value = float(
            np.sin(5 * trial.decision["x"]) + trial.decision["y"] * context["c"] + 0.1 * rng.normal()
        )
        steady.tell(trial, context=context, value=value)
        broken.tell(same, context=context, value=value)
        steady.recommend()  # changes nothing
        broken = Optimizer.from_dict(json.loads(json.dumps(broken.to_dict())))
        fitted.append(broken.to_dict()["fits"]["joint rbf"]["count"])
    assert 1 < len(set(fitted)) < 12  # some fits were kept


def test_a_random_seed_is_drawn_and_kept():
    one, other = (Optimizer({"x": Real(0, 1)}, {"c": Real()}) for _ in range(2))
    assert one.to_dict()["seed"] != other.to_dict()["seed"]
    assert Optimizer.from_dict(one.to_dict()).ask() == one.ask()


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: None,
        lambda d: {},
        lambda d: {**d, "format": 99},
        lambda d: {k: v for k, v in d.items() if k != "observations"},
        lambda d: {**d, "method": "nonsense"},
        lambda d: {**d, "observations": [{"decision": {}, "context": {}, "value": 1}]},
        lambda d: {**d, "observations": 5},
        lambda d: {**d, "pending": [{"number": 0}]},
        lambda d: {**d, "fits": {"joint rbf": {}}},
        lambda d: {**d, "asked": "x"},
        lambda d: {**d, "decisions": [{"name": "x", "kind": "complex"}]},
    ],
)
def test_a_damaged_dictionary_is_refused(damage):
    opt = optimizer()
    run(opt, 6)
    with pytest.raises(ConfigurationError, match="saved optimizer"):
        Optimizer.from_dict(damage(opt.to_dict()))


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d["fits"]["joint rbf"].update(x=[0.1]),
        lambda d: d["fits"]["joint rbf"].update(noise=0.0),
        lambda d: d["fits"]["joint rbf"].update(noise=math.nan),
        lambda d: d["fits"]["joint rbf"].update(count=0),
        lambda d: d["fits"]["joint rbf"].update(curvature=[[1.0]]),
        lambda d: d["fits"]["joint rbf"].update(curvature=[[math.inf] * 4] * 4),
        lambda d: d["fits"].update({"joint cubic": d["fits"]["joint rbf"]}),
        lambda d: d["fits"].update({"decisions rbf": d["fits"]["joint rbf"]}),
        lambda d: d["settings"].update(samples=0),
        lambda d: d.update(settings=[1]),
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


HUGE = 10**5000


@pytest.mark.parametrize(
    "damage",
    [
        lambda s, fit: fit.update(count=math.inf),
        lambda s, fit: fit.update(count=math.nan),
        lambda s, fit: fit.update(x=[5e-324]),
        lambda s, fit: fit.update(c=[5e-324]),
        lambda s, fit: fit.update(noise=1e308),
        lambda s, fit: fit.update(mean=HUGE),
        lambda s, fit: fit.update(curvature=[[1e308] * len(row) for row in fit["curvature"]]),
        lambda s, fit: s.update(asked=HUGE),
        lambda s, fit: s.update(asked=10**30),
        lambda s, fit: s.update(initial=-HUGE),
        lambda s, fit: s.update(seed=HUGE),
        lambda s, fit: s.update(direction=HUGE),
        lambda s, fit: s.update(method=HUGE),
        lambda s, fit: s["observations"][0].update(value=HUGE),
        lambda s, fit: s["observations"][0]["context"].update(c=HUGE),
        lambda s, fit: s["decisions"][0].update(high=HUGE),
        lambda s, fit: s["contexts"][0].update(low=HUGE),
    ],
)
def test_numbers_that_no_study_has_are_refused(damage):
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real()}, initial=1, seed=1, raw_samples=16, restarts=2)
    for k in range(3):
        opt.tell({"x": k / 3}, context={"c": k}, value=k)
    opt.ask()
    saved = json.loads(json.dumps(opt.to_dict()))
    damage(saved, next(iter(saved["fits"].values())))
    with pytest.raises(ConfigurationError):
        Optimizer.from_dict(saved)


def test_a_saved_study_of_kg_kde_continues_as_auto():
    """Twelve outcomes and one pending decision, saved when the method was there, its fits on a log scale."""
    saved = json.loads((Path(__file__).parent / "data" / "saved-kg-kde.json").read_text())
    assert saved["method"] == "kg-kde"
    assert all(fit["knee"] > 0 for fit in saved["fits"].values())
    with pytest.warns(WindageWarning, match="'kg-kde' is no longer there: the study continues as 'auto'"):
        opt = Optimizer.from_dict(saved)
    now = opt.to_dict()
    assert now["method"] == "auto"
    assert now["fits"] == {}  # made anew at the next ask
    same = ("observations", "pending", "asked", "seed", "initial", "decisions", "contexts", "settings")
    assert [now[key] for key in same] == [saved[key] for key in same]
    (waiting,) = opt.pending
    trial = opt.ask()
    assert trial.number == waiting.number + 1
    opt.tell(waiting, context={"demand": 14.0}, value=50.0)
    best = opt.recommend()
    assert 0 <= best.decision["stock"] <= 40
    assert best.interval[0] <= best.expected <= best.interval[1]
    again = opt.to_dict()
    assert not any("knee" in fit for fit in again["fits"].values())
    assert Optimizer.from_dict(again).ask() == opt.ask()  # no warning any more


def test_fits_saved_with_a_knee_are_made_anew_and_others_stay():
    opt = optimizer("bq-kde")
    run(opt, 7)
    saved = opt.to_dict()
    assert "knee" not in saved["fits"]["joint rbf"]
    older = {**saved, "fits": {name: {**fit, "knee": 0.0} for name, fit in saved["fits"].items()}}
    assert Optimizer.from_dict(older).to_dict() == saved
    older["fits"]["joint matern"]["knee"] = 0.3
    assert set(Optimizer.from_dict(older).to_dict()["fits"]) == set(saved["fits"]) - {"joint matern"}
    older["fits"]["joint matern"]["knee"] = "none"
    with pytest.raises(ConfigurationError, match="saved optimizer"):
        Optimizer.from_dict(older)


OLD_SETTINGS = {
    "sqrt_beta": 2.5,
    "lipschitz": 3.0,
    "samples": 64,
    "space_points": 64,
    "grid": 20,
    "radius": 0.4,
    "gamma": 0.2,
    "bandwidth": 0.1,
    "boundary": "reflect",
    "kernel": "matern",
    "members": 2,
    "raw_samples": 32,
    "restarts": 2,
    "places": 3,
}
"""All that there are and one that is gone. Earlier versions took them with every method."""


@pytest.mark.parametrize("method", [*METHODS, "random"])
def test_a_study_saved_with_settings_that_its_method_does_not_use_still_loads(method):
    opt = optimizer(method, raw_samples=32, restarts=2)
    run(opt, 6)
    old = {**opt.to_dict(), "settings": OLD_SETTINGS}
    again = Optimizer.from_dict(json.loads(json.dumps(old)))
    kept = again.to_dict()["settings"]
    used = TABLE[method].used - {"lipschitz"}  # which does nothing beside a number for sqrt_beta
    assert kept == {name: OLD_SETTINGS[name] for name in used if name in OLD_SETTINGS}
    assert again.to_dict()["observations"] == old["observations"]
    assert 0 <= again.ask().decision["x"] <= 1
    assert again.recommend().decision.keys() == {"x", "y"}


def test_aim_and_budget_are_kept():
    opt = optimizer("auto", aim="learn", budget=24)
    again = Optimizer.from_dict(json.loads(json.dumps(opt.to_dict())))
    assert again.to_dict() == opt.to_dict()
    assert again.to_dict()["settings"].items() >= {"aim": "learn", "budget": 24}.items()


def test_the_settings_of_the_theorem_are_kept():
    old = {**optimizer().to_dict(), "settings": {"sqrt_beta": "theorem", "lipschitz": 3.0, "members": 2}}
    assert Optimizer.from_dict(old).to_dict()["settings"] == {"sqrt_beta": "theorem", "lipschitz": 3.0}
    later = {"aim", "budget", "screen", "forget", "distribution", "drift", "as_published", "surrogate"}
    assert set(OLD_SETTINGS) - {"places"} == set(Settings.__dataclass_fields__) - later


@pytest.mark.parametrize("method", sorted(METHODS))
def test_an_optimizer_goes_to_another_process_and_back(method):
    opt = optimizer(method)
    run(opt, 3)
    again = pickle.loads(pickle.dumps(opt))
    assert again.ask().decision == opt.ask().decision
