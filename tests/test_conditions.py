"""Conditions as they come, by the library: of any kind, known in part, forecast, changing, not seen."""

import json
import math
import warnings
from datetime import date, datetime

import numpy as np
import pytest
from scipy import stats

from windage import Categorical, ConfigurationError, InputError, Integer, Optimizer, Real
from windage.contexts import NOTHING, Given, Nodes
from windage.errors import WindageWarning
from windage.gp import NodePosterior
from windage.methods import METHODS
from windage.search import maximize
from windage.space import days

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat"]
QUICK = {"raw_samples": 128, "restarts": 6, "screen": False}


@pytest.fixture(autouse=True)
def _no_second_looks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WindageWarning)
        yield


def profit(stock, demand):
    """Of a shop that buys at 5, sells at 9, and gets 1 for what is left: the median demand is best."""
    return 9 * min(stock, demand) - 5 * stock + max(stock - demand, 0)


def shop(contexts, count=0, method="auto", known=True, seed=3, **settings):
    """A shop with demand 110 on Saturdays and 60 on other days."""
    settings = QUICK | settings
    opt = Optimizer({"stock": Real(0, 160)}, contexts, method=method, seed=seed, **settings)
    generator = np.random.default_rng(seed)
    for day in range(count):
        weekday = DAYS[day % 6]
        trial = opt.ask(known={"weekday": weekday}) if known else opt.ask()
        demand = float(generator.normal(110 if weekday == "sat" else 60, 6))
        context = {"demand": demand} if known else {"demand": demand, "weekday": weekday}
        opt.tell(trial, context, profit(trial.decision["stock"], demand))
    return opt


CONTEXTS = {"weekday": Categorical(DAYS), "demand": Real(low=0)}


def test_a_shop_that_knows_the_weekday_stocks_for_it():
    opt = shop(CONTEXTS, 48)
    best = opt.recommend(for_each="weekday")
    assert list(best) == DAYS
    stocks = {day: found.decision["stock"] for day, found in best.items()}
    assert stocks["sat"] == pytest.approx(110, abs=10)
    for day in DAYS[:-1]:
        assert stocks[day] == pytest.approx(60, abs=10)
    alone = opt.recommend(known={"weekday": "sat"})
    assert alone.decision == best["sat"].decision
    every = opt.recommend()
    assert 60 < every.decision["stock"] < 110
    saturday = opt.predict({"stock": 110}, known={"weekday": "sat"})
    assert saturday.expected > opt.predict({"stock": 110}, known={"weekday": "mon"}).expected + 50
    assert saturday.outcome[0.5] > opt.predict({"stock": 110}).outcome[0.5]


def test_demand_that_moved_is_followed_and_said():
    opt = Optimizer({"stock": Real(0, 160)}, {"demand": Real(low=0)}, seed=5, **QUICK)
    generator = np.random.default_rng(2)
    for _ in range(40):
        stock, demand = float(generator.uniform(20, 150)), float(generator.normal(60, 6))
        opt.tell({"stock": stock}, {"demand": demand}, profit(stock, demand))
    assert opt.shift is None
    assert opt.recommend().decision["stock"] == pytest.approx(60, abs=8)
    for _ in range(10):
        trial = opt.ask()
        demand = float(generator.normal(110, 6))
        opt.tell(trial, {"demand": demand}, profit(trial.decision["stock"], demand))
    found = opt.recommend()
    assert found.decision["stock"] == pytest.approx(110, abs=15)
    assert "demand seems to have changed since observation" in found.note
    assert opt.shift.name == "demand"
    assert opt.shift.since == pytest.approx(40, abs=2)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_takes_contexts_of_every_kind(method):
    contexts = {"kind": Categorical(["a", "b", "c"]), "count": Integer(0, 4), "heat": Real()}
    small = {"members": 2, "space_points": 64, "grid": 20}
    small = {name: value for name, value in small.items() if name in METHODS[method].settings}
    opt = Optimizer({"x": Real(0, 1)}, contexts, method=method, seed=1, initial=4, **QUICK, **small)
    generator = np.random.default_rng(0)
    for i in range(9):
        trial = opt.ask()
        context = {
            "kind": "abc"[i % 3],
            "count": int(generator.integers(5)),
            "heat": float(generator.normal()),
        }
        opt.tell(trial, context, float(np.sin(5 * trial.decision["x"]) + context["count"]))
    if METHODS[method].uses_context:
        trial = opt.ask(known={"kind": "b", "count": 2})
        assert trial.known == {"kind": "b", "count": 2}
        assert math.isfinite(opt.recommend(known={"kind": "b"}, forecast={"heat": (0.5, 0.2)}).expected)
    else:
        with pytest.raises(InputError, match="sees no contexts"):
            opt.ask(known={"kind": "b"})
    again = Optimizer.from_dict(json.loads(json.dumps(opt.to_dict())))
    assert again.ask().decision == opt.ask().decision
    assert math.isfinite(opt.recommend().expected)


