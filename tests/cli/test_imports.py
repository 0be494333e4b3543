"""What the commands import: no more than they need."""

import json
import subprocess
import sys

import pytest

from shops import ask

HEAVY = ("torch", "scipy", "pandas", "matplotlib", "alembic", "windage.optimizer", "windage.methods")
SCRIPT = """
import json, sys
sys.argv = ["windage", *{words!r}]
from windage.cli import app
try:
    app()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps([name for name in {heavy!r} if name in sys.modules]), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "command", ["--help", "status shop.toml --json", "tell shop.toml 0 --value 1 --context demand=2"]
)
def test_light_commands_import_no_engine(shop, command):
    ask(shop)
    code = SCRIPT.format(words=command.split(), heavy=HEAVY)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(result.stderr.splitlines()[-1]) == []


@pytest.mark.parametrize("code", ["import windage", "import windage.cli", "import windage.studies"])
def test_imports_are_light(code):
    check = f"{code}; import sys; sys.exit(any(name in sys.modules for name in {(*HEAVY, 'optuna')!r}))"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


@pytest.mark.parametrize("command", ["status", "export", "run", "dashboard", "ask"])
def test_without_optuna_every_command_says_what_to_install(shop, command):
    options = {"export": ["--csv", "x.csv"], "run": ["--command", "x"]}.get(command, [])
    script = (
        f"import sys; sys.modules['optuna'] = None; sys.argv = {['windage', command, 'shop.toml', *options]}"
    )
    found = subprocess.run(
        [sys.executable, "-c", f"{script}; from windage.cli import main; main()"],
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stdout) == (2, "")
    assert "windage[studies]" in found.stderr
    assert len(found.stderr.splitlines()) == 1
