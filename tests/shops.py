"""A study file in a folder of its own, and the commands on it."""

import json
from pathlib import Path

from typer.testing import CliRunner

import windage
from windage import cli

QUICK = "\n[settings]\nraw_samples = 32\nrestarts = 2\nmembers = 4\n"


def run(*arguments):
    return CliRunner().invoke(cli.app, list(arguments))


def ask(path):
    result = run("ask", str(path), "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def plain(command, *more):
    """What a command on shop.toml says to scripts."""
    result = run(command, "shop.toml", *more, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def tell_table(text, *more):
    """A table told to shop.toml."""
    Path("days.csv").write_text(text)
    done = run("tell", "shop.toml", "--csv", "days.csv", *more)
    assert done.exit_code == 0, done.exception


def fault(*arguments):
    result = run(*arguments)
    assert isinstance(result.exception, windage.WindageError), (arguments, result.output, result.exception)
    return str(result.exception)
