"""The web page of a study: optuna-dashboard on this machine, with windage's pictures and a form for results.

The form's entries are user attributes of the running trial. A clerk looks for complete ones and tells them by
the same rules as ``windage tell``; a fault becomes a note on the trial. A painter draws the pictures anew
when something was told, by whomever.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from optuna.exceptions import ExperimentalWarning
from optuna.trial import FrozenTrial, Trial, TrialState

from windage.errors import InputError, NotEnoughDataError, TrialError, WindageError, missing_extra
from windage.studies import pictures, reading, records
from windage.studies.book import Book
from windage.studies.file import StudyFile
from windage.studies.storage import storage_faults

if TYPE_CHECKING:
    from windage.recommendation import Recommendation

HOST = "127.0.0.1"
LOOK_EVERY = 0.5
"""Seconds."""
SIGN = "**windage:** "
"""How windage's own line of a note begins; the rest of the note is people's."""
PATIENCE = 10.0
"""Seconds that an end waits for a picture under work."""
REDRAW_EVERY = 8
"""New points of the history between two drawings of it."""
Words = Callable[[str], None]


def libraries() -> Any:
    """optuna-dashboard, or an error that says how to get it."""
    try:
        import optuna_dashboard
        import plotly  # noqa: F401
    except ImportError as error:
        raise missing_extra("optuna-dashboard", "dashboard", "the web page") from error
    return optuna_dashboard


def register_form(book: Book) -> None:
    """One form for contexts and value of a running trial; and the value by its name in Optuna's pictures."""
    dashboard, file = libraries(), book.file
    widgets = []
    for name in _asked_for(file):
        quantity = file.quantities[name]
        parts = (f"in {quantity.unit}" if quantity.unit else "", quantity.description)
        described = ": ".join(part for part in parts if part) or "a number"
        widgets.append(dashboard.TextInputWidget(description=described, user_attr_key=name))
    dashboard.register_user_attr_form_widgets(book.study, widgets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        book.study.set_metric_names([pictures.named(file, "value")])


def _asked_for(file: StudyFile) -> list[str]:
    return [*file.contexts, "value"]


def typed(file: StudyFile, trial: FrozenTrial) -> dict[str, Any] | None:
    """What was entered for a trial, if the form was filled in."""
    found = {name: trial.user_attrs.get(name) for name in _asked_for(file)}
    if any(entry is None for entry in found.values()):
        return None
    return {name: entry.strip() if isinstance(entry, str) else entry for name, entry in found.items()}


@dataclass
class Clerk:
    """Tells what people typed into the page, and says on the trial when something is wrong."""

    book: Book
    keep_asking: bool = False
    """Have a decision waiting at any time."""
    say: Words = lambda _: None
    _seen: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """The entries at the last look, by trial."""
    _compared: set[int] = field(default_factory=set)
    """Trials that were told, and looked at once more."""

    def look(self) -> int:
        """Take what is complete and as it was at the last look; how many results were told.

        The page writes one entry after the other: what changes at this moment may be half of a correction.
        """
        told, waiting = 0, 0
        with storage_faults(self.book.file):
            for trial in self.book.trials(TrialState.RUNNING, TrialState.COMPLETE):
                taken = self._look_at(trial)
                told += taken
                waiting += trial.state == TrialState.RUNNING and not taken and self.book.counts(trial)
        if self.keep_asking and not waiting:
            asked = self.book.ask()
            self.say(f"decision {asked.number} waits: {_words(self.book.file.show(asked.decision))}")
        return told

    def _look_at(self, trial: FrozenTrial) -> bool:
        """Whether its result was told now."""
        entries = typed(self.book.file, trial)
        if entries is None or trial.number in self._compared:
            return False
        settled = self._seen.get(trial.number) == entries
        self._seen[trial.number] = entries
        if not settled:
            return False
        if trial.state == TrialState.COMPLETE:
            self._compared.add(trial.number)
            self._compare(trial, entries)
            return False
        return self._take(trial, entries)

    def _take(self, trial: FrozenTrial, entries: Mapping[str, Any]) -> bool:
        met = {name: entries[name] for name in self.book.file.contexts}
        try:
            entry = self.book.tell(trial.number, met, entries["value"])
        except TrialError:
            if reading.trial(self.book.study, trial.number).state != TrialState.RUNNING:  # type: ignore[union-attr]
                return False  # another was first: the next look compares
            raise
        except InputError as error:
            # the value waits for the correction; else half of it could be told, with the old value
            self.book.study._storage.set_trial_user_attr(trial._trial_id, "value", None)
            note(self.book, trial, f"not taken: {error} Correct it in the form, and submit again.")
            self.say(f"decision {trial.number} not taken: {error}")
            return False
        shown = self.book.file.show({**entry.context, "value": entry.value})
        note(self.book, trial, f"told: {_words(shown)}.", only_in_place=True)
        self.say(f"decision {trial.number} told: {_words(shown)}")
        return True

    def _compare(self, trial: FrozenTrial, entries: Mapping[str, Any]) -> None:
        """Someone else was first, and told something else: say that the entries do not count."""
        file = self.book.file
        told = {**records.context_of(trial), "value": trial.value}
        try:
            met = file.check_context({name: entries[name] for name in file.contexts})
            same = {**met, "value": file.check_value(entries["value"])} == told
        except WindageError:
            same = False
        if not same:
            words = _words(file.show(told))
            note(self.book, trial, f"this was told before: {words}. What was typed here does not count.")


def _words(shown: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def note(book: Book, trial: FrozenTrial, line: str, only_in_place: bool = False) -> None:
    """Windage's line in the trial's note, in place of an earlier one; what people wrote stays."""
    dashboard = libraries()
    told = Trial(book.study, trial._trial_id)
    lines = dashboard.get_note(told).splitlines()
    others = [text for text in lines if not text.startswith(SIGN)]
    if only_in_place and len(others) == len(lines):
        return
    wanted = "\n".join([SIGN + line.replace("\n", " "), *others])
    if wanted != "\n".join(lines):
        dashboard.save_note(told, wanted)


@dataclass
class Painter:
    """Draws the pictures of what is known into the study, where the page shows them."""

    book: Book
    history: pictures.History = field(default_factory=pictures.History)
    _drawn: Any = None

    def look(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Draw if something was told since the last time; whether that was so."""
        with storage_faults(self.book.file):
            return self._look(stop)

    def _look(self, stop: Callable[[], bool]) -> bool:
        sampler, told = self.book.sampler(), len(self.book.trials(TrialState.COMPLETE))
        try:
            axes, known = sampler.everything(self.book.study)
        except NotEnoughDataError:
            return False
        if not known.observations or known.observations == self._drawn:
            return False
        file = self.book.file
        optimizer = sampler.optimizer(axes, file.direction, known, known.count)
        engine = pictures.Engine(file, axes, optimizer)
        best = engine.recommend()
        self._write(best, len(known.observations))
        self._save(pictures.overview(engine, best))
        for left in self.history.missing(sampler, file, axes, known):
            if left % REDRAW_EVERY == 0:
                self._save(pictures.history(file, self.history.points(known)))
            if stop() or len(self.book.trials(TrialState.COMPLETE)) != told:
                return True  # what is new comes first; the history goes on after it
        self._drawn = known.observations
        return True

    def _write(self, best: Recommendation, count: int) -> None:
        """The recommendation in words, beside what the page calls the best trial."""
        show = self.book.file.quantities["value"].show
        low, high = (show(end) for end in best.interval)
        words = {
            "recommended": _words(self.book.file.show(best.decision)),
            "expected": f"{show(best.expected)} on average, 95 % between {low} and {high}",
            "worst case": f"{show(best.worst_case)} on average, in the worst conditions near those seen",
            "known": f"{count} observations. {best.note}".strip(),
            "best trial": "is the luckiest draw, not what to do",
        }
        for key, text in words.items():
            self.book.study.set_user_attr(f"windage: {key}", text)

    def _save(self, figures: Mapping[str, Any]) -> None:
        """As ``optuna_dashboard.save_plotly_graph_object``, but each in one piece.

        That function cuts a figure into many attributes, one after the other: a page that is read meanwhile
        gets pieces of two figures, and breaks.
        """
        from optuna_dashboard._custom_plot_data import SYSTEM_ATTR_PLOT_DATA

        study = self.book.study
        for key, figure in figures.items():
            attribute = f"{SYSTEM_ATTR_PLOT_DATA}{key}:0"
            study._storage.set_study_system_attr(study._study_id, attribute, figure.to_json())


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing: a page that asks every few seconds fills no terminal."""


Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _at_home(application: Application) -> Application:
    """Refuse what other web pages make this machine's browser send here, and what parts file and study."""

    def guarded(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        host = str(environ.get("HTTP_HOST", "")).rsplit(":", 1)[0]
        origin = environ.get("HTTP_ORIGIN")
        words = ""
        if host not in (HOST, "localhost") or origin not in (None, f"http://{environ['HTTP_HOST']}"):
            words = "This page answers to its own machine only."
        elif environ["REQUEST_METHOD"] == "DELETE" or str(environ["PATH_INFO"]).rstrip("/").endswith(
            "/rename"
        ):
            words = "The study belongs to its file: it is renamed and deleted there, not here."
        if not words:
            return application(environ, start)
        start("403 Forbidden", [("Content-Type", "application/json")])
        return [json.dumps({"reason": words}).encode()]

    return guarded


class Page:
    """The server with its clerk and its painter; ``serve`` lasts until ``close`` or an interrupt."""

    def __init__(self, book: Book, port: int, keep_asking: bool, say: Words) -> None:
        dashboard = libraries()
        self.book, self._say = book, say
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        try:
            application = _at_home(dashboard.wsgi(book.study._storage))
            self._server = make_server(HOST, port, application, _Server, _Quiet)
        except OSError as error:
            raise WindageError(
                f"port {port} cannot be used ({error.strerror}): choose another with --port, or --port 0."
            ) from error
        clerk, painter = Clerk(book, keep_asking, say), Painter(book)
        self._work = [clerk.look, lambda: painter.look(self._stop.is_set)]

    @property
    def address(self) -> str:
        """Where the study is shown."""
        return f"http://{HOST}:{self._server.server_port}/dashboard/studies/{self.book.study._study_id}"

    def serve(self) -> None:
        """Serve until ``close``."""
        with storage_faults(self.book.file):
            register_form(self.book)
        self._threads = [
            threading.Thread(target=self._again, args=(look,), daemon=True) for look in self._work
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

    def _again(self, look: Callable[[], object]) -> None:
        """Look again and again; a fault is said once and waited out."""
        last = ""
        while not self._stop.is_set():
            try:
                look()
                last = ""
            except Exception as error:  # whatever it is: the page goes on, and so does this
                words = str(error) if isinstance(error, WindageError) else f"{type(error).__name__}: {error}"
                if words != last:
                    self._say(f"{words} Trying again.")
                last = words
            self._stop.wait(LOOK_EVERY)