def contextual(known, method="auto", sqrt_beta=1.5, members=0):
    """A study of two contexts, and its state where they are known."""
    contexts = {"day": Categorical(["a", "b"]), "heat": Real(0, 1)}
    opt = Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, contexts, seed=1, members=members, **QUICK)
    generator = np.random.default_rng(3)
    for _ in range(20):
        x, y, heat = generator.random(3)
        day = "ab"[int(generator.integers(2))]
        opt.tell({"x": x, "y": y}, {"day": day, "heat": heat}, float(np.sin(6 * x) * heat + (day == "a") * y))
    return opt, opt._state(True, opt._configuration.given(known, None))


def test_with_all_contexts_known_an_ask_is_that_of_contextual_gp_ucb():
    known = {"day": "b", "heat": 0.3}
    opt, state = contextual(known)
    (model,) = state.models
    posterior = NodePosterior(model, state.data.code(np.array([[1.0, 0.3]])))
    x = np.random.default_rng(0).random((50, 2))
    moments = posterior.moments(x)
    bound = (moments.mean + 1.5 * np.sqrt(moments.variance))[:, 0]
    np.testing.assert_allclose(opt._acquisition(state).value(x), bound, atol=1e-8)
    trial = opt.ask(known=known)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    at = posterior.moments(np.array([[trial.decision["x"], trial.decision["y"]]]))
    everywhere = posterior.moments(grid)
    asked = float((at.mean + 1.5 * np.sqrt(at.variance))[0, 0])
    assert asked >= (everywhere.mean + 1.5 * np.sqrt(everywhere.variance)).max() - 1e-8


def test_nodes_of_what_is_known_are_fixed_and_robust_methods_keep_them():
    _, state = contextual({"day": "a"})
    nodes = state.deterministic_nodes()
    assert (nodes.points[:, 0] == nodes.points[:, 0].max()).all()
    assert (state.space(16)[:, 0] == nodes.points[0, 0]).all()
    assert len(set(state.space(16)[:, 2])) == 16
    assert state.moving().tolist() == [0, 0, 1]
    assert isinstance(state.seen_nodes(), Nodes)


def test_asks_of_several_days_allow_for_each_other():
    opt = shop(CONTEXTS, 18)
    trials = [opt.ask(known={"weekday": day}) for day in ("mon", "sat")]
    assert [trial.known["weekday"] for trial in opt.pending] == ["mon", "sat"]
    more = opt.ask(2, known={"weekday": "tue"})
    assert all(trial.known == {"weekday": "tue"} for trial in more)
    opt.tell(trials[1], {"demand": 100.0}, 300.0)
    assert opt.observations.contexts[-1] == {"weekday": "sat", "demand": 100.0}
    opt.tell(trials[0], {"demand": 60.0, "weekday": "wed"}, 200.0)
    assert opt.observations.contexts[-1]["weekday"] == "wed"


