"""Asks of one study take turns, over threads, processes and machines.

Two workers that choose at the same moment without seeing each other would choose the same. The lock is the
database's own (PostgreSQL's advisory lock) or a file's beside it (SQLite): both end with the process that
holds them. Other storages have the threads' lock alone.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from optuna.storages import RDBStorage

from windage.errors import missing_extra

_THREADS = threading.Lock()
PATIENCE = 600.0
"""Seconds to wait for another's turn: a turn that takes longer does not hold up the others."""


@contextmanager
def turn(storage: Any, study_name: str) -> Iterator[None]:
    """The only ask of this study, as far as can be known."""
    backend = getattr(storage, "_backend", storage)
    with _THREADS:
        if not isinstance(backend, RDBStorage):
            yield
        elif backend.engine.dialect.name == "postgresql":
            with _advisory(backend.engine, study_name):
                yield
        elif backend.engine.dialect.name == "sqlite" and backend.engine.url.database not in (
            None,
            "",
            ":memory:",
        ):
            with _file(str(backend.engine.url.database)):
                yield
        else:
            yield


@contextmanager
def _advisory(engine: Any, study_name: str) -> Iterator[None]:
    from sqlalchemy import text

    key = int.from_bytes(hashlib.sha256(study_name.encode()).digest()[:8], "big", signed=True)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"SET lock_timeout = '{int(PATIENCE)}s'"))
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": key})
        try:
            yield
        finally:
            if not connection.invalidated:
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})


@contextmanager
def _file(database: str) -> Iterator[None]:
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise missing_extra("filelock", "studies", "a study on SQLite") from error
    lock = FileLock(f"{database}.asking")
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        yield
        return
    try:
        yield
    finally:
        lock.release()
