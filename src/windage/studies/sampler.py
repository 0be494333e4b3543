"""``ContextSampler``: windage for any Optuna study.

All that it knows is in the study. So any number of workers may share one, and a sampler made anew continues
where the last one stopped.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from windage.errors import ConfigurationError, NotEnoughDataError, WindageError, WindageWarning
from windage.space import ContextSpace, DecisionSpace, Direction, Real, Value
from windage.studies import locks, reading, records
from windage.studies.axes import Axes
from windage.studies.optuna_internals import storage_of

if TYPE_CHECKING:
    from windage import Optimizer, Recommendation
    from windage.methods import Method, MethodName


@dataclass(frozen=True)
class Known:
    """What the trials of a study say about one search space."""

    observations: list[dict[str, Any]]
    """Decision, context and value of each finished trial that counts, in the order told."""
    pending: list[dict[str, Any]]
    """Number and decision of each running trial that counts."""
    fits: Mapping[str, Any]
    """Where the next fit starts."""
    left_out: list[str]
    """Why finished trials do not count, one sentence each."""
    count: int
    """The number that the next trial may have."""


class ContextSampler(BaseSampler):
    """Chooses parameters whose outcome depends on contexts that are reported when they are seen.

    Args:
        contexts: names → ``windage.Real``, with bounds or without. May be left out with ``gp-ucb``.
        search_space: names → Optuna distributions. Without it, the parameters that all trials share are
            varied, and the first trial is a random one.
        method: a row of ``windage methods``.
        seed: of everything random; None draws one.
        initial: how many first decisions come from a Sobol sequence. None: as many as ``Optimizer`` takes.
        lease: seconds after which a trial that was asked for and never told no longer counts as pending;
            None: never.
        settings: further keywords of ``windage.Optimizer``.

    A trial's contexts are told before it ends: ``windage.studies.report_context(trial, demand=0.31)``.
    """

    def __init__(
        self,
        contexts: Mapping[str, Real] | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        method: MethodName | Method = "auto",
        seed: int | None = None,
        initial: int | None = None,
        lease: float | None = None,
        **settings: Any,
    ) -> None:
        from windage.methods import get_method

        self._contexts = dict(contexts or {})
        self._search_space = None if search_space is None else dict(search_space)
        self._method, self._initial, self._lease, self._settings = method, initial, lease, settings
        self._independent = RandomSampler(seed)
        self._seed = secrets.randbits(31) if seed is None else seed
        self._intersection = IntersectionSearchSpace()
        self._warned = False
        if get_method(method).uses_context and not self._contexts:
            raise ConfigurationError(
                f"method {method!r} needs at least one context, such as contexts={{'demand': Real()}}; "
                'without any, use method="gp-ucb".'
            )
        if self._search_space is not None:
            axes = Axes.of(self._search_space)
            if axes.decisions:
                ContextSpace.of(self._contexts, DecisionSpace.of(axes.decisions))

    def reseed_rng(self) -> None:
        """Optuna calls this in parallel workers. Ours draw by the number of the trial, so they differ."""
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The search space that was given, or what all finished trials share."""
        if self._search_space is not None:
            return dict(self._search_space)
        return self._intersection.calculate(study)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next decision, allowing for the running trials of other workers."""
        direction = direction_of(study)
        if not search_space:
            return {}
        axes = Axes.of(search_space)
        if not axes.decisions:
            return axes.to_optuna({})
        storage = storage_of(study)
        with locks.hold(storage, study.study_name, "asking"):
            states = (TrialState.COMPLETE, TrialState.RUNNING)
            trials = [t for t in reading.trials(study, states) if t.number != trial.number]
            known = self.known(trials, axes, last_fits(study))
            self._warn(known.left_out)
            optimizer = self.optimizer(axes, direction, known, trial.number)
            params = axes.to_optuna(optimizer.ask().decision)
            records.publish(storage, reading.trial_id(study, trial.number), params, self._lease)
            fits = optimizer.fits_to_dict()
            if fits != known.fits:
                storage.set_study_system_attr(reading.study_id(study), records.FIT, fits)
        return params

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value of a parameter outside of the search space."""
        direction_of(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Nothing: what counts is in the study."""

    def known(self, trials: Sequence[FrozenTrial], axes: Axes, fits: Mapping[str, Any]) -> Known:
        """What trials say about a search space."""
        contexts = ContextSpace.of(self._contexts, DecisionSpace.of(axes.decisions))
        found = Known([], [], fits, [], max((t.number for t in trials), default=-1) + 1)
        for trial in sorted(trials, key=_when_told):
            if trial.state == TrialState.RUNNING:
                params = records.published(trial)
                if axes.holds(params) and not records.has_lapsed(trial, self._lease):
                    found.pending.append({"number": trial.number, "decision": axes.to_windage(params)})
            elif trial.state == TrialState.COMPLETE:
                row, why = _row(trial, axes, contexts, self._search_space is not None)
                if row is not None:
                    found.observations.append(row)
                elif why:
                    found.left_out.append(why)
        return found

    def everything(self, study: Study) -> tuple[Axes, Known]:
        """All that a study says, and about which parameters; a NotEnoughDataError where that is nothing."""
        trials = reading.trials(study, (TrialState.COMPLETE, TrialState.RUNNING))
        if not trials:
            raise NotEnoughDataError("a recommendation needs at least 1 observation: finish a trial first.")
        axes = Axes.of(self.infer_relative_search_space(study, trials[-1]))
        known = self.known(trials, axes, last_fits(study))
        self._warn(known.left_out)
        return axes, known

    def new_optimizer(self, axes: Axes, direction: Direction) -> Optimizer:
        """Windage's optimizer of a search space, before anything is told; checks every setting."""
        from windage import Optimizer

        return Optimizer(
            axes.decisions,
            self._contexts,
            self._method,
            direction,
            self._seed,
            self._initial,
            **self._settings,
        )

    def optimizer(self, axes: Axes, direction: Direction, known: Known, number: int) -> Optimizer:
        """Windage's optimizer of what is known, about to choose the decision of trial ``number``."""
        from windage import Optimizer

        saved = {
            **self.new_optimizer(axes, direction).to_dict(),
            "observations": known.observations,
            "pending": _before(known.pending, number),
            "asked": number,
        }
        try:
            return Optimizer.from_dict({**saved, "fits": known.fits})
        except ConfigurationError:
            if not known.fits:
                raise
            return Optimizer.from_dict(saved)  # the last fit is of another space or method: start anew

    def _warn(self, left_out: Sequence[str]) -> None:
        """Once."""
        if left_out and not self._warned:
            self._warned = True
            more = f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else ""
            warnings.warn(f"{left_out[0]}{more}", WindageWarning, stacklevel=2)


def _before(pending: Sequence[Mapping[str, Any]], number: int) -> list[dict[str, Any]]:
    """Pending decisions by number, each below that of the trial that asks, as the optimizer wants them.

    A worker with a later number may have been faster. Its decision takes the number of a finished trial. At
    the very beginning there may be too few of them, and the rest is left out.
    """
    rows = sorted(pending, key=lambda row: int(row["number"]))
    earlier = [dict(row) for row in rows if row["number"] < number]
    taken = {row["number"] for row in earlier}
    free = (k for k in range(number) if k not in taken)
    later = [row for row in rows if row["number"] >= number]
    moved = [{"number": k, "decision": row["decision"]} for k, row in zip(free, later, strict=False)]
    return [*earlier, *moved]


def _when_told(trial: FrozenTrial) -> tuple[datetime, int]:
    return trial.datetime_complete or datetime.max, trial.number


def last_fits(study: Study) -> dict[str, Any]:
    """The fit of the last ask; empty where there is none."""
    found = storage_of(study).get_study_system_attrs(reading.study_id(study)).get(records.FIT)
    return found if isinstance(found, dict) else {}


def direction_of(study: Study) -> Direction:
    """``maximize`` or ``minimize``; a ConfigurationError where there are several objectives."""
    if len(study.directions) != 1:
        raise ConfigurationError("windage optimises one value; this study has several objectives.")
    return "minimize" if study.direction == StudyDirection.MINIMIZE else "maximize"


def _row(
    trial: FrozenTrial, axes: Axes, contexts: ContextSpace, fixed: bool
) -> tuple[dict[str, Any] | None, str]:
    """A finished trial as an observation, or why it is none.

    Without a fixed search space there is no reason to give: the space may change.
    """
    params = records.published(trial)
    if not axes.holds(params):
        why = f"trial {trial.number} is left out: it is no decision of this search space: {params}."
        return None, why if fixed else ""
    context = trial.user_attrs.get(records.CONTEXT)
    names = ", ".join(f"{name}=..." for name in contexts.names)
    if context is None and contexts.names:
        return None, (
            f"trial {trial.number} has no context and is left out: call "
            f"windage.studies.report_context(trial, {names}) before it ends."
        )
    value = trial.value
    if value is None or not math.isfinite(value):
        return None, f"trial {trial.number} is left out: its value is {value!r}, which is not finite."
    if isinstance(context, Mapping):  # it may have more contexts than this study
        context = {name: v for name, v in context.items() if name in contexts.names}
    try:
        checked = contexts.check(context if contexts.names else None)
    except WindageError as error:
        return None, f"trial {trial.number} is left out: {error}"
    decision: dict[str, Value] = axes.to_windage(params)
    return {"decision": decision, "context": dict(checked), "value": value}, ""


def recommend(study: Study) -> Recommendation:
    """The decision with the best expected value, with its interval: of a study that has a ``ContextSampler``.

    ``study.best_trial`` is the trial with the luckiest contexts; this is what to do.
    """
    sampler = study.sampler
    if not isinstance(sampler, ContextSampler):
        raise ConfigurationError(
            "recommend needs the study with its sampler: optuna.load_study(..., sampler=ContextSampler(...))."
        )
    axes, known = sampler.everything(study)
    best = sampler.optimizer(axes, direction_of(study), known, known.count).recommend()
    return replace(best, decision=axes.to_optuna(best.decision))
