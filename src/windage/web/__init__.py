"""The web page for people: ``windage serve shop.toml``. One screen: what to do today, and what happened.

The page is made on the server. What takes time (the next decision, the recommendation, the pictures) is
computed by helper processes, so that a save is answered at once.
"""

from __future__ import annotations

from windage.errors import missing_extra

__all__ = ["need_web"]


def need_web() -> None:
    """A MissingExtraError where a library of the page is not installed."""
    for library in ("starlette", "jinja2", "uvicorn", "python_multipart"):
        try:
            __import__(library)
        except ImportError as error:
            raise missing_extra(library.replace("_", "-"), "web", "the web page") from error