def test_a_study_with_known_contexts_continues_after_it_was_saved():
    opt = shop(CONTEXTS, 10)
    trial = opt.ask(known={"weekday": "sat"}, forecast={"demand": (110, 10)})
    again = Optimizer.from_dict(json.loads(json.dumps(opt.to_dict())))
    assert again.pending[0].known == {"weekday": "sat"}
    assert again.pending[0].forecast == trial.forecast
    for study in (opt, again):
        study.tell(study.pending[0], {"demand": 105.0}, 400.0)
    assert again.observations == opt.observations
    assert again.observations.forecasts[-1] == {"demand": (110, 10)}
    assert again.ask(known={"weekday": "mon"}).decision == opt.ask(known={"weekday": "mon"}).decision


def forecasting(skill, count=30, seed=0, use=True):
    """A shop whose demand is forecast: with this correlation of forecast and demand."""
    opt = Optimizer({"stock": Real(0, 160)}, {"demand": Real(0, 200)}, seed=seed, **QUICK)
    generator = np.random.default_rng(seed)
    for _ in range(count):
        signal, noise = generator.standard_normal(2)
        demand = float(np.clip(90 + 25 * (skill * signal + math.sqrt(1 - skill**2) * noise), 0, 200))
        said = 90 + 25 * (skill if skill else 1) * signal
        deviation = 25 * math.sqrt(1 - skill**2) if skill else 10.0
        trial = opt.ask(forecast={"demand": (said, deviation)}) if use else opt.ask()
        opt.tell(trial, {"demand": demand}, profit(trial.decision["stock"], demand))
    return opt


def test_a_good_forecast_decides_and_a_useless_one_is_not_used():
    good = forecasting(0.95)
    assert good.forecast_skill["demand"].count == 30
    assert good.forecast_skill["demand"].used != "not used"
    low, high = (good.recommend(forecast={"demand": (mean, 8)}).decision["stock"] for mean in (60, 120))
    assert low == pytest.approx(60, abs=15)
    assert high == pytest.approx(120, abs=15)
    bad = forecasting(0.0, seed=2)
    assert bad.forecast_skill["demand"].used == "not used"
    one, other = (bad.recommend(forecast={"demand": (mean, 8)}).decision for mean in (60, 120))
    assert one == other == bad.recommend().decision


@pytest.mark.parametrize("given", [(60, 5), list(np.linspace(50, 70, 30)), stats.norm(60, 5), {"mean": 1}])
def test_forecasts_of_all_sorts(given):
    opt = forecasting(0.95, 15)
    if isinstance(given, dict):
        with pytest.raises(InputError, match="must be a sample"):
            opt.ask(forecast={"demand": given})
        return
    assert opt.ask(forecast={"demand": given}).forecast["demand"].mean == pytest.approx(60, abs=0.5)


def test_a_known_distribution_stands_for_what_was_met():
    def study(**settings):
        opt = Optimizer({"stock": Real(0, 160)}, {"demand": Real(0, 200)}, seed=1, **QUICK, **settings)
        generator = np.random.default_rng(0)
        for _ in range(25):
            stock, demand = float(generator.uniform(0, 160)), float(generator.uniform(20, 180))
            opt.tell({"stock": stock}, {"demand": demand}, profit(stock, demand))
        return opt

    given = {"demand": stats.norm(60, 5)}
    opt = study(distribution=given)
    assert opt.recommend().decision["stock"] == pytest.approx(60, abs=15)
    assert study().recommend().decision["stock"] == pytest.approx(100, abs=20)
    again = Optimizer.from_dict(json.loads(json.dumps(opt.to_dict())))
    assert again.recommend() == opt.recommend()
    assert opt.density.marginal("demand").pdf(60.0) > 10 * opt.density.marginal("demand").pdf(120.0)
    with pytest.raises(InputError, match="Did you mean 'demand'"):
        study(distribution={"demnd": (60, 5)})


