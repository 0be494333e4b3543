"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

PART = ".part"
"""The ending of a file that is being written; one that was left by a kill means nothing."""


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the place, then move: a reader, or a kill at any moment, never meets half a file."""
    partial = path.with_name(f"{path.name}.{os.getpid()}{PART}")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
