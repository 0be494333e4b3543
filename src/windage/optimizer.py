"""Optimizer: ask, tell, recommend. The one stateful object of windage.

Its state is a configuration, the observations, the pending trials, and the last fitted hyper-parameters (the
warm start of the next fit). Every random number comes from the seed and the number of the trial, so the same
seed and the same tells give the same asks, in any process, and looking (``recommend``, ``density``,
``predict``) never changes what is asked next.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, overload

import torch

from windage import recommendation, state
from windage.combined import ExpectedBound
from windage.data import Observations
from windage.density import ContextDensity
from windage.errors import ConfigurationError, InputError, NotEnoughDataError, TrialError, near_match
from windage.evidence import Evidence
from windage.maximize import maximize
from windage.methods import AUTO, get_method
from windage.nearby import best_nearby
from windage.proposal import (
    first_decision,
    initial_decisions,
    next_decision,
    one_thread,
    random_decision,
    stream,
)
from windage.recommendation import Prediction, Recommendation
from windage.settings import Settings
from windage.space import ContextSpace, DecisionSpace, Parameter, Real, Value, number, whole
from windage.surrogate import Fitted, ProductGP
from windage.surrogates import Fits, Key, surrogates
from windage.trial import Trial


class Optimizer:
    """Chooses decisions whose outcome depends on contexts that are seen only afterwards.

    Args:
        decisions: names → ``Real``, ``Integer`` or ``Categorical``.
        contexts: names → ``Real``, with bounds, one bound or none. May be left out with ``gp-ucb``.
        method: a row of ``windage methods``, or ``"auto"``.
        direction: ``"maximize"`` or ``"minimize"`` the value.
        seed: of everything random; None draws one.
        initial: how many first decisions come from a Sobol sequence. None: 10, with ``auto`` 4 where no
            decision is a choice, or a quarter of ``budget`` where that is less. History that was told counts
            towards it.
        budget: how many decisions are planned, if known.
        settings: see ``windage.settings.Settings``.
    """

    def __init__(
        self,
        decisions: Mapping[str, Parameter],
        contexts: Mapping[str, Real] | None = None,
        method: str = AUTO,
        direction: str = "maximize",
        seed: int | None = None,
        initial: int | None = None,
        budget: int | None = None,
        **settings: Any,
    ) -> None:
        self._settings = Settings.of(settings, also=tuple(signature(type(self)).parameters)[:-1])
        self._decisions = DecisionSpace.of(decisions)
        self._contexts = ContextSpace.of(contexts, self._decisions)
        self._method = get_method(method)
        if self._method.uses_context and not self._contexts.names:
            raise ConfigurationError(
                f"method {method!r} needs at least one context, such as contexts={{'demand': Real()}}; "
                'without any, use method="gp-ucb".'
            )
        if direction not in ("maximize", "minimize"):
            raise ConfigurationError(
                f'direction must be "maximize" or "minimize", not {direction!r}.'
                + near_match(direction, ("maximize", "minimize"))
            )
        self._direction = direction
        self._seed = secrets.randbits(32) if seed is None else whole(seed, "seed", ConfigurationError)
        self._initial = initial_decisions(self._method, self._decisions.blocks, initial, budget)
        self._observations = Observations(columns=(*self._decisions.names, *self._contexts.names))
        self._look()
        self._pending: dict[int, dict[str, Value]] = {}
        self._adopted: set[int] = set()  # pending trials restored from a dictionary: any copy may tell them
        self._asked = 0
        self._fits: Fits = {}
        self._fitted: dict[Key, Fitted] = {}
        self._study = secrets.token_hex(8)

    def __repr__(self) -> str:
        return (
            f"Optimizer({self._method.name}, {self._direction} over {', '.join(self._decisions.names)}; "
            f"{len(self._observations)} told, {len(self._pending)} pending)"
        )

    @property
    def decisions(self) -> Mapping[str, Parameter]:
        """The decisions by name."""
        return dict(self._decisions.parameters)

    @property
    def contexts(self) -> Mapping[str, Real]:
        """The contexts by name."""
        return dict(self._contexts.parameters)

    @property
    def observations(self) -> Observations:
        """Everything told so far: a frozen copy."""
        return self._observations.copy()

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials asked for and not told yet."""
        return tuple(Trial(k, dict(d), self._study) for k, d in self._pending.items())

    @property
    def density(self) -> ContextDensity:
        """The estimated density of the context."""
        self._need_observations("the density of the context")
        if not self._contexts.names:
            raise ConfigurationError("this study has no contexts, so there is no density.")
        law, seed = self._evidence, stream(self._seed, "density")
        assert law.kde is not None
        return ContextDensity(law.kde, law.scale, self._contexts.names, seed)

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next decision, or a list of n. Each allows for those asked for and not told yet."""
        if n is not None:
            return [self.ask() for _ in range(whole(n, "n"))]
        with one_thread():
            point = self._propose(self._asked)
        decision = self._decisions.decode(point.numpy())
        trial = Trial(self._asked, decision, self._study)
        self._pending[trial.number] = dict(decision)
        self._asked += 1
        return trial

    def _propose(self, index: int) -> torch.Tensor:
        """A point of the decisions' unit box."""
        count = len(self._observations)
        if count == 0 and self._initial == 0:
            raise NotEnoughDataError(
                f"method {self._method.name!r} needs at least 1 observation before it can choose: "
                "tell some history, or let initial be 1 or more."
            )
        waiting = torch.from_numpy(self._decisions.encode(list(self._pending.values())))
        if count == 0 or count + len(waiting) < self._initial:
            inside = self._initial if self._method.off_the_ends else 0
            return first_decision(self._decisions.blocks, waiting, self._seed, index, inside)
        if self._method.build is None:
            return random_decision(self._decisions.blocks, self._seed, index)
        models = self._models(self._method.uses_context, keep=True)
        numbers = list(self._pending)
        return next_decision(self._method, models, self._evidence, waiting, numbers, self._seed, index)

    def tell(
        self,
        trial: Trial | Mapping[str, Value],
        context: Mapping[str, float] | None = None,
        value: float | None = None,
    ) -> None:
        """What happened: the context that was met and the value that came out.

        ``trial`` is one that was asked for, or a decision of your own (history). A decision that equals a
        pending one to the last digit is taken for it. Nothing changes on an error.
        """
        if isinstance(trial, Trial):
            decision: Mapping[str, Value] = self._check_trial(trial)
        else:
            decision = self._decisions.check(trial)
        self._observations = self._observations.add([(decision, *self._check_result(context, value))])
        self._look()
        index = trial.number if isinstance(trial, Trial) else self._recognise(decision)
        if index is not None:
            self._drop(index)

    def _check_result(
        self, context: Mapping[str, float] | None, value: float | None
    ) -> tuple[dict[str, float], float]:
        if context is None and self._contexts.names:
            names = ", ".join(f"{name!r}: ..." for name in self._contexts.names)
            raise InputError(f"the context is missing: give context={{{names}}}.")
        met = self._contexts.check(context)
        if value is None:
            raise InputError("the value is missing: give value=..., what came out of this decision.")
        return met, number(value, "value")

    def _recognise(self, decision: Mapping[str, Value]) -> int | None:
        """The pending trial of exactly this decision, if a real number in it makes a coincidence unlikely."""
        if not any(isinstance(p, Real) for p in self._decisions.parameters.values()):
            return None
        return next((k for k, d in self._pending.items() if d == decision), None)

    def cancel(self, trial: Trial) -> None:
        """Forget a pending trial whose result will never come; it no longer holds its place."""
        if not isinstance(trial, Trial):
            raise TrialError(f"cancel takes a trial from ask() or from pending, not {trial!r}.")
        self._check_trial(trial)
        self._drop(trial.number)

    def _drop(self, index: int) -> None:
        del self._pending[index]
        self._adopted.discard(index)

    def _check_trial(self, trial: Trial) -> dict[str, Value]:
        index = whole(trial.number, "the number of the trial", TrialError)
        decision = self._pending.get(index)
        own = trial.study == self._study
        if decision is not None and own and decision != trial.decision:
            raise TrialError(
                f"the decision of trial {index} was changed since it was asked for. Cancel the trial, and "
                "tell what was really done as history: tell({...}, ...)."
            )
        if decision is None and own and index < self._asked:
            raise TrialError(
                f"trial {index} was told or cancelled already; what was told stays. Ask for a new one."
            )
        if decision is None or not (own or index in self._adopted) or decision != trial.decision:
            raise TrialError(
                f"trial {index} is of another optimizer, or was told before this one was restored. Tell it "
                "there, or tell its decision as history: tell(trial.decision, ...)."
            )
        return decision

    def recommend(self) -> Recommendation:
        """The decision with the best posterior mean of the expectation under the estimated density."""
        self._need_observations("a recommendation")
        with one_thread():
            models = self._models(bool(self._contexts.names))
            nodes = recommendation.context_nodes(self._evidence.kde)
            known, own = models[0].data, stream(self._seed, "recommend")
            mean, settings = ExpectedBound(models, nodes, 0.0), self._settings
            blocks = self._decisions.blocks
            best = maximize(mean, blocks, settings.raw_samples, settings.restarts, own, extra=known.x).point
            best = best_nearby(mean, best, known.x[:0], own)
            decision = self._decisions.decode(best.numpy())
            found = self._predict(models, [decision])[0]
        note = recommendation.weakness(self._observations, self._contexts.names)
        return Recommendation(decision, found.expected, found.interval, found.worst_case, note)

    @overload
    def predict(self, decision: Mapping[str, Value]) -> Prediction: ...
    @overload
    def predict(self, decision: Sequence[Mapping[str, Value]]) -> list[Prediction]: ...
    def predict(
        self, decision: Mapping[str, Value] | Sequence[Mapping[str, Value]]
    ) -> Prediction | list[Prediction]:
        """What is to be expected of a decision of your own, or of each of a list of them."""
        if isinstance(decision, Mapping) or not isinstance(decision, Sequence) or isinstance(decision, str):
            return self.predict([decision])[0]
        self._need_observations("a prediction")
        checked = [self._decisions.check(d) for d in decision]
        with one_thread():
            return self._predict(self._models(bool(self._contexts.names)), checked)

    def _predict(self, models: list[ProductGP], decisions: list[dict[str, Value]]) -> list[Prediction]:
        points, seen = torch.from_numpy(self._decisions.encode(decisions)), self._evidence
        return recommendation.predict(models, seen.kde, seen.outcome, points, decisions)

    def _look(self) -> None:
        """See the observations anew."""
        seen, up = self._observations, self._direction == "maximize"
        self._evidence = Evidence(self._decisions, self._contexts, seen, up, self._settings)

    def _models(self, joint: bool, keep: bool = False) -> list[ProductGP]:
        """The GPs that follow all observations: on (x, c), or on x alone.

        Only an ask keeps its fits as the next ones' start, so that looking changes nothing.
        """
        seed = stream(self._seed, "members")
        found = surrogates(self._method, self._evidence, joint, self._fits, self._fitted, seed)
        if keep:
            for key, fitted in self._fitted.items():
                if key[0] == joint and len(fitted.model.data.y) == len(self._observations):
                    self._fits[key] = (fitted.count, fitted.hyperparameters)
        return found

    def _need_observations(self, what: str) -> None:
        if not len(self._observations):
            raise NotEnoughDataError(f"{what} needs at least 1 observation: tell one first.")

    def to_dict(self) -> dict[str, Any]:
        """The whole state as plain JSON values. ``from_dict`` continues exactly from it."""
        return {
            "format": state.FORMAT,
            "decisions": state.space_to_dict(self._decisions.parameters),
            "contexts": state.space_to_dict(self._contexts.parameters),
            "method": self._method.name,
            "direction": self._direction,
            "seed": self._seed,
            "initial": self._initial,
            "settings": self._settings.changed(),
            "observations": state.observations_to_list(self._observations),
            "pending": [{"number": k, "decision": dict(d)} for k, d in self._pending.items()],
            "asked": self._asked,
            "fits": self.fits_to_dict(),
        }

    def fits_to_dict(self) -> dict[str, Any]:
        """The last fits alone, where the next ones start; a part of ``to_dict``."""
        return state.fits_to_dict(self._fits)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Optimizer:
        """An optimizer that continues exactly as the one that was saved."""
        with state.reading(saved):
            optimizer = cls(
                state.space_from_dict(saved["decisions"]),
                state.space_from_dict(saved["contexts"]),
                saved["method"],
                saved["direction"],
                whole(saved["seed"], "seed"),
                whole(saved["initial"], "initial"),
                **saved["settings"],
            )
            check, result = optimizer._decisions.check, optimizer._check_result
            told = [(check(o["decision"]), *result(o["context"], o["value"])) for o in saved["observations"]]
            optimizer._observations = optimizer._observations.add(told)
            optimizer._look()
            optimizer._asked = whole(saved["asked"], "asked")
            pending = state.pending_from_list(saved["pending"], optimizer._asked)
            optimizer._pending = {k: optimizer._decisions.check(d) for k, d in pending.items()}
            optimizer._adopted = set(optimizer._pending)
            blocks, contexts = optimizer._decisions.blocks, optimizer._contexts.names
            width = blocks[-1].stop
            optimizer._fits = state.fits_from_dict(saved["fits"], width, len(contexts), len(blocks))
        return optimizer
