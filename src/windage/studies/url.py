"""The URL of a study's storage: what a study file may say, and how it is shown without its secrets."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, quote_plus, unquote

from windage.errors import ConfigurationError

STORAGE = "WINDAGE_STORAGE"
"""The environment variable that overrides the file's storage."""
HARMLESS = (
    "application_name", "check_same_thread", "client_encoding", "connect_timeout", "dbname", "host",
    "hostaddr", "port", "sslmode", "target_session_attrs", "timeout", "user",
)  # fmt: skip
"""Options of a URL whose values are shown. Any other may hold a secret."""
SHORT = 4
"""Letters of a secret below which it may well be a part of other words."""


def study_url(path: Path, given: Any) -> str:
    """The URL of the storage of a study file; a relative SQLite file lies beside it."""
    url = os.environ.get(STORAGE) or given
    if not isinstance(url, str) or "://" not in url:
        raise ConfigurationError(
            f'storage must be a URL such as "sqlite:///{path.stem}.db" or "postgresql+psycopg://user@host/db".'
        )
    scheme, _, rest = url.partition("://")
    if not scheme.strip().lower().startswith("sqlite"):
        return url
    place, _, query = rest.partition("?")
    if not place.startswith("/") or _passes(unquote(place).strip("/ "), query):
        raise ConfigurationError(
            f'storage names no file: write "sqlite:///{path.stem}.db", with three slashes and a plain path. '
            "What is kept in memory is lost when the command ends."
        )
    if place.startswith("//"):
        return url
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError(f'storage is no URL: write "sqlite:///{path.stem}.db".') from error
    beside = (path.parent / str(parts.database)).resolve()
    return parts.set(database=str(beside)).render_as_string(hide_password=False)


def _passes(name: str, query: str) -> bool:
    """Whether SQLite would keep it in memory; a name that it reads as a URI of its own may mean that."""
    options = parse_qs(query.lower())
    lost = "memory" in options.get("mode", ()) or "memdb" in options.get("vfs", ())
    return lost or name in ("", ":memory:") or name.lower().startswith("file:")


def without_password(text: str, url: str) -> str:
    """The text without the secrets of a storage's URL: its password, and options but harmless ones."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    head, sign, query = url.partition("?")
    text = text.replace(url, head + sign + "&".join(map(_shown, query.split("&"))))
    secrets = [value for key, found in parse_qs(query).items() if key not in HARMLESS for value in found]
    try:
        secrets.append(str(make_url(url).password or ""))
    except (ArgumentError, ValueError):  # no URL: whatever may be meant as a password
        text = re.sub(r"(://[^:/]*):.*@", r"\1:***@", text)
        secrets += re.findall(r"://[^:/@]*:([^@]*?)(?:/|$)", head)
    for secret in sorted({*secrets} - {""}, key=len, reverse=True):
        text = _masked(text, secret)
    return text


def _shown(option: str) -> str:
    """One option of a URL."""
    key, sign, _ = option.partition("=")
    if unquote(key) in HARMLESS or not option:
        return option
    return f"{key}=***" if sign else "***"


def _masked(text: str, secret: str) -> str:
    """The text without the secret, however it is written. A very short one only where it stands alone."""
    edges = (r"(?<!\w)", r"(?!\w)") if len(secret) < SHORT else ("", "")
    for written in {secret, quote(secret, safe=""), quote(secret), quote_plus(secret)}:
        text = re.sub(re.escape(written).join(edges), "***", text)
    return text
