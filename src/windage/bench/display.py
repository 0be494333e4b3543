"""What the bench's commands show: tables, and the progress of a sweep."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from windage.bench.run import Result
    from windage.bench.runner import Progress
    from windage.bench.tables import Sheet


def show(sheet: Sheet, out: Path | None, quiet: bool = False) -> None:
    """A table in the terminal, and as files where they are wanted."""
    if not quiet:
        table = Table(*sheet.head)
        style = {"": "{}", "best": "[bold]{}[/bold]", "tie": "{} *"}
        for name, cells in sheet.rows:
            table.add_row(name, *(style[cell.mark].format(cell.text) for cell in cells))
        typer.echo(sheet.title)
        Console().print(table)
    if out is not None:
        for path in sheet.write(out):
            typer.echo(path, err=quiet)


def display_of(console: Console) -> Any:
    """Bars in a terminal, lines elsewhere."""
    return _Bars(console) if console.is_terminal else _Lines(console)


class _Bars:
    """Bars in a terminal: all steps with the time left, and one for each run under way."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
        )
        self.overall: Any = None
        self.under_way: dict[str, Any] = {}

    def __enter__(self) -> _Bars:
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def show(self, state: Progress) -> None:
        """Redraw."""
        if self.overall is None:
            self.overall = self.bars.add_task("", total=state.all_steps, completed=state.steps)
        text = f"{state.runs} of {state.all_runs} runs"
        self.bars.update(self.overall, completed=state.steps, description=text)
        for name, done, budget in state.active:
            if name not in self.under_way:
                self.under_way[name] = self.bars.add_task(name, total=budget)
            self.bars.update(self.under_way[name], completed=done)
        for name in set(self.under_way) - {name for name, _, _ in state.active}:
            self.bars.remove_task(self.under_way.pop(name))

    def finished(self, result: Result, state: Progress) -> None:
        """A failure stays visible."""
        if result.error is not None:
            self.bars.console.print(f"failed: {result.name}: {result.error}")
        self.show(state)


class _Lines:
    """A line a finished run, with the time left, where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console, self.start, self.first = console, time.monotonic(), -1

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stderr.flush()

    def show(self, state: Progress) -> None:
        """Only remember where it began."""
        if self.first < 0:
            self.first = state.steps

    def finished(self, result: Result, state: Progress) -> None:
        """The line."""
        self.show(state)
        speed = (state.steps - self.first) / max(time.monotonic() - self.start, 1e-9)
        left = (state.all_steps - state.steps) / speed if speed > 0 else 0.0
        time_left = f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"
        word = "failed" if result.error is not None else "done"
        self.console.print(
            f"{word} {result.name} ({state.runs} of {state.all_runs}{time_left if speed > 0 else ''})"
        )
