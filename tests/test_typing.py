"""Types for people at an editor: what is right passes mypy --strict, what is wrong is shown where it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
HERE = Path(__file__).parent
SNIPPETS = [HERE / "typing" / name for name in ("right.py", "wrong.py")]


def errors() -> dict[str, dict[int, str]]:
    """What one call of mypy says, by file and line."""
    options = [
        "--strict",
        "--follow-imports=silent",
        "--no-error-summary",
        "--show-error-codes",
        "--config-file=",
    ]
    cache = f"--cache-dir={HERE.parent / '.mypy_cache' / 'snippets'}"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, cache, *map(str, SNIPPETS)],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE,
        env={**os.environ, "MYPYPATH": str(HERE.parent / "src"), "PYTHONPATH": ""},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, dict[int, str]] = {path.name: {} for path in SNIPPETS}
    for line in done.stdout.splitlines():
        match = re.fullmatch(r"(.+?):(\d+): error: (.*)", line)
        if match:
            found[Path(match[1]).name][int(match[2])] = match[3]
    return found


def test_mypy_finds_the_mistakes_and_nothing_else():
    found = errors()
    assert found["right.py"] == {}
    lines = enumerate(SNIPPETS[1].read_text().splitlines(), 1)
    wrong = {number for number, line in lines if line.endswith("# wrong")}
    assert len(wrong) > 20
    assert found["wrong.py"].keys() == wrong
