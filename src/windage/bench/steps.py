"""One run on disk: a line a step while it goes on, a Parquet file when it is finished.

runs/ackley/sbo-kde/100.jsonl            the steps so far, each with the fit that the next one starts from
runs/ackley/sbo-kde/100.parquet          the finished run, with what it was made by in its metadata
runs/ackley/sbo-kde/100.scores.parquet   the exact expectation of each decision
runs/ackley/sbo-kde/100.failed.json      why a run failed
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windage.bench.files import write_whole
from windage.errors import WindageError, missing_extra

if TYPE_CHECKING:
    import pandas

STEPS, RUN, SCORES, FAILED, LOCK = ".jsonl", ".parquet", ".scores.parquet", ".failed.json", ".lock"
METADATA = b"windage"
KEYS = {"step", "decision", "context", "value", "ask_seconds", "fits", "inputs"}


class StorageError(WindageError, OSError):
    """The output folder cannot be written or read."""


@contextmanager
def storage(path: Path, verb: str = "write to") -> Iterator[None]:
    """Faults of the disk as one clear error."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(
            f"cannot {verb} {path}: {error.strerror or error}. Finished runs are safe; when that is "
            "mended, the same command goes on from here."
        ) from error


def with_ending(path: Path, ending: str) -> Path:
    """The file of a run with that ending."""
    return path.with_name(path.name + ending)


def read_steps(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The steps of a run in whole lines, and the bytes that they take: a torn last line does not count."""
    file = with_ending(path, STEPS)
    with storage(file, "read"):
        content = file.read_bytes() if file.exists() else b""
    steps: list[dict[str, Any]] = []
    size = 0
    for line in content.splitlines(keepends=True):
        try:
            step = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            step = None
        if not isinstance(step, dict) or step.get("step") != len(steps) or not step.keys() >= KEYS:
            break
        steps.append(step)
        size += len(line)
    return steps, size


def count_steps(path: Path) -> int:
    """How many steps a run has on disk, finished or not: for the display."""
    try:
        return with_ending(path, STEPS).read_bytes().count(b"\n")
    except OSError:
        return 0


@contextmanager
def appending(path: Path, size: int) -> Iterator[Any]:
    """A function that adds a step after the first ``size`` bytes and hands it to the system at once."""
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = with_ending(path, STEPS).open("ab", buffering=0)
        file.truncate(size)  # a torn line of a killed process

    def append(step: Mapping[str, Any]) -> None:
        line = json.dumps(step, separators=(",", ":")).encode() + b"\n"
        with storage(path):
            written = file.write(line)
            if written != len(line):
                raise OSError("No space left on device")

    with file:
        yield append


def frame_of(steps: list[dict[str, Any]]) -> pandas.DataFrame:
    """The steps as a table: step, the decision variables, the contexts, value, ask_seconds."""
    rows = [
        {
            "step": s["step"],
            **s["decision"],
            **s["context"],
            "value": s["value"],
            "ask_seconds": s["ask_seconds"],
        }
        for s in steps
    ]
    return _pandas().DataFrame(rows)


def write_table(path: Path, frame: pandas.DataFrame, metadata: Mapping[str, Any]) -> None:
    """A Parquet file, whole or not at all, with JSON metadata."""
    arrow, parquet = _arrow()
    table = arrow.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), METADATA: json.dumps(metadata)})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, buffer.getvalue())


def read_table(path: Path) -> tuple[pandas.DataFrame, dict[str, Any]]:
    """A Parquet file and its JSON metadata."""
    arrow, parquet = _arrow()
    try:
        table = parquet.read_table(path)
    except (OSError, arrow.ArrowException) as error:
        raise _broken(path, error) from None
    return table.to_pandas(), _metadata(path, table.schema)


def read_metadata(path: Path) -> dict[str, Any]:
    """The JSON metadata of a Parquet file alone."""
    arrow, parquet = _arrow()
    try:
        return _metadata(path, parquet.read_schema(path))
    except (OSError, arrow.ArrowException) as error:
        raise _broken(path, error) from None


def read_run(path: Path) -> tuple[pandas.DataFrame, dict[str, Any]]:
    """A finished run and its metadata."""
    frame, metadata = read_table(with_ending(path, RUN))
    if not metadata.keys() >= {"problem", "method", "seed", "inputs"}:
        raise _broken(with_ending(path, RUN), "windage did not write it")
    return frame, metadata


def _metadata(path: Path, schema: Any) -> dict[str, Any]:
    try:
        found = json.loads((schema.metadata or {})[METADATA])
    except (KeyError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise _broken(path, "windage did not write it")
    return found


def _broken(path: Path, reason: object) -> StorageError:
    text = " ".join(str(reason).split())[:200]
    return StorageError(f"{path} cannot be read ({text}). Delete it; the same command makes it anew.")


def finished_runs(folder: Path) -> list[Path]:
    """The finished runs of an output folder, without their ending, in order."""
    found = sorted(folder.glob(f"runs/*/*/*{RUN}"))
    return [p.with_name(p.name.removesuffix(RUN)) for p in found if not p.name.endswith(SCORES)]


def read_failure(path: Path) -> dict[str, str]:
    """The name of a failed run and its error."""
    try:
        record = json.loads(path.read_text())
        return {key: str(record[key]) for key in ("run", "error")}
    except (OSError, ValueError, KeyError, TypeError):
        return {"run": str(path), "error": "unknown: the record cannot be read"}


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise missing_extra("pandas", "bench", "the benchmark") from error
    return pandas


def _arrow() -> tuple[Any, Any]:
    _pandas()
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("pyarrow", "bench", "the benchmark") from error
    return pyarrow, pyarrow.parquet
