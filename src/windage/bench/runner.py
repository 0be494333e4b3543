"""Many runs: on the cores of this machine by joblib, or on a Dask cluster; the same work on both.

The processes share nothing but the output folder. The coordinator reads the progress from it and keeps the
manifest; what is finished is never touched again.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from windage.bench import steps
from windage.bench.configuration import Configuration, Task
from windage.bench.files import PART, lock, write_whole
from windage.bench.run import Result, execute, made_by, record_failure
from windage.errors import ConfigurationError, WindageError, missing_extra

MANIFEST, LOCK = "manifest.json", ".lock"
POLL_SECONDS = 0.5
PATIENCE = 3
"""How often the pool of processes may break before any run was begun."""
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
    backend: str = "processes",
    scheduler: str | None = None,
) -> Summary:
    """Do what is left of the tasks. Raises on a fault of the folder or the cluster, not of a run."""
    folder = Path(tasks[0].folder)
    configuration = tasks[0].configuration
    results: list[Result] = []
    with _cluster(backend, scheduler) as client, _claimed(folder):
        _check_manifest(folder, configuration)
        left = [task for task in tasks if not _is_finished(task)]
        try:
            with _Watch(tasks, left, display) as watch:
                found = _on_processes(left, jobs) if client is None else _on_cluster(left, client)
                for result in found:
                    results.append(result)
                    watch.finished(result)
        except BaseException:
            with suppress(steps.StorageError):  # the fault itself is what is told
                write_manifest(folder, configuration)
            raise
        write_manifest(folder, configuration)
    failed = tuple(result for result in results if result.error is not None)
    return Summary(len(results) - len(failed), len(tasks) - len(left), failed)


def _is_finished(task: Task) -> bool:
    """Whether a run is done and scored; refused if it came from another table or plugin."""
    inputs = None
    run = steps.with_ending(task.path, steps.RUN)
    if run.exists():
        inputs = steps.read_metadata(run).get("inputs")
    elif begun := steps.read_steps(task.path)[0]:
        inputs = begun[0]["inputs"]
    if inputs is not None and inputs != dict(task.inputs):
        raise ConfigurationError(
            f"{task.name} in {task.folder} was made with another table of samples or another plugin. Results "
            "are not mixed: choose another --out, or delete that run."
        )
    return run.exists() and steps.with_ending(task.path, steps.SCORES).exists()


def _on_processes(tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """Results as they come. A run that kills its process is found, recorded and left out."""
    left = {task.name: replace(task, parent=os.getpid()) for task in tasks}
    broken = 0
    while left:
        try:
            for result in _through(_pool(jobs), list(left.values()), jobs):
                del left[result.name]
                yield result
        except BrokenProcessPool as error:
            suspects = [task for task in left.values() if steps.with_ending(task.path, steps.LOCK).exists()]
            broken += not suspects
            if broken == PATIENCE:
                raise WindageError(
                    "the working processes were killed again and again before they began a run (too little "
                    "memory?). Finished runs are safe; the same command, perhaps with fewer --jobs, goes on."
                ) from error
            for task in suspects:
                del left[task.name]
                yield _alone(task)


def _alone(task: Task) -> Result:
    """A run whose process may have been killed by it: in a process for itself."""
    try:
        return next(_through(_pool(1), [task], 1))
    except BrokenProcessPool:
        return record_failure(task, "its process was killed (too little memory, or a crash in native code)")


def _pool(jobs: int) -> Any:
    """joblib's processes, one thread each."""
    try:
        from joblib.externals import loky
    except ImportError as error:
        raise missing_extra("joblib", "bench", "the benchmark") from error
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return loky.ProcessPoolExecutor(max_workers=jobs, env=dict.fromkeys(names, "1"))


