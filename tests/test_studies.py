"""The study file and the commands on it, as a person without Python uses them."""

import csv
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import optuna
import pytest

import windage
from shops import ask, fault, run
from windage.studies import reading, records, summary
from windage.studies.book import Book
from windage.studies.file import figure, load, without_password
from windage.studies.summary import bars


def test_ten_rounds_from_an_empty_folder(shop):
    shown = run("ask", "shop.toml")
    assert "Decision 0" in shown.stdout
    assert "kg   (what is bought in the morning)" in shown.stdout
    assert "windage tell shop.toml 0 --value ... --context demand=..." in shown.stdout
    for index in range(12):
        asked = {"number": 0} if index == 0 else ask(shop)
        assert asked["number"] == index
        told = run("tell", "shop.toml", str(index), "--value", str(index), "--context", f"demand={index + 3}")
        assert f"Decision {index} is told: {index} EUR." in told.stdout
    best = run("recommend", "shop.toml")
    assert "stock = " in best.stdout
    assert "EUR on average, 95 % between" in best.stdout
    parsed = json.loads(run("recommend", "shop.toml", "--json").stdout)
    assert set(parsed) >= {"decision", "expected", "interval", "worst_case"}
    shown = run("status", "shop.toml").stdout
    for words in (
        "12 told, 0 under way, 0 failed",
        "stock [kg]",
        "value [EUR]",
        "Estimated law of demand",
        "%",
    ):
        assert words in shown
    assert run("export", "shop.toml", "--csv", "out.csv").exit_code == 0
    with open("out.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [float(row["demand"]) for row in rows] == [i + 3.0 for i in range(12)]
    assert run("export", "shop.toml", "--parquet", "out.parquet").exit_code == 0
    import pyarrow.parquet

    assert pyarrow.parquet.read_table("out.parquet").num_rows == 12


def test_what_is_exported_can_be_told_again(shop, tmp_path):
    for index in range(3):
        ask(shop)
        run("tell", "shop.toml", str(index), "--value", "1.5", "--context", "demand=2")
    run("export", "shop.toml", "--csv", "out.csv")
    other = tmp_path / "other.toml"
    other.write_text(shop.read_text().replace("shop.db", "other.db"))
    assert "3 rows are added" in run("tell", "other.toml", "--csv", "out.csv").stdout
    assert [e.decision for e in Book.open(load(other)).entries()] == [
        e.decision for e in Book.open(load(shop)).entries()
    ]


def test_the_same_trial_told_twice_is_refused(shop):
    ask(shop)
    run("tell", "shop.toml", "0", "--value", "1.5", "--context", "demand=2")
    message = fault("tell", "shop.toml", "0", "--value", "9", "--context", "demand=3")
    assert "decision 0 was told already" in message
    assert "1.5 EUR, demand 2" in message
    entry = Book.open(load(shop)).entries()[0]
    assert (entry.value, entry.context) == (1.5, {"demand": 2.0})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tell", "shop.toml"), "say which decision"),
        (("tell", "shop.toml", "0", "--csv", "x.csv"), "say which decision"),
        (("tell", "shop.toml", "7", "--value", "1", "--context", "demand=2"), "no decision 7"),
        (("tell", "shop.toml", "0", "--context", "demand=2"), "value is missing"),
        (("tell", "shop.toml", "0", "--value", "nan", "--context", "demand=2"), "finite"),
        (("tell", "shop.toml", "0", "--value", "1"), "'demand'"),
        (("tell", "shop.toml", "0", "--value", "1", "--context", "demnd=2"), "Did you mean 'demand'"),
        (("tell", "shop.toml", "0", "--value", "1", "--context", "demand"), "NAME=NUMBER"),
        (("tell", "shop.toml", "0", "--value", "1", "--context", "demand=much"), "no number"),
        (("tell", "shop.toml", "0", "--value", "1", "--context", "demand=-3"), "outside its bounds"),
        (("tell", "shop.toml", "0", "--value", "1", *2 * ("--context", "demand=1")), "twice"),
        (("tell", "shop.toml", "--decision", "stock=99", "--value", "1", "--context", "demand=1"), "0 to 40"),
        (("tell", "shop.toml", "--decision", "stok=9", "--value", "1", "--context", "demand=1"), "stock"),
        (("tell", "shop.toml", "--csv", "none.csv"), "cannot be read"),
        (("ask", "none.toml"), "windage init none.toml"),
        (("init", "shop.toml"), "--force"),
        (("init", "no/shop.toml"), "no folder"),
        (("export", "shop.toml"), "say where"),
        (("export", "shop.toml", "--csv", "no/out.csv"), "no folder"),
        (("recommend", "shop.toml"), "at least 1 observation"),
        (("renew", "shop.toml", "5"), "no decision 5"),
    ],
)  # fmt: skip
def test_faults_are_one_line_and_change_nothing(shop, arguments, words):
    ask(shop)
    assert words in fault(*arguments)
    book = Book.open(load(shop))
    assert book.entries() == []
    assert [p.number for p in book.state().pending] == [0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('direction = "maximize"', 'direction = "up"', "direction"),
        ('direction = "maximize"', 'diretion = "maximize"', "Did you mean 'direction'"),
        ("high = 40", "hihg = 40", "Did you mean 'high'"),
        ("high = 40", "", "[decisions.stock]: high is missing"),
        ("high = 40", "high = -1", "[decisions.stock]"),
        ("high = 40", "high = [", "is not right"),
        ("[decisions.stock]", "[decision.stock]", "decisions"),
        ('method = "auto"', 'method = "sbo"', "unknown method"),
        ('"sqlite:///shop.db"', '"shop.db"', "URL"),
        ("lease_days = 7", "lease_days = 0", "lease_days"),
        ("samples = 16", "smaples = 16", "Did you mean 'samples'"),
        ("[contexts.demand]", "[contexts.stock]", "stock"),
        ("[contexts.demand]", "[contexts.value]", "another"),
    ],
)
def test_a_wrong_study_file_says_what_to_do(shop, old, new, words):
    text = shop.read_text()
    assert old in text
    shop.write_text(text.replace(old, new, 1))
    assert words in fault("ask", "shop.toml")


