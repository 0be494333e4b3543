"""A year of use: two thousand trials in one study. Slow, because such a study must first be written."""

import random
import resource
import subprocess
import sys
import time

import optuna
import pytest

from shops import run
from windage.studies import reading
from windage.studies.axes import Axes
from windage.studies.file import load
from windage.studies.sampler import attributes_of
from windage.studies.store import StudyStore

pytestmark = pytest.mark.slow
LIBRARIES = "import optuna, sqlalchemy.orm, typer.main, rich.table"
"""What status and tell cannot do without: the measure of a machine's speed."""


@pytest.fixture(scope="module")
def year(tmp_path_factory):
    folder = tmp_path_factory.mktemp("year")
    assert run("init", str(folder / "shop.toml")).exit_code == 0
    luck = random.Random(3)
    rows = ["stock,demand,value"]
    for _ in range(2000):
        stock, demand = luck.uniform(0, 40), luck.gammavariate(5, 3)
        rows.append(f"{stock},{demand},{2 * min(stock, demand) - stock}")
    (folder / "past.csv").write_text("\n".join(rows))
    assert run("tell", str(folder / "shop.toml"), "--csv", str(folder / "past.csv")).exit_code == 0
    return folder


def processor_seconds(commands, folder):
    """The cheapest of the commands: other work on the machine makes a command dearer, never cheaper."""
    times = []
    for command in commands:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_status_and_tell_cost_little_more_than_starting(year):
    windage = [sys.executable, "-m", "windage.cli"]
    bar = 4 * processor_seconds([[sys.executable, "-c", LIBRARIES]] * 5, year)  # about 2.1 times
    assert processor_seconds([[*windage, "status", "shop.toml"]] * 5, year) < bar
    store = StudyStore.open(load(year / "shop.toml"))
    numbers = [store.study.ask(dict(store.file.space)).number for _ in range(5)]
    told = [[*windage, "tell", "shop.toml", str(n), "--value", "3", "--context", "demand=4"] for n in numbers]
    assert processor_seconds(told, year) < bar


def test_an_odd_value_and_a_prediction_are_quick_too(year):
    """Of two thousand rows, beside what the libraries take to start."""
    windage = [sys.executable, "-m", "windage.cli"]
    libraries = processor_seconds([[sys.executable, "-c", LIBRARIES]] * 5, year)
    odd = ["tell", "shop.toml", "--decision", "stock=9", "--value", "900", "--context", "demand=9", "--json"]
    script = f"import subprocess, sys; sys.exit(subprocess.run({[*windage, *odd]!r}).returncode != 2)"
    assert processor_seconds([[sys.executable, "-c", script]] * 3, year) < 5 * libraries
    assert processor_seconds([[*windage, "predict", "shop.toml", "stock=9"]] * 3, year) < 8 * libraries


def test_an_ask_adds_little_to_the_engine(year):
    store = StudyStore.open(load(year / "shop.toml"))
    store.ask()
    axes, alone, whole = Axes.of(store.file.space), [], []
    for _ in range(5):
        trials, sampler = reading.trials(store.study), store.sampler()
        known = sampler.known(trials, axes, attributes_of(store.study))
        engine = sampler.optimizer(axes, "maximize", known, len(trials))
        start = time.process_time()
        engine.ask()
        middle = time.process_time()
        store.ask()
        alone.append(middle - start)
        whole.append(time.process_time() - middle)
    assert min(whole) < 1.4 * min(alone)  # the quickest of each: what else the machine does is not ours


def test_trials_are_read_faster_than_optuna_reads_them(year):
    def first_reading(read):
        times = []
        for _ in range(3):
            store = StudyStore.open(load(year / "shop.toml"))
            start = time.process_time()
            assert len(read(store.study)) >= 2000
            times.append(time.process_time() - start)
        return min(times)

    assert 2 * first_reading(reading.trials) < first_reading(optuna.Study.get_trials)
