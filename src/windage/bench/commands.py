"""``windage bench …``: the commands. Heavy imports wait until one of them runs."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from windage.bench.display import display_of, show
from windage.errors import ConfigurationError

app = typer.Typer(no_args_is_help=True, help="Run the paper's experiments, and show what came out.")

Plugins = Annotated[
    list[str] | None, typer.Option("--plugin", help="A Python file that registers a problem or a method.")
]
PortfolioData = Annotated[
    str | None, typer.Option("--portfolio-data", help="Another table of samples for the portfolio problems.")
]
Results = Annotated[Path, typer.Argument(help="A folder that `windage bench run` wrote.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]


Out = Annotated[
    Path | None, typer.Option("--out", help="The folder to write to (within RESULTS unless given).")
]


def _names(given: str | None) -> list[str]:
    """Names with commas; none where the option was left out."""
    if given is None:
        return []
    found = [name.strip() for name in given.split(",") if name.strip()]
    if not found:
        raise ConfigurationError("a list of names is empty: leave the option out for all of them.")
    return found


@app.command()
def run(
    out: Annotated[Path, typer.Option(help="The folder of the results; the same command continues it.")],
    suite: Annotated[str, typer.Option(help="paper, later or smoke.")] = "paper",
    problems: Annotated[str | None, typer.Option(help="Only these, with commas: ackley,branin.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, with commas: sbo-kde,gp-ucb.")] = None,
    budget: Annotated[int | None, typer.Option(help="Decisions a run (the suite's unless given).")] = None,
    seeds: Annotated[str | None, typer.Option(help="100-104 or 1,2,5 (the suite's unless given).")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A keyword of Optimizer, such as initial=5.")
    ] = None,
    noise: Annotated[float, typer.Option(help="Standard deviation of noise on the values.")] = 0.0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes on this machine, one thread each.")] = 1,
    backend: Annotated[str, typer.Option(help="processes, or dask for a cluster.")] = "processes",
    scheduler: Annotated[str | None, typer.Option(help="The address of the Dask scheduler.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="For a tls:// scheduler: whom to trust.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="For a tls:// scheduler: our certificate.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="For a tls:// scheduler: the key of it.")] = None,
    portfolio_data: PortfolioData = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Run methods on problems. Can be stopped at any moment; the same command goes on from there.

    Finished runs are skipped, so more seeds, problems or methods can be added later. The exit code is 1 if
    a run failed (its traceback is kept beside it, the others go on), 2 for a fault of the input.
    """
    from windage.bench import cluster, configuration, runner

    if backend not in ("processes", "dask"):
        raise ConfigurationError(f"--backend is processes or dask, not {backend!r}.")
    if scheduler is not None and backend != "dask":
        raise ConfigurationError("--scheduler is for --backend dask: say both.")
    tls = cluster.Tls.of(tls_ca, tls_cert, tls_key)
    if tls is not None and scheduler is None:
        raise ConfigurationError("--tls-ca is for --backend dask with a --scheduler: say all of them.")
    tasks = configuration.plan(
        out,
        suite,
        _names(problems),
        _names(methods),
        budget,
        configuration.parse_seeds(seeds) if seeds is not None else (),
        configuration.parse_settings(settings or []),
        noise,
        configuration.Sources.of(portfolio_data, plugin or []),
    )
    console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{len(tasks)} runs of {tasks[0].configuration.budget} decisions → {out}")
    start = time.monotonic()
    try:
        with display_of(console) as display:
            summary = runner.run_all(tasks, display, jobs, backend, scheduler, tls)
    except KeyboardInterrupt:
        console.print("Stopped. Nothing is lost: the same command goes on from here.")
        raise typer.Exit(130) from None
    minutes = (time.monotonic() - start) / 60
    console.print(
        f"{summary.finished} runs finished in {minutes:.1f} min, {summary.skipped} were there already, "
        f"{len(summary.failed)} failed."
    )
    for result in summary.failed:
        console.print(f"failed: {result.name}: {result.error}")
    if as_json:
        typer.echo(json.dumps(asdict(summary), indent=2))
    if summary.failed:
        console.print(f"The tracebacks are in {out / 'runs'} (*.failed.json).")
        raise typer.Exit(1)


