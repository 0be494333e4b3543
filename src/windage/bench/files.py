"""Files that are there whole or not at all, and locks between processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from windage.errors import missing_extra

PART = ".part"
"""The ending of a file that is being written; one that was left by a kill means nothing."""


def write_whole(path: Path, content: bytes) -> None:
    """Write beside it, then move: a reader, or a kill at any moment, never meets half a file."""
    partial = path.with_name(f"{path.name}.{os.getpid()}{PART}")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def lock(path: Path) -> Any:
    """A lock that ends with the process that holds it, however that ends."""
    try:
        import filelock
    except ImportError as error:
        raise missing_extra("filelock", "bench", "the benchmark") from error
    return filelock.FileLock(path)