def test_all_kinds_of_decisions(shop):
    kinds = """
[decisions.size]
low = 1
high = 64
integer = true
log = true
[decisions.dose]
low = 0
high = 1
step = 0.25
[decisions.paint]
choices = ["red", "blue", 3]
"""
    shop.write_text(shop.read_text().replace("# What you meet", kinds + "# What you meet"))
    for index in range(13):
        decision = ask(shop)["decision"]
        assert decision["paint"] in ("red", "blue", 3)
        assert decision["dose"] in (0, 0.25, 0.5, 0.75, 1)
        assert isinstance(decision["size"], int)
        run("tell", "shop.toml", str(index), "--value", str(decision["size"]), "--context", "demand=2")
    own = ["--decision", "paint=3", "--decision", "dose=0.5", "--decision", "size=8", "--decision", "stock=1"]
    assert run("tell", "shop.toml", *own, "--value", "2", "--context", "demand=1").exit_code == 0
    assert Book.open(load(shop)).entries()[-1].decision["paint"] == 3
    assert json.loads(run("recommend", "shop.toml", "--json").stdout)["decision"]["size"] > 1
    wrong = [*own[:3], "dose=0.3", *own[4:]]
    assert "steps of 0.25" in fault("tell", "shop.toml", *wrong, "--value", "2", "--context", "demand=1")


