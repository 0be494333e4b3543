"""Where a study is kept: connecting to it, and its faults in one line."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from json import JSONDecodeError

import optuna
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage

from windage.errors import ConfigurationError, WindageError, missing_extra
from windage.studies import optuna_internals
from windage.studies.url import without_password

TABLES_TRIED = 6
"""How often workers that start at the same moment try to create the tables."""
ENGINE = {"pool_pre_ping": True}
"""A connection that died in the meantime is noticed and made anew."""

PRIVATE = 0o600
"""The mode of new files: their owner alone reads them."""
_CREATING = threading.Lock()


class StorageError(WindageError, RuntimeError):
    """The study's storage cannot be reached, or does not do what it should. Nothing told before is lost."""


def quiet() -> None:
    """What Optuna and its migrations say of their work is not for people who use windage's commands."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def connect(url: str) -> RDBStorage:
    """Optuna's storage. The tables are created where there are none."""
    if url.startswith("postgresql"):
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise missing_extra("psycopg", "postgresql", "a study on PostgreSQL") from error
    from sqlalchemy import create_engine
    from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

    _check_url(url)
    _make_private(url)
    engine = create_engine(url, **ENGINE)
    if optuna_internals.made_by_this_optuna(engine):
        return optuna_internals.quick_storage(url, engine, dict(ENGINE))
    engine.dispose()
    for attempt in range(TABLES_TRIED):
        try:
            return full_storage(url)
        except (IntegrityError, ProgrammingError, OperationalError) as error:
            # another worker creates the tables of an empty database at this moment: they will be there
            busy = any(word in str(error) for word in ("already exists", "unique", "UNIQUE", "locked"))
            if not busy or attempt == TABLES_TRIED - 1:
                raise
            time.sleep(0.3 * (attempt + 1))
    raise AssertionError("unreachable")


def full_storage(url: str) -> RDBStorage:
    """Optuna's storage, built by itself: what optuna-dashboard needs, which asks for its version too."""
    # Optuna fills in the braces of a URL; those of ours are letters of a file's name
    return RDBStorage(url.replace("{", "{{").replace("}", "}}"), engine_kwargs=dict(ENGINE))


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


def _make_private(url: str) -> None:
    """Create a SQLite database that is not there yet, for its owner alone.

    SQLite would let everybody read it. Its other files (-wal, -shm, -journal) have the database's mode.
    """
    from sqlalchemy.engine import make_url

    parts = make_url(url)
    if parts.get_backend_name() != "sqlite" or parts.database in (None, "", ":memory:"):
        return
    # One that is there is not opened: to close it would end the locks that this process holds on it.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    with _CREATING, suppress(OSError):  # of a folder that is not there SQLite tells
        os.close(os.open(os.path.realpath(str(parts.database)), flags, PRIVATE))


@contextmanager
def storage_faults(url: str, study: str) -> Iterator[None]:
    """Faults of the storage become a StorageError of one line, without its password."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except WindageError:
        raise
    except (SQLAlchemyError, StorageInternalError, OSError, UnicodeDecodeError, JSONDecodeError) as error:
        cause = error.__cause__ or error
        words = str(getattr(cause, "orig", None) or cause).strip().splitlines() or [type(cause).__name__]
        text = without_password(f"{words[0]} ({url})", url)
        raise StorageError(f"the study's storage failed: {text}") from None
    except RecursionError:
        raise StorageError(
            f"the study {study!r} cannot be read: an attribute has too many brackets."
        ) from None
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise
        raise StorageError(f"the study {study!r} cannot be read: an attribute has too many digits.") from None
    except KeyError as error:
        if "Record does not exist" not in str(error):
            raise
        raise StorageError(f"the study {study!r} is no longer in its storage.") from None
