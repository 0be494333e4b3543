"""Commands without a study file: methods, problems, demo."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import CommandInfo

from windage.cli.shared import AsJson
from windage.errors import MissingExtraError, WindageError

if TYPE_CHECKING:
    from rich.console import Console

    from windage import Optimizer
    from windage.demo import DemoResult

PICTURES = (".png", ".pdf", ".svg")


def name_of(command: CommandInfo) -> str:
    """As people type it."""
    return command.name or str(getattr(command.callback, "__name__", ""))


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (methods, problems, demo):
        app.command()(command)


def methods(as_json: AsJson = False) -> None:
    """The methods, and what each of them maximises."""
    from windage.methods import AUTO, METHODS

    rows = [
        {"name": m.name, "distribution": m.distribution, "objective": m.objective} for m in METHODS.values()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("method", "sees the distribution of the context as", "maximises")
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)
    typer.echo(
        f'"{AUTO}" is the default: take it, with aim="learn" where only the last recommendation counts. '
        'Take "rbq-kde" or "drbo-kde" where a bad surprise costs more than a good one brings.'
    )


def problems(
    optima: Annotated[bool, typer.Option(help="Also compute the optima, which takes some seconds.")] = False,
    as_json: AsJson = False,
) -> None:
    """The benchmark problems."""
    from windage.bench.problems import PROBLEMS

    rows: list[dict[str, Any]] = [
        {"name": p.name, "decisions": len(p.decisions), "contexts": len(p.contexts), "summary": p.summary}
        | ({"optimum": p.optimum.value, "at": p.optimum.decision.tolist()} if optima else {})
        for p in PROBLEMS.values()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("problem", "Dx", "Dc", "what it is", *(("best expectation", "at") if optima else ()))
    for row in rows:
        cells = [str(row[key]) for key in ("name", "decisions", "contexts", "summary")]
        if optima:
            cells += [f"{row['optimum']:.5f}", ", ".join(f"{v:.4g}" for v in row["at"])]
        table.add_row(*cells)
    Console().print(table)


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another year of demand.")] = 7,
    budget: Annotated[int, typer.Option(min=2, max=500, help="How many decisions.")] = 40,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("windage-demo.png"),
    as_json: AsJson = False,
) -> None:
    """A shop learns how much to stock while it learns the demand: the main job in small."""
    if not out.parent.is_dir():
        raise WindageError(
            f"there is no folder {out.parent} for the picture; make it, or choose another --out."
        )
    if out.suffix not in PICTURES:
        raise WindageError(f"the picture {out.name} must end in {', '.join(PICTURES)}: choose another --out.")
    from rich.console import Console

    from windage import demo as shop

    console = Console(stderr=as_json)
    optimizer, result = _play(seed, budget, console)
    missing: MissingExtraError | None = None
    try:
        shop.picture(optimizer, str(out))
    except MissingExtraError as error:  # the result counts without its picture
        missing = error
    kept = _study(optimizer, out.with_suffix(".toml"))
    if as_json:
        picture = None if missing else str(out)
        study = str(kept) if kept else None
        typer.echo(json.dumps({**result.to_dict(), "picture": picture, "study": study}, indent=2))
    else:
        _print_result(result, console)
        if not missing:
            console.print(f"Picture: {out}", highlight=False)
        if kept and not missing:
            typer.echo(f"Open its page:  {_program()} serve {shlex.quote(str(kept))}")
    if missing:
        raise missing


def _program() -> str:
    """How this program is called: in a clone, ``make demo`` has it in a folder that no shell searches."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "windage" and not shutil.which("windage") else "windage"


def _study(optimizer: Optimizer, path: Path) -> Path | None:
    """The demo's study file; None where there is another's, or the library of studies is not installed."""
    from windage import demo as shop
    from windage.studies import need_optuna

    try:
        need_optuna()
    except MissingExtraError:
        return None
    from windage.studies.storage import quiet

    quiet()
    return path if shop.study(optimizer, path) else None


def _play(seed: int, budget: int, console: Console) -> tuple[Optimizer, DemoResult]:
    """The demo, with a bar that shows how far it has come."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from windage import demo as shop

    console.print(
        "A shop buys at 5, sells at 9 and gets 1 for what is left. It decides its stock before demand is "
        "known, and nobody tells it how demand varies. (Stock and demand are shares of the largest stock.)",
        highlight=False,
    )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("deciding", total=budget)

        def report(number: int, stock: float, demand: float, profit: float) -> None:
            text = f"stock {stock:.3f}  demand {demand:.3f}  profit {profit:+.3f}"
            progress.update(task, advance=1, description=text)
            if not console.is_terminal and (number + 1) % 10 == 0:
                console.print(f"decision {number + 1:3d}: {text}", highlight=False)

        return shop.run(seed, budget, report)


def _print_result(result: DemoResult, console: Console) -> None:
    from rich.table import Table

    low, high = result.interval
    table = Table("", "stock", "true expected profit")
    table.add_row("the true optimum", f"{result.optimum_stock:.4f}", f"{result.optimum_profit:.4f}")
    table.add_row("[bold]windage recommends[/bold]", f"{result.stock:.4f}", f"{result.true_profit:.4f}")
    for rival in result.rivals:
        table.add_row(rival.name, f"{rival.stock:.4f}", f"{rival.true_profit:.4f}")
    console.print(table)
    console.print(
        f"windage expects a profit of {result.expected:.4f}, 95 % interval {low:.4f} to {high:.4f}; "
        f"{result.worst_case:.4f} if demand turns out worse than seen.",
        highlight=False,
    )
    if result.note:
        console.print(result.note, highlight=False)
