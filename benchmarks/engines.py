"""Two engines side by side, method by method: seconds and peak memory of one ask, as ratios of one run.

    python benchmarks/engines.py --old OLD/src --new src
    python benchmarks/engines.py --old OLD/src --new src --methods sbo-kde --observations 100 --check

Each engine is a folder ``src`` and a python. Both are told the same history: so many decisions anywhere in
the box with the contexts that they met, drawn from a seeded generator. The fit before the last row is the
warm start of the ask that is measured, as in a study. Every repeat is a study of another seed; old and new
take turns, so that what else the machine does hits both, and medians count. One thread each, processor
seconds. Peak memory is that of a process of its own that does one ask.

--check fails where the new engine takes more than 1.2 times the old one's seconds, or no less memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from measure import environment, keep, peak_of_an_ask, timed

METHODS = (
    *("sbo-kde", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt", "gp-ucb"),
    *("bq-kde", "rbq-kde", "erbo", "wdrbo", "ledrbo"),
)
PROBLEMS = ("ackley", "branin", "ackley-4", "hartmann")
SLOWEST = 1.2
"""The ratio of seconds that is still allowed."""
QUICK = {"raw_samples": 8, "restarts": 1}
"""Settings for an ask whose fit alone is wanted."""
HEAD = ("method", "problem", "t", "old s", "new s", "ratio", "old MB", "new MB")


# In the worker: a process of one engine, asked by lines of JSON. It uses what both engines have.


def rows(problem: str, observations: int) -> list[dict[str, Any]]:
    """A history: decisions anywhere, contexts from their distribution, values."""
    import numpy as np

    from windage.bench import problems

    chosen, rng = problems.get(problem), np.random.default_rng(observations)
    x, c = rng.random((observations, len(chosen.decisions))), chosen.sample_contexts(observations, rng)
    return [
        {
            "decision": dict(zip(chosen.decisions, decision.tolist(), strict=True)),
            "context": dict(zip(chosen.contexts, context.tolist(), strict=True)),
            "value": float(value),
        }
        for decision, context, value in zip(x, c, chosen.evaluate(x, c), strict=True)
    ]


def study(problem: str, method: str, history: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """A saved study of that history; its last fit is that of all rows but one."""
    import windage
    from windage.bench import problems

    chosen = problems.get(problem)
    optimizer = windage.Optimizer(chosen.decisions, chosen.contexts, method=method, seed=seed, **QUICK)
    for row in history[:-1]:
        optimizer.tell(row["decision"], context=row["context"], value=row["value"])
    optimizer.cancel(optimizer.ask())
    last = history[-1]
    optimizer.tell(last["decision"], context=last["context"], value=last["value"])
    return {**optimizer.to_dict(), "settings": {}}


def ask(saved: dict[str, Any]) -> float:
    """Processor seconds of the next ask."""
    import windage

    optimizer = windage.Optimizer.from_dict(saved)
    return timed(optimizer.ask)[0]


def made_by() -> dict[str, Any]:
    """What the engine is, and where its package lies."""
    import windage
    from windage.bench import run

    return {"source": str(Path(windage.__file__).parent.parent), **run.made_by()}


JOBS: Mapping[str, Callable[..., Any]] = {"rows": rows, "study": study, "ask": ask, "made_by": made_by}


def work() -> None:
    """Answer each line of the input."""
    for line in sys.stdin:
        job, arguments = json.loads(line)
        try:
            answer = {"result": JOBS[job](*arguments)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


# In the process that measures.


@dataclass
class Engine:
    """One engine, and its worker while it is used as a context manager."""

    name: str
    source: str
    python: str

    def __enter__(self) -> Engine:
        command = [self.python, __file__, "--worker"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.worker = subprocess.Popen(command, env=environment(self.source), **pipes)  # type: ignore[call-overload]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.worker.__exit__(kind, error, trace)

    def __call__(self, job: str, *arguments: Any) -> Any:
        """The answer of the worker."""
        self.worker.stdin.write(json.dumps([job, arguments]) + "\n")
        self.worker.stdin.flush()
        answer = json.loads(self.worker.stdout.readline() or '{"error": "its process ended"}')
        if "error" in answer:
            sys.exit(f"the {self.name} engine, {job}: {answer['error']}")
        return answer["result"]


def made(engine: Engine) -> dict[str, Any]:
    """What the engine is, its folder left out; an end where python found another windage."""
    found: dict[str, Any] = engine("made_by")
    if Path(found.pop("source")).resolve() != Path(engine.source).resolve():
        sys.exit(f"the {engine.name} engine is not that of {engine.source}: is there a folder windage in it?")
    return found


def compare(
    old: Engine, new: Engine, method: str, problem: str, observations: int, repeats: int
) -> dict[str, Any]:
    """One row of the table."""
    history = new("rows", problem, observations)
    seconds: dict[str, list[float]] = {old.name: [], new.name: []}
    first = {engine.name: engine("study", problem, method, history, 0) for engine in (old, new)}
    for engine in (old, new):
        engine("ask", first[engine.name])  # warm up
    for seed in range(repeats):
        saved = {
            e.name: e("study", problem, method, history, seed) if seed else first[e.name] for e in (old, new)
        }
        for engine in (old, new) if seed % 2 == 0 else (new, old):
            seconds[engine.name].append(engine("ask", saved[engine.name]))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    return {
        "method": method,
        "problem": problem,
        "observations": observations,
        "seconds": medians,
        "ratio": medians[new.name] / medians[old.name],
        "repeats": seconds,
        "megabytes": {e.name: peak_of_an_ask(first[e.name], e.python, e.source) for e in (old, new)},
    }


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    seconds, megabytes = row["seconds"], row["megabytes"]
    return [
        row["method"],
        row["problem"],
        str(row["observations"]),
        f"{seconds['old']:.3f}",
        f"{seconds['new']:.3f}",
        f"{row['ratio']:.2f}",
        f"{megabytes['old']:.0f}",
        f"{megabytes['new']:.0f}",
    ]


def failures(found: list[dict[str, Any]]) -> list[str]:
    """The rows that are too slow or take no less memory, in words."""
    words = []
    for row in found:
        what = f"{row['method']} on {row['problem']}, t = {row['observations']}:"
        if row["ratio"] > SLOWEST:
            words.append(f"{what} {row['ratio']:.2f} times the old seconds")
        if row["megabytes"]["new"] >= row["megabytes"]["old"]:
            words.append(f"{what} {row['megabytes']['new']:.0f} MB are no less than the old ones")
    return words


def main() -> None:
    """Measure, print, keep, and check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("old", "new"):
        parser.add_argument(f"--{name}", required=True, help=f"the folder src of the {name} engine")
        parser.add_argument(f"--{name}-python", default=sys.executable, help="its python")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    parser.add_argument("--observations", nargs="+", type=int, default=[30, 100])
    parser.add_argument("--repeats", type=int, default=5, help="studies of each engine; medians count")
    parser.add_argument("--check", action="store_true", help="fail where the new engine is no better")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="where the JSON is kept")
    arguments = parser.parse_args()
    old = Engine("old", str(Path(arguments.old).resolve()), arguments.old_python)
    new = Engine("new", str(Path(arguments.new).resolve()), arguments.new_python)
    makers, found = {}, []
    for method in arguments.methods:
        with old, new:
            makers = {engine.name: made(engine) for engine in (old, new)}
            for problem in arguments.problems:
                for observations in arguments.observations:
                    found.append(compare(old, new, method, problem, observations, arguments.repeats))
                    print(*cells(found[-1]), file=sys.stderr)
    show(found)
    keep(arguments.out, "engines", found, makers)
    below = failures(found)
    for line in below:
        print(line)
    if arguments.check and below:
        sys.exit(1)


def show(found: list[dict[str, Any]]) -> None:
    """The table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*HEAD, title="One ask, processor seconds of one thread; ratio = new / old")
    for row in found:
        table.add_row(*cells(row))
    Console(width=100).print(table)


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--worker"] else main()
