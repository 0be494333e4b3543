"""The study store: what is asked, told and read again, whoever wrote it."""

import threading

import optuna
import pytest

import windage
from shops import ask, fault, run
from windage.studies import reading, records
from windage.studies.file import load
from windage.studies.store import StudyStore


def test_the_records_of_an_ask(shop):
    ask(shop)
    trial = optuna.load_study(study_name="shop", storage="sqlite:///shop.db").trials[0]
    assert records.published(trial) == trial.params
    assert 6.9 * 86400 < records.lapses(trial) - trial.datetime_start.timestamp() < 7.1 * 86400


def test_an_interrupted_ask_leaves_nothing_under_way(shop, monkeypatch):
    store = StudyStore.open(load(shop))
    sampler = store.sampler()
    store.study.sampler = sampler

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sampler, "sample_relative", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.ask()
    assert [t.state.name for t in store.trials()] == ["FAIL"]


def test_an_ask_that_was_killed_expires_and_cannot_be_told(shop):
    store = StudyStore.open(load(shop))
    trial = store.study.ask()  # and dead before it chose
    (pending,) = store.state().pending
    assert (pending.decision, pending.counts) == ({}, False)
    assert "its ask was cut off" in run("status", "shop.toml").stdout
    assert "cut off" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=3")
    assert records.lapses(store.trials()[0], 60) == pytest.approx(
        store.trials()[0].datetime_start.timestamp() + 60
    )
    assert records.has_lapsed(store.trials()[0], -1)
    assert run("tell", "shop.toml", "0", "--failed", "cut off").exit_code == 0
    assert trial.number == 0


def test_a_decision_that_was_published_counts_even_if_its_parameters_were_not_written(shop):
    store = StudyStore.open(load(shop))
    trial = store.study.ask()
    records.publish(store.study._storage, trial._trial_id, {"stock": 12.0}, 60)  # and dead
    store.tell(0, {"demand": 9}, 5)
    assert store.entries()[0].decision == {"stock": 12.0}
    assert store.recommend().decision.keys() == {"stock"}
    assert "12" in run("status", "shop.toml").stdout


def test_a_deleted_studys_trials_are_forgotten(shop):
    store = StudyStore.open(load(shop))
    store.add({"stock": 5}, {"demand": 3}, 1)
    assert [t.state.name for t in store.trials()] == ["COMPLETE"]
    storage = store.study._storage
    optuna.delete_study(study_name="shop", storage=storage)
    again = optuna.create_study(study_name="shop", storage=storage)
    again.ask({"stock": optuna.distributions.FloatDistribution(0, 40)})
    assert [t.state.name for t in reading.trials(again)] == ["RUNNING"]


@pytest.mark.parametrize(
    "context", ["much", {"demand": "x"}, {"demand": float("inf")}, [1], {"demand": True}]
)
def test_odd_contexts_of_others_leave_the_study_readable(shop, context):
    store = StudyStore.open(load(shop))
    trial = store.study.ask(dict(store.file.space))
    trial.set_user_attr("context", context)
    store.study.tell(trial, 1.0)
    assert run("status", "shop.toml").exit_code == 0
    assert run("export", "shop.toml", "--csv", "out.csv").exit_code == 0
    assert "told already" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=3")


def test_states_of_others_in_words(shop):
    store = StudyStore.open(load(shop))
    store.study.enqueue_trial({"stock": 3.0})
    store.study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.PRUNED))
    assert "waits for a worker" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=3")
    assert "was given up" in fault("tell", "shop.toml", "1", "--value", "1", "--context", "demand=3")
    assert "no decision" in fault("tell", "shop.toml", str(10**20), "--value", "1", "--context", "demand=3")


def test_two_tellers_at_one_moment(shop):
    ask(shop)
    outcomes = []

    def teller(value):
        try:
            StudyStore.open(load(shop)).tell(0, {"demand": value}, value)
            outcomes.append(value)
        except windage.WindageError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=teller, args=(float(i),)) for i in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [o for o in outcomes if isinstance(o, float)]
    assert len(winners) == 1
    entry = StudyStore.open(load(shop)).entries()[0]
    assert (entry.value, entry.context["demand"]) == (winners[0], winners[0])


def test_a_study_file_that_changed(shop):
    text = shop.read_text()
    run("tell", "shop.toml", "--decision", "stock=20", "--value", "31", "--context", "demand=19")
    ask("shop.toml")
    shop.write_text(text.replace("decisions.stock", "decisions.bread"))
    shown = run("status", "shop.toml")
    assert shown.exit_code == 0, shown.exception
    assert "1 of those told does not fit" in " ".join(shown.stdout.split())
    shop.write_text(text.replace("low = 0\nhigh = 40", "low = 0\nhigh = 40\ninteger = true"))
    assert "another kind of decision variable" in fault("ask", "shop.toml")
    assert "another kind of decision variable" in fault(
        "tell", "shop.toml", "--decision", "stock=2", "--value", "31", "--context", "demand=19"
    )
    assert [t.state.name for t in StudyStore.open(load(shop)).trials()] == ["COMPLETE", "RUNNING", "FAIL"]
