"""``ContextSampler``: windage for any Optuna study.

All that it knows is in the study. So any number of workers may share one, and a sampler made anew continues
where the last one stopped.
"""

from __future__ import annotations

import hashlib
import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from windage.changes import standing
from windage.errors import ConfigurationError, NotEnoughDataError, WindageWarning
from windage.space import ContextSpace, DecisionSpace, Direction, Parameter
from windage.studies import beforehand, corrections, dates, locks, reading, records
from windage.studies.axes import Axes
from windage.studies.counting import Counted, counted
from windage.studies.optuna_internals import storage_of

if TYPE_CHECKING:
    from windage import Optimizer, Recommendation
    from windage.methods import Method, MethodName


@dataclass(frozen=True)
class Known:
    """What the trials of a study say about one search space."""

    observations: list[dict[str, Any]]
    """Number, decision, context, value, time and forecast of each finished trial that counts, as corrected,
    and whether its value was; by date, else in the order told."""
    pending: list[dict[str, Any]]
    """Number and decision of each running trial that counts, and what was known before it."""
    fits: Mapping[str, Any]
    """Where the next fit starts."""
    left_out: list[str]
    """Why finished trials do not count, one sentence each."""
    count: int
    """The number that the next trial may have."""
    flagged: list[str] = field(default_factory=list)
    """What is unlike the study of those that count: outside of bounds, or a context not told."""


class ContextSampler(BaseSampler):
    """Chooses parameters whose outcome depends on contexts that are reported when they are seen.

    Args:
        contexts: names → ``windage.Real`` (bounds or none), ``Integer`` or ``Categorical``. May be left
            out with ``gp-ucb``.
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
        contexts: Mapping[str, Parameter] | None = None,
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
        self._warned, self.warns_of_flags = False, True
        self._sees_contexts = get_method(method).uses_context
        if self._sees_contexts and not self._contexts:
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
        given = beforehand.engine(beforehand.strict(trial, self._contexts)) if self._sees_contexts else {}
        storage = storage_of(study)
        with locks.hold(storage, study.study_name, "asking"):
            states = (TrialState.COMPLETE, TrialState.RUNNING)
            trials = [t for t in reading.trials(study, states) if t.number != trial.number]
            known = self.known(trials, axes, attributes_of(study))
            self.warn([*known.left_out, *(known.flagged if self.warns_of_flags else ())])
            optimizer = self.optimizer(axes, direction, known, trial.number)
            params = axes.to_optuna(optimizer.ask(**given).decision)
            records.publish(storage, reading.trial_id(study, trial.number), params, self._lease)
            fits = optimizer.fits_to_dict()
            if fits != known.fits:
                kept: dict[str, Any] = {"space": self._space(axes), "fits": fits}
                storage.set_study_system_attr(reading.study_id(study), records.FIT, kept)
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

    def known(self, trials: Sequence[FrozenTrial], axes: Axes, attributes: Mapping[str, Any]) -> Known:
        """What trials say about a search space; ``attributes`` are the study's system attributes."""
        contexts = ContextSpace.of(self._contexts, DecisionSpace.of(axes.decisions))
        number = max((t.number for t in trials), default=-1) + 1
        found = Known([], [], records.fits_in(attributes, self._space(axes)), [], number)
        made = corrections.changes_in(attributes)
        looked_at = {number for number, now in standing(made).items() if now.value is not None}
        for trial in sorted(corrections.current(trials, made), key=_when_told):
            if trial.state == TrialState.RUNNING:
                params = records.published(trial)
                if axes.holds(params) and not records.has_lapsed(trial, self._lease):
                    given = beforehand.kept(trial, self._contexts)
                    row = {"number": trial.number, "decision": axes.to_windage(params)}
                    found.pending.append({**row, **given.to_dict()})
            elif trial.state == TrialState.COMPLETE:
                told = counted(trial, axes, contexts)
                if isinstance(told, Counted):
                    again = trial.number in looked_at
                    found.observations.append({"looked_at": again, **self._row(trial, told)})
                    found.flagged.extend(told.flags(trial.number))
                elif self._search_space is not None or axes.recalls(records.published(trial)):
                    found.left_out.append(told)  # without a search space of its own, that may change
        return found

    def _row(self, trial: FrozenTrial, told: Counted) -> dict[str, Any]:
        """A finished trial as the optimizer reads it."""
        parts = {"decision": told.decision, "context": dict(told.context), "value": told.value}
        when, rows = _when_told(trial)[0], beforehand.kept(trial, self._contexts, known=False).forecast
        forecast = {name: [row["mean"], row["deviation"]] for name, row in rows.items()}
        time = None if when == datetime.max else dates.days(when)
        return {"number": trial.number, **parts, "time": time, "forecast": forecast}

    def _space(self, axes: Axes) -> str:
        """A digest of the variables and their bounds: a fit is of just these."""
        said = repr((sorted(axes.decisions.items()), list(self._contexts.items())))
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def everything(self, study: Study) -> tuple[Axes, Known]:
        """All that a study says, and about which parameters; a NotEnoughDataError where that is nothing."""
        trials = reading.trials(study, (TrialState.COMPLETE, TrialState.RUNNING))
        if not trials:
            raise NotEnoughDataError("a recommendation needs at least 1 observation: finish a trial first.")
        axes = Axes.of(self.infer_relative_search_space(study, trials[-1]))
        known = self.known(trials, axes, attributes_of(study))
        self.warn(known.left_out)
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
            "changes": [  # of outcomes that somebody has looked at again: they are trusted
                {"number": place, "kind": "correct", "value": row["value"]}
                for place, row in enumerate(known.observations)
                if row.get("looked_at")
            ],
            "pending": _before(known.pending, number),
            "asked": number,
        }
        try:
            return Optimizer.from_dict({**saved, "fits": known.fits})
        except ConfigurationError:
            if not known.fits:
                raise
            return Optimizer.from_dict(saved)  # the last fit is of another space or method: start anew

    def warn(self, left_out: Sequence[str]) -> None:
        """Say why finished trials do not count, once."""
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
    moved = [{**row, "number": k} for k, row in zip(free, later, strict=False)]
    return [*earlier, *moved]


