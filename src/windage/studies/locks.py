"""Locks: at any moment one worker asks of a study, and one tells, over threads, processes and machines.

Two workers that choose at the same moment without seeing each other would choose the same. The lock is the
database's own (PostgreSQL's advisory lock) or a file beside it (SQLite). Both end with the process that holds
them. Other storages have a lock between threads alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal

from optuna.storages import BaseStorage

from windage.errors import missing_extra
from windage.studies.optuna_internals import database_of
from windage.studies.storage import PRIVATE, StorageError

Purpose = Literal["asking", "telling"]
PATIENCE = 600.0
"""Seconds to wait for a lock."""
NOT_AVAILABLE = "55P03"
"""PostgreSQL's code of a lock that was not given in time."""
_THREADS: dict[Purpose, threading.Lock] = {"asking": threading.Lock(), "telling": threading.Lock()}
_HELD = threading.local()


class LockError(StorageError):
    """Another worker holds the lock for too long. Nothing was changed."""


@contextmanager
def hold(storage: BaseStorage, study_name: str, purpose: Purpose) -> Iterator[None]:
    """Be the only one that asks, or tells, of this study. A LockError where the lock is not given in time.

    The thread that holds the lock may take it again.
    """
    held: set[tuple[int, str, str]] = _HELD.__dict__.setdefault("keys", set())
    backend = database_of(storage)
    key = (id(backend or storage), study_name, purpose)
    if key in held:
        yield
        return
    with _between_threads(study_name, purpose), _between_processes(backend, study_name, purpose):
        held.add(key)
        try:
            yield
        finally:
            held.discard(key)


@contextmanager
def _between_threads(study_name: str, purpose: Purpose) -> Iterator[None]:
    if not _THREADS[purpose].acquire(timeout=PATIENCE):
        raise _timed_out(study_name, purpose, "another thread of this process")
    try:
        yield
    finally:
        _THREADS[purpose].release()


def _between_processes(backend: Any, study_name: str, purpose: Purpose) -> AbstractContextManager[None]:
    if backend is not None:
        engine = backend.engine
        if engine.dialect.name == "postgresql":
            return _advisory(engine, study_name, purpose)
        if engine.dialect.name == "sqlite" and engine.url.database not in (None, "", ":memory:"):
            return _file(engine.url.database, study_name, purpose)
    return nullcontext()


def _timed_out(study_name: str, purpose: Purpose, holder: str) -> LockError:
    return LockError(
        f"the study {study_name!r} is locked: {holder} has been {purpose} for more than {PATIENCE:g} s. "
        "Nothing was changed. Wait for it or end it, then try again."
    )


@contextmanager
def _advisory(engine: Any, study_name: str, purpose: Purpose) -> Iterator[None]:
    """PostgreSQL's lock of a number, here of the study's name and the purpose."""
    from sqlalchemy import text
    from sqlalchemy.exc import OperationalError

    digest = hashlib.sha256(f"{study_name} {purpose}".encode()).digest()
    key = int.from_bytes(digest[:8], "big", signed=True)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"SET lock_timeout = '{int(1000 * PATIENCE)}ms'"))
        try:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": key})
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != NOT_AVAILABLE:
                raise
            raise _timed_out(study_name, purpose, _backend_that_holds(connection, key)) from None
        finally:
            if not connection.invalidated:
                connection.execute(text("RESET lock_timeout"))  # the connection goes back to the pool
        try:
            yield
        finally:
            if not connection.invalidated:
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})


def _backend_that_holds(connection: Any, key: int) -> str:
    """Who holds an advisory lock, as PostgreSQL knows it."""
    from sqlalchemy import text

    query = (
        "SELECT a.pid, a.usename, coalesce(host(a.client_addr), 'this machine') FROM pg_locks l "
        "JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted "
        "AND l.classid::bigint = (:high)::bigint AND l.objid::bigint = (:low)::bigint"
    )
    halves = {"high": (key >> 32) & 0xFFFFFFFF, "low": key & 0xFFFFFFFF}
    row = connection.execute(text(query), halves).first()
    if row is None:
        return "another worker"
    return f"a worker at {row[2]} (user {row[1]}, process {row[0]} of the database)"


@contextmanager
def _file(database: str, study_name: str, purpose: Purpose) -> Iterator[None]:
    """A lock on a file; another beside it says who holds it. Who may write the database may lock it."""
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise missing_extra("filelock", "studies", "a study on SQLite") from error
    path, mode = f"{database}.{purpose}", _mode(database)
    lock, holder = FileLock(path, mode=mode), Path(f"{path}.holder")
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        raise _timed_out(study_name, purpose, _process_that_holds(holder)) from None
    try:
        with suppress(OSError):
            mine = {"pid": os.getpid(), "host": socket.gethostname(), "since": int(time.time())}
            with open(holder, "w", opener=lambda name, flags: os.open(name, flags, mode)) as out:
                out.write(json.dumps(mine))
        yield
    finally:
        with suppress(OSError):
            holder.unlink()
        lock.release()


def _mode(database: str) -> int:
    """The mode of new files beside a database: its own, as SQLite's are."""
    try:
        return os.stat(database).st_mode & 0o666
    except OSError:
        return PRIVATE


def _process_that_holds(holder: Path) -> str:
    try:
        found = json.loads(holder.read_text())
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found["since"]))
        return f"process {found['pid']} on {found['host']}, since {since},"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
