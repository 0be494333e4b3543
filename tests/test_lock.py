"""requirements.lock: every package of development, with its hashes."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import lock

ROOT = lock.ROOT
A, B, C = "a" * 64, "b" * 64, "c" * 64


def locked():
    """Version and hashes by package."""
    found = re.findall(
        r"^(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", lock.LOCK.read_text(), re.M
    )
    return {name: (version, rest.count("--hash")) for name, version, rest in found}


def test_every_package_of_the_lock_has_a_version_and_hashes():
    text = lock.LOCK.read_text()
    packages = [line for line in text.splitlines() if not line.startswith(("#", " "))]
    assert len(packages) == len(locked()) > 50
    assert "://" not in text
    assert not {"torch", "windage"} & locked().keys()


def test_the_lock_has_the_versions_of_the_constraints():
    """Where this fails: python scripts/lock.py."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    pinned = {lock.normal(name): version for name, version in (line.split("==") for line in lines)}
    torch = pinned.pop("torch")
    assert torch
    assert {name: locked()[name][0] for name in pinned} == pinned


def test_the_lock_goes_with_every_clone():
    assert (ROOT / ".gitignore").read_text().splitlines()[-1] == "!requirements.lock"  # after *.lock


@pytest.mark.parametrize(
    ("file", "name", "version"),
    [
        ("psycopg_binary-3.3.8-cp311-cp311-win_amd64.whl", "psycopg-binary", "3.3.8"),
        ("psycopg-binary-3.3.8.tar.gz", "psycopg-binary", "3.3.8"),
        ("outcome-1.3.0.post0-py2.py3-none-any.whl", "outcome", "1.3.0.post0"),
        ("psycopg_binary-3.3.8.tar.gz", "psycopg", ""),
    ],
)
def test_the_version_of_a_file(file, name, version):
    assert lock.version_of(file, name) == version


def test_the_hashes_of_one_version_are_those_of_all_its_files():
    page = "".join(
        f'<a href="https://host/x/{file}#sha256={digest}" data-requires-python="&gt;=3">{file}</a>\n'
        for file, digest in (
            ("rich-15.0.0-py3-none-any.whl", B),
            ("rich-15.0.0.tar.gz", A),
            ("rich-9.tar.gz", C),
        )
    )
    assert lock.hashes(page, "rich", "15.0.0") == [A, B]
    assert lock.line("rich", "15.0.0", [A]) == f"rich==15.0.0 \\\n    --hash=sha256:{A}"