def test_a_table_is_taken_whole_or_not_at_all(shop, tmp_path):
    rows = ["stock;demand;value;note", "10;8;3.5;", "", "12;;4;", "99;8;x;", "20;30;5.5;fine"]
    (tmp_path / "history.csv").write_text("\n".join(rows))
    message = fault("tell", "shop.toml", "--csv", "history.csv")
    assert "nothing was taken" in message
    assert "line 4" in message
    assert "line 5" in message
    assert "line 2" not in message
    assert Book.open(load(shop)).entries() == []
    good = [rows[0], rows[1], rows[5]]
    (tmp_path / "history.csv").write_text("\n".join(good))
    assert "2 rows are added" in run("tell", "shop.toml", "--csv", "history.csv").stdout
    assert "0 rows are added from history.csv (2 were there already)" in (
        run("tell", "shop.toml", "--csv", "history.csv").stdout
    )
    (tmp_path / "history.csv").write_text("stock,value\n1,2\n")
    assert "no column 'demand'" in fault("tell", "shop.toml", "--csv", "history.csv")


def test_a_decision_that_was_never_told_lapses_and_can_be_told_late(shop):
    ask(shop)
    assert "less than a minute ago" in run("status", "shop.toml").stdout
    book = Book.open(load(shop))
    book.renew(0, 1e-9)
    assert "no longer counted" in run("status", "shop.toml").stdout
    assert json.loads(run("status", "shop.toml", "--json").stdout)["pending"][0]["counts"] is False
    assert run("renew", "shop.toml", "0", "--days", "2").exit_code == 0
    assert json.loads(run("status", "shop.toml", "--json").stdout)["pending"][0]["counts"] is True
    book.renew(0, 1e-9)
    assert (
        "Decision 0 is told" in run("tell", "shop.toml", "0", "--value", "1", "--context", "demand=2").stdout
    )


def test_a_failed_decision_is_refused_afterwards(shop):
    ask(shop)
    assert run("tell", "shop.toml", "0", "--failed", "the oven broke").exit_code == 0
    assert "0 told, 0 under way, 1 failed" in run("status", "shop.toml").stdout
    assert "--decision" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=2")


def test_another_direction_is_refused(shop):
    ask(shop)
    shop.write_text(shop.read_text().replace('"maximize"', '"minimize"', 1))
    assert "was begun with direction" in fault("status", "shop.toml")


def test_two_tellers_at_one_moment(shop):
    ask(shop)
    outcomes = []

    def teller(value):
        try:
            Book.open(load(shop)).tell(0, {"demand": value}, value)
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
    entry = Book.open(load(shop)).entries()[0]
    assert (entry.value, entry.context["demand"]) == (winners[0], winners[0])


def test_asks_from_several_processes_at_once_differ(shop):
    for index in range(4):
        ask(shop)
        run("tell", "shop.toml", str(index), "--value", "1.5", "--context", f"demand={index}")
    shop.write_text(shop.read_text() + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "windage.cli", "ask", "shop.toml", "--json"]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    asked = [json.loads(worker.communicate()[0]) for worker in workers]
    assert sorted(a["number"] for a in asked) == [4, 5, 6]
    assert len({a["decision"]["stock"] for a in asked}) == 3


