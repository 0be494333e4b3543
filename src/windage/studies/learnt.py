"""What a study has learnt: the engine on all that was told. The middle part of ``StudyStore``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from optuna.trial import TrialState

from windage.errors import NotEnoughDataError
from windage.studies import reading
from windage.studies.beforehand import NOTHING, Beforehand, engine
from windage.studies.checks import check_names
from windage.studies.file_sampler import file_sampler
from windage.studies.told import ToldStudy

if TYPE_CHECKING:
    from windage import Optimizer, Prediction, Recommendation
    from windage.studies.axes import Axes
    from windage.studies.sampler import ContextSampler, Known


@dataclass(frozen=True)
class Everything:
    """All that is known of a study, and windage's optimizer of it."""

    axes: Axes
    known: Known
    optimizer: Optimizer


class LearntStudy(ToldStudy):
    """The study of a study file: what was told, and what follows from it."""

    _sampler: ContextSampler | None = None

    def sampler(self) -> ContextSampler:
        """Windage's sampler of this file. A ConfigurationError where its method or a setting is wrong."""
        if self._sampler is None:
            self._sampler = file_sampler(self.file)
        return self._sampler

    def known(self) -> tuple[Axes, Known]:
        """What was told and counts, and what is under way; of no observation too."""
        with self.faults():
            states = (TrialState.COMPLETE, TrialState.RUNNING)
            attributes = self.storage.get_study_system_attrs(reading.study_id(self.study))
            axes = self.file.axes
            return axes, self.sampler().known(self.trials(*states), axes, attributes)

    def everything(self) -> Everything:
        """All that is known; a NotEnoughDataError where nothing was told yet."""
        axes, known = self.known()
        if not known.count:
            raise NotEnoughDataError("a recommendation needs at least 1 observation: tell one first.")
        sampler = self.sampler()
        sampler.warn(known.left_out)
        return Everything(axes, known, sampler.optimizer(axes, self.file.direction, known, known.count))

    def recommend(self, threshold: float | None = None, given: Beforehand = NOTHING) -> Recommendation:
        """What is best, as far as is known; ``given`` what is known of the day."""
        found = self.everything()
        best: Recommendation = found.optimizer.recommend(threshold=threshold, **engine(given))
        return self._in_words(found, best)

    def recommend_each(
        self, name: str, threshold: float | None = None, given: Beforehand = NOTHING
    ) -> dict[Any, Recommendation]:
        """What is best for each value of a context, in the order of the file."""
        check_names([name], self.file.contexts, "context")
        found = self.everything()
        rows = found.optimizer.recommend(threshold=threshold, for_each=name, **engine(given))
        return {level: self._in_words(found, best) for level, best in rows.items()}

    def _in_words(self, found: Everything, best: Recommendation) -> Recommendation:
        """A recommendation in the user's words: the decision as Optuna's, and a change by its date."""
        from windage.studies.findings import shift_words

        shift, note = found.optimizer.shift, best.note
        if shift is not None:
            note = note.replace(shift.words(), shift_words(self.file, found, shift))
        return replace(best, decision=found.axes.to_optuna(best.decision), note=note)

    def predict(
        self, decision: Mapping[str, Any], threshold: float | None = None, given: Beforehand = NOTHING
    ) -> Prediction:
        """What to expect of a decision; variables that are not given are as recommended."""
        found = self.everything()
        mine = {name for name in decision if name in self.file.space}
        others: Mapping[str, Any] = {}
        if mine == set(decision) and mine != set(self.file.space):
            others = found.axes.to_optuna(found.optimizer.recommend(**engine(given)).decision)
        checked = self.file.check_decision({**others, **decision})
        at = found.optimizer.predict(found.axes.to_windage(checked), threshold=threshold, **engine(given))
        return replace(at, decision=self.file.ordered(checked))
