"""The runner: the same streams for all, resuming after any end, faults, the cluster, plugins."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
import psutil
import pytest
import scipy
from typer.testing import CliRunner

import windage.bench
from windage import cli
from windage.bench import cluster, configuration, manifest, problems, run, runner, steps
from windage.errors import ConfigurationError, WindageError

SMALL = ["--problems", "newsvendor,branin", "--methods", "sbo-kde,gp-ucb", "--seeds", "7-8", "--budget", "14"]


class Ended(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def bench(*arguments):
    """``windage bench …`` as ``main`` runs it, in this process: a process of its own costs a second more."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["windage", "bench", *map(str, arguments)])
        patch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets it
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    return Ended(code, out.getvalue(), err.getvalue())


def command(*arguments):
    """The same for a process of its own."""
    return [sys.executable, "-m", "windage.cli", "bench", *map(str, arguments)]


def comparable(out):
    return windage.bench.load(out).drop(columns="ask_seconds")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted sweep."""
    out = tmp_path_factory.mktemp("whole") / "results"
    arguments = command("run", *SMALL, "--jobs", 2, "--out", out)
    result = subprocess.run(arguments, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return out


pytestmark = pytest.mark.xdist_group("bench")


def test_every_method_meets_the_same_decisions_and_contexts(whole):
    table = windage.bench.load(whole)
    assert list(table.columns[:4]) == ["problem", "method", "seed", "step"]
    assert list(table.columns[-4:]) == ["value", "expected", "regret", "ask_seconds"]
    assert len(table) == 2 * 2 * 2 * 14
    assert {"stock", "demand", "x1", "x2", "c1", "c2"} <= set(table.columns)
    for name in ("newsvendor", "branin"):
        problem = problems.get(name)
        for seed in (7, 8):
            part = table[(table["problem"] == name) & (table["seed"] == seed)]
            one, two = (part[part["method"] == m].reset_index(drop=True) for m in ("sbo-kde", "gp-ucb"))
            contexts, decisions = list(problem.contexts), list(problem.decisions)
            assert one[contexts].equals(two[contexts])
            assert one.loc[:2, decisions].equals(two.loc[:2, decisions])  # 14 // 4 first ones
            assert not one[decisions].equals(two[decisions])
            x, c = one[decisions].to_numpy(), one[contexts].to_numpy()
            assert np.array_equal(one["value"], problem.evaluate(x, c))
            assert one["expected"].to_numpy() == pytest.approx(problem.expected(x))
            assert one["regret"].to_numpy() == pytest.approx(problem.optimum.value - one["expected"])
            assert (one["regret"] >= 0).all()
    seeds = [table[(table["seed"] == s) & (table["problem"] == "branin")]["c1"] for s in (7, 8)]
    assert set(seeds[0]).isdisjoint(seeds[1])


def test_a_run_is_an_ordinary_study(whole):
    """What the runner did is what ask and tell do with the same seed."""
    table = windage.bench.load(whole)
    mine = table.query("problem == 'newsvendor' and method == 'sbo-kde' and seed == 8")
    problem = problems.get("newsvendor")
    optimizer = windage.Optimizer(
        problem.decisions, problem.contexts, method="sbo-kde", seed=8, budget=14, screen=False
    )
    for row in mine.itertuples():
        trial = optimizer.ask()
        assert trial.decision == {"stock": row.stock}
        optimizer.tell(trial, context={"demand": row.demand}, value=row.value)


def test_the_manifest_says_what_was_run_by_what(whole):
    kept = json.loads((whole / "manifest.json").read_text())
    assert kept["configuration"]["budget"] == 14
    assert kept["made_by"]["version"] == windage.__version__
    machine = kept["made_by"]["machine"]
    assert machine["cores"] == os.cpu_count()
    assert (machine["numpy"], machine["scipy"]) == (np.__version__, scipy.__version__)
    assert "torch" not in machine
    assert len(kept["runs"]) == 8
    assert all(0 < entry["seconds_per_ask"] < 60 for entry in kept["runs"])
    assert not list(whole.rglob("*.jsonl"))
    assert not [p for p in whole.rglob("*") if p.suffix in (".lock", ".part")]


@pytest.mark.parametrize("kills", [(20,), pytest.param((5, 40, 75), marks=pytest.mark.slow)])
def test_killed_again_and_again_it_equals_the_uninterrupted_one(whole, tmp_path, kills):
    out = tmp_path / "results"
    for wanted in kills:
        process = subprocess.Popen(
            command("run", *SMALL, "--jobs", 2, "--out", out), stderr=subprocess.DEVNULL
        )
        while stored(out) < wanted:
            assert process.poll() is None
            time.sleep(0.02)
        workers = children(process.pid)
        assert len(workers) >= 2
        process.kill()
        process.wait()
        ended(workers)
    assert stored(out) < 8 * 14
    result = bench("run", *SMALL, "--jobs", 1, "--out", out)
    assert result.returncode == 0, result.stderr
    assert comparable(out).equals(comparable(whole))


def children(pid):
    return [child for child in psutil.Process(pid).children() if "popen_loky" in " ".join(child.cmdline())]


def ended(workers):
    """No worker outlives its command."""
    deadline = time.monotonic() + 60
    while any(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers):
        assert time.monotonic() < deadline, "a worker goes on without its command"
        time.sleep(0.1)


IDLE = """
import os, time
from windage.bench import runner
pool = runner.pool(1)
print(pool.submit(os.getpid).result(), flush=True)
time.sleep(600)
"""


def test_a_worker_without_work_ends_with_its_command(tmp_path):
    script = tmp_path / "idle.py"
    script.write_text(IDLE)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    with process:
        worker = psutil.Process(int(process.stdout.readline()))
        process.kill()
    ended([worker])


def stored(out):
    """Steps on disk, of finished runs and of others."""
    done = [p for p in out.glob("runs/*/*/*.parquet") if "scores" not in p.name]
    return 14 * len(done) + sum(p.read_bytes().count(b"\n") for p in out.glob("runs/*/*/*.jsonl"))


def test_finished_runs_are_skipped_and_more_can_be_added(whole, tmp_path, plugin_names):
    out = tmp_path / "copy"
    shutil.copytree(whole, out)
    files = {p: p.read_bytes() for p in out.rglob("*.parquet")}
    again = bench("run", *SMALL, "--out", out, "--json")
    assert again.returncode == 0
    assert "0 runs finished" in again.stderr
    assert json.loads(again.stdout) == {"finished": 0, "skipped": 8, "failed": []}
    plugin = tmp_path / "plugin.py"
    plugin.write_text(PLUGIN.format(flag=str(tmp_path / "none")))
    more = ["--problems", "newsvendor,mine", "--methods", "gp-ucb,my-method", "--plugin", plugin]
    plugin_names(plugin, "mine", "my-method")
    result = bench("run", *more, "--seeds", "7-9", "--budget", "14", "--out", out)
    assert result.returncode == 0, result.stderr
    assert "10 runs finished" in result.stderr
    assert "2 were there already" in result.stderr
    assert all(p.read_bytes() == content for p, content in files.items())


@pytest.mark.parametrize(
    "change", [["--budget", "15"], ["--set", "initial=4"], ["--noise", "0.1"], ["--set", "kernel=matern"]]
)
def test_another_configuration_is_refused(whole, change):
    before = sorted(whole.rglob("*"))
    result = bench("run", *SMALL, *change, "--out", whole)
    assert result.returncode == 2
    assert "another configuration" in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(whole.rglob("*")) == before


def test_results_of_another_engine_are_read_and_not_mixed(whole, tmp_path):
    """Manifests and runs of the time of torch say no engine."""
    out = tmp_path / "old"
    shutil.copytree(whole, out)
    kept = manifest.read(out)
    assert kept["configuration"].pop("engine") == "numpy"
    machine = kept["made_by"]["machine"]
    kept["made_by"]["machine"] = {**machine, "torch": "2.13.0"}
    (out / "manifest.json").write_text(json.dumps(kept))
    result = bench("run", *SMALL, "--out", out)
    assert result.returncode == 2
    assert "(engine: torch there, numpy now)" in result.stderr
    assert comparable(out).equals(comparable(whole))


def task(folder, method="sbo-kde", budget=8, **keywords):
    (found,) = configuration.plan(
        Path(folder),
        problem_names=["newsvendor"],
        method_names=[method],
        seeds=[3],
        budget=budget,
        **keywords,
    )
    return found


def finish(job):
    """A run done in this process, and the manifest of its folder."""
    assert run.execute(job).error is None
    manifest.write(Path(job.folder), job.configuration)


class Silent:
    def show(self, state):
        pass

    def finished(self, result, state):
        pass


@pytest.mark.parametrize("torn", [b'{"step": 5, "dec', b"\x00\x00\x00", b'{"step": 9}\n', b"null\n"])
def test_a_torn_last_line_is_done_again(tmp_path, torn):
    job, other = task(tmp_path / "a"), task(tmp_path / "b")
    assert run.execute(other).error is None
    first = steps.with_ending(job.path, steps.STEPS)
    run._run(job, job.find_problem())
    lines = first.read_bytes().splitlines(keepends=True)
    steps.with_ending(job.path, steps.RUN).unlink()
    first.write_bytes(b"".join(lines[:5]) + torn)
    assert run.execute(job).error is None
    both = [steps.read_table(steps.with_ending(j.path, steps.RUN))[0] for j in (job, other)]
    assert both[0].drop(columns="ask_seconds").equals(both[1].drop(columns="ask_seconds"))


PLUGIN = """
import os
import numpy as np
from dataclasses import replace
from windage import Real
from windage.bench import distributions, problems
from windage.methods import METHODS, register
from scipy import stats