@pytest.mark.parametrize("command", ["status shop.toml", "tell shop.toml 0 --value 1 --context demand=2"])
def test_looking_and_telling_import_no_torch(shop, command):
    ask(shop)
    code = (
        f"import sys; sys.argv = ['windage', *{command.split()!r}]\n"
        "from windage.cli import app\n"
        "try: app()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print('torch' in sys.modules, 'scipy' in sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.split()[-2:] == ["False", "False"]


def test_a_storage_that_cannot_be_reached_is_one_line_without_its_password(shop, monkeypatch):
    monkeypatch.setenv("WINDAGE_STORAGE", "postgresql+psycopg://me:s3cr%21t@127.0.0.1:1/none")
    message = fault("status", "shop.toml")
    assert "storage failed" in message
    assert "s3cr" not in message
    shown = "".join(map(str, run("status", "shop.toml").exc_info))
    assert "s3cr" not in shown
    assert without_password("pw s3cr!t, s3cr%21t", "postgresql://me:s3cr%21t@h/d") == "pw ***, ***"


def test_a_file_that_is_no_database(shop):
    Path("shop.db").write_text("hello")
    assert "storage failed" in fault("status", "shop.toml")


def test_bars_of_a_law():
    lines = bars([1.0, 2.0, 2.5, 9.0], windage.Real(0, 10), 1)
    assert len(lines) == 10
    assert sum(int(line.split()[-2]) for line in lines) == pytest.approx(100, abs=4)
    assert bars([3.0, 3.0], windage.Real(), 1) == ["3: seen 2 times"]
    assert len(bars([1.0, 10.0, 1000.0], windage.Real(0.1, log=True), 2)) == 10


def test_ages():
    assert [summary.age(s) for s in (3, 65, 7300, 86400 * 3)] == [
        "less than a minute", "1 minute", "2 hours", "3 days",
    ]  # fmt: skip


def test_the_environment_names_the_storage(shop, tmp_path, monkeypatch):
    monkeypatch.setenv("WINDAGE_STORAGE", f"sqlite:///{tmp_path / 'elsewhere.db'}")
    ask(shop)
    assert (tmp_path / "elsewhere.db").exists()
    assert not (tmp_path / "shop.db").exists()
    assert os.environ["WINDAGE_STORAGE"] not in shop.read_text()


def test_the_records_of_an_ask(shop):
    ask(shop)
    trial = optuna.load_study(study_name="shop", storage="sqlite:///shop.db").trials[0]
    assert records.published(trial) == trial.params
    assert 6.9 * 86400 < records.lapses(trial) - trial.datetime_start.timestamp() < 7.1 * 86400


def test_an_interrupted_ask_leaves_nothing_under_way(shop, monkeypatch):
    book = Book.open(load(shop))
    sampler = book.sampler()
    book.study.sampler = sampler

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sampler, "sample_relative", interrupt)
    with pytest.raises(KeyboardInterrupt):
        book.ask()
    assert [t.state.name for t in book.trials()] == ["FAIL"]


def test_an_ask_that_was_killed_expires_and_cannot_be_told(shop):
    book = Book.open(load(shop))
    trial = book.study.ask()  # and dead before it chose
    (pending,) = book.state().pending
    assert (pending.decision, pending.counts) == ({}, False)
    assert "its ask was cut off" in run("status", "shop.toml").stdout
    assert "cut off" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=3")
    assert records.lapses(book.trials()[0], 60) == pytest.approx(
        book.trials()[0].datetime_start.timestamp() + 60
    )
    assert records.has_lapsed(book.trials()[0], -1)
    assert run("tell", "shop.toml", "0", "--failed", "cut off").exit_code == 0
    assert trial.number == 0


def test_a_decision_that_was_published_counts_even_if_its_parameters_were_not_written(shop):
    book = Book.open(load(shop))
    trial = book.study.ask()
    records.publish(book.study._storage, trial._trial_id, {"stock": 12.0}, 60)  # and dead
    book.tell(0, {"demand": 9}, 5)
    assert book.entries()[0].decision == {"stock": 12.0}
    assert book.recommend().decision.keys() == {"stock"}
    assert "12" in run("status", "shop.toml").stdout


def test_a_table_that_has_grown_brings_its_new_rows_alone(shop):
    table = Path("days.csv")
    table.write_text("stock,demand,value\n5,9,5\n5,9,5\n10,12,10\n")
    assert "3 rows are added" in run("tell", "shop.toml", "--csv", "days.csv").stdout
    table.write_text(table.read_text() + "7,8,7\n")
    assert (
        "1 rows are added from days.csv (3 were there already)"
        in run("tell", "shop.toml", "--csv", "days.csv").stdout
    )
    run("export", "shop.toml", "--csv", "out.csv")
    assert (
        "0 rows are added from out.csv (4 were there" in run("tell", "shop.toml", "--csv", "out.csv").stdout
    )
    Path("other.csv").write_text("stock,demand,value\n5,9,5\n")
    assert "1 rows are added from other.csv." in run("tell", "shop.toml", "--csv", "other.csv").stdout


