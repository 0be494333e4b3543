"""What `windage bench wide` runs, and what it says on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from windage.bench.configuration import FIXED, load_plugin, method_digest
from windage.bench.wide import families, players
from windage.bench.wide.sweep import WideRun, WideTask
from windage.errors import ConfigurationError, near_match

SPLITS = ("development", "validation")


def plan(
    split: str,
    methods: Sequence[str],
    problems: Sequence[str],
    seeds: Sequence[int],
    budget: int,
    settings: Mapping[str, Any],
    plugins: Sequence[str],
) -> list[WideTask]:
    """The runs, all checked, or a ConfigurationError."""
    files = tuple(str(Path(path).resolve()) for path in plugins)
    for path in files:
        load_plugin(path)
    if split not in SPLITS:
        raise ConfigurationError(
            f"--split is development or validation, not {split!r}.{near_match(split, SPLITS)}"
        )
    wrong = next((name for name in settings if name in FIXED), None)
    if wrong is not None:
        raise ConfigurationError(f"{wrong!r} cannot be set with --set: each run sets it by itself.")
    names = players.need_known(methods or ("auto", players.LEARN, *players.BASELINES))
    chosen = list(dict.fromkeys(problems)) or families.problems(
        "development" if split == SPLITS[0] else "validation"
    )
    for name in chosen:
        families.instance(name)
    keywords = tuple(sorted(settings.items()))
    for method in names:  # refuses a wrong setting before anything runs
        players.player(method, families.instance(chosen[0]), 0, budget, settings)
    return [
        WideTask(problem, method, seed, budget, keywords, method_digest(method), files)
        for seed in dict.fromkeys(seeds)  # an interrupted sweep has all problems of some seeds
        for problem in chosen
        for method in names
    ]


def progress(console: Console) -> Callable[[WideRun, int, int], None]:
    """A line a finished run, with the time left."""
    start = time.monotonic()

    def show(run: WideRun, done: int, total: int) -> None:
        left = (time.monotonic() - start) / done * (total - done)
        words = f"about {left / 60:.0f} min left" if left >= 90 else f"about {left:.0f} s left"
        name = f"{run.task.problem} {run.task.method} {run.task.seed}"
        state = f"failed {name}: {run.error}" if run.error else f"done {name}"
        console.print(f"{state} ({done} of {total}, {words})")

    return show
