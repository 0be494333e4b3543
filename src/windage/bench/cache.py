"""What took long to compute and follows from its inputs alone, kept between processes.

A folder of small JSON files: ``$WINDAGE_CACHE``, or ``windage`` in the user's cache folder. A cache that
cannot be read or written is no fault: the result is computed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from windage.bench.files import write_whole


def folder() -> Path:
    """Where the files are."""
    chosen = os.environ.get("WINDAGE_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "windage"


def cached(key: str, compute: Callable[[], dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """The JSON values of ``compute()``, of these names; ``key`` tells all that they depend on (a digest)."""
    with suppress(OSError, ValueError, RuntimeError):
        found = json.loads((folder() / f"{key}.json").read_text())
        if isinstance(found, dict) and all(name in found for name in names):
            return found
    result = compute()
    with suppress(OSError, RuntimeError):
        folder().mkdir(parents=True, exist_ok=True)
        write_whole(folder() / f"{key}.json", json.dumps(result).encode())
    return result
