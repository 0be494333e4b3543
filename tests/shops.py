"""A study file in a folder of its own, and the commands on it."""

import json

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


def fault(*arguments):
    result = run(*arguments)
    assert isinstance(result.exception, windage.WindageError), (arguments, result.output, result.exception)
    return str(result.exception)
