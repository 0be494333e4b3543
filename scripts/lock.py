"""Write requirements.lock: every package that development needs, with the hashes of all its files.

    python scripts/lock.py

pip chooses the versions, within constraints.txt. The hashes are those that the package index names, for every
platform and Python. torch is left out: its builds (for a CPU, or for one of several GPUs) bring packages of
their own, and are served by several indexes with different hashes. The Makefile installs it by its version.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from pip._internal.models.index import PyPI

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
APART = ("torch", "windage")
HEAD = "# Written by scripts/lock.py. torch is installed apart, by its version in constraints.txt.\n"
LINK = re.compile(r'href="[^"]*/([^"/#]+)#sha256=([0-9a-f]{64})"')


def normal(name: str) -> str:
    """A package's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def index() -> str:
    """The package index that pip asks, without a / at its end."""
    words = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    set_here = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return (set_here or str(PyPI.simple_url)).rstrip("/")


def chosen() -> list[dict[str, Any]]:
    """What pip would install into an empty environment."""
    words = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    words += ["--constraint", str(ROOT / "constraints.txt"), f"{ROOT}[dev]"]
    found = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=True)
    rows: list[dict[str, Any]] = json.loads(found.stdout)["install"]
    return [row for row in rows if normal(row["metadata"]["name"]) not in APART]


def version_of(file: str, name: str) -> str:
    """The version in the name of a wheel or a source archive of a package; empty where it is none."""
    stem = re.sub(r"\.(tar\.gz|tar\.bz2|zip|whl)$", "", file)
    if not file.endswith(".whl"):
        return stem.rsplit("-", 1)[-1] if normal(stem.rsplit("-", 1)[0]) == name else ""
    parts = stem.split("-")
    return parts[1] if normal(parts[0]) == name else ""


def hashes(page: str, name: str, version: str) -> list[str]:
    """The hashes of all files of one version, by the index's page of the package."""
    found = LINK.findall(page)
    return sorted({digest for file, digest in found if version_of(file, name) == version})


def line(name: str, version: str, digests: list[str]) -> str:
    """One requirement of the lock."""
    return " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{digest}" for digest in digests)])


def main() -> None:
    """Write the lock."""
    lines = []
    for row in chosen():
        name, version = normal(row["metadata"]["name"]), row["metadata"]["version"]
        with urllib.request.urlopen(f"{index()}/{name}/", timeout=60) as answer:
            digests = hashes(answer.read().decode(), name, version)
        mine = row["download_info"]["archive_info"]["hashes"]["sha256"]
        if mine not in digests:
            sys.exit(
                f"{name} {version}: the index does not know the file that pip chose; nothing is written."
            )
        lines.append(line(name, version, digests))
    LOCK.write_text(HEAD + "\n".join(sorted(lines)) + "\n")


if __name__ == "__main__":
    main()