def _through(pool: Any, tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """A task a process at a time: nothing waits in the pool when it is stopped."""
    waiting = list(reversed(tasks))
    running: set[Any] = set()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.add(pool.submit(execute, waiting.pop()))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
        pool.shutdown()
    except BaseException:
        pool.shutdown(kill_workers=True)
        raise


def _on_cluster(tasks: Sequence[Task], client: Any) -> Iterator[Result]:
    """Results as they come from a Dask cluster. A run whose workers die, one after the other, is recorded."""
    import distributed

    sent = {client.submit(execute, task, pure=False): task for task in tasks}
    lost = (CancelledError, distributed.comm.core.CommClosedError)
    try:
        for future in distributed.as_completed(sent):
            try:
                yield future.result()
            except distributed.scheduler.KilledWorker:
                yield record_failure(sent[future], "its workers were killed, one after the other")
    except lost as error:
        raise WindageError(
            "the Dask cluster went away. Finished runs are safe; the same command goes on when it is back."
        ) from error


@contextmanager
def _cluster(backend: str, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster, or None where the work is done here."""
    if backend != "dask":
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_extra("dask", "dask", "a cluster") from error
    if scheduler is None:
        raise ConfigurationError("--backend dask needs --scheduler ADDRESS, such as tcp://10.0.0.1:8786.")
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # their faults are told in one line of ours
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise WindageError(
            f"no Dask scheduler answers at {scheduler} ({type(error).__name__}). Start one with "
            "`dask scheduler`, workers with `dask worker ADDRESS --nthreads 1`, and give its address."
        ) from None
    try:
        if not client.scheduler_info()["workers"]:
            raise WindageError(
                f"the Dask scheduler at {scheduler} has no workers: start `dask worker` first."
            )
        yield client
    finally:
        client.close(timeout=1)


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """The folder for one command at a time; let go when this process ends, however it ends."""
    path = folder / LOCK
    with steps.storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
        held = lock(path)
        try:
            held.acquire(timeout=0)
        except TimeoutError:
            raise ConfigurationError(
                f"another `windage bench run` works in {folder}. Wait for it, or choose another --out."
            ) from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        held.release()


def _check_manifest(folder: Path, configuration: Configuration) -> None:
    """Refuse a folder of another configuration; mark a new one as ours before anything runs."""
    path = folder / MANIFEST
    if not path.exists():
        others = [p.name for p in folder.iterdir() if p.name != LOCK and p.suffix != PART]
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
        float(found["configuration"]["noise"])
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
    runs = [
        {k: v for k, v in steps.read_metadata(path).items() if k != "configuration"}
        for path in (steps.with_ending(run, steps.RUN) for run in steps.finished_runs(folder))
    ]
    failed = [steps.read_failure(path) for path in sorted(folder.glob(f"runs/*/*/*{steps.FAILED}"))]
    manifest = {
        "configuration": configuration.to_dict(),
        "made_by": made_by(),
        "runs": [_short(run) for run in runs],
        "failed": failed,
    }
    with steps.storage(folder):
        write_whole(folder / MANIFEST, json.dumps(manifest, indent=1).encode())


def _short(run: dict[str, Any]) -> dict[str, Any]:
    """A run's entry; what equals the manifest's own machine and commit is not said again."""
    mine = made_by()
    return {key: value for key, value in run.items() if mine.get(key) != value}


class _Watch:
    """Reads the progress from the folder in a thread of its own, and tells the display."""

    def __init__(self, tasks: Sequence[Task], left: Sequence[Task], display: Display) -> None:
        self.budget = tasks[0].configuration.budget
        self.all_runs = len(tasks)
        self.display = display
        self.left = {task.name: task for task in left}
        self.before = {task.name: steps.count_steps(task.path) for task in left}
        self.stop, self.drawing = threading.Event(), threading.Lock()
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
        with self.drawing:
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
            with self.drawing:
                self.display.show(self.state())
            # a slow shared folder is not asked all the time
            self.stop.wait(max(POLL_SECONDS, 5 * (time.monotonic() - started)))