def f(x, c):
    if os.path.exists({flag!r}) and x.shape[0] == 1 and x.ndim == 2 and c[0, 0] > 0.5:
        raise RuntimeError("the machine is on fire")
    return -(x[..., 0] - c[..., 0]) ** 2

problems.register(problems.Problem(
    "mine", "follow the wind", {{"aim": Real(0, 1)}}, {{"wind": Real(0, 1)}},
    distributions.ClippedDistribution((stats.uniform(0, 1),)), f))
register(replace(METHODS["sbo-kde"], name="my-method"))
"""


@pytest.fixture
def plugin_names():
    """Marks what a plugin registers, to be forgotten after the test."""
    marked = []
    yield lambda *names: marked.append(names)
    for names in marked:
        forget(*names)


def test_a_failing_run_is_recorded_and_the_others_go_on(tmp_path, plugin_names):
    flag = tmp_path / "fire"
    flag.touch()
    plugin = tmp_path / "plugin.py"
    plugin.write_text(PLUGIN.format(flag=str(flag)))
    out = tmp_path / "results"
    arguments = ["run", "--plugin", plugin, "--problems", "mine,newsvendor", "--methods", "my-method,gp-ucb"]
    arguments += ["--budget", "6", "--seeds", "1", "--out", out]
    plugin_names(plugin, "mine", "my-method")
    result = bench(*arguments)
    assert result.returncode == 1, result.stderr
    assert "2 runs finished" in result.stderr
    assert "failed: mine my-method 1: RuntimeError: the machine is on fire" in result.stderr
    record = json.loads((out / "runs/mine/my-method/1.failed.json").read_text())
    assert "Traceback" in record["traceback"]
    assert len(json.loads((out / "manifest.json").read_text())["failed"]) == 2
    flag.unlink()
    again = bench(*arguments)  # mended: the failed runs go on, nothing else is done again
    assert again.returncode == 0, again.stderr
    assert "2 runs finished" in again.stderr
    assert not list(out.rglob("*.failed.json"))
    table = windage.bench.load(out, plugins=(str(plugin),))
    assert set(table["method"]) == {"my-method", "gp-ucb"}
    mine = table[table["problem"] == "mine"]
    assert mine["regret"].min() >= 0
    assert problems.get("mine").optimum.decision == pytest.approx([0.5], abs=1e-3)
    with pytest.raises(ConfigurationError, match="there is a problem 'mine' already"):
        problems.register(problems.get("mine"))
    plugin.write_text(plugin.read_text() + "\n# changed\n")
    held = bench("tables", out, "--plugin", plugin)
    assert held.returncode == 2
    assert "was changed since it was loaded" in held.stderr
    forget(plugin, "mine", "my-method")  # as a command of its own would meet it
    changed = bench("tables", out, "--plugin", plugin)
    assert changed.returncode == 2
    assert "give the same --portfolio-data and --plugin" in changed.stderr
    refused = bench(*arguments)
    assert refused.returncode == 2
    assert "another plugin" in refused.stderr
    forget(plugin, "mine", "my-method")
    forgotten = bench("tables", out)
    assert forgotten.returncode == 2
    assert "is of a plugin: give it again with --plugin" in forgotten.stderr


def forget(plugin, problem, method):
    """This process has never heard of the plugin."""
    problems.PROBLEMS.pop(problem, None)
    windage.methods.METHODS.pop(method, None)
    configuration._loaded.pop(str(plugin), None)
    for key in (("problem", problem), ("method", method)):
        configuration._origins.pop(key, None)


@pytest.mark.slow
def test_a_killed_worker_costs_nothing(tmp_path, whole):
    out = tmp_path / "results"
    process = subprocess.Popen(
        command("run", *SMALL, "--jobs", 2, "--out", out), stderr=subprocess.PIPE, text=True
    )
    while stored(out) < 10:
        assert process.poll() is None
        time.sleep(0.02)
    children(process.pid)[-1].kill()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert comparable(out).equals(comparable(whole))


POISON = """
import os
from dataclasses import replace
from windage.bench import problems

