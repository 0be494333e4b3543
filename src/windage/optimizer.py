"""Optimizer: ask, tell, recommend. The one stateful object of windage.

Its state is a configuration, the observations, the pending trials and the last fits. Each random number comes
from the seed and the number of the trial, so the same seed and the same tells give the same asks, in any
process. ``recommend``, ``density`` and ``predict`` never change what is asked next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from threading import RLock
from typing import Any, Literal, Never, overload

from windage import serialization
from windage.acquisition import Acquisition
from windage.answers import Answers
from windage.changes import Record
from windage.configuration import Configuration, refuse_unknown
from windage.contexts import NOTHING, Given
from windage.contexts.forgetting import Forget
from windage.contexts.kde import Bandwidth, Boundary
from windage.errors import (
    InputError,
    NotEnoughDataError,
    TrialError,
)
from windage.gp import KernelName, SurrogateName
from windage.methods import Method, MethodName, State
from windage.methods.settings import NAMES, Aim
from windage.observations import Context, Observations, Row, Trial
from windage.pending import PendingTrials
from windage.proposal import best_decision, first_decision, random_decision, with_pending
from windage.search import Seeds
from windage.space import Array, Decision, Direction, Parameter, whole
from windage.threads import one_thread


class Optimizer(Answers):
    """Chooses decisions whose outcome depends on contexts that are seen only afterwards.

    Args:
        decisions: decision variable → ``Real``, ``Integer`` or ``Categorical``.
        contexts: context → ``Real`` (with bounds, one bound or none), ``Integer`` or ``Categorical``. May be
            left out with ``gp-ucb``.
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
        contexts: Mapping[str, Parameter] | None = None,
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
        surrogate: SurrogateName | None = None,
        as_published: bool = False,
        raw_samples: int = 1024,
        restarts: int = 50,
        forget: Forget = "auto",
        distribution: Mapping[str, Any] | None = None,
        drift: bool = False,
        screen: bool = True,
        **unknown: Never,
    ) -> None:
        given = locals()  # the settings by name: they stand in the signature for editors, and only there
        refuse_unknown(unknown, Optimizer)
        settings = {name: given[name] for name in NAMES}
        self._configuration = Configuration.of(
            decisions, contexts, method, direction, seed, initial, settings
        )
        self._begin(Record(Observations(columns=self._configuration.columns)))

    def _begin(self, record: Record) -> None:
        kind = self._configuration
        self._pending, self._ensemble = PendingTrials(kind.decisions), kind.ensemble()
        self._take(record)
        self._lock = RLock()  # asks and tells of several threads come one after the other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    def __repr__(self) -> str:
        kind = self._configuration
        return (
            f"Optimizer({kind.method.name}, {kind.direction} over {', '.join(kind.decisions.names)}; "
            f"{len(self._record.current)} told, {len(self._pending.decisions)} pending)"
        )

    @property
    def decisions(self) -> Mapping[str, Parameter]:
        """The decision variables by name."""
        return dict(self._configuration.decisions.parameters)

    @property
    def contexts(self) -> Mapping[str, Parameter]:
        """The contexts by name."""
        return dict(self._configuration.contexts.parameters)

    @property
    def initial(self) -> int:
        """How many first decisions come from a Sobol sequence."""
        return self._configuration.initial

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not told yet."""
        return self._pending.trials()

    @overload
    def ask(self, *, known: Context | None = None, forecast: Mapping[str, Any] | None = None) -> Trial: ...
    @overload
    def ask(
        self, n: int, *, known: Context | None = None, forecast: Mapping[str, Any] | None = None
    ) -> list[Trial]: ...
    def ask(
        self, n: int | None = None, *, known: Context | None = None, forecast: Mapping[str, Any] | None = None
    ) -> Trial | list[Trial]:
        """The next decision, or a list of n. Each allows for those asked for and not told yet.

        Args:
            n: how many; left out: one trial, and no list.
            known: contexts that are known beforehand, and their values. What is left varies as it does with
                them.
            forecast: contexts of which there is a forecast: (mean, deviation), a sample, or a frozen
                distribution of ``scipy.stats``; of a choice, level → probability. A forecast that has not
                helped so far is not used (``forecast_skill``).
        """
        given = self._configuration.given(known, forecast)
        if (given.known or given.forecast) and not self._configuration.method.uses_context:
            name = self._configuration.method.name
            raise InputError(f"method {name!r} sees no contexts, so it has no use for what is known of them.")
        if n is not None:
            return [self._ask(given) for _ in range(whole(n, "n"))]
        return self._ask(given)

    def _ask(self, given: Given) -> Trial:
        with self._lock, one_thread():
            return self._pending.add(self._propose(given), given)

    def _propose(self, given: Given) -> Array:
        """A point of the decisions' unit box."""
        kind, count, pending = self._configuration, len(self._record.current), self._pending.points()
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
        state = self._state(kind.method.uses_context, given, keep=True)
        return best_decision(self._acquisition(state), state, seeds("candidates"), pending).point

    def _acquisition(self, state: State) -> Acquisition:
        """The method's acquisition function, which allows for the pending decisions."""
        kind, pending, numbers = self._configuration, self._pending, list(self._pending.decisions)
        joint = kind.method.uses_context
        given = [pending.given.get(number, NOTHING) for number in numbers]
        densities = [kind.density(state.data, one) for one in given] if joint else []
        return kind.method.acquisition(with_pending(state, joint, pending.points(), densities, numbers))

    def tell(
        self,
        trial: Trial | Decision,
        context: Context | None = None,
        value: float | None = None,
        *,
        time: Any = None,
        forecast: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> None:
        """What happened: the context that was met and the value that came out. Nothing changes on an error.

        Args:
            trial: one that was asked for, or a decision of your own (history). A decision that equals a
                pending one to the last digit is taken for it.
            context: what was met. What was known when the trial was asked for may be left out. A context that
                was not seen is None.
            value: what came out.
            time: when it was: a date, a moment, ISO text, or a number of days. Not before the last one told.
            forecast: of history, what had been forecast for it, as in ``ask``.
        """
        refuse_unknown(unknown, Optimizer.tell, InputError)
        kind = self._configuration
        with self._lock:
            index: int | None = None
            if isinstance(trial, Trial):
                decision, index = self._pending.check(trial), trial.number
            else:
                decision = kind.decisions.check(trial)
                index = self._pending.recognise(decision)
            given = NOTHING if index is None else self._pending.given.get(index, NOTHING)
            said = {**given.forecast, **kind.given(None, forecast).forecast}
            if given.known and isinstance(context, Mapping | None):
                context = {**given.known, **(context or {})}
            row = Row(
                decision,
                *kind.check_result(context, value),
                kind.check_time(time, self._record.current),
                {name: found.summary for name, found in said.items()},
            )
            self._warn(row)
            self._take(self._record.add([row]))
            if index is not None:
                self._pending.drop(index)

    def cancel(self, trial: Trial) -> None:
        """Forget a pending trial whose result will never come; later asks no longer allow for it."""
        if not isinstance(trial, Trial):
            raise TrialError(f"cancel takes a trial from ask() or from pending, not {trial!r}.")
        with self._lock:
            self._pending.check(trial)
            self._pending.drop(trial.number)

    def to_dict(self) -> dict[str, Any]:
        """The whole state as plain JSON values. ``from_dict`` continues exactly from it."""
        with self._lock:
            pending, fits = self._pending, self._ensemble.fits
            return serialization.to_dict(self._configuration, self._record, pending, fits)

    def fits_to_dict(self) -> dict[str, Any]:
        """The last fits alone, where the next ones start; a part of ``to_dict``."""
        return serialization.fits_to_dict(self._ensemble.fits)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Optimizer:
        """An optimizer that continues exactly as the one that was saved.

        Observations outside of the bounds, or off a step, teach as the others do: bounds may be narrowed.
        """
        with serialization.reading(saved):
            optimizer = cls(**serialization.configuration_from_dict(saved))
            kind = optimizer._configuration
            told = serialization.rows_from_dict(saved["observations"], kind)
            changes = serialization.changes_from_dict(saved, kind)
            optimizer._take(replace(optimizer._record.add(told), changes=changes))
            optimizer._pending = serialization.pending_from_dict(saved, kind)
            optimizer._ensemble.fits = serialization.fits_from_dict(saved["fits"], kind)
        return optimizer
