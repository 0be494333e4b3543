"""The command line without a study file: the demo and its picture, methods, problems, faults."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import windage
from windage import cli
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
    result = CliRunner().invoke(cli.app, ["demo", "--budget", "12", "--out", str(tmp_path / "picture.png")])
    assert result.exit_code == 0, result.exception
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


def test_the_demo_offers_its_own_study_alone(tmp_path):
    from windage import Optimizer, Real, demo

    shop = Optimizer({"stock": Real(0, 1)}, {"demand": Real(0, 1)}, seed=1)
    shop.tell({"stock": 0.5}, {"demand": 0.4}, 1.0)
    mine, theirs, lost = (tmp_path / f"{name}.toml" for name in ("mine", "theirs", "lost"))
    theirs.write_text("[decisions.price]\nlow = 0\nhigh = 9\n")
    lost.with_suffix(".db").touch()
    assert [demo.study(shop, path) for path in (mine, mine, theirs, lost)] == [True, True, False, False]
    assert "price" in theirs.read_text()
    assert not lost.exists()


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_demo_without_matplotlib_prints_its_result_first(tmp_path, monkeypatch, options):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = tmp_path / "picture.png"
    result = CliRunner().invoke(cli.app, ["demo", "--budget", "5", "--out", str(out), *options])
    assert isinstance(result.exception, MissingExtraError)
    if options:
        assert json.loads(result.stdout)["picture"] is None
    else:
        assert "windage recommends" in result.stdout
        assert "Picture" not in result.stdout


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
    assert runner.invoke(cli.app, ["--version"]).stdout.strip() == f"windage {windage.__version__}"


def test_methods_have_the_head_of_the_readme():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (line,) = [line for line in readme.splitlines() if line.startswith("| method |")]
    shown = CliRunner().invoke(cli.app, ["methods"], env={"COLUMNS": "200"}).stdout.splitlines()[1]
    assert re.findall(r"\w[\w ]*\w", shown) == re.findall(r"\w[\w ]*\w", line)


@pytest.mark.slow  # the optima of all problems
def test_problems_with_their_optima():
    assert "0.46394" in CliRunner().invoke(cli.app, ["problems", "--optima"]).stdout


def test_problems_show_an_optimum(monkeypatch):
    one = {"newsvendor": problems.PROBLEMS["newsvendor"]}
    monkeypatch.setattr(problems, "PROBLEMS", one)
    shown = CliRunner().invoke(cli.app, ["problems", "--optima"]).stdout
    assert "best expectation" in shown
    assert "0.46394" in shown


def test_a_table_needs_pandas_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'windage\[tables\]'"):
        windage.Observations().to_pandas()
