"""The manifest of a folder of results: what was run, by what, and what failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from windage.bench import steps
from windage.bench.configuration import Configuration
from windage.bench.files import PART, write_whole
from windage.bench.run import made_by
from windage.errors import ConfigurationError

MANIFEST, LOCK = "manifest.json", ".lock"


def check(folder: Path, configuration: Configuration) -> None:
    """Refuse a folder of another configuration; mark a new one as ours before anything runs."""
    path = folder / MANIFEST
    if not path.exists():
        others = [p.name for p in folder.iterdir() if p.name != LOCK and p.suffix != PART]
        if others:
            raise ConfigurationError(
                f"{folder} holds other files ({', '.join(sorted(others)[:3])}) and no {MANIFEST}: it is not "
                "a folder of results. Choose another --out."
            )
        write(folder, configuration)
        return
    # manifests without an engine are of the time when it was torch
    theirs = {"engine": "torch", **read(folder)["configuration"]}
    mine = configuration.to_dict()
    keys = [key for key in {**theirs, **mine} if theirs.get(key) != mine.get(key)]
    if keys:
        differences = "; ".join(f"{key}: {theirs.get(key)} there, {mine.get(key)} now" for key in keys)
        raise ConfigurationError(
            f"{folder} holds results of another configuration ({differences}). Results are not mixed: choose "
            "another --out, or delete that folder."
        )


def read(folder: Path) -> dict[str, Any]:
    """The manifest of a folder of results, or a ConfigurationError."""
    try:
        found: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        float(found["configuration"]["noise"])
    except FileNotFoundError:
        raise ConfigurationError(
            f"{folder} has no {MANIFEST}: it is not a folder of results. Make one with "
            f"`windage bench run --out {folder}`."
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{folder / MANIFEST} cannot be read: {error}.") from None
    return found


def write(folder: Path, configuration: Configuration) -> None:
    """What is in the folder, gathered from the files themselves."""
    runs = [
        {k: v for k, v in steps.read_metadata(path).items() if k != "configuration"}
        for path in (steps.with_ending(run, steps.RUN) for run in steps.finished_runs(folder))
    ]
    failed = [steps.read_failure(path) for path in sorted(folder.glob(f"runs/*/*/*{steps.FAILED}"))]
    manifest = {
        "configuration": configuration.to_dict(),
        "made_by": made_by(),
        "runs": [_short(run) for run in runs],
        "failed": failed,
    }
    with steps.storage(folder):
        write_whole(folder / MANIFEST, json.dumps(manifest, indent=1).encode())


def _short(run: dict[str, Any]) -> dict[str, Any]:
    """A run's entry; what equals the manifest's own machine and commit is not said again."""
    mine = made_by()
    return {key: value for key, value in run.items() if mine.get(key) != value}
