"""What the measurements share: processor seconds, peak memory, and a file for each run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEAK = """
def peak():
    # the largest memory of this process so far, in megabytes; ru_maxrss also counts that of the process
    # which started this one, so Linux's own figure is better where there is one
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if "VmHWM" in line) / 1024
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""
"""Source of ``peak()``, for a process of its own."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and the result: on a busy machine they still compare."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def peak_of_an_ask(saved: dict[str, Any], python: str = sys.executable, source: str | None = None) -> float:
    """The largest memory of a process of its own that does one ask of a saved study, in megabytes.

    ``python`` and ``source``: of another engine, with its folder ``src``.
    """
    code = PEAK + (
        "import json, sys, windage\n"
        "windage.Optimizer.from_dict(json.load(open(sys.argv[1]))).ask()\n"
        "print(peak())"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.json"
        path.write_text(json.dumps(saved))
        command = [python, "-c", code, str(path)]
        result = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env=environment(source)
        )
    return float(result.stdout)


def environment(source: str | None = None) -> dict[str, str]:
    """Of a process of one thread; ``source``: the folder that its windage comes from."""
    found = {**os.environ, **ONE_THREAD}
    return found if source is None else {**found, "PYTHONPATH": source}


def keep(folder: Path, what: str, rows: list[dict[str, Any]], made_by: dict[str, Any] | None = None) -> None:
    """A JSON of each run; ``made_by``: by what, unless by the windage of this process."""
    if made_by is None:
        from windage.bench import run

        made_by = run.made_by()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / time.strftime(f"{what}-%Y-%m-%dT%H%M%S.json")
    path.write_text(json.dumps({"made_by": made_by, "rows": rows}, indent=1))
    print(f"kept in {path}")


def small(value: float) -> str:
    """``3e-08``, or 0."""
    return f"{value:.0e}" if value > 0 else "0"