def test_forgetting_by_half_life_and_by_days():
    def study(forget, times=True):
        opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 10)}, seed=1, forget=forget, **QUICK)
        for i in range(20):
            opt.tell({"x": i / 20}, {"c": 2.0 if i < 10 else 8.0}, 1.0 * i, time=float(i) if times else None)
        return opt

    means = {forget: study(forget).density.sample(4000).mean() for forget in (None, 20, 3, "3 days")}
    assert means[None] == pytest.approx(5, abs=0.2)
    assert means[None] < means[20] < means[3] < 8.1
    assert means["3 days"] == pytest.approx(means[3])
    with pytest.raises(InputError, match="forget is in days"):
        study("3 days", times=False)


def test_a_study_without_times_that_is_to_forget_in_days_is_refused_and_not_changed():
    saved = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 10)}, seed=1, **QUICK).to_dict()
    saved["observations"] = [
        {"decision": {"x": i / 9}, "context": {"c": 1.0 * i}, "value": 1.0} for i in range(9)
    ]
    opt = Optimizer.from_dict({**saved, "settings": {**saved["settings"], "forget": "3 days"}})
    before = opt.to_dict()
    for act in (opt.ask, opt.recommend):
        with pytest.raises(InputError, match="forget is in days"):
            act()
    assert opt.to_dict() == before


def test_the_papers_methods_never_forget_by_themselves():
    for method, equal in (("sbo-kde", True), ("auto", False)):
        opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 10)}, method=method, seed=1, **QUICK)
        for i in range(12):
            opt.tell({"x": i / 20}, {"c": i / 2}, 1.0 * i)
        assert (opt._configuration.density(opt._data).weights is None) == equal


def test_outcomes_that_drift_are_followed_with_time_as_an_input():
    def study(drift):
        opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, seed=1, drift=drift, **QUICK)
        generator = np.random.default_rng(0)
        for i in range(60):
            x, c = generator.random(2)
            opt.tell({"x": x}, {"c": c}, float(-((x - 0.2 - 0.6 * i / 60) ** 2) + 0.01 * c))
        return opt

    assert study(True).recommend().decision["x"] == pytest.approx(0.8, abs=0.07)
    assert abs(study(False).recommend().decision["x"] - 0.8) > 0.15
    opt = study(True)
    again = Optimizer.from_dict(json.loads(json.dumps(opt.to_dict())))
    assert again.ask(known={"c": 0.5}).decision == opt.ask(known={"c": 0.5}).decision
    assert opt.suspects == ()
    opt.tell({"x": 0.5}, {"c": None}, 0.0)
    assert 0 <= opt.ask().decision["x"] <= 1
    with pytest.raises(ConfigurationError, match="does not see time"):
        Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, method="gp-ucb", drift=True)


def test_times_are_read_and_kept_in_order():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, seed=1)
    for time in (date(2026, 11, 1), "2026-11-02", datetime(2026, 11, 2, 12), "2026-11-03T06:00"):
        opt.tell({"x": 0.5}, {"c": 0.5}, 1.0, time=time)
    first = opt.observations.times[0]
    assert [time - first for time in opt.observations.times] == [0, 1, 1.5, 2.25]
    for wrong, words in (
        ("2026-11-01", "before that of the last"),
        ("soon", "write it as"),
        (math.nan, "finite"),
    ):
        before = opt.observations
        with pytest.raises(InputError, match=words):
            opt.tell({"x": 0.5}, {"c": 0.5}, 1.0, time=wrong)
        assert opt.observations == before
    opt.tell({"x": 0.5}, {"c": 0.5}, 1.0)
    assert opt.observations.times[-1] is None


def test_a_mistyped_time_no_longer_counts_once_it_is_forgotten():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, seed=1)
    opt.tell({"x": 0.5}, {"c": 0.5}, 1.0, time="2062-11-18")
    with pytest.raises(InputError, match="forget"):
        opt.tell({"x": 0.5}, {"c": 0.5}, 1.0, time="2026-11-18")
    opt.forget(0)
    opt.tell({"x": 0.5}, {"c": 0.5}, 1.0, time="2026-11-18")
    assert opt.observations.times == (days("2026-11-18", "time"),)


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_times_of_numpy_are_read_in_every_unit(unit):
    assert days(np.datetime64("2026-11-18", unit), "time") == days("2026-11-18", "time")


