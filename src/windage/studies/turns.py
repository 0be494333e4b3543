"""Asks of one study take turns, and so do tells, over threads, processes and machines.

Two workers that choose at the same moment without seeing each other would choose the same. The lock is the
database's own (PostgreSQL's advisory lock) or a file's beside it (SQLite): both end with the process that
holds them. Other storages have the threads' lock alone.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from optuna.storages import RDBStorage

from windage.errors import missing_extra

_THREADS = {"asking": threading.Lock(), "telling": threading.Lock()}
PATIENCE = 600.0
"""Seconds to wait for another's turn. Then a file is no longer waited for; a database says that it failed."""


@contextmanager
def turn(storage: Any, study_name: str, what: str) -> Iterator[None]:
    """The only one that is ``asking``, or ``telling``, of this study, as far as can be known."""
    backend = getattr(storage, "_backend", storage)
    with _THREADS[what], _lock(backend, study_name, what):
        yield


def _lock(backend: Any, study_name: str, what: str) -> AbstractContextManager[None]:
    if isinstance(backend, RDBStorage):
        engine = backend.engine
        if engine.dialect.name == "postgresql":
            return _advisory(engine, f"{study_name} {what}")
        if engine.dialect.name == "sqlite" and engine.url.database not in (None, "", ":memory:"):
            return _file(f"{engine.url.database}.{what}")
    return nullcontext()


@contextmanager
def _advisory(engine: Any, name: str) -> Iterator[None]:
    from sqlalchemy import text

    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"SET lock_timeout = '{int(PATIENCE)}s'"))
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": key})
        try:
            yield
        finally:
            if not connection.invalidated:
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})
                connection.execute(text("RESET lock_timeout"))  # the connection goes back to the pool


@contextmanager
def _file(path: str) -> Iterator[None]:
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise missing_extra("filelock", "studies", "a study on SQLite") from error
    lock = FileLock(path)
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        yield
        return
    try:
        yield
    finally:
        lock.release()
