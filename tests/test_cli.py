"""The command line, the demo and its picture."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import windage
from windage import cli, plots
from windage.bench import problems
from windage.errors import MissingExtraError
from windage.methods import METHODS

PNG = b"\x89PNG"


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "windage.cli", *arguments], capture_output=True, text=True, **options
    )


def test_demo_beats_its_rivals_and_draws(tmp_path):
    result = command("demo", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["optimum_profit"] == pytest.approx(0.4639, abs=1e-4)
    assert found["optimum_stock"] == pytest.approx(0.188, abs=1e-3)
    assert found["true_profit"] > 0.44
    assert found["true_profit"] > max(r["true_profit"] for r in found["rivals"])
    assert found["interval"][0] < 0.4639 < found["interval"][1]
    assert (tmp_path / "windage-demo.png").read_bytes().startswith(PNG)


def test_demo_prints_for_people(tmp_path):
    result = command("demo", "--budget", "12", "--out", str(tmp_path / "picture.png"))
    assert result.returncode == 0, result.stderr
    for words in (
        "the true optimum",
        "windage recommends",
        "GP-UCB",
        "luckiest",
        "95 % interval",
        "picture.png",
    ):
        # a line may be broken at a space, or within a long path
        assert words in result.stdout.replace("\n", " ") or words in result.stdout.replace("\n", "")
    assert "decision  10:" in result.stdout


def test_faults_are_one_line(tmp_path):
    result = command("demo", "--out", str(tmp_path / "nowhere" / "p.png"))
    assert result.returncode == 2
    assert result.stderr.startswith("windage: there is no folder")
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    wrong = command("demo", "--out", str(tmp_path / "picture.xyz"))
    assert wrong.returncode == 2
    assert "must end in .png" in wrong.stderr
    assert command("demo", "--budget", "1").returncode == 2
    assert command("nonsense").returncode == 2


def test_methods_and_problems_and_version():
    runner = CliRunner()
    shown = runner.invoke(cli.app, ["methods"])
    assert all(name in shown.stdout for name in METHODS)
    rows = json.loads(runner.invoke(cli.app, ["methods", "--json"]).stdout)
    assert [row["name"] for row in rows] == list(METHODS)
    rows = json.loads(runner.invoke(cli.app, ["problems", "--json"]).stdout)
    assert [row["name"] for row in rows] == list(problems.PROBLEMS)
    assert "newsvendor" in runner.invoke(cli.app, ["problems"]).stdout
    assert "0.46394" in runner.invoke(cli.app, ["problems", "--optima"]).stdout
    assert runner.invoke(cli.app, ["--version"]).stdout.strip() == f"windage {windage.__version__}"


@pytest.mark.parametrize("code", ["import windage", "from windage.cli import app; import windage.methods"])
def test_light_commands_do_not_import_torch(code):
    check = f"{code}; import sys; sys.exit('torch' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


def test_a_missing_library_names_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'windage\[plots\]'"):
        plots.pyplot()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'windage\[tables\]'"):
        windage.Observations().to_pandas()
