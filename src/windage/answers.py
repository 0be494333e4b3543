"""What an optimizer answers: the density of the context, recommendations, predictions, what matters.

A part of ``Optimizer``, in a file of its own. No answer changes what is asked next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from windage import prediction
from windage.contexts import NOTHING, ContextDensity, Given
from windage.errors import ConfigurationError, InputError, NotEnoughDataError
from windage.importance import Importance, importance
from windage.memory import Memory
from windage.methods import State
from windage.observations import Context
from windage.pending import PendingTrials
from windage.prediction import Prediction, Recommendation, never_seen
from windage.proposal import best_decision
from windage.search import Seeds
from windage.space import Decision, number
from windage.threads import one_thread


class Answers(Memory):
    """The answers of an optimizer."""

    _pending: PendingTrials

    def _state(self, joint: bool, given: Given = NOTHING, keep: bool = False) -> State:
        """What is known now, with surrogates on (x, c) or on x alone; ``keep``: see ``Ensemble.models``."""
        kind = self._configuration
        with self._lock:
            data = self._fitted_data()
            density = kind.density(data, given)  # a refusal comes before anything is fitted and kept
            models = tuple(self._ensemble.models(data, joint, keep))
        return State(
            models,
            data,
            density,
            kind.settings,
            kind.method.sqrt_beta_at(data, kind.settings),
            Seeds(kind.seed, self._pending.asked),
        )

    @property
    def density(self) -> ContextDensity:
        """The estimated density of the context."""
        self._need_observations("the density of the context")
        kind, data = self._configuration, self._data
        if not kind.contexts.names:
            raise ConfigurationError("this study has no contexts, so there is no density.")
        if not data.contexts.names:
            raise NotEnoughDataError(f"{never_seen(data.unseen)}: there is no density yet.")
        found, seed = kind.density(data), Seeds(kind.seed)("density")
        assert found is not None
        return ContextDensity(found, data.scale, data.contexts.names, seed)

    @overload
    def recommend(
        self,
        *,
        known: Context | None = None,
        forecast: Mapping[str, Any] | None = None,
        for_each: None = None,
        threshold: float | None = None,
    ) -> Recommendation: ...
    @overload
    def recommend(
        self,
        *,
        known: Context | None = None,
        forecast: Mapping[str, Any] | None = None,
        for_each: str,
        threshold: float | None = None,
    ) -> dict[Any, Recommendation]: ...
    def recommend(
        self,
        *,
        known: Context | None = None,
        forecast: Mapping[str, Any] | None = None,
        for_each: str | None = None,
        threshold: float | None = None,
    ) -> Recommendation | dict[Any, Recommendation]:
        """The decision of the best expected outcome; of the best worst case, with a robust method.

        Both are of the posterior mean under the estimated density: nothing is explored.

        Args:
            known: contexts that are known beforehand; without it, they vary as the others do.
            forecast: of contexts, as in ``ask``.
            for_each: a context; one recommendation for each of its levels, by level.
            threshold: ``outcome.below`` is then the probability that a single outcome is less.
        """
        self._need_observations("a recommendation")
        kind = self._configuration
        if for_each is not None:
            levels, given = kind.levels(for_each), kind.given(known, forecast)
            if for_each in given.known or for_each in given.forecast:
                raise InputError(
                    f"context {for_each!r} is given, and one answer for each is asked: choose one."
                )
            every = [{**given.known, for_each: level} for level in levels]
            found = [self.recommend(known=one, forecast=forecast, threshold=threshold) for one in every]
            return {one[for_each]: best for one, best in zip(every, found, strict=True)}
        with one_thread():
            given = kind.given(known, forecast)
            state = self._state(bool(kind.contexts.names), given).without_exploration()
            objective = prediction.objective(kind.method, state)
            best = best_decision(objective, state, Seeds(kind.seed)("recommendation"))
            return prediction.recommend(kind.method, state, best.point, _threshold(threshold))

    @overload
    def predict(
        self,
        decision: Decision,
        *,
        known: Context | None = None,
        forecast: Mapping[str, Any] | None = None,
        threshold: float | None = None,
    ) -> Prediction: ...
    @overload
    def predict(
        self,
        decision: Sequence[Decision],
        *,
        known: Context | None = None,
        forecast: Mapping[str, Any] | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]: ...
    def predict(
        self,
        decision: Decision | Sequence[Decision],
        *,
        known: Context | None = None,
        forecast: Mapping[str, Any] | None = None,
        threshold: float | None = None,
    ) -> Prediction | list[Prediction]:
        """What is to be expected of a decision of your own, or of each of a list of them.

        ``known``, ``forecast`` and ``threshold`` as in ``recommend``.
        """
        if isinstance(decision, Mapping) or not isinstance(decision, Sequence) or isinstance(decision, str):
            return self.predict([decision], known=known, forecast=forecast, threshold=threshold)[0]
        self._need_observations("a prediction")
        kind = self._configuration
        checked = [kind.decisions.check(d) for d in decision]
        if not checked:
            return []
        with one_thread():
            state = self._state(bool(kind.contexts.names), kind.given(known, forecast))
            return prediction.predict(kind.method, state, checked, _threshold(threshold))

    def importance(self) -> dict[str, Importance]:
        """How much of the outcome's variance each decision variable and each context explains."""
        self._need_observations("which variables matter")
        with one_thread():
            return importance(self._state(bool(self._configuration.contexts.names)).without_exploration())

    def _need_observations(self, what: str) -> None:
        if not len(self._record.current):
            raise NotEnoughDataError(f"{what} needs at least 1 observation: tell one first.")


def _threshold(given: float | None) -> float | None:
    return None if given is None else number(given, "threshold")
