"""Results read back: one table of all steps, with expectation and regret."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windage.bench import manifest, problems, steps
from windage.bench.checks import COLUMNS
from windage.bench.configuration import Sources, problem_digest
from windage.bench.run import score
from windage.errors import ConfigurationError
from windage.methods import METHODS

if TYPE_CHECKING:
    import pandas


def load(
    out: str | Path, portfolio_data: str | None = None, plugins: str | Sequence[str] = ()
) -> pandas.DataFrame:
    """All finished runs of a folder, a row a step.

    problem, method, seed, step, the decision variables, the contexts, value, expected, regret, ask_seconds;
    sorted. ``regret`` is the optimum of the expectation minus ``expected``. A folder that was made with
    another table of samples or with plugins needs them again.
    """
    folder = Path(out)
    noise = manifest.read(folder)["configuration"]["noise"]
    sources = Sources.of(portfolio_data, [plugins] if isinstance(plugins, str) else plugins)
    sources.load()
    frames = []
    for name, runs in groupby(steps.finished_runs(folder), key=lambda path: path.parent.parent.name):
        if name not in problems.PROBLEMS:
            raise ConfigurationError(f"the problem {name!r} is of a plugin: give it again with --plugin.")
        problem = sources.problem(name, noise)
        best, digest = problem.optimum.value, problem_digest(problem)
        for path in runs:
            frame, metadata = steps.read_run(path)
            # expectations are of the very problem that was run
            if metadata["inputs"].get("problem") != digest:
                raise ConfigurationError(
                    f"the runs of {name!r} were made with another table of samples or another plugin: give "
                    "the same --portfolio-data and --plugin as then."
                )
            if not steps.with_ending(path, steps.SCORES).exists():
                score(path, problem)
            expected = steps.read_table(steps.with_ending(path, steps.SCORES))[0]["expected"]
            run = {"problem": name, "method": metadata["method"], "seed": metadata["seed"]}
            frames.append(frame.assign(**run, expected=expected, regret=best - expected))
    if not frames:
        raise ConfigurationError(f"{folder} has no finished runs yet.")
    return _joined(frames)


def _joined(frames: list[Any]) -> pandas.DataFrame:
    """One table: problems and methods in the order of their tables, then those of plugins."""
    import pandas

    table = pandas.concat(frames, ignore_index=True)
    first, last = COLUMNS[:4], COLUMNS[4:]
    middle = [column for column in table.columns if column not in COLUMNS]
    order = {
        "problem": {name: i for i, name in enumerate(problems.PROBLEMS)},
        "method": {
            name: i for i, name in enumerate(dict.fromkeys([*METHODS, *sorted(set(table["method"]))]))
        },
    }
    table = table.sort_values([*first], key=lambda c: c.map(order[c.name]) if c.name in order else c)
    return table[[*first, *middle, *last]].reset_index(drop=True)