def f(x, c):
    if x.ndim == 2 and c[0, 0] > 0.1:
        os._exit(1)
    return -(x[..., 0] - c[..., 0]) ** 2

problems.register(replace(problems.get("newsvendor"), name="poison", function=f))
"""


@pytest.mark.parametrize(("jobs", "seeds"), [("1", "1"), pytest.param("2", "1-2", marks=pytest.mark.slow)])
def test_a_run_that_kills_its_process_is_recorded_and_the_others_go_on(tmp_path, plugin_names, jobs, seeds):
    plugin = tmp_path / "poison.py"
    plugin.write_text(POISON)
    plugin_names(plugin, "poison", "")
    out = tmp_path / "results"
    arguments = [
        "--problems",
        "poison,newsvendor",
        "--methods",
        "gp-ucb",
        "--budget",
        "6",
        "--plugin",
        plugin,
    ]
    result = bench("run", *arguments, "--seeds", seeds, "--jobs", jobs, "--out", out)
    assert result.returncode == 1, result.stderr
    assert "failed: poison gp-ucb 1: its process was killed" in result.stderr
    assert "Traceback" not in result.stderr
    assert len(list(out.glob("runs/newsvendor/gp-ucb/*.scores.parquet"))) == len(seeds.split("-"))


@pytest.mark.xdist_group("dask")  # one cluster at a time
@pytest.mark.slow
def test_a_dask_cluster_does_the_same_though_a_worker_is_killed(tmp_path, whole):
    from distributed import Client, LocalCluster

    out = tmp_path / "results"
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        arguments = ["--backend", "dask", "--scheduler", cluster.scheduler_address]
        process = subprocess.Popen(
            command("run", *SMALL, *arguments, "--out", out), stderr=subprocess.PIPE, text=True
        )
        while stored(out) < 10:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        os.kill(victim, signal.SIGKILL)
        _, errors = process.communicate(timeout=180)
    assert process.returncode == 0, errors
    assert "8 runs finished" in errors
    assert comparable(out).equals(comparable(whole))


@pytest.mark.slow
def test_a_cluster_that_goes_away_is_one_line_and_loses_nothing(tmp_path):
    port = 20_000 + os.getpid() % 20_000
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*dask, "--host", "127.0.0.1"], **quiet)
    spec = [sys.executable, "-m", "distributed.cli.dask_spec", address, "--spec"]
    worker_of = {"cls": "dask.distributed.Worker", "opts": {"nthreads": 1}}
    worker = subprocess.Popen([*spec, json.dumps(worker_of)], **quiet)
    out = tmp_path / "results"
    try:
        arguments = ["--backend", "dask", "--scheduler", address, "--out", out]
        deadline = time.monotonic() + 60
        while True:  # until both are up
            process = subprocess.Popen(command("run", *SMALL, *arguments), stderr=subprocess.PIPE, text=True)
            while process.poll() is None and stored(out) < 5:
                time.sleep(0.05)
            if process.poll() is None:
                break
            assert time.monotonic() < deadline, process.stderr.read()
        scheduler.kill()
        _, errors = process.communicate(timeout=60)
    finally:
        for started in (scheduler, worker):
            started.kill()
            started.wait()
    assert process.returncode == 2, errors
    assert "windage: the Dask cluster went away" in errors
    assert "Traceback" not in errors


def test_a_full_disk_stops_with_one_line_and_loses_nothing_finished(tmp_path):
    import resource

    out = tmp_path / "results"
    finish(task(out, "gp-ucb", budget=3))
    kept = {p: p.read_bytes() for p in out.rglob("*.parquet")}
    small = ["run", "--problems", "newsvendor", "--methods", "gp-ucb", "--budget", "3", "--seeds", "3-4"]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))

    arguments = command(*small, "--out", out)
    result = subprocess.run(arguments, capture_output=True, text=True, preexec_fn=limit)
    assert result.returncode == 2
    assert "windage: cannot write to" in result.stderr
    assert "the same command goes on from here" in result.stderr
    assert "Traceback" not in result.stderr
    assert kept == {p: p.read_bytes() for p in out.rglob("*.parquet") if p in kept}
    again = bench(*small, "--out", out)
    assert again.returncode == 0, again.stderr
    assert "1 runs finished" in again.stderr
    assert len(windage.bench.load(out)) == 6


def test_bad_input_is_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "manifest.json").write_text('{"configuration": {}}')
    (tmp_path / "exit.py").write_text("import sys\nsys.exit(0)\n")
    out = ["--out", str(tmp_path / "new")]
    cases = [
        ([*out, "--problems", "akley"], "the problems are ackley"),
        ([*out, "--methods", "sbo"], "Did you mean 'sbo-kde'"),
        ([*out, "--suite", "papers"], "Did you mean 'paper'"),
        ([*out, "--seeds", "5-1"], "write 1-5"),
        ([*out, "--seeds", "five"], "100-104"),
        ([*out, "--set", "initial"], "key=value"),
        ([*out, "--set", "initail=5"], "Did you mean 'initial'"),
        ([*out, "--set", "seed=5"], "each run sets it by itself"),
        ([*out, "--set", "restarts=0"], "restarts"),
        ([*out, "--methods", "sbo-kde,gp-ucb", "--set", "samples=64"], "'gp-ucb' does not use samples"),
        ([*out, "--set", "initial=0"], "at least 1"),
        ([*out, "--set", "initial=3", "--set", "initial=4"], "twice"),
        ([*out, "--seeds", "1-99999999"], "more than 10,000 seeds"),
        ([*out, "--seeds", "1" * 40], "nine digits"),
        ([*out, "--methods", ","], "empty"),
        ([*out, "--plugin", str(tmp_path / "exit.py")], "SystemExit"),
        ([*out, "--budget", "0"], "budget"),
        ([*out, "--noise", "-1"], "noise"),
        ([*out, "--backend", "slurm"], "processes or dask"),
        ([*out, "--backend", "dask"], "needs --scheduler"),
        ([*out, "--scheduler", "tcp://localhost:1"], "--backend dask"),
        (
            [*out, "--backend", "dask", "--scheduler", "tls://localhost:1"],
            "give --tls-ca, --tls-cert and --tls-key",
        ),
        ([*out, "--tls-ca", str(tmp_path / "none")], "--tls-cert is missing"),
        ([*out, "--portfolio-data", str(tmp_path / "none.csv")], "cannot be read"),
        ([*out, "--plugin", str(tmp_path / "none.py")], "cannot be read"),
        ([*out, "--plugin", str(tmp_path / "broken.py")], "ZeroDivisionError"),
        ([*out, "--plugin", str(tmp_path / "file")], "end in .py"),
        (["--out", str(tmp_path / "file")], "cannot write to"),
        (["--out", str(tmp_path / "file" / "inner")], "cannot write to"),
        (["--out", str(tmp_path / "full")], "not a folder of results"),
        (["--out", str(tmp_path / "odd")], "cannot be read"),
    ]
    for arguments, words in cases:
        result = CliRunner().invoke(cli.app, ["bench", "run", "--problems", "newsvendor", *arguments])
        assert isinstance(result.exception, WindageError), (arguments, result.exception, result.output)
        assert words in str(result.exception), arguments
        assert "\n" not in str(result.exception)
    assert not (tmp_path / "new").exists()
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["thesis.tex"]


def test_no_cluster_at_the_address(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(WindageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        runner.run_all([task(tmp_path / "new")], Silent(), backend="dask", scheduler="tcp://127.0.0.1:1")
    assert not (tmp_path / "new").exists()


def test_two_commands_do_not_share_a_folder(tmp_path):
    with runner._claimed(tmp_path), pytest.raises(ConfigurationError, match="another `windage bench run`"):
        runner.run_all([task(tmp_path)], Silent())


def test_results_of_nothing(tmp_path):
    with pytest.raises(ConfigurationError, match="no manifest"):
        windage.bench.load(tmp_path)
    manifest.write(tmp_path, task(tmp_path).configuration)
    with pytest.raises(ConfigurationError, match="no finished runs"):
        windage.bench.load(tmp_path)


def test_a_broken_result_file_is_named(tmp_path):
    job = task(tmp_path, budget=2, settings={"initial": 2})
    finish(job)
    steps.with_ending(job.path, steps.SCORES).unlink()
    assert len(windage.bench.load(tmp_path)) == 2  # scored when read
    steps.with_ending(job.path, steps.RUN).write_bytes(b"PAR1")
    with pytest.raises(WindageError, match=r"3.parquet cannot be read.*Delete it"):
        windage.bench.load(tmp_path)


def test_results_with_another_table_need_it_again(tmp_path):
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.random((40, 6)), columns=configuration.portfolio.COLUMNS)
    path = str(tmp_path / "samples.csv")
    table.to_csv(path, index=False)
    out = tmp_path / "results"

    def planned(data):
        return configuration.plan(
            out,
            problem_names=["portfolio-uniform"],
            method_names=["gp-ucb"],
            budget=2,
            seeds=[1],
            sources=configuration.Sources.of(data, ()),
        )

    finish(*planned(path))
    with pytest.raises(ConfigurationError, match="give the same --portfolio-data"):
        windage.bench.load(out)
    with pytest.raises(ConfigurationError, match="another table of samples"):
        runner.run_all(planned(None), Silent())
    found = windage.bench.load(out, portfolio_data=path)
    problem = problems.get("portfolio-uniform", portfolio_data=path)
    x = found[list(problem.decisions)].to_numpy()
    assert found["expected"].to_numpy() == pytest.approx(problem.expected(x))


@pytest.mark.parametrize(
    ("suite", "settings", "expected"),
    [
        ("later", {}, {"auto": 4, "sbo-kde": 5, "ledrbo": 5}),
        ("paper", {}, {"auto": 4, "sbo-kde": 10}),
        ("later", {"initial": 6}, {"auto": 6, "sbo-kde": 6}),
        ("later", {"initial": None}, {"auto": 4, "sbo-kde": 10}),
    ],
)
def test_first_decisions_are_the_suites_unless_the_method_has_a_number_of_its_own(
    tmp_path, suite, settings, expected
):
    tasks = configuration.plan(tmp_path, suite, ["newsvendor"], list(expected), settings=settings, seeds=[1])
    found = [
        configuration.new_optimizer(problems.get("newsvendor"), task.method, 1, task.configuration)
        for task in tasks
    ]
    assert [optimizer.to_dict()["initial"] for optimizer in found] == list(expected.values())


def test_seeds_and_settings_are_read():
    assert configuration.parse_seeds("100-102, 7") == (100, 101, 102, 7)
    pairs = ["initial=5", "sqrt_beta=2.5", "kernel=matern", "radius=none", "samples=nodes"]
    expected = {"initial": 5, "sqrt_beta": 2.5, "kernel": "matern", "radius": None, "samples": "nodes"}
    assert configuration.parse_settings(pairs) == expected


def test_the_example_of_an_own_problem_and_method(tmp_path, plugin_names):
    plugin = Path(__file__).parents[2] / "examples" / "own_problem.py"
    plugin_names(plugin, "ice-cream", "careful")
    out = tmp_path / "results"
    arguments = ["--plugin", plugin, "--problems", "ice-cream", "--methods", "sbo-kde,careful"]
    result = bench("run", *arguments, "--budget", "6", "--seeds", "1", "--out", out)
    assert result.returncode == 0, result.stderr
    shown = bench("tables", out, "--plugin", plugin)
    assert shown.returncode == 0, shown.stderr
    assert "careful" in (out / "tables" / "regret.md").read_text()


def test_a_folder_whose_first_manifest_was_torn_can_be_used(tmp_path):
    (tmp_path / "manifest.json.123.part").write_text("{")
    configuration = task(tmp_path, budget=2).configuration
    manifest.check(tmp_path, configuration)
    assert manifest.read(tmp_path)["configuration"] == configuration.to_dict()


def test_damaged_files_are_named(tmp_path):
    job = task(tmp_path, budget=2)
    finish(job)
    steps.with_ending(job.path, steps.FAILED).write_text("{broken")
    manifest.write(tmp_path, job.configuration)
    assert "cannot be read" in manifest.read(tmp_path)["failed"][0]["error"]
    path = steps.with_ending(job.path, steps.RUN)
    pandas.DataFrame({"a": [1]}).to_parquet(path)
    for content in (None, b"PAR1"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(WindageError, match=r"3.parquet cannot be read.*Delete it"):
            runner.run_all([job], Silent())
        with pytest.raises(WindageError, match=r"3.parquet cannot be read"):
            windage.bench.load(tmp_path)


def test_resuming_with_noise_is_bit_for_bit(tmp_path):
    job, other = (task(tmp_path / name, noise=0.3) for name in "ab")
    assert run.execute(other).error is None
    run._run(job, job.find_problem())
    lines = steps.with_ending(job.path, steps.STEPS).read_bytes().splitlines(keepends=True)
    steps.with_ending(job.path, steps.RUN).unlink()
    steps.with_ending(job.path, steps.STEPS).write_bytes(b"".join(lines[:4]))
    assert run.execute(job).error is None
    both = [steps.read_table(steps.with_ending(j.path, steps.RUN))[0] for j in (job, other)]
    assert both[0].drop(columns="ask_seconds").equals(both[1].drop(columns="ask_seconds"))