def test_a_table_with_decimal_commas(shop):
    Path("days.csv").write_text("stock;demand;value\n5,5;9;5\n1,25;12,5;-1\n")
    assert run("tell", "shop.toml", "--csv", "days.csv").exit_code == 0
    assert [(e.decision["stock"], e.context["demand"]) for e in Book.open(load(shop)).entries()] == [
        (5.5, 9),
        (1.25, 12.5),
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4356518.0, "4356518"),
        (1234567.5, "1234568"),
        (123456.0, "123456"),
        (3.4, "3.4"),
        (14.440612, "14.4406"),
        (0.00123456789, "0.00123457"),
        (-0.5, "-0.5"),
        (0.0, "0"),
        (1e-9, "1e-09"),
        (2e20, "2e+20"),
        (100.0, "100"),
        (7, "7"),
        ("red", "red"),
    ],
)
def test_numbers_as_people_write_them(value, shown):
    assert figure(value) == shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("tell", "shop.toml", "0", "--failed", "no", "--value", "3"),
        ("tell", "shop.toml", "0", "--failed", "no", "--context", "demand=3"),
        ("tell", "shop.toml", "--csv", "x.csv", "--value", "3"),
        ("tell", "shop.toml", "--csv", "x.csv", "--failed", "no"),
        ("tell", "shop.toml", "--decision", "stock=3", "--failed", "no"),
    ],
)
def test_options_that_do_not_belong_together(shop, arguments):
    ask("shop.toml")
    assert "do not belong together" in fault(*arguments)
    assert [t.state.name for t in Book.open(load(shop)).trials()] == ["RUNNING"]


def test_values_of_every_kind_are_exported(tmp_path, monkeypatch):
    import pyarrow.parquet

    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(
        'method = "gp-ucb"\n[decisions.colour]\nchoices = ["red", 3, true]\n[decisions.a]\nlow=0\nhigh=1\n'
    )
    assert run("export", "s.toml", "--parquet", "out.parquet").exit_code == 0  # nothing yet
    assert pyarrow.parquet.read_table("out.parquet").num_rows == 0
    for colour in ("red", "3", "True"):
        assert (
            run(
                "tell", "s.toml", "--decision", f"colour={colour}", "--decision", "a=0.5", "--value", "1"
            ).exit_code
            == 0
        )
    assert run("export", "s.toml", "--parquet", "out.parquet").exit_code == 0
    assert pyarrow.parquet.read_table("out.parquet")["colour"].to_pylist() == ["red", "3", "True"]
    assert "worst" not in run("recommend", "s.toml").stdout
    assert "cannot be written" in fault("export", "s.toml", "--csv", ".")


def test_a_study_file_that_changed(shop):
    text = shop.read_text()
    run("tell", "shop.toml", "--decision", "stock=20", "--value", "31", "--context", "demand=19")
    ask("shop.toml")
    shop.write_text(text.replace("decisions.stock", "decisions.bread"))
    shown = run("status", "shop.toml")
    assert shown.exit_code == 0, shown.exception
    assert "1 of those told do not fit" in " ".join(shown.stdout.split())
    shop.write_text(text.replace("low = 0\nhigh = 40", "low = 0\nhigh = 40\ninteger = true"))
    assert "another kind of decision" in fault("ask", "shop.toml")
    assert "another kind of decision" in fault(
        "tell", "shop.toml", "--decision", "stock=2", "--value", "31", "--context", "demand=19"
    )
    assert [t.state.name for t in Book.open(load(shop)).trials()] == ["COMPLETE", "RUNNING", "FAIL"]


