"""What one server holds: the study, what goes on behind the page, its secrets, and short-lived notes."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from windage.web.background import Background, new_process
from windage.web.live import LiveStudy
from windage.web.security import Keys

MOST_NOTES, MOST_TABLES = 500, 6
"""So many are kept; the oldest go."""


class Kept:
    """A few things by keys that nobody guesses."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._found: OrderedDict[str, bytes] = OrderedDict()

    def put(self, content: bytes) -> str:
        """Keep it; its key."""
        key = secrets.token_urlsafe(9)
        self.first(key, content)
        return key

    def first(self, key: str, content: bytes = b"") -> bool:
        """Keep it under this key, unless there is something already; whether there was nothing."""
        with self._lock:
            if key in self._found:
                return False
            self._found[key] = content
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return True

    def drop(self, key: str) -> None:
        """Let a key go."""
        with self._lock:
            self._found.pop(key, None)

    def get(self, key: str) -> bytes | None:
        """What is kept under a key."""
        with self._lock:
            return self._found.get(key)


@dataclass
class Site:
    """One server's study."""

    path: Path
    """Of the study file, or of the folder for a new one."""
    keys: Keys = field(default_factory=Keys)
    make: Callable[[], Executor] = new_process
    notes: Kept = field(default_factory=lambda: Kept(MOST_NOTES))
    """What was done, to be said on the next page."""
    tables: Kept = field(default_factory=lambda: Kept(MOST_TABLES))
    """Uploads that wait for a "sure"."""
    forms: Kept = field(default_factory=lambda: Kept(MOST_NOTES))
    """Forms that were taken: sent twice, they count once."""

    def __post_init__(self) -> None:
        self.live = LiveStudy(self.path)
        self.background = Background(self.live, self.make)

    @property
    def is_new(self) -> bool:
        """Whether the study is still to be set up."""
        return self.live.file is None and (self.live.path.is_dir() or not self.live.path.exists())

    def choose(self, path: Path) -> None:
        """The study has been set up here."""
        self.live.path = path
        self.background.attend()

    def say(self, words: str) -> str:
        """An address that says what was done."""
        return f"/?said={self.notes.put(words.encode())}#said"

    def said(self, key: str) -> str:
        """What was done; empty where nobody remembers."""
        return (self.notes.get(key) or b"").decode()
