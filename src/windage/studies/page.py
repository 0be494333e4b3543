"""The web page of a study: optuna-dashboard with windage's pictures and a form for results."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from windage.errors import WindageError
from windage.studies import reading
from windage.studies.collector import ResultCollector, Say, libraries, register_form, wrong
from windage.studies.guard import HOST, guarded, new_token
from windage.studies.plot_worker import PlotWorker
from windage.studies.storage import full_storage
from windage.studies.store import StudyStore

POLL_SECONDS = 0.5
"""Between two collections of results, and between two checks whether pictures are out of date."""
PATIENCE = 10.0
"""Seconds that an end waits for a picture under work."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing: the page asks every few seconds."""


class Page:
    """The server with its result collector and its plot worker.

    ``serve`` lasts until ``close`` or an interrupt.
    """

    def __init__(self, store: StudyStore, port: int, keep_asking: bool, say: Say) -> None:
        dashboard = libraries()
        self.store, self._say = store, say
        self._stop, self._token = threading.Event(), new_token()
        self._threads: list[threading.Thread] = []
        try:
            with store.faults():
                storage = full_storage(store.file.storage)
            weakref.finalize(self, storage.engine.dispose)  # open connections end with the page
            application = guarded(dashboard.wsgi(storage), self._token, partial(wrong, store.file))
            self._server = make_server(HOST, port, application, _Server, _Quiet)
        except OSError as error:
            raise WindageError(
                f"port {port} cannot be used ({error.strerror}): choose another with --port, or --port 0."
            ) from error
        collector, plot_worker = ResultCollector(store, keep_asking, say), PlotWorker(store)
        self._work = [collector.collect, lambda: plot_worker.update(self._stop.is_set)]

    @property
    def address(self) -> str:
        """Where the study is shown, with the token that opens it."""
        key = reading.study_id(self.store.study)
        return f"http://{HOST}:{self._server.server_port}/dashboard/studies/{key}?token={self._token}"

    def serve(self) -> None:
        """Serve until ``close``."""
        with self.store.faults():
            register_form(self.store)
        self._threads = [
            threading.Thread(target=self._repeat, args=(work,), daemon=True) for work in self._work
        ]
        for thread in self._threads:
            thread.start()
        try:
            self._server.serve_forever(poll_interval=0.2)
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join(PATIENCE)
            self._server.server_close()

    def close(self) -> None:
        """End ``serve`` from another thread."""
        self._server.shutdown()

    def _repeat(self, work: Callable[[], object]) -> None:
        """Do it again and again; a fault is said once and waited out."""
        last = ""
        while not self._stop.is_set():
            try:
                work()
                last = ""
            except Exception as error:  # whatever it is: the page goes on, and so does this
                words = str(error) if isinstance(error, WindageError) else f"{type(error).__name__}: {error}"
                if words != last:
                    self._say(f"{words} Trying again.")
                last = words
            self._stop.wait(POLL_SECONDS)