@pytest.mark.parametrize(
    "context", ["much", {"demand": "x"}, {"demand": float("inf")}, [1], {"demand": True}]
)
def test_odd_contexts_of_others_leave_the_study_readable(shop, context):
    book = Book.open(load(shop))
    trial = book.study.ask(dict(book.file.space))
    trial.set_user_attr("context", context)
    book.study.tell(trial, 1.0)
    assert run("status", "shop.toml").exit_code == 0
    assert run("export", "shop.toml", "--csv", "out.csv").exit_code == 0
    assert "told already" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=3")


def test_states_of_others_in_words(shop):
    book = Book.open(load(shop))
    book.study.enqueue_trial({"stock": 3.0})
    book.study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.PRUNED))
    assert "waits for a worker" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=3")
    assert "was given up" in fault("tell", "shop.toml", "1", "--value", "1", "--context", "demand=3")
    assert "no decision" in fault("tell", "shop.toml", str(10**20), "--value", "1", "--context", "demand=3")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("seed = 5000000000", "seed must be"),
        ('storage = "mysql://me@host/db"', "driver"),
        ('storage = "postgresql+psycopg://me@host:port/db"', "URL"),
        ('storage = "nonsense://me@host/db"', "URL"),
    ],
)
def test_faults_of_the_file_in_one_line(shop, change, words):
    key = change.split(" = ")[0]
    lines = [line for line in shop.read_text().splitlines() if not line.startswith(key)]
    shop.write_text("\n".join([change, *lines]))
    assert words in fault("status", "shop.toml")


def test_choices_and_steps_that_cannot_be(shop):
    text = shop.read_text()
    shop.write_text(text.replace("low = 0\nhigh = 40", "choices = [07:00:00, 08:00:00]"))
    assert "words or numbers" in fault("ask", "shop.toml")
    shop.write_text(text.replace("low = 0\nhigh = 40", "low = 0\nhigh = 40\ninteger = true\nstep = 2.7"))
    assert "whole step" in fault("ask", "shop.toml")
    shop.write_text(f'name = "shop [/eur] [red]"\n{text}')
    assert "shop [/eur] [red]" in run("status", "shop.toml").stdout


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:geheim@host:5/db",
        "postgresql+psycopg://me@corp:geheim@host:5/db",
        "postgresql+psycopg://host/db?user=me&password=geheim",
        "postgresql+psycopg://me:geheim%40@host:5/db",
        "postgresql+psycopg://me:geheim@host:port/db",
    ],
)
def test_no_password_is_shown_however_it_is_written(url):
    shown = without_password(f"connecting to {url} failed", url)
    assert "geheim" not in shown
    assert "***" in shown


def test_a_deleted_studys_trials_are_forgotten(shop):
    book = Book.open(load(shop))
    book.add({"stock": 5}, {"demand": 3}, 1)
    assert [t.state.name for t in book.trials()] == ["COMPLETE"]
    storage = book.study._storage
    optuna.delete_study(study_name="shop", storage=storage)
    again = optuna.create_study(study_name="shop", storage=storage)
    again.ask({"stock": optuna.distributions.FloatDistribution(0, 40)})
    assert [t.state.name for t in reading.trials(again)] == ["RUNNING"]


@pytest.mark.parametrize("command", ["status", "export", "run", "dashboard", "ask"])
def test_without_optuna_every_command_says_what_to_install(shop, command):
    options = {"export": ["--csv", "x.csv"], "run": ["--command", "x"]}.get(command, [])
    script = (
        f"import sys; sys.modules['optuna'] = None; sys.argv = {['windage', command, 'shop.toml', *options]}"
    )
    found = subprocess.run(
        [sys.executable, "-c", f"{script}; from windage.cli import main; main()"],
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stdout) == (2, "")
    assert "windage[studies]" in found.stderr
    assert len(found.stderr.splitlines()) == 1
