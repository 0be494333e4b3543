"""Contexts of every kind, known beforehand and forecast, in any Optuna study."""

import optuna
import pytest
from scipy import stats

import windage
from windage.errors import InputError, WindageWarning
from windage.studies import ContextSampler, recommend, report_context, report_forecast, report_known

SPACE = {"stock": optuna.distributions.FloatDistribution(0, 160)}
CONTEXTS = {
    "day": windage.Categorical(["week", "sat"]),
    "demand": windage.Real(low=0),
    "guests": windage.Integer(0, 9),
}
QUICK = {"raw_samples": 32, "restarts": 2, "members": 4, "screen": False}


def new_study(storage=None):
    sampler = ContextSampler(CONTEXTS, SPACE, seed=7, **QUICK)
    return optuna.create_study(direction="maximize", sampler=sampler, storage=storage)


def play(study, days):
    for day in range(days):
        saturday = day % 3 == 0
        trial = study.ask()
        report_known(trial, day="sat" if saturday else "week")
        report_forecast(trial, demand=(100 if saturday else 60, 5))
        stock, demand = trial.suggest_float("stock", 0, 160), (110 if saturday else 60) + day % 4
        seen = None if day % 5 else 3
        report_context(trial, day="sat" if saturday else "week", demand=demand, guests=seen)
        study.tell(trial, 9 * min(stock, demand) - 5 * stock + max(stock - demand, 0))


def test_a_study_of_days_is_advised_by_the_day():
    study = new_study()
    play(study, 24)
    saturday, other = (recommend(study, known={"day": day}).decision["stock"] for day in ("sat", "week"))
    assert saturday > other + 25
    attributes = study.trials[0].user_attrs
    assert attributes["windage:known"] == {"day": "sat"}
    assert attributes["windage:forecast"] == {"demand": {"mean": 100.0, "deviation": 5.0}}
    assert attributes["context"] == {"day": "sat", "demand": 110.0, "guests": 3.0}


def test_another_worker_continues_to_the_last_digit(tmp_path):
    url = f"sqlite:///{tmp_path / 'days.db'}"
    one = new_study(url)
    play(one, 6)
    asked = []
    for name in (one.study_name, one.study_name):
        sampler = ContextSampler(CONTEXTS, SPACE, seed=7, **QUICK)
        study = optuna.load_study(study_name=name, storage=url, sampler=sampler)
        trial = study.ask()
        report_known(trial, day="sat")
        report_forecast(trial, demand=[100.0, 110.0, 120.0])
        asked.append(trial.suggest_float("stock", 0, 160))
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    assert all(0 <= stock <= 160 for stock in asked)


@pytest.mark.parametrize("known", [{"day": "sat"}, {"day": "sat", "demand": 70.0, "guests": 2}])
def test_what_was_known_need_not_be_reported_again(known):
    study = new_study()
    for _ in range(3):
        trial = study.ask()
        report_known(trial, **known)
        trial.suggest_float("stock", 0, 160)
        if len(known) == 1:
            report_context(trial, demand=70.0, guests=2)
        study.tell(trial, 1.0)
    assert recommend(study, known={"day": "sat"}).note.startswith("Only 3 observations")
    _, told = study.sampler.everything(study)
    assert [row["context"] for row in told.observations] == 3 * [{"day": "sat", "demand": 70.0, "guests": 2}]
    assert told.flagged == []


def test_what_was_known_but_not_met_is_not_seen():
    study = new_study()
    trial = study.ask()
    report_known(trial, day="sat")
    trial.suggest_float("stock", 0, 160)
    report_context(trial, day=None, demand=70.0, guests=2)
    study.tell(trial, 1.0)
    assert study.sampler.everything(study)[1].observations[0]["context"]["day"] is None


@pytest.mark.parametrize("given", [80, (80, 15), [70.0, 90.0], stats.norm(80, 15)])
def test_forecasts_of_every_form(given):
    study = new_study()
    play(study, 6)
    trial = study.ask()
    report_forecast(trial, demand=given)
    assert 0 <= trial.suggest_float("stock", 0, 160) <= 160
    kept = study.trials[-1].user_attrs["windage:forecast"]["demand"]
    assert kept["mean"] == pytest.approx(80)


@pytest.mark.parametrize(
    "report", [lambda trial: report_known(trial, day="sat"), lambda trial: report_forecast(trial, demand=80)]
)
def test_what_is_known_is_refused_once_the_decision_is_chosen(report):
    study = new_study()
    trial = study.ask()
    trial.suggest_float("stock", 0, 160)
    with pytest.raises(InputError, match="chosen already"):
        report(trial)
    assert set(trial.user_attrs) == set()


def test_what_is_reported_wrong_is_refused():
    trial = new_study().ask()
    for wrong in (
        lambda: report_known(trial),
        lambda: report_forecast(trial),
        lambda: report_forecast(trial, demand=float("nan")),
        lambda: report_forecast(trial, demand=(80, 0)),
        lambda: report_known(trial, demand=float("inf")),
    ):
        with pytest.raises(InputError):
            wrong()
    assert trial.user_attrs == {}


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"dya": "sat"}, "Did you mean 'day'?"),
        ({"day": "satt"}, "Did you mean 'sat'?"),
        ({"guests": 12}, "bounds"),
    ],
)
def test_what_is_known_wrongly_is_refused_where_the_decision_is_chosen(known, words):
    trial = new_study().ask()
    report_known(trial, **known)
    with pytest.raises(InputError) as fault:
        trial.suggest_float("stock", 0, 160)
    assert words in str(fault.value)


def test_a_trial_with_a_level_that_is_none_is_left_out():
    study = new_study()
    play(study, 5)
    trial = study.ask()
    trial.suggest_float("stock", 0, 160)
    report_context(trial, day="sun", demand=3, guests=1)
    study.tell(trial, 3.0)
    with pytest.warns(WindageWarning, match="trial 5 is left out: context 'day' is 'sun', not one of"):
        recommend(study)


def test_attributes_that_others_damaged_do_no_harm():
    study = new_study()
    play(study, 5)
    for name, value in (("known", [1]), ("known", {"day": [1]}), ("forecast", {"demand": {"mean": "x"}})):
        trial = study.ask()
        trial.suggest_float("stock", 0, 160)
        trial.set_user_attr(f"windage:{name}", value)
    trial = study.ask()
    assert 0 <= trial.suggest_float("stock", 0, 160) <= 160
