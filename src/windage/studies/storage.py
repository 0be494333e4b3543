"""Where a study is kept: connecting to it, and its faults in one line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError

from windage.errors import ConfigurationError, WindageError, missing_extra
from windage.studies.file import StudyFile, without_password

TABLES_TRIED = 6
"""How often workers that begin at one moment try to make the tables."""


class StorageError(WindageError, RuntimeError):
    """The study's storage cannot be reached, or does not do what it should. Nothing told before is lost."""


def connect(url: str) -> Any:
    """Optuna's storage; the tables are made where there are none."""
    if url.startswith("postgresql"):
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise missing_extra("psycopg", "postgresql", "a study on PostgreSQL") from error
    from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

    _check_tables_plainly()
    _check_url(url)
    for attempt in range(TABLES_TRIED):
        try:
            # a connection that died while we slept is noticed and made anew
            return optuna.storages.RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
        except (IntegrityError, ProgrammingError, OperationalError) as error:
            # another worker makes the tables of an empty database at this moment: they will be there
            busy = any(word in str(error) for word in ("already exists", "unique", "UNIQUE", "locked"))
            if not busy or attempt == TABLES_TRIED - 1:
                raise
            time.sleep(0.3 * (attempt + 1))
    raise AssertionError("unreachable")


def _check_url(url: str) -> None:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    try:
        make_url(url).get_dialect().import_dbapi()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise ConfigurationError(
            f"the storage {without_password(url, url)!r} cannot be read as a URL: "
            f"{without_password(str(error), url)}"
        ) from None
    except ImportError as error:
        raise ConfigurationError(f"the storage needs a driver that is not installed: {error}") from None


def _check_tables_plainly() -> None:
    """Spare Optuna's storages the import of Alembic where it would have nothing to do.

    Optuna makes, stamps and checks its tables with it each time. Two plain queries tell whether the tables
    are finished and of the Optuna that runs; if not, Optuna goes its own way.
    """
    from optuna.storages._rdb import storage as rdb

    if rdb._VersionManager.__name__ == "PlainCheck":
        return

    class PlainCheck(rdb._VersionManager):
        def __init__(self, url: str, engine: Any, scoped_session: Any) -> None:
            self.made_here = _made_here(engine)
            if self.made_here:
                self.url, self.engine, self.scoped_session = url, engine, scoped_session
            else:
                super().__init__(url, engine, scoped_session)

        def check_table_schema_compatibility(self) -> None:
            if not self.made_here:
                super().check_table_schema_compatibility()

    rdb._VersionManager = PlainCheck  # type: ignore[misc]


def _made_here(engine: Any) -> bool:
    """Whether the Optuna that runs made the tables, and finished."""
    from sqlalchemy import text
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with engine.connect() as connection:
            made_by = connection.execute(text("SELECT library_version FROM version_info")).scalar()
            stamp = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    except SQLAlchemyError:  # no such table; or no database, of which Optuna's own query will tell
        return False
    return made_by == optuna.__version__ and stamp is not None


@contextmanager
def storage_faults(file: StudyFile) -> Iterator[None]:
    """Faults of the storage in one line, without its password."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except WindageError:
        raise
    except (SQLAlchemyError, StorageInternalError, OSError) as error:
        cause = error.__cause__ or error
        words = str(getattr(cause, "orig", None) or cause).strip().splitlines() or [type(cause).__name__]
        text = without_password(f"{words[0]} ({file.storage})", file.storage)
        raise StorageError(f"the study's storage failed: {text}") from None
    except KeyError as error:
        if "Record does not exist" not in str(error):
            raise
        raise StorageError(f"the study {file.name!r} is no longer in its storage.") from None
