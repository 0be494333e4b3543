"""The Optuna sampler: Optuna's own conformance suites, and what is ours."""

import math
import warnings

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState

import windage
from windage.studies import ContextSampler, reading, recommend, records, report_context
from windage.studies.axes import Axes
from windage.studies.sampler import WindageWarning

QUICK = {"raw_samples": 32, "restarts": 2, "initial": 3}
SPACE = {"stock": FloatDistribution(0, 40)}
DEMAND = {"demand": windage.Real(0, 40)}


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


class TestWithoutContexts(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """Optuna's suites know no contexts: with gp-ucb none are needed."""

    @pytest.fixture
    def sampler(self):
        return lambda: ContextSampler(method="gp-ucb", seed=0, **QUICK)


@pytest.mark.filterwarnings("ignore::windage.studies.sampler.WindageWarning")
class TestWithContextsThatNobodyReports(
    BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase
):
    """Trials without a context are left out, and the study goes on."""

    @pytest.fixture
    def sampler(self):
        return lambda: ContextSampler(DEMAND, seed=0, **QUICK)


def profit(stock, demand):
    return 5 * min(stock, demand) - 3 * stock


def play(study, trials, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        trial = study.ask()
        stock = trial.suggest_float("stock", 0, 40)
        demand = float(np.clip(rng.gamma(4, 4), 0, 40))
        report_context(trial, demand=demand)
        study.tell(trial, profit(stock, demand))


def sampler(**changes):
    return ContextSampler(DEMAND, SPACE, **{"seed": 1, **QUICK, **changes})


def test_the_first_decisions_are_the_optimizers_own():
    study = optuna.create_study(direction="maximize", sampler=sampler())
    play(study, 6)
    optimizer = windage.Optimizer({"stock": windage.Real(0, 40)}, DEMAND, seed=1, **QUICK)
    for frozen in study.trials:
        trial = optimizer.ask()
        assert trial.decision["stock"] == pytest.approx(frozen.params["stock"], abs=1e-9)
        optimizer.tell(trial, context=frozen.user_attrs["context"], value=frozen.value)
    mine, theirs = recommend(study), optimizer.recommend()
    assert mine.decision["stock"] == pytest.approx(theirs.decision["stock"], abs=1e-6)
    assert mine.expected == pytest.approx(theirs.expected, rel=1e-6)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_it_finds_a_good_decision_in_both_directions(direction):
    study = optuna.create_study(direction=direction, sampler=ContextSampler(DEMAND, SPACE, seed=0, initial=5))
    sign = 1 if direction == "maximize" else -1
    rng = np.random.default_rng(0)
    for _ in range(20):
        trial = study.ask()
        demand = float(np.clip(rng.gamma(4, 4), 0, 40))
        report_context(trial, demand=demand)
        study.tell(trial, sign * profit(trial.suggest_float("stock", 0, 40), demand))
    demands = np.clip(np.random.default_rng(1).gamma(4, 4, 4000), 0, 40)
    grid = np.linspace(0, 40, 81)
    truth = [float(np.mean(5 * np.minimum(x, demands) - 3 * x)) for x in grid]
    chosen = float(np.interp(recommend(study).decision["stock"], grid, truth))
    assert chosen > 0.85 * max(truth)


def test_a_trial_without_a_context_is_left_out_with_one_warning():
    study = optuna.create_study(direction="maximize", sampler=sampler())
    trial = study.ask()
    study.tell(trial, trial.suggest_float("stock", 0, 40))
    with pytest.warns(WindageWarning, match=r"trial 0 has no context.*report_context\(trial, demand"):
        study.ask().suggest_float("stock", 0, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.ask().suggest_float("stock", 0, 40)


@pytest.mark.parametrize("context", [{"demand": 99.0}, {"demnd": 3.0}, {}, "much", {"demand": "x"}])
def test_a_wrong_context_is_left_out_and_says_why(context):
    study = optuna.create_study(sampler=sampler())
    trial = study.ask()
    trial.suggest_float("stock", 0, 40)
    trial.set_user_attr("context", context)
    study.tell(trial, 1.0)
    with pytest.warns(WindageWarning, match="trial 0"):
        study.ask().suggest_float("stock", 0, 40)


def test_failed_pruned_and_infinite_trials_do_not_count():
    study = optuna.create_study(sampler=sampler())
    for state, value in ((TrialState.FAIL, None), (TrialState.PRUNED, None), (None, math.inf)):
        trial = study.ask()
        trial.suggest_float("stock", 0, 40)
        report_context(trial, demand=3)
        study.tell(trial, value, state=state)
    with pytest.warns(WindageWarning, match="not finite"):
        study.ask().suggest_float("stock", 0, 40)
    axes = Axes.of(SPACE)
    known = study.sampler.known(study.trials, axes, {})
    assert known.observations == []
    assert [row["number"] for row in known.pending] == [3]


def test_running_trials_are_pending_and_decisions_differ():
    study = optuna.create_study(direction="maximize", sampler=sampler())
    play(study, 6)
    asked = [study.ask().suggest_float("stock", 0, 40) for _ in range(4)]
    assert len({round(x, 2) for x in asked}) == 4


def test_a_lapsed_trial_is_no_longer_pending_and_may_still_be_told():
    study = optuna.create_study(direction="maximize", sampler=sampler(lease=1e-6))
    late = study.ask()
    late.suggest_float("stock", 0, 40)
    other = study.ask()
    other.suggest_float("stock", 0, 40)
    axes = Axes.of(SPACE)
    assert study.sampler.known(study.trials, axes, {}).pending == []
    records.renew(study._storage, late._trial_id, 3600)
    assert [row["number"] for row in study.sampler.known(study.trials, axes, {}).pending] == [0]
    report_context(other, demand=3)
    study.tell(other, 1.0)
    assert len(study.sampler.known(study.trials, axes, {}).observations) == 1


def test_a_study_on_sqlite_is_continued_by_another_sampler(tmp_path):
    storage = f"sqlite:///{tmp_path / 'shop.db'}"
    theirs = optuna.samplers.RandomSampler(seed=3)  # unseeded, some starts lead to the same decision thrice
    study = optuna.create_study(storage=storage, study_name="shop", direction="maximize", sampler=theirs)
    play(study, 5)
    again = optuna.load_study(storage=storage, study_name="shop", sampler=sampler())
    play(again, 3, seed=1)
    straight = [t.params["stock"] for t in again.trials[5:]]
    assert len(set(straight)) == 3
    known = again.sampler.known(again.trials, Axes.of(SPACE), {})
    assert len(known.observations) == 8
    assert (
        again._storage.get_study_system_attrs(again._study_id)[records.FIT]["fits"]["joint matern"]["count"]
        >= 5
    )  # the fit is kept for the next worker
    third = optuna.load_study(storage=storage, study_name="shop", sampler=sampler())
    assert recommend(third).decision == recommend(again).decision


def test_two_samplers_on_one_study_continue_alike(tmp_path):
    """What is known is in the study: a sampler made anew for each trial asks the same."""
    found = []
    for renewed in (False, True):
        storage = f"sqlite:///{tmp_path / f'{renewed}.db'}"
        study = optuna.create_study(storage=storage, direction="maximize", sampler=sampler())
        rng = np.random.default_rng(0)
        for _ in range(7):
            if renewed:
                study = optuna.load_study(storage=storage, study_name=study.study_name, sampler=sampler())
            trial = study.ask()
            demand = float(rng.uniform(0, 40))
            report_context(trial, demand=demand)
            study.tell(trial, profit(trial.suggest_float("stock", 0, 40), demand))
        found.append([t.params["stock"] for t in study.trials])
    assert found[0] == found[1]


def test_the_space_changed_and_the_old_fit_no_longer_fits():
    study = optuna.create_study(direction="maximize", sampler=sampler())
    play(study, 6)
    study.sampler = ContextSampler(DEMAND, {**SPACE, "price": FloatDistribution(1, 2)}, seed=1, **QUICK)
    trial = study.ask()
    with pytest.warns(WindageWarning, match=r"no decision of this search space: .*and 5 more"):
        assert 1 <= trial.suggest_float("price", 1, 2) <= 2


LOW, COUNT = st.integers(-9, 9), st.integers(0, 9)
CHOICES = st.lists(st.sampled_from([1, 2.5, "a", "b", True, None]), min_size=1, max_size=4, unique_by=repr)
DISTRIBUTIONS = st.one_of(
    st.builds(lambda a, w: FloatDistribution(a, a + w), st.floats(-50, 50), st.floats(0.1, 50)),
    st.builds(
        lambda a, n, s: FloatDistribution(a, round(a + n * s, 9), step=s),
        LOW,
        COUNT,
        st.sampled_from([0.1, 3]),
    ),
    st.builds(lambda a, n, s: IntDistribution(a, a + n * s, step=s), LOW, COUNT, st.integers(1, 4)),
    st.builds(lambda a, n: IntDistribution(a, a + n, log=True), st.integers(1, 9), st.integers(0, 90)),
    st.builds(CategoricalDistribution, CHOICES),
)


@given(st.dictionaries(st.sampled_from("abcd"), DISTRIBUTIONS, min_size=1), st.integers(0, 99))
def test_decisions_there_and_back(space, seed):
    axes = Axes.of(space)
    params = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed)).ask(space).params
    assert axes.holds(params)
    again = axes.to_optuna(axes.to_windage(params))
    for name, distribution in space.items():
        there, back = (distribution.to_internal_repr(p[name]) for p in (params, again))
        assert there == pytest.approx(back, abs=1e-9)
    if axes.decisions:
        opt = windage.Optimizer(axes.decisions, method="gp-ucb", seed=seed)
        assert axes.holds(axes.to_optuna(opt.ask().decision))


def test_wrong_descriptions_are_refused_at_once():
    with pytest.raises(windage.ConfigurationError, match="needs at least one context"):
        ContextSampler()
    with pytest.raises(windage.ConfigurationError, match="unknown method"):
        ContextSampler(DEMAND, method="sbo")
    with pytest.raises(windage.ConfigurationError, match="stock"):
        ContextSampler({"stock": windage.Real()}, SPACE)
    study = optuna.create_study()
    with pytest.raises(windage.ConfigurationError, match="ContextSampler"):
        recommend(study)
    study.sampler = sampler()
    with pytest.raises(windage.NotEnoughDataError):
        recommend(study)
    with pytest.raises(windage.InputError, match="demand=3"):
        report_context(study.ask())
    with pytest.raises(windage.InputError, match="finite"):
        report_context(study.ask(), demand=math.nan)


@pytest.mark.parametrize("states", [None, (TrialState.COMPLETE, TrialState.RUNNING)])
@pytest.mark.parametrize("url", [None, "sqlite:///{}/study.db"])
def test_trials_are_read_as_optuna_reads_them(tmp_path, url, states):
    where = {"storage": url.format(tmp_path)} if url else {}
    study = optuna.create_study(**where)
    others = optuna.create_study(**where)
    kinds = {
        "a": FloatDistribution(0.1, 3, log=True),
        "b": IntDistribution(0, 8, step=2),
        "c": CategoricalDistribution(("x", None, 2)),
    }
    for i in range(12):
        others.add_trial(optuna.create_trial(value=1.0))
        trial = study.ask(kinds if i != 3 else None)
        trial.set_user_attr("context", {"demand": i / 3})
        trial.storage.set_trial_system_attr(trial._trial_id, "windage:decision", {"params": {}, "until": i})
        if i < 5:
            study.tell(trial, i / 7)
        elif i < 8:
            study.tell(trial, state=(TrialState.FAIL, TrialState.PRUNED)[i % 2])
        elif i == 8:
            study.tell(trial, math.inf)
    for a, b in ((9, 10), (11, 12)):
        assert reading.trials(study, states) == study.get_trials(states=states)
        study.tell(a, 3.5)
        study.tell(b, state=TrialState.FAIL)
        study.ask(kinds)
    assert reading.trials(study, states) == study.get_trials(states=states)
    assert reading.trial(study, 3) == study.trials[3]
    assert reading.trial(study, 14) is None