def test_a_time_that_is_none_is_refused():
    pandas = pytest.importorskip("pandas")
    for wrong in (np.datetime64("NaT"), np.datetime64("NaT", "ns"), pandas.NaT):
        with pytest.raises(InputError, match="NaT"):
            days(wrong, "time")


def test_contexts_not_seen_of_any_kind():
    opt = shop(CONTEXTS, 24)
    opt.tell({"stock": 50.0}, {"weekday": None, "demand": 70.0}, profit(50, 70))
    opt.tell({"stock": 80.0}, {"weekday": "sat", "demand": None}, 300.0)
    assert opt.observations.contexts[-1] == {"weekday": "sat", "demand": None}
    assert 0 <= opt.ask(known={"weekday": "sat"}).decision["stock"] <= 160
    best = opt.recommend(known={"weekday": "sat"})
    assert best.decision["stock"] > opt.recommend(known={"weekday": "mon"}).decision["stock"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda o: o.ask(known={"weekday": "satt"}), "Did you mean 'sat'"),
        (lambda o: o.ask(known={"wekday": "sat"}), "Did you mean 'weekday'"),
        (lambda o: o.ask(known={"demand": -1.0}), "outside its bounds"),
        (lambda o: o.ask(known="sat"), "dictionary"),
        (lambda o: o.ask(forecast={"demnd": (80, 15)}), "Did you mean 'demand'"),
        (lambda o: o.ask(forecast={"demand": (math.nan, 15)}), "finite"),
        (lambda o: o.ask(forecast={"demand": (-80, 15)}), "lies outside its bounds"),
        (lambda o: o.ask(known={"demand": 80.0}, forecast={"demand": (80, 15)}), "known and forecast"),
        (lambda o: o.recommend(for_each="demand"), "too many values"),
        (lambda o: o.recommend(for_each="weekday", known="sat"), "dictionary"),
        (lambda o: o.recommend(for_each="weekday", known={"weekday": "sat"}), "choose one"),
        (lambda o: o.recommend(for_each="weekday", forecast={"weekday": "sat"}), "choose one"),
        (lambda o: o.recommend(for_each="day"), "there is no context 'day'"),
        (lambda o: o.predict({"stock": 5}, known={"weekday": 3}), "not one of"),
        (lambda o: o.tell({"stock": 5.0}, {"weekday": "sat", "demand": math.nan}, 1.0), "tell None"),
        (lambda o: o.tell({"stock": 5.0}, {"weekday": "sun", "demand": 5.0}, 1.0), "not one of"),
        (
            lambda o: o.tell({"stock": 5.0}, {"weekday": "sat", "demand": 5.0}, 1.0, forecast={"demand": []}),
            "empty",
        ),
    ],
)
def test_wrong_conditions_are_refused_and_nothing_is_changed(call, words):
    opt = shop(CONTEXTS, 6)
    before = opt.to_dict()
    with pytest.raises(InputError, match=words):
        call(opt)
    assert opt.to_dict() == before


@pytest.mark.parametrize("forget", [0, "0 days", -3, "often"])
def test_wrong_half_lives_are_refused(forget):
    with pytest.raises(ConfigurationError, match="half-life"):
        Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, forget=forget)


@pytest.mark.parametrize("method", ["auto", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "wdrbo", "stableopt"])
def test_a_known_context_far_beyond_all_seen_has_an_answer(method):
    contexts = {"heat": Real(), "demand": Real()}
    opt = Optimizer({"x": Real(0, 1)}, contexts, method=method, seed=1, initial=2, **QUICK)
    for i in range(6):
        opt.tell({"x": i / 6}, {"heat": float(i), "demand": float(i % 3)}, float(i))
    for known in ({"heat": 1e30}, {"heat": 1e12, "demand": -1e12}):
        assert 0 <= opt.ask(known=known).decision["x"] <= 1
        assert math.isfinite(opt.recommend(known=known).expected)


