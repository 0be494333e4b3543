"""Optimizer: ask, tell, recommend. The one stateful object of windage.

Its state is a configuration, the observations, the pending trials and the last fits. Each random number comes
from the seed and the number of the trial, so the same seed and the same tells give the same asks, in any
process. ``recommend``, ``density`` and ``predict`` never change what is asked next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from threading import RLock
from typing import Any, Literal, Never, overload

from windage import prediction, serialization
from windage.acquisition import Acquisition
from windage.configuration import Configuration
from windage.contexts import ContextDensity
from windage.contexts.kde import Bandwidth, Boundary
from windage.dataset import Dataset
from windage.errors import (
    ConfigurationError,
    InputError,
    NotEnoughDataError,
    TrialError,
    WindageError,
    near_match,
)
from windage.gp import KernelName
from windage.methods import Method, MethodName, State
from windage.methods.settings import NAMES, Aim
from windage.observations import Observations, Trial
from windage.pending import PendingTrials
from windage.prediction import Prediction, Recommendation
from windage.proposal import best_decision, first_decision, random_decision, with_pending
from windage.search import Seeds
from windage.space import Array, Decision, Direction, Parameter, Real, number, whole
from windage.threads import one_thread


class Optimizer:
    """Chooses decisions whose outcome depends on contexts that are seen only afterwards.

    Args:
        decisions: decision variable → ``Real``, ``Integer`` or ``Categorical``.
        contexts: context → ``Real``, with bounds, one bound or none. May be left out with ``gp-ucb``.
        method: a name of ``windage methods``, or a ``Method`` of your own.
        direction: ``"maximize"`` or ``"minimize"`` the value.
        seed: of everything random; None draws one.
        initial: how many first decisions come from a Sobol sequence; told history counts. None: 10, with
            ``auto`` 4 where no decision variable is a choice; a quarter of ``budget`` where that is less.
        budget: how many decisions are planned, if known.
        aim: ``"earn"`` if every decision counts, ``"learn"`` if only the recommendation does.
        sqrt_beta: this and all that follow: see ``windage.methods.Settings``. A setting that the method does
            not use is refused.
    """

    def __init__(
        self,
        decisions: Mapping[str, Parameter],
        contexts: Mapping[str, Real] | None = None,
        method: MethodName | Method = "auto",
        direction: Direction = "maximize",
        seed: int | None = None,
        initial: int | None = None,
        budget: int | None = None,
        *,
        aim: Aim = "earn",
        sqrt_beta: float | Literal["theorem"] | None = None,
        lipschitz: float = 1.0,
        samples: int | Literal["nodes"] | None = None,
        space_points: int = 1024,
        grid: int | None = None,
        radius: float | None = None,
        gamma: float = 0.1,
        bandwidth: Bandwidth | float = "rule-of-thumb",
        boundary: Boundary = "clamp",
        kernel: KernelName | None = None,
        members: int | None = None,
        raw_samples: int = 1024,
        restarts: int = 50,
        **unknown: Never,
    ) -> None:
        given = locals()  # the settings by name: they stand in the signature for editors, and only there
        _refuse(unknown, Optimizer)
        settings = {name: given[name] for name in NAMES}
        self._configuration = Configuration.of(
            decisions, contexts, method, direction, seed, initial, settings
        )
        self._begin(Observations(columns=self._configuration.columns))

    def _begin(self, observations: Observations) -> None:
        kind, self._observations = self._configuration, observations
        self._pending, self._ensemble = PendingTrials(kind.decisions), kind.ensemble()
        self._data: Dataset = kind.dataset(observations)
        self._lock = RLock()  # asks and tells of several threads come one after the other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    def __repr__(self) -> str:
        kind = self._configuration
        return (
            f"Optimizer({kind.method.name}, {kind.direction} over {', '.join(kind.decisions.names)}; "
            f"{len(self._observations)} told, {len(self._pending.decisions)} pending)"
        )

    @property
    def decisions(self) -> Mapping[str, Parameter]:
        """The decision variables by name."""
        return dict(self._configuration.decisions.parameters)

    @property
    def contexts(self) -> Mapping[str, Real]:
        """The contexts by name."""
        return dict(self._configuration.contexts.parameters)

    @property
    def observations(self) -> Observations:
        """Everything told so far: a frozen copy."""
        return self._observations.copy()

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not told yet."""
        return self._pending.trials()

    @property
    def density(self) -> ContextDensity:
        """The estimated density of the context."""
        self._need_observations("the density of the context")
        kind, seen = self._configuration, self._data.seen
        if not kind.contexts.names:
            raise ConfigurationError("this study has no contexts, so there is no density.")
        settings, seed = kind.settings, Seeds(kind.seed)("density")
        return ContextDensity.of(kind.contexts, seen, settings.bandwidth, settings.boundary, seed)

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next decision, or a list of n. Each allows for those asked for and not told yet."""
        if n is not None:
            return [self.ask() for _ in range(whole(n, "n"))]
        with self._lock, one_thread():
            return self._pending.add(self._propose())

    def _propose(self) -> Array:
        """A point of the decisions' unit box."""
        kind, count, pending = self._configuration, len(self._observations), self._pending.points()
        seeds, blocks = Seeds(kind.seed, self._pending.asked), kind.decisions.blocks
        if count == 0 and kind.initial == 0:
            raise NotEnoughDataError(
                f"method {kind.method.name!r} needs at least 1 observation before it can choose: "
                "tell some history, or let initial be 1 or more."
            )
        if count == 0 or count + len(pending) < kind.initial:
            return first_decision(blocks, pending, seeds)
        if kind.method.build is None:
            return random_decision(blocks, seeds)
        state = self._state(kind.method.uses_context, keep=True)
        return best_decision(self._acquisition(state), state, seeds("candidates"), pending).point

    def _state(self, joint: bool, keep: bool = False) -> State:
        """What is known now, with surrogates on (x, c) or on x alone; ``keep``: see ``Ensemble.models``."""
        kind, data = self._configuration, self._data
        with self._lock:
            models = tuple(self._ensemble.models(data, joint, keep))
        return State(
            models,
            data,
            kind.density(data),
            kind.settings,
            kind.method.sqrt_beta_at(data, kind.settings),
            Seeds(kind.seed, self._pending.asked),
        )

    def _acquisition(self, state: State) -> Acquisition:
        """The method's acquisition function, which allows for the pending decisions."""
        method, pending = self._configuration.method, self._pending
        assert method.build is not None
        return method.build(
            with_pending(state, method.uses_context, pending.points(), list(pending.decisions))
        )

    def tell(
        self,
        trial: Trial | Decision,
        context: Mapping[str, float] | None = None,
        value: float | None = None,
        **unknown: Never,
    ) -> None:
        """What happened: the context that was met and the value that came out.

        ``trial`` is one that was asked for, or a decision of your own (history). A decision that equals a
        pending one to the last digit is taken for it. Nothing changes on an error.
        """
        _refuse(unknown, Optimizer.tell, InputError)
        with self._lock:
            if isinstance(trial, Trial):
                decision: Decision = self._pending.check(trial)
            else:
                decision = self._configuration.decisions.check(trial)
            self._add([(decision, *self._check_result(context, value))])
            index = trial.number if isinstance(trial, Trial) else self._pending.recognise(decision)
            if index is not None:
                self._pending.drop(index)

    def _add(self, rows: Sequence[tuple[Decision, Mapping[str, float], float]]) -> None:
        self._observations = self._observations.add(rows)
        self._data = self._configuration.dataset(self._observations)

    def _check_result(
        self, context: Mapping[str, float] | None, value: float | None
    ) -> tuple[dict[str, float], float]:
        contexts = self._configuration.contexts
        if context is None and contexts.names:
            names = ", ".join(f"{name!r}: ..." for name in contexts.names)
            raise InputError(f"the context is missing: give context={{{names}}}.")
        met = contexts.check(context)
        if value is None:
            raise InputError("the value is missing: give value=..., what came out of this decision.")
        return met, number(value, "value")

    def cancel(self, trial: Trial) -> None:
        """Forget a pending trial whose result will never come; later asks no longer allow for it."""
        if not isinstance(trial, Trial):
            raise TrialError(f"cancel takes a trial from ask() or from pending, not {trial!r}.")
        with self._lock:
            self._pending.check(trial)
            self._pending.drop(trial.number)

    def recommend(self) -> Recommendation:
        """The decision of the best expected outcome; of the best worst case, with a robust method.

        Both are of the posterior mean under the estimated density: nothing is explored.
        """
        self._need_observations("a recommendation")
        kind = self._configuration
        with one_thread():
            state = self._state(bool(kind.contexts.names)).without_exploration()
            objective = prediction.objective(kind.method, state)
            best = best_decision(objective, state, Seeds(kind.seed)("recommendation"))
            return prediction.recommend(kind.method, state, best.point)

    @overload
    def predict(self, decision: Decision) -> Prediction: ...
    @overload
    def predict(self, decision: Sequence[Decision]) -> list[Prediction]: ...
    def predict(self, decision: Decision | Sequence[Decision]) -> Prediction | list[Prediction]:
        """What is to be expected of a decision of your own, or of each of a list of them."""
        if isinstance(decision, Mapping) or not isinstance(decision, Sequence) or isinstance(decision, str):
            return self.predict([decision])[0]
        self._need_observations("a prediction")
        kind = self._configuration
        checked = [kind.decisions.check(d) for d in decision]
        if not checked:
            return []
        with one_thread():
            return prediction.predict(kind.method, self._state(bool(kind.contexts.names)), checked)

    def _need_observations(self, what: str) -> None:
        if not len(self._observations):
            raise NotEnoughDataError(f"{what} needs at least 1 observation: tell one first.")

    def to_dict(self) -> dict[str, Any]:
        """The whole state as plain JSON values. ``from_dict`` continues exactly from it."""
        with self._lock:
            pending, fits = self._pending, self._ensemble.fits
            return serialization.to_dict(self._configuration, self._observations, pending, fits)

    def fits_to_dict(self) -> dict[str, Any]:
        """The last fits alone, where the next ones start; a part of ``to_dict``."""
        return serialization.fits_to_dict(self._ensemble.fits)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Optimizer:
        """An optimizer that continues exactly as the one that was saved."""
        with serialization.reading(saved):
            optimizer = cls(**serialization.configuration_from_dict(saved))
            kind = optimizer._configuration
            check, result = kind.decisions.check, optimizer._check_result
            rows = saved["observations"]
            optimizer._add([(check(o["decision"]), *result(o["context"], o["value"])) for o in rows])
            optimizer._pending = serialization.pending_from_dict(saved, kind.decisions)
            optimizer._ensemble.fits = serialization.fits_from_dict(saved["fits"], kind)
        return optimizer


def _refuse(
    unknown: Mapping[str, object], function: Callable[..., Any], kind: type[WindageError] = ConfigurationError
) -> None:
    """An error for a keyword that a function has not."""
    known = [name for name in signature(function).parameters if name not in ("self", "unknown")]
    for name in unknown:
        raise kind(f"unknown keyword {name!r}; the keywords are {', '.join(known)}.{near_match(name, known)}")
