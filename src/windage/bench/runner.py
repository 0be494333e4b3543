"""Many runs: on the cores of this machine by joblib, or on a Dask cluster; the same work on both.

The processes share nothing but the output folder. The coordinator reads the progress from it and keeps the
manifest; what is finished is never touched again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from windage.bench import steps
from windage.bench.configuration import Configuration, Task
from windage.bench.files import write_whole
from windage.bench.run import OrphanedError, Result, execute, made_by
from windage.errors import ConfigurationError, WindageError, missing_extra

MANIFEST, LOCK = "manifest.json", ".lock"
POLL_SECONDS = 0.5
PATIENCE = 3
"""How often in a row the pool of processes may break without a run being finished."""
CONNECT_SECONDS = 10


class Display(Protocol):
    """Where the progress goes."""

    def show(self, state: Progress) -> None:
        """Called often."""
        ...

    def finished(self, result: Result, state: Progress) -> None:
        """Called once a run."""
        ...


@dataclass(frozen=True)
class Progress:
    """How far a sweep is: steps done and in all, runs done and in all, and the runs under way."""

    steps: int
    all_steps: int
    runs: int
    all_runs: int
    active: tuple[tuple[str, int, int], ...]
    """The name of each run under way, its steps so far and its budget."""


@dataclass(frozen=True)
class Summary:
    """How a sweep ended."""

    finished: int
    skipped: int
    failed: tuple[Result, ...]


def run_all(
    tasks: Sequence[Task],
    display: Display,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: str | None = None,
) -> Summary:
    """Do what is left of the tasks. Raises on a fault of the folder or the cluster, not of a run."""
    folder = Path(tasks[0].folder)
    configuration = tasks[0].configuration
    results: list[Result] = []
    with _pool(backend, scheduler), _claimed(folder):
        _check_manifest(folder, configuration)
        left = [task for task in tasks if not is_finished(task)]
        try:
            with _Watch(tasks, left, display) as watch:
                for result in _results(left, jobs if backend != "dask" else -1):
                    results.append(result)
                    watch.finished(result)
        except BaseException:
            with suppress(steps.StorageError):  # the fault itself is what is told
                write_manifest(folder, configuration)
            raise
        write_manifest(folder, configuration)
    failed = tuple(result for result in results if result.error is not None)
    return Summary(len(results) - len(failed), len(tasks) - len(left), failed)


def is_finished(task: Task) -> bool:
    """Whether a run is done and scored."""
    endings = (steps.RUN, steps.SCORES)
    return all(steps.with_ending(task.path, ending).exists() for ending in endings)


def _results(tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """Results as they come. A pool that breaks (a process was killed) is made anew for what is left."""
    joblib = _joblib()
    broken = 0
    left = list(tasks)
    while left:
        parallel = joblib.Parallel(
            n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="all"
        )
        try:
            for result in parallel(joblib.delayed(execute)(task) for task in left):
                broken = 0
                left = [task for task in left if task.name != result.name]
                yield result
        except BrokenProcessPool as error:
            broken += 1
            if broken == PATIENCE:
                raise WindageError(
                    f"the working processes were killed {PATIENCE} times in a row (too little memory?). "
                    "Finished runs are safe; the same command, perhaps with fewer --jobs, goes on from here."
                ) from error
        except OrphanedError:
            continue  # of an earlier command; its run is ours now


@contextmanager
def _pool(backend: str, scheduler: str | None) -> Iterator[None]:
    joblib = _joblib()
    if backend != "dask":
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_extra("dask", "dask", "a cluster") from error
    if scheduler is None:
        raise ConfigurationError("--backend dask needs --scheduler ADDRESS, such as tcp://10.0.0.1:8786.")
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise WindageError(
            f"no Dask scheduler answers at {scheduler} ({type(error).__name__}). Start one with "
            "`dask scheduler`, workers with `dask worker ADDRESS --nthreads 1`, and give its address."
        ) from None
    with client, joblib.parallel_config(backend="dask", wait_for_workers_timeout=CONNECT_SECONDS):
        if not client.scheduler_info()["workers"]:
            raise WindageError(
                f"the Dask scheduler at {scheduler} has no workers: start `dask worker` first."
            )
        yield


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """The folder for one command at a time; let go when this process ends, however it ends."""
    try:
        import filelock
    except ImportError as error:
        raise missing_extra("filelock", "bench", "the benchmark") from error
    with steps.storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / LOCK
        lock = filelock.FileLock(path)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            raise ConfigurationError(
                f"another `windage bench run` works in {folder}. Wait for it, or choose another --out."
            ) from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        lock.release()


def _check_manifest(folder: Path, configuration: Configuration) -> None:
    """Refuse a folder of another configuration; mark a new one as ours before anything runs."""
    path = folder / MANIFEST
    if not path.exists():
        others = [p.name for p in folder.iterdir() if p.name != LOCK]
        if others:
            raise ConfigurationError(
                f"{folder} holds other files ({', '.join(sorted(others)[:3])}) and no {MANIFEST}: it is not "
                "a folder of results. Choose another --out."
            )
        write_manifest(folder, configuration)
        return
    theirs, mine = read_manifest(folder)["configuration"], configuration.to_dict()
    keys = [key for key in {**theirs, **mine} if theirs.get(key) != mine.get(key)]
    if keys:
        differences = "; ".join(f"{key}: {theirs.get(key)} there, {mine.get(key)} now" for key in keys)
        raise ConfigurationError(
            f"{folder} holds results of another configuration ({differences}). Results are not mixed: choose "
            "another --out, or delete that folder."
        )


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder of results, or a ConfigurationError."""
    try:
        found: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        found["configuration"].items()
    except FileNotFoundError:
        raise ConfigurationError(
            f"{folder} has no {MANIFEST}: it is not a folder of results. Make one with "
            f"`windage bench run --out {folder}`."
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{folder / MANIFEST} cannot be read: {error}.") from None
    return found


def write_manifest(folder: Path, configuration: Configuration) -> None:
    """What is in the folder, gathered from the files themselves."""
    runs = []
    for path in sorted(folder.glob(f"runs/*/*/*{steps.RUN}")):
        if not path.name.endswith(steps.SCORES):
            runs.append({k: v for k, v in _metadata(path).items() if k != "configuration"})
    failed = [json.loads(path.read_text()) for path in sorted(folder.glob(f"runs/*/*/*{steps.FAILED}"))]
    manifest = {
        "configuration": configuration.to_dict(),
        "made_by": made_by(),
        "runs": [_short(run) for run in runs],
        "failed": [{key: run[key] for key in ("run", "error")} for run in failed],
    }
    with steps.storage(folder):
        write_whole(folder / MANIFEST, json.dumps(manifest, indent=1).encode())


def _metadata(path: Path) -> dict[str, Any]:
    import pyarrow.parquet

    found: dict[str, Any] = json.loads(pyarrow.parquet.read_schema(path).metadata[steps.METADATA])
    return found


def _short(run: dict[str, Any]) -> dict[str, Any]:
    """A run's entry; what equals the manifest's own machine and commit is not said again."""
    mine = made_by()
    return {key: value for key, value in run.items() if mine.get(key) != value}


def _joblib() -> Any:
    try:
        import joblib
    except ImportError as error:
        raise missing_extra("joblib", "bench", "the benchmark") from error
    return joblib


class _Watch:
    """Reads the progress from the folder in a thread of its own, and tells the display."""

    def __init__(self, tasks: Sequence[Task], left: Sequence[Task], display: Display) -> None:
        self.budget = tasks[0].configuration.budget
        self.all_runs = len(tasks)
        self.display = display
        self.left = {task.name: task for task in left}
        self.before = {task.name: steps.count_steps(task.path) for task in left}
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> _Watch:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()

    def finished(self, result: Result) -> None:
        """A run ended."""
        self.left.pop(result.name, None)
        self.display.finished(result, self.state())

    def state(self) -> Progress:
        """How far it is now."""
        counts = [(name, steps.count_steps(task.path)) for name, task in list(self.left.items())]
        active = tuple((name, n, self.budget) for name, n in counts if n > self.before[name])
        done = self.all_runs - len(self.left)
        return Progress(
            done * self.budget + sum(n for _, n in counts),
            self.all_runs * self.budget,
            done,
            self.all_runs,
            active,
        )

    def _loop(self) -> None:
        while not self.stop.is_set():
            started = time.monotonic()
            self.display.show(self.state())
            # a slow shared folder is not asked all the time
            self.stop.wait(max(POLL_SECONDS, 5 * (time.monotonic() - started)))
