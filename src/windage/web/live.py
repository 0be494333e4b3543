"""The study of a file as both are at this moment: the file may change on disk, the database may go away."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path

from windage.studies.entries import State
from windage.studies.file import StudyFile, load
from windage.studies.storage import StorageError
from windage.studies.store import StudyStore

Stamp = tuple[int, int, int]


class LiveStudy:
    """Opens a study when it is first needed, and again when its file or its database is another one."""

    def __init__(self, path: Path, may_create: bool = True) -> None:
        self.path = path
        self.file: StudyFile | None = None
        """The study file as it was last right."""
        self._may_create = may_create
        self._lock = threading.Lock()
        self._store: StudyStore | None = None
        self._stamps: tuple[Stamp | None, Stamp | None] = (None, None)

    def store(self) -> StudyStore:
        """The study; a WindageError where its file is wrong, or its database is not there."""
        with self._lock:
            stamp = _stamp(self.path)
            if self._store is None or stamp is None or stamp != self._stamps[0]:
                return self._open(load(self.path), stamp)
            database = _database(self._store.file)
            if database is None:
                return self._store
            now, before = _stamp(database), self._stamps[1]
            if now is not None and before is not None and now[2] == before[2]:
                return self._store
            return self._open(self._store.file, stamp)

    def _open(self, file: StudyFile, stamp: Stamp | None) -> StudyStore:
        database = _database(file)
        if database is not None and not self._may_create and not database.exists():
            self._store = None
            raise StorageError(f"the database {database} is not there: bring it back. Nothing told is lost.")
        if database is not None and not self._may_create and database.stat().st_size == 0:
            self._store = None
            raise StorageError(f"the database {database} is empty: bring back the one that was there.")
        store = StudyStore.open(file)
        self._store, self.file, self._may_create = store, file, False
        self._stamps = (stamp, _stamp(database) if database else None)
        return store


def version(store: StudyStore, state: State) -> str:
    """A digest of all that a recommendation depends on."""
    rows = [
        [e.number, e.decision, e.context, e.value, "value" in e.was, e.date, e.forecast]
        for e in state.entries  # a value that was corrected, be it to the same, is trusted
    ]
    said = json.dumps([repr(store.file), rows], default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _stamp(path: Path) -> Stamp | None:
    """Time, size and number of a file; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _database(file: StudyFile) -> Path | None:
    """The file of a SQLite database."""
    from sqlalchemy.engine import make_url

    url = make_url(file.storage)
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" and url.database else None
