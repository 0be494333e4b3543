"""Results read back: one table of all steps, with expectation and regret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windage.bench import problems, steps
from windage.bench.configuration import Sources, method_order
from windage.bench.run import score
from windage.bench.runner import read_manifest
from windage.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas


def load(
    out: str | Path, portfolio_data: str | None = None, plugins: str | Sequence[str] = ()
) -> pandas.DataFrame:
    """All finished runs of a folder, a row a step.

    problem, method, seed, step, the decisions, the contexts, value, expected, regret, ask_seconds;
    sorted. ``regret`` is the optimum of the expectation minus ``expected``. A folder that was made with
    another table of samples or with plugins needs them again.
    """
    folder = Path(out)
    noise = read_manifest(folder)["configuration"]["noise"]
    sources = Sources.of(portfolio_data, [plugins] if isinstance(plugins, str) else plugins)
    sources.load()
    frames = []
    for name, runs in _by_problem(folder):
        if name not in problems.PROBLEMS:
            raise ConfigurationError(f"the problem {name!r} is of a plugin: give it again with --plugin.")
        problem = sources.problem(name, noise)
        best = problem.optimum.value
        for path in runs:
            frame, metadata = steps.read_run(path)
            _check_inputs(sources, metadata)
            if not steps.with_ending(path, steps.SCORES).exists():
                score(path, problem)
            expected = steps.read_table(steps.with_ending(path, steps.SCORES))[0]["expected"]
            frame.insert(0, "seed", metadata["seed"])
            frame.insert(0, "method", metadata["method"])
            frame.insert(0, "problem", name)
            seconds = frame.pop("ask_seconds")
            frames.append(frame.assign(expected=expected, regret=best - expected, ask_seconds=seconds))
    if not frames:
        raise ConfigurationError(f"{folder} has no finished runs yet.")
    return _joined(frames)


def _check_inputs(sources: Sources, metadata: dict[str, Any]) -> None:
    """Expectations are of the very problem that was run."""
    mine = sources.digests(metadata["problem"], metadata["method"])["problem"]
    if metadata["inputs"].get("problem") != mine:
        raise ConfigurationError(
            f"the runs of {metadata['problem']!r} were made with another table of samples or another plugin: "
            "give the same --portfolio-data and --plugin as then."
        )


def _joined(frames: list[Any]) -> pandas.DataFrame:
    import pandas

    table = pandas.concat(frames, ignore_index=True)
    first = ["problem", "method", "seed", "step"]
    last = ["value", "expected", "regret", "ask_seconds"]
    middle = [column for column in table.columns if column not in (*first, *last)]
    known = list(dict.fromkeys([*problems.PROBLEMS, *table["problem"].unique()]))
    order = {
        "problem": {name: i for i, name in enumerate(known)},
        "method": {name: i for i, name in enumerate(method_order(list(table["method"].unique())))},
    }
    table = table.sort_values(first, key=lambda c: c.map(order[c.name]) if c.name in order else c)
    return table[first + middle + last].reset_index(drop=True)


def _by_problem(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    for inner in sorted(folder.glob("runs/*")):
        found = [
            path.with_name(path.name.removesuffix(steps.RUN))
            for path in sorted(inner.glob(f"*/*{steps.RUN}"))
            if not path.name.endswith(steps.SCORES)
        ]
        if found:
            yield inner.name, found
