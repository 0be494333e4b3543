"""Forms as they are sent: read within limits, and refused without the secret of this page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from windage.web.security import same
from windage.web.site import Site

MOST_FIELDS = 300
PART = 200_000
"""Bytes of one field."""


@dataclass(frozen=True)
class Sent:
    """A form that was sent."""

    fields: Mapping[str, str]
    file: bytes = b""
    """What was uploaded with it. Its name is left alone: it may hold anything."""

    @property
    def number(self) -> int:
        """The number of a decision."""
        given = self.fields.get("number", "")
        if not (given.isascii() and given.isdigit() and len(given) < 10):
            raise HTTPException(400, "This form names no decision: open the page again.")
        return int(given)


async def sent(request: Request, site: Site | None) -> Sent:
    """A form of this page; a refusal where it is of another. Without a site there is no secret yet."""
    async with request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=PART) as form:
        fields = {key: value for key, value in form.items() if isinstance(value, str)}
        if site is not None and not same(fields.get("csrf", ""), site.keys.form):
            words = "This form is not of this page, or the page was started anew: open it again."
            raise HTTPException(403, words)
        file = form.get("file")
        return Sent(fields, await file.read() if isinstance(file, UploadFile) else b"")
