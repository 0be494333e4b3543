"""The line for people who wait."""

import io
import sys
import time

import pytest

from windage.cli import progress
from windage.cli.progress import piped, working


class Screen(io.StringIO):
    """A standard error output that is a terminal, or is not."""

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def shown(monkeypatch, terminal, takes, **options):
    screen = Screen(terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    with working("opening", seconds=0.05, **options) as say:
        say("choosing")
        time.sleep(takes)
    return screen.getvalue()


def test_a_long_wait_in_a_terminal_says_what_is_done(monkeypatch):
    assert shown(monkeypatch, True, 0.4) == "windage: choosing ...\n"


@pytest.mark.parametrize(
    ("terminal", "takes", "options"), [(True, 0.0, {}), (False, 0.2, {}), (True, 0.2, {"quiet": True})]
)
def test_otherwise_nothing_is_said(monkeypatch, terminal, takes, options):
    assert shown(monkeypatch, terminal, takes, **options) == ""
    time.sleep(0.1)
    assert sys.stderr.getvalue() == ""


def test_a_fault_ends_the_waiting(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Screen(True))
    with pytest.raises(ValueError, match="odd"), working("opening", seconds=0.05):
        raise ValueError("odd")
    time.sleep(0.1)
    assert sys.stderr.getvalue() == ""


def test_json_for_another_program_is_left_alone(monkeypatch):
    for terminal, as_json, expected in ((False, True, True), (True, True, False), (False, False, False)):
        monkeypatch.setattr(sys, "stdout", Screen(terminal))
        assert piped(as_json) is expected
    assert progress.SECONDS == 1.0