@app.command()
def tables(
    results: Results,
    portfolio_data: PortfolioData = None,
    plugin: Plugins = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Final cumulative regret and reward, mean ± standard error: Markdown, CSV and LaTeX."""
    from windage.bench.results import load
    from windage.bench.tables import sheets

    made = sheets(load(results, portfolio_data, plugin or ()))
    if as_json:
        typer.echo(json.dumps({sheet.name: sheet.records() for sheet in made}, indent=2))
    for sheet in made:
        show(sheet, out or results / "tables", quiet=as_json)


@app.command()
def figures(
    results: Results,
    portfolio_data: PortfolioData = None,
    plugin: Plugins = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """The paper's Figure 1 (a) and (b) and the ackley-4 figure: PNG and PDF."""
    from windage.bench.figures import draw
    from windage.bench.results import load

    paths = [str(p) for p in draw(load(results, portfolio_data, plugin or ()), out or results / "figures")]
    typer.echo(json.dumps(paths, indent=2) if as_json else "\n".join(paths))


@app.command()
def judge(
    results: Results,
    method: Annotated[str, typer.Option(help="The method to judge.")] = "auto",
    portfolio_data: PortfolioData = None,
    plugin: Plugins = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """One method against the others and the published figures: regret, paired tests, seeds that are stuck."""
    from windage.bench.judge import sheets
    from windage.bench.results import load

    made = sheets(load(results, portfolio_data, plugin or ()), method)
    if as_json:
        typer.echo(json.dumps({sheet.name: sheet.records() for sheet in made}, indent=2))
    for sheet in made:
        show(sheet, out or results / "tables", quiet=as_json)


@app.command("distribution-regret")
def distribution_regret(
    seeds: Annotated[str, typer.Option(help="Of the contexts: 0-9.")] = "0-9",
    budget: Annotated[int, typer.Option(min=6)] = 200,
    out: Annotated[Path | None, typer.Option(help="Write the table here too.")] = None,
    as_json: AsJson = False,
) -> None:
    """What the estimate of the distribution alone costs: the regret of decisions best under it, f known."""
    from windage.bench import distribution_regret as study
    from windage.bench.configuration import LATER_PROBLEMS, parse_seeds

    chosen = parse_seeds(seeds)
    rows = []
    total = len(chosen) * len(LATER_PROBLEMS) * (len(study.ESTIMATES) + 1)
    with Console(stderr=True).status("") as status:
        for row in study.measure(chosen, budget):
            rows.append(row)
            status.update(f"{len(rows)} of {total} runs")
    if as_json:
        names = ("problem", "seed", "estimate", "regret")
        typer.echo(json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2))
    show(study.sheet(rows, budget), out, quiet=as_json)


@app.command()
def runtime(
    methods: Annotated[str | None, typer.Option(help="Only these, with commas.")] = None,
    budget: Annotated[int, typer.Option(min=12, help="Decisions a run.")] = 100,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of windage for each method.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Write the table here too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Table 1: seconds for 100 decisions on Ackley, beside those of the paper."""
    from windage.bench import runtime as study
    from windage.bench.configuration import PAPER_METHODS
    from windage.methods import get_method

    names = [get_method(name).name for name in dict.fromkeys(_names(methods) or PAPER_METHODS)]
    with Console(stderr=True).status("") as status:
        timings = [study.measure(name, budget, repeats, status.update) for name in names]
    if as_json:
        typer.echo(json.dumps([timing.to_dict() for timing in timings], indent=2))
    show(study.sheet(timings), out, quiet=as_json)


@app.command()
def density(
    repetitions: Annotated[int, typer.Option(min=1)] = 20,
    seed: Annotated[int, typer.Option(min=0, max=10**9)] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the table here too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Table 2: how far the estimated density is from the true one, for each bandwidth rule."""
    from windage.bench import context_density as study

    rows = []
    total = repetitions * len(study.DISTRIBUTIONS) * len(study.RULES) * len(study.COUNTS)
    with Console(stderr=True).status("") as status:
        for row in study.measure(repetitions, seed=seed):
            rows.append(row)
            status.update(f"{len(rows)} of {total} densities")
    if as_json:
        names = ("distribution", "bandwidth", "n", "distance")
        typer.echo(json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2))
    show(study.sheet(rows), out, quiet=as_json)


@app.command()
def saa(
    problem: Annotated[str, typer.Option(help="A problem's name.")] = "ackley",
    observations: Annotated[int, typer.Option(min=2, help="Of the study.")] = 50,
    repetitions: Annotated[int, typer.Option(min=1, help="Sets of samples of each size.")] = 20,
    seed: Annotated[int, typer.Option(min=0, max=10**9)] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the table and a picture here too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Proposition 1: the error of the decision chosen on M samples, and on deterministic nodes."""
    from windage.bench import problems
    from windage.bench import saa as study

    errors = []
    chosen = problems.get(problem)
    total, exact = study.extent(chosen, repetitions)
    with Console(stderr=True).status("") as status:
        for error in study.measure(chosen, observations, repetitions, seed):
            errors.append(error)
            status.update(f"{len(errors)} of {total} maximisations")
    title = (
        f"SBO-KDE on {problem} after {observations} decisions: the decision chosen on few nodes against that "
        f"on {exact} ({repetitions} repetitions; distances in the box's diagonal)"
    )
    if as_json:
        typer.echo(json.dumps([asdict(error) for error in errors], indent=2))
    show(study.sheet(errors, title), out, quiet=as_json)
    if out is not None:
        study.picture(errors, out / "saa.png", f"{problem}, {observations} decisions made")


@app.command()
def wide(
    out: Annotated[Path, typer.Option(help="The folder of the results; the same command continues it.")],
    split: Annotated[str, typer.Option(help="development or validation: which half of the families.")] = (
        "development"
    ),
    methods: Annotated[str | None, typer.Option(help="Only these, with commas: auto,sbo-kde.")] = None,
    problems: Annotated[str | None, typer.Option(help="Only these, with commas: levy+0,pricing+2.")] = None,
    seeds: Annotated[str, typer.Option(help="0-2 or 1,2,5.")] = "0-2",
    budget: Annotated[int, typer.Option(min=5, help="Decisions a run.")] = 80,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A keyword of Optimizer that all --methods use, such as initial=10."),
    ] = None,
    against: Annotated[
        str, typer.Option(help="The methods that ratios are to, if they have runs here.")
    ] = "sbo-kde,ledrbo",
    jobs: Annotated[int, typer.Option(min=1, help="Processes on this machine, one thread each.")] = 1,
    plugin: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Judge methods on many families of problems; a table and a figure. The same command goes on.

    Regret is a share of a random decision's. Choose methods and settings on development; validation is for
    reports alone.
    """
    from windage.bench import configuration
    from windage.bench.wide import figure, players, report, scores, sweep

    for path in plugin or []:
        configuration.load_plugin(path)
    references = players.need_known(_names(against))
    tasks = report.plan(
        split,
        _names(methods),
        _names(problems),
        configuration.parse_seeds(seeds),
        budget,
        configuration.parse_settings(settings or []),
        plugin or [],
    )
    console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{len(tasks)} runs of {budget} decisions → {out}")
    try:
        runs = sweep.sweep(out, tasks, jobs, report.progress(console))
    except KeyboardInterrupt:
        console.print("Stopped. Nothing is lost: the same command goes on from here.")
        raise typer.Exit(130) from None
    names = list(dict.fromkeys(task.method for task in tasks))
    rows = {(task.problem, task.seed, task.budget) for task in tasks}
    others = [
        run
        for run in sweep.read(out)
        if run.task.method in references
        and run.task.method not in names
        and (run.task.problem, run.task.seed, run.task.budget) in rows
    ]
    made = scores.sheets([*runs, *others], names, references)
    if as_json:
        typer.echo(json.dumps({sheet.name: sheet.records() for sheet in made}, indent=2))
    for sheet in made:
        show(sheet, out, quiet=as_json)
    if made:
        typer.echo(figure.draw(runs, names, out / "wide.png"), err=as_json)
    if any(run.error for run in runs):
        raise typer.Exit(1)
