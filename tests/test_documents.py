"""What the documents say runs as written and is true."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import windage
from windage import cli, methods
from windage.methods import METHODS, Settings

ROOT = Path(__file__).parent.parent
TEN_LINES = r"stock \d+\.\d: expect -?\d+\.\d, 95 % -?\d+\.\d to -?\d+\.\d\n"


@pytest.fixture
def scripts(monkeypatch):
    """The scripts can be imported."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)


def run_all(path: Path) -> None:
    """Each block of a page in turn, after those before it."""
    names: dict[str, object] = {"__name__": path.stem}
    for number, block in enumerate(blocks(path)):
        exec(compile(block, f"{path.name} block {number}", "exec"), names)


def lines(block: str) -> int:
    return len([line for line in block.splitlines() if line.strip()])


def test_the_ten_lines_of_the_readme_run_as_written_without_torch():
    example = blocks(ROOT / "README.md")[0]
    assert lines(example) == 10
    code = example + "\nimport sys\nassert 'torch' not in sys.modules"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(TEN_LINES, result.stdout)


def test_the_bridge_of_the_readme_runs_after_the_ten_lines(capsys):
    _, bridge = blocks(ROOT / "README.md")
    assert lines(bridge) == 6
    run_all(ROOT / "README.md")
    assert re.fullmatch(TEN_LINES + r"\{'stock': \d+\.\d+\}\n", capsys.readouterr().out)


def test_the_second_section_of_the_readme_runs_without_python(tmp_path, monkeypatch):
    """Each command as it stands, and the rounds after the first in the same way."""
    monkeypatch.chdir(tmp_path)
    (section,) = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    commands = [shlex.split(line, comments=True)[1:] for line in section.splitlines()]
    names = ["init", "ask", "tell", "tell", "correct", "status", "recommend", "predict", "export"]
    assert [c[0] for c in commands] == names
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


@pytest.mark.parametrize("page", ["guide", "auto", "architecture"])
def test_the_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(methods, "METHODS", dict(METHODS))  # one page registers a method
    assert blocks(ROOT / f"docs/{page}.md")
    run_all(ROOT / f"docs/{page}.md")


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_the_examples_run(script, tmp_path):
    result = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert result.stdout


def test_the_table_of_methods_in_the_readme_is_the_table():
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)`[^|]*\| ([^|]*) \| ([^|]*) \|$", readme, flags=re.MULTILINE)
    assert rows == [(m.name, m.distribution, m.objective) for m in METHODS.values()]


def test_the_guide_lists_every_setting_with_its_default():
    guide = (ROOT / "docs/guide.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", guide, flags=re.MULTILINE))
    assert rows == {f.name: repr(f.default).replace("'", '"') for f in fields(Settings)}


def test_the_guide_says_which_methods_use_a_setting():
    guide = (ROOT / "docs/guide.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `[^`]*` \| ([^|]*) \|", guide, flags=re.MULTILINE)
    for setting, written in rows:
        users = [m.name for m in METHODS.values() if setting in m.used]
        others = [name for name in METHODS if name not in users]
        allowed = ", ".join(users) if others else "all"
        assert written in (allowed, f"all but {', '.join(others)}"), setting


def test_the_page_on_auto_has_its_constants_as_they_are(scripts):
    import architecture

    page = (ROOT / "docs/auto.md").read_text()
    rows = re.findall(r"^\| `([A-Z_]+)` \| `([^`]+)` \| `([\w/]+)\.py` \| (.*) \|$", page, flags=re.MULTILINE)
    for name, value, module, reason in rows:
        found = getattr(import_module(f"windage.{module.replace('/', '.')}"), name)
        assert found == pytest.approx(eval(value)), name
        assert len(reason) > 5, name
    tuning = [(constant.module, constant.name) for constant in architecture.tuning()]
    assert [(f"{module}.py", name) for name, _, module, _ in rows][: len(tuning)] == tuning


def resolve(name: str) -> object:
    """What a name relative to ``windage`` stands for."""
    parts, module = name.split("."), "windage"
    while parts and find_spec(f"{module}.{parts[0]}"):
        module = f"{module}.{parts.pop(0)}"
        if not hasattr(import_module(module), "__path__"):
            break
    return reduce(getattr, parts, import_module(module))


def test_who_contributes_finds_every_module_and_room():
    page, source = (ROOT / "CONTRIBUTING.md").read_text(), ROOT / "src/windage"
    rooms = [f"{path.parent.name}/" for path in source.glob("*/__init__.py")]
    modules = [path.name for path in source.glob("*.py") if path.name != "__init__.py"]
    assert [name for name in (*rooms, *modules) if not re.search(rf"(^|\s){re.escape(name)}\s", page)] == []


def test_every_name_on_the_page_of_the_architecture_is_there():
    page = (ROOT / "docs/architecture.md").read_text()
    rooms = {path.stem for path in (ROOT / "src/windage").iterdir()}
    names = [name for name in re.findall(r"`([a-z]+(?:\.(?!py`)\w+)+)`", page) if name.split(".")[0] in rooms]
    assert len(names) > 40
    for name in names:
        resolve(name)
    with pytest.raises(AttributeError):
        resolve("gp.ensemble.Ensemble.no_such_thing")


def test_the_layers_of_the_page_and_of_the_picture_are_those_that_are_checked(scripts, tmp_path):
    import architecture_picture

    page = (ROOT / "docs/architecture.md").read_text()
    table = page.split("## The layers")[1].split("## ")[0]
    rows = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)]
    assert rows == architecture_picture.layers()
    assert list(architecture_picture.PURPOSES) == [name for row in rows for name in row]
    assert set(architecture_picture.COLOURS) == set(architecture_picture.PURPOSES)
    architecture_picture.main(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 50_000


def anchors(path: Path) -> set[str]:
    """What a heading is called in a link."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_between_documents_hold():
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", path.read_text()):
            there = path.parent / link if link else path
            assert there.exists(), f"{path.name} points to {link}"
            assert not anchor or anchor in anchors(there), f"{path.name} points to {link}#{anchor}"


def test_the_changelog_knows_this_version():
    assert f"## {windage.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version = "{windage.__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_the_reproduction_shows_the_tables_that_were_printed():
    page = (ROOT / "docs/reproduction.md").read_text()
    shown = re.findall(r"<!-- table ([\w-]+) -->\n(.*?)\n<!-- end -->", page, flags=re.DOTALL)
    assert [name for name, _ in shown] == [
        "paper-2023-100-regret",
        "paper-2023-100-reward",
        "surrogates",
        "paper-regret",
        "errata",
        "budget",
        "ten",
        "later",
        "joint",
        "exponents",
        "runtime",
        "runtime-350",
        "density",
        "distribution-regret",
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