def test_densities_of_choices_and_whole_numbers_are_probabilities():
    contexts = {"weekday": Categorical(DAYS), "cars": Integer(0, 3), "demand": Real(0, 200)}
    opt = Optimizer({"x": Real(0, 1)}, contexts, seed=1, forget=None)
    for i in range(24):
        opt.tell({"x": 0.5}, {"weekday": DAYS[i % 2], "cars": i % 3, "demand": 50.0 + i}, float(i))
    weekday, cars = (opt.density.marginal(name) for name in ("weekday", "cars"))
    assert sum(weekday.pdf(DAYS)) == pytest.approx(1)
    assert weekday.pdf("mon") > 5 * weekday.pdf("sat")
    assert sum(cars.pdf([0, 1, 2, 3])) == pytest.approx(1)
    assert set(opt.density.sample(50)[:, 0]) <= set(DAYS)
    with pytest.raises(InputError, match="Did you mean 'mon'"):
        weekday.pdf("mond")
    joint = opt.density.pdf({"weekday": "mon", "cars": 0, "demand": 60.0})
    assert 0 < joint < 1


def test_the_first_decision_may_know_its_context():
    opt = shop(CONTEXTS)
    trial = opt.ask(known={"weekday": "sat"}, forecast={"demand": (100, 10)})
    opt.tell(trial, {"demand": 100.0}, 5.0)
    assert opt.ask(known={"weekday": "mon"}).known == {"weekday": "mon"}
    assert opt._configuration.given({"weekday": "sat"}, None) == Given({"weekday": "sat"}, {}) != NOTHING


def test_importance_says_what_matters():
    opt = Optimizer(
        {"x": Real(0, 1), "idle": Real(0, 1)}, {"c": Real(0, 1), "noise": Real(0, 1)}, seed=1, **QUICK
    )
    generator = np.random.default_rng(0)
    for _ in range(60):
        x, idle, c, noise = generator.random(4)
        opt.tell({"x": x, "idle": idle}, {"c": c, "noise": noise}, float(3 * x + c))
    found = opt.importance()
    assert list(found) == ["x", "idle", "c", "noise"]
    assert found["x"].alone == pytest.approx(0.9, abs=0.05)
    assert found["c"].alone == pytest.approx(0.1, abs=0.05)
    assert found["idle"].total < 0.03
    assert found["noise"].total < 0.03


def test_importance_of_an_interaction_is_in_the_total():
    opt = Optimizer({"x": Real(0, 1)}, {"c": Categorical(["down", "up"])}, seed=1, **QUICK)
    generator = np.random.default_rng(0)
    for i in range(60):
        x = float(generator.random())
        opt.tell({"x": x}, {"c": "up" if i % 2 else "down"}, (x - 0.5) * (1 if i % 2 else -1))
    found = opt.importance()
    assert found["x"].alone < 0.1
    assert found["x"].total > 0.9
    assert found["c"].total > 0.9


def test_an_acquisition_of_known_contexts_has_the_right_gradient():
    opt, state = contextual({"day": "a"}, members=4)
    acquisition = opt._acquisition(state)
    x = np.random.default_rng(1).random((6, 2))
    value, gradient = acquisition.value_and_gradient(x)
    for d in range(2):
        step = np.zeros(2)
        step[d] = 1e-6
        numeric = (acquisition.value(x + step) - acquisition.value(x - step)) / 2e-6
        np.testing.assert_allclose(gradient[:, d], numeric, rtol=1e-4, atol=1e-6)
    assert maximize(acquisition, state.data.decisions.blocks, 64, 4, 0, x).value >= value.max() - 1e-9
