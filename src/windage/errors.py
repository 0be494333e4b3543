"""The errors and warnings of windage. Each message names the field and says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class WindageError(Exception):
    """The base of every error that windage raises on purpose."""


class WindageWarning(UserWarning):
    """A study goes on, but not quite as described; the message says what is different."""


class ConfigurationError(WindageError, ValueError):
    """A study was described wrongly: a space, a method or a setting."""


class InputError(WindageError, ValueError):
    """A told value, context or decision cannot be taken. Nothing was changed."""


class TrialError(WindageError, ValueError):
    """A trial was told twice, or belongs to another optimizer."""


class NotEnoughDataError(WindageError, RuntimeError):
    """The question needs observations that have not been told yet."""


class MissingExtraError(WindageError, ImportError):
    """An optional library is not installed."""


def missing_extra(library: str, extra: str, purpose: str) -> MissingExtraError:
    """The error for an optional library that is not there, with the command that brings it."""
    return MissingExtraError(f"{purpose} needs {library}: install it with  pip install 'windage[{extra}]'")


def near_match(name: object, known: Iterable[str]) -> str:
    """``" Did you mean 'demand'?"`` where a known name is close, else the empty string."""
    if not isinstance(name, str):
        return ""
    matches = get_close_matches(name.lower(), {k.lower(): k for k in known}, n=1, cutoff=0.55)
    if not matches:
        return ""
    original = {k.lower(): k for k in known}[matches[0]]
    return f" Did you mean {original!r}?"
