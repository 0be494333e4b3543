"""The command line. Heavy imports wait until a command needs them; errors are one line."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from windage import __version__
from windage.bench.commands import app as bench
from windage.errors import WindageError
from windage.studies import commands as studies

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Decisions whose outcome depends on conditions that nobody controls or knows the law of.",
)

app.add_typer(bench, name="bench")
studies.register(app)

PICTURES = (".png", ".pdf", ".svg")
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"windage {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What every command shares."""


@app.command()
def methods(as_json: AsJson = False) -> None:
    """The methods, and what each of them maximises."""
    from windage.methods import AUTO, BEST, METHODS

    rows = [{"name": m.name, "law": m.law, "objective": m.objective} for m in METHODS.values()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("method", "sees the law of the context as", "maximises")
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)
    typer.echo(f'"{AUTO}", the default, is {BEST}.')


@app.command()
def problems(
    optima: Annotated[bool, typer.Option(help="Also compute the optima, which takes some seconds.")] = False,
    as_json: AsJson = False,
) -> None:
    """The benchmark problems."""
    from windage.bench.problems import PROBLEMS

    rows = [
        {"name": p.name, "decisions": len(p.decisions), "contexts": len(p.contexts), "summary": p.summary}
        | ({"optimum": p.optimum.value, "at": p.optimum.decision.tolist()} if optima else {})
        for p in PROBLEMS.values()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("problem", "Dx", "Dc", "what it is", *(("best expectation", "at") if optima else ()))
    for row in rows:
        cells = [str(row[key]) for key in ("name", "decisions", "contexts", "summary")]
        if optima:
            place = ", ".join(f"{v:.4g}" for v in row["at"])  # type: ignore[attr-defined]
            cells += [f"{row['optimum']:.5f}", place]
        table.add_row(*cells)
    Console().print(table)


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another year of demand.")] = 7,
    budget: Annotated[int, typer.Option(min=2, max=500, help="How many decisions.")] = 40,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("windage-demo.png"),
    as_json: AsJson = False,
) -> None:
    """A shop learns how much to stock while it learns the demand: the main job in small."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from windage import demo as shop

    if not out.parent.is_dir():
        raise WindageError(
            f"there is no folder {out.parent} for the picture; make it, or choose another --out."
        )
    if out.suffix not in PICTURES:
        raise WindageError(f"the picture {out.name} must end in {', '.join(PICTURES)}: choose another --out.")
    console = Console(stderr=as_json)
    console.print(
        "A shop buys at 5, sells at 9 and gets 1 for what is left. It decides its stock before demand is "
        "known, and nobody tells it the law of demand. (Stock and demand are shares of the largest stock.)",
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

        optimizer, result = shop.run(seed, budget, report)
    if as_json:
        shop.picture(optimizer, str(out))
        typer.echo(json.dumps({**result.to_dict(), "picture": str(out)}, indent=2))
        return
    low, high = result.interval
    table = Table("", "stock", "true expected profit")
    table.add_row("the true optimum", f"{result.optimum_stock:.4f}", f"{result.optimum_profit:.4f}")
    table.add_row("[bold]windage recommends[/bold]", f"{result.stock:.4f}", f"{result.true_profit:.4f}")
    for rival in result.rivals:
        table.add_row(rival.name, f"{rival.stock:.4f}", f"{rival.true_profit:.4f}")
    console.print(table)
    console.print(
        f"windage expects a profit of {result.expected:.4f}, 95 % interval {low:.4f} to {high:.4f}; "
        f"{result.worst_case:.4f} under the worst law of demand near the estimate.",
        highlight=False,
    )
    if result.note:
        console.print(result.note, highlight=False)
    shop.picture(optimizer, str(out))
    console.print(f"Picture: {out}", highlight=False)


def _say(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as people read it, without the place in the program."""
    print(f"windage: {message}", file=sys.stderr)


def main() -> None:
    """The console script: a fault of the input is one line and exit code 2, never a traceback."""
    warnings.showwarning = _say
    try:
        app()
    except WindageError as error:
        print(f"windage: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
