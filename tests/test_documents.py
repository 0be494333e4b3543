"""What the documents say runs as written and is true."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import windage
from windage.methods import METHODS, Settings

ROOT = Path(__file__).parent.parent


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)


def test_the_ten_lines_of_the_readme_run_as_written():
    (example,) = blocks(ROOT / "README.md")
    assert len([line for line in example.splitlines() if line.strip()]) == 10
    result = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True)
    assert re.match(r"stock \d+\.\d: expect -?\d+\.\d, 95 % -?\d+\.\d to -?\d+\.\d\n$", result.stdout)


@pytest.mark.parametrize("number", range(len(blocks(ROOT / "docs/guide.md"))))
def test_the_guide_runs(number, tmp_path, monkeypatch):
    """Each block in turn, after those before it."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(ROOT / "docs/guide.md")[: number + 1]:
        exec(compile(block, f"guide block {number}", "exec"), names)


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_the_examples_run(script, tmp_path):
    result = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert result.stdout


def test_the_table_of_methods_in_the_readme_is_the_table():
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)`[^|]*\| ([^|]*) \| ([^|]*) \|$", readme, flags=re.MULTILINE)
    assert rows == [(m.name, m.law, m.objective) for m in METHODS.values()]


def test_the_guide_lists_every_setting_with_its_default():
    guide = (ROOT / "docs/guide.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", guide, flags=re.MULTILINE))
    assert rows == {f.name: repr(f.default).replace("'", '"') for f in fields(Settings)}


def test_links_between_documents_hold():
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / link).exists(), f"{path.name} points to {link}"


def test_the_changelog_knows_this_version():
    assert f"## {windage.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version = "{windage.__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_the_reproduction_shows_the_tables_that_were_printed():
    page = (ROOT / "docs/reproduction.md").read_text()
    shown = re.findall(r"<!-- table ([\w-]+) -->\n(.*?)\n<!-- end -->", page, flags=re.DOTALL)
    assert [name for name, _ in shown] == [
        "paper-regret",
        "paper-reward",
        "later-regret",
        "runtime",
        "density",
        "saa",
    ]
    for name, text in shown:
        assert text == (ROOT / "docs/reproduction" / f"{name}.md").read_text().strip(), name
