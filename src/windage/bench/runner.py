"""Many runs: on the cores of this machine by joblib, or on a Dask cluster; the same work on both.

The processes share nothing but the output folder. The coordinator reads the progress from it and keeps the
manifest; what is finished is never touched again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from windage.bench import manifest, steps
from windage.bench.cluster import Tls, client_of, on_cluster
from windage.bench.configuration import Task
from windage.bench.files import lock
from windage.bench.run import Result, execute, record_failure
from windage.errors import ConfigurationError, WindageError, missing_extra

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")
POLL_SECONDS = 0.5
PATIENCE = 3
"""How often the pool of processes may break before any run was begun."""
ORPHAN_SECONDS = 0.5
"""How often a working process sees whether its command is still there."""


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
    tls: Tls | None = None,
) -> Summary:
    """Do what is left of the tasks. Raises on a fault of the folder or the cluster, not of a run."""
    folder = Path(tasks[0].folder)
    configuration = tasks[0].configuration
    results: list[Result] = []
    with client_of(backend, scheduler, tls) as client, _claimed(folder):
        manifest.check(folder, configuration)
        left = [task for task in tasks if not _is_finished(task)]
        try:
            with _Watch(tasks, left, display) as watch:
                found = _on_processes(left, jobs) if client is None else on_cluster(left, client)
                for result in found:
                    results.append(result)
                    watch.finished(result)
        except BaseException:
            with suppress(steps.StorageError):  # the fault itself is what is told
                manifest.write(folder, configuration)
            raise
        manifest.write(folder, configuration)
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
    left = {task.name: task for task in tasks}
    broken = 0
    while left:
        try:
            for result in through(pool(jobs), execute, list(left.values()), jobs):
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
        return next(through(pool(1), execute, [task], 1))
    except BrokenProcessPool:
        return record_failure(task, "its process was killed (too little memory, or a crash in native code)")


def pool(jobs: int) -> Any:
    """joblib's processes, one thread each."""
    try:
        from joblib.externals import loky
    except ImportError as error:
        raise missing_extra("joblib", "bench", "the benchmark") from error
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    end = {"initializer": _end_with, "initargs": (os.getpid(),)}
    return loky.ProcessPoolExecutor(max_workers=jobs, env=dict.fromkeys(names, "1"), **end)


def _end_with(parent: int) -> None:
    """In a working process: end it, whatever it does, when its command is gone: a successor does the work."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def through(
    pool: Any, function: Callable[[TaskT], ResultT], tasks: Sequence[TaskT], jobs: int
) -> Iterator[ResultT]:
    """A task a process at a time: nothing waits in the pool when it is stopped."""
    waiting = list(reversed(tasks))
    running: set[Any] = set()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.add(pool.submit(function, waiting.pop()))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
        pool.shutdown()
    except BaseException:
        pool.shutdown(kill_workers=True)
        raise


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """The folder for one command at a time; let go when this process ends, however it ends."""
    path = folder / manifest.LOCK
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