def _when_told(trial: FrozenTrial) -> tuple[datetime, int]:
    """When a trial counts: at its date where it has one, else when it was told."""
    happened = dates.moment(records.date_of(trial))
    return happened or trial.datetime_complete or datetime.max, trial.number


def attributes_of(study: Study) -> dict[str, Any]:
    """The study's system attributes: the fit of the last ask, and corrections."""
    return storage_of(study).get_study_system_attrs(reading.study_id(study))


def direction_of(study: Study) -> Direction:
    """``maximize`` or ``minimize``; a ConfigurationError where there are several objectives."""
    if len(study.directions) != 1:
        raise ConfigurationError("windage optimises one value; this study has several objectives.")
    return "minimize" if study.direction == StudyDirection.MINIMIZE else "maximize"


def recommend(
    study: Study, known: Mapping[str, Any] | None = None, forecast: Mapping[str, Any] | None = None
) -> Recommendation:
    """The decision with the best expected value, with its interval: of a study that has a ``ContextSampler``.

    ``known`` and ``forecast``: contexts, as in ``Optimizer.recommend``.
    ``study.best_trial`` is the trial with the luckiest contexts; this is what to do.
    """
    sampler = study.sampler
    if not isinstance(sampler, ContextSampler):
        raise ConfigurationError(
            "recommend needs the study with its sampler: optuna.load_study(..., sampler=ContextSampler(...))."
        )
    axes, told = sampler.everything(study)
    optimizer = sampler.optimizer(axes, direction_of(study), told, told.count)
    best = optimizer.recommend(known=known, forecast=forecast)
    return replace(best, decision=axes.to_optuna(best.decision))
