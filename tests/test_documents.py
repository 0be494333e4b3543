"""What the documents say runs as written and is true."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

import windage
from windage import cli
from windage.methods import METHODS
from windage.settings import Settings

ROOT = Path(__file__).parent.parent


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)


def test_the_ten_lines_of_the_readme_run_as_written():
    (example,) = blocks(ROOT / "README.md")
    assert len([line for line in example.splitlines() if line.strip()]) == 10
    result = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True)
    assert re.match(r"stock \d+\.\d: expect -?\d+\.\d, 95 % -?\d+\.\d to -?\d+\.\d\n$", result.stdout)


def test_the_second_section_of_the_readme_runs_without_python(tmp_path, monkeypatch):
    """Each command as it stands, and the rounds after the first in the same way."""
    monkeypatch.chdir(tmp_path)
    (section,) = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    commands = [shlex.split(line, comments=True)[1:] for line in section.splitlines()]
    assert [c[0] for c in commands] == ["init", "ask", "tell", "tell", "status", "recommend", "export"]
    more = [["ask", "shop.toml"], ["tell", "shop.toml", "?", "--value", "5", "--context", "demand=9"]]
    said = {}
    for i, command in enumerate([*commands[:4], *9 * more, *commands[4:]]):
        words = [str(i // 2) if word == "?" else word for word in command]
        result = CliRunner().invoke(cli.app, words)
        assert result.exit_code == 0, (words, result.exception)
        said[command[0]] = result.stdout
    assert "11 told, 0 under way" in said["status"]
    assert "stock = " in said["recommend"]
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 12


@pytest.mark.parametrize("number", range(len(blocks(ROOT / "docs/studies.md"))))
def test_the_page_on_studies_runs(number):
    exec(compile(blocks(ROOT / "docs/studies.md")[number], "studies", "exec"), {})


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


def test_the_speed_page_shows_the_runs_that_were_kept(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import page

    text = (ROOT / "docs/speed.md").read_text()
    shown = dict(re.findall(r"<!-- table ([\w-]+) -->\n(.*?)\n<!-- end -->", text, flags=re.DOTALL))
    assert set(shown) == set(page.TABLES)
    for name, table in shown.items():
        kept = json.loads((ROOT / "docs/speed" / f"{name}.json").read_text())
        assert table == page.TABLES[name](kept["rows"]), name


def test_bench_check_fails_below_a_bar(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import bench

    rows = json.loads((ROOT / "docs/speed/bench.json").read_text())["rows"]
    bars = json.loads((ROOT / "benchmarks/bars.json").read_text())
    assert bench.failures(rows, bars) == []
    for key, value, words in (
        ("ratios", {"fit": 99.0, "maximise": 9.0, "ask": 9.0}, "ask ratio 9.0 is below"),
        ("peak_megabytes", 5000.0, "5000 MB"),
        ("behind", 0.1, "behind"),
    ):
        worse = [{**row, key: value} for row in rows]
        assert any(words in line for line in bench.failures(worse, bars))
