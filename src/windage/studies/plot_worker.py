"""The plot worker: draws what is known into the study, where the web page shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from optuna.trial import TrialState

from windage.errors import NotEnoughDataError
from windage.studies import pictures, reading
from windage.studies.collector import in_words
from windage.studies.history import History
from windage.studies.optuna_internals import PLOT_DATA
from windage.studies.quantities import counted
from windage.studies.store import StudyStore

if TYPE_CHECKING:
    from windage import Recommendation

REDRAW_EVERY = 8
"""New points of the history between two drawings of it."""


@dataclass
class PlotWorker:
    """Keeps the pictures of a study up to date."""

    store: StudyStore
    history: History = field(default_factory=History)
    _drawn: Any = None
    """The observations of the pictures that are there."""

    def update(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Draw if something was told since the last time; whether that was so."""
        with self.store.faults():
            return self._update(stop)

    def _update(self, stop: Callable[[], bool]) -> bool:
        told = len(self.store.trials(TrialState.COMPLETE))
        try:
            found = self.store.everything()
        except NotEnoughDataError:
            return False
        file, known = self.store.file, found.known
        if not known.observations or known.observations == self._drawn:
            return False
        engine = pictures.Engine(file, found.axes, found.optimizer)
        best = engine.recommend()
        self._write(best, len(known.observations))
        self._save(pictures.overview(engine, best))
        for left in self.history.missing(self.store.sampler(), file, found.axes, known):
            if left % REDRAW_EVERY == 0:
                self._save(pictures.history(file, self.history.points(known)))
            if stop() or len(self.store.trials(TrialState.COMPLETE)) != told:
                return True  # what is new comes first; the history goes on after it
        self._drawn = known.observations
        return True

    def _write(self, best: Recommendation, count: int) -> None:
        """The recommendation in words, beside what the page calls the best trial."""
        file = self.store.file
        show = file.quantities["value"].show
        low, high = (show(end) for end in best.interval)
        words = {
            "recommended": in_words(file.show(best.decision)),
            "expected": f"{show(best.expected)} on average, 95 % between {low} and {high}",
            "worst case": f"{show(best.worst_case)} on average, if conditions turn out worse than seen",
            "known": f"{counted(count, 'observation')}. {best.note}".strip(),
            "best trial": "is the luckiest draw, not what to do",
        }
        for key, text in words.items():
            self.store.study.set_user_attr(f"windage: {key}", text)

    def _save(self, figures: Mapping[str, Any]) -> None:
        key = reading.study_id(self.store.study)
        for name, figure in figures.items():
            self.store.storage.set_study_system_attr(key, f"{PLOT_DATA}{name}:0", figure.to_json())
