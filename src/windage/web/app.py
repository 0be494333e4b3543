"""The page as a Starlette application: addresses, and what answers them."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from windage.errors import WindageError
from windage.web import actions, asking, forms, jobs, setup, uploads, view
from windage.web.boxes import decision_boxes, read
from windage.web.security import ICON, Application, Gate, Keys
from windage.web.site import Site
from windage.web.sliders import known_boxes
from windage.web.view import Attempt, Wanted
from windage.web.words import for_page

HERE = Path(__file__).parent
TEMPLATES = Environment(
    loader=PackageLoader("windage.web"),
    autoescape=select_autoescape(default=True, default_for_string=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
LOGIN_SECONDS = 1.0
"""After a wrong password: guessing takes long."""
QUICK = 20.0
"""Seconds for a what-if."""


def application(site: Site, host: str, port: int) -> Application:
    """The page, behind its gate."""
    pages = Pages(site)
    routes = [
        Route("/", pages.home),
        Route("/state", pages.state),
        Route("/pictures", pages.pictures),
        Route("/what-if", pages.what_if),
        Route("/table.csv", pages.download),
        Route("/login", pages.login, methods=["GET", "POST"]),
        Route(ICON, pages.icon),
        Route("/setup", pages.setup, methods=["GET", "POST"]),
        Route("/upload", pages.upload, methods=["POST"]),
        Route("/ask", pages.ask, methods=["POST"]),
        *(Route(f"/{name}", partial(pages.act, name), methods=["POST"]) for name in ACTIONS),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: pages.refuse, Exception: pages.fault})
    gate = Gate(inner, site.keys, host, port)
    pages.gate = gate
    return gate


ACTIONS = ("tell", "add", "correct", "forget", "undo", "fail")


class Pages:
    """What answers the addresses."""

    gate: Gate

    def __init__(self, site: Site) -> None:
        self.site = site
        self._brake = asyncio.Lock()

    @property
    def keys(self) -> Keys:
        """The secrets of this server."""
        return self.site.keys

    async def home(self, request: Request) -> Response:
        """The one screen; the form of a new study where there is none."""
        if self.site.is_new:
            return RedirectResponse("/setup", 303)
        wanted = self._wanted(request.query_params)
        if any(key.startswith("decision-") for key in request.query_params):
            wanted = await self._expected(request.query_params, wanted)
        return await self._page(wanted)

    async def _page(self, wanted: Wanted, attempt: Attempt | None = None, status: int = 200) -> Response:
        found = await run_in_threadpool(view.page, self.site, wanted, attempt)
        found["once"], found["trying"] = secrets.token_urlsafe(9), attempt is not None
        words = TEMPLATES.get_template("page.html").render(found, safe_svg=Markup)
        return HTMLResponse(words, 503 if found["fault"] and status == 200 else status)

    def _wanted(self, query: Mapping[str, str]) -> Wanted:
        numbers = {
            key: int(query[key]) if re.fullmatch(r"[0-9]{1,9}", query.get(key, "")) else None
            for key in ("correct", "decision")
        }
        said = self.site.said(query.get("said", ""))
        return Wanted(said, numbers["correct"], numbers["decision"], query.get("days") == "all")

    async def _expected(self, query: Mapping[str, str], wanted: Wanted) -> Wanted:
        """The what-if without a script: the sentences on the page itself."""
        found = await run_in_threadpool(self._predicted, query)
        return replace(wanted, what_if=found)

    def _predicted(self, query: Mapping[str, str]) -> dict[str, Any]:
        """What was asked for, and under "" the answer."""
        try:
            store = self.site.live.store()
            days = [box for box in known_boxes(store.file) if query.get(box.field, "").strip()]
            typed = read(store.file, [*decision_boxes(store.file), *days], query)
            if not typed.right:
                return {"": {"fault": " ".join(box.fault for box in typed.boxes if box.fault)}}
            arguments = (str(self.site.live.path), typed.decision, typed.context)
            found = self.site.background.answers.do(jobs.what_if, *arguments, seconds=QUICK)
            return {**typed.decision, **typed.context, "": found}
        except WindageError as error:
            return {"": {"fault": for_page(str(error))}}

    async def what_if(self, request: Request) -> Response:
        """What to expect of a decision, in sentences."""
        found = await run_in_threadpool(self._predicted, request.query_params)
        self.site.background.attend()
        return JSONResponse(found[""])

    async def state(self, request: Request) -> Response:
        """Whether there is something newer than what a page shows."""
        self.site.background.attend()
        known = self.site.background.known
        try:
            waits = await run_in_threadpool(
                lambda: [p.number for p in view.ready(self.site.live.store().state())]
            )
        except WindageError:
            waits = []
        return JSONResponse({"drawn": known.drawn, "busy": self.site.background.busy, "open": waits})

    async def pictures(self, request: Request) -> Response:
        """The recommendation and the pictures alone, to take the place of older ones."""
        known = self.site.background.known
        found = {"best": known.best, "fresh": not self.site.background.busy, "drawn": known.drawn}
        more = {
            "pictures": view.grouped(known.figures),
            "busy": self.site.background.busy,
            "trouble": known.fault,
        }
        words = TEMPLATES.get_template("known.html").render(**found, **more, safe_svg=Markup)
        return HTMLResponse(words)

    async def act(self, name: str, request: Request) -> Response:
        """A form that changes something."""
        form = await forms.sent(request, self.site)
        arguments: list[Any] = [self.site]
        if name not in ("forget", "undo"):
            arguments.append(form.fields)
        if name != "add":
            arguments.append(form.number)
        return await self._answer(await run_in_threadpool(getattr(actions, name), *arguments))

    async def _answer(self, done: str | Attempt) -> Response:
        if isinstance(done, str):
            return RedirectResponse(done, 303)
        return await self._page(Wanted(), done, 422)

    async def ask(self, request: Request) -> Response:
        """The decision for a day of which something is known."""
        form = await forms.sent(request, self.site)
        return await self._answer(await run_in_threadpool(asking.ask, self.site, form.fields))

    async def upload(self, request: Request) -> Response:
        """A table of past days."""
        form = await forms.sent(request, self.site)
        return await self._answer(await run_in_threadpool(uploads.upload, self.site, form.file, form.fields))

    async def download(self, request: Request) -> Response:
        """Everything told, as a table."""
        try:
            text, name = await run_in_threadpool(lambda: uploads.download(self.site.live.store()))
        except WindageError as error:
            return await self._page(Wanted(said=for_page(str(error))))
        head = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=head)

    async def setup(self, request: Request) -> Response:
        """The form of a new study."""
        if not self.site.is_new:
            return RedirectResponse("/", 303)
        given: Mapping[str, Any] = request.query_params
        fault = ""
        if request.method == "POST":
            given = (await forms.sent(request, self.site)).fields
            fault = await run_in_threadpool(setup.create, self.site, given)
            if not fault:
                return RedirectResponse(self.site.say("The study is set up. Begin here."), 303)
        words = TEMPLATES.get_template("setup.html").render(setup.shown(self.site, given, fault))
        return HTMLResponse(words, 422 if fault else 200)

    async def icon(self, request: Request) -> Response:
        """For pages that cannot name it: a browser asks for it by itself after a refusal in plain text."""
        return FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml")

    async def login(self, request: Request) -> Response:
        """The password, where there is one."""
        if not self.keys.password:
            return RedirectResponse("/", 303)
        fault = ""
        if request.method == "POST":
            form = await forms.sent(request, None)
            if self.keys.opens(form.fields.get("password", "")):
                return RedirectResponse("/", 303, headers={"Set-Cookie": self.gate.set_cookie()})
            async with self._brake:  # one guess a second, by whomever
                await asyncio.sleep(LOGIN_SECONDS)
            fault = "This is not the password."
        words = TEMPLATES.get_template("login.html").render(fault=fault)
        return HTMLResponse(words, 403 if fault else 200)

    async def refuse(self, request: Request, error: Exception) -> Response:
        """A refusal, in words."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        detail = error.detail if isinstance(error, HTTPException) else ""
        return self._word(status, detail)

    async def fault(self, request: Request, error: Exception) -> Response:
        """A fault of windage's own, in words."""
        return self._word(
            500, f"This is a fault of windage, not yours ({type(error).__name__}). Nothing told is lost."
        )

    def _word(self, status: int, detail: str) -> Response:
        return HTMLResponse(TEMPLATES.get_template("word.html").render(detail=detail), status)
