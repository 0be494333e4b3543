"""A line for people who wait: what the command is doing, once it takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS = 1.0
"""What is done in less time needs no line."""


@contextmanager
def working(words: str, quiet: bool = False, seconds: float = SECONDS) -> Iterator[Callable[[str], None]]:
    """Print ``words`` to the standard error output if the block takes longer than ``seconds``.

    Nothing is printed where that output is no terminal, or ``quiet``. The block gets a function that changes
    the words before they are printed.
    """
    current = [words]
    if quiet or not sys.stderr.isatty():
        yield lambda new: current.__setitem__(0, new)
        return
    timer = threading.Timer(seconds, lambda: print(f"windage: {current[0]} ...", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield lambda new: current.__setitem__(0, new)
    finally:
        timer.cancel()


def piped(as_json: bool) -> bool:
    """Whether a result as JSON goes to another program."""
    return as_json and not sys.stdout.isatty()
