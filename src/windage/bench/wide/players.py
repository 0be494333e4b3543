"""Who plays an instance: methods of windage, and samplers of Optuna that see no context.

All get the same first decisions: the first points of windage's Sobol sequence of that seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from windage.bench.wide.instance import Instance
from windage.contexts import Nodes
from windage.errors import ConfigurationError, missing_extra
from windage.methods import METHODS, Method, State, get_method
from windage.space import Categorical, Decision, Integer

INITIAL = 4
"""First decisions of everyone: the fewest with one point in each quarter of every range."""
OPTUNA = ("optuna-gp", "optuna-tpe")
LEARN = "auto-learn"
"""``auto`` with aim="learn"."""
BASELINES = ("random", "gp-ucb", "last-context", "sbo-kde", "drbo-kde", "erbo", "ledrbo", *OPTUNA)
"""What ``auto`` is measured against."""

Interval = tuple[float, float]


class Player(Protocol):
    """One run of one method."""

    def ask(self) -> Decision:
        """The next decision."""
        ...

    def tell(self, context: Mapping[str, float], value: float) -> None:
        """What came of it."""
        ...

    def recommend(self) -> tuple[Decision, Interval | None]:
        """The decision it would take now, and the 95 % interval of its expectation, if it has one."""
        ...

    def intervals(self, decisions: Sequence[Decision]) -> list[Interval] | None:
        """95 % intervals of the expectations of these decisions, if it has them."""
        ...


def player(name: str, instance: Instance, seed: int, budget: int, settings: Mapping[str, Any]) -> Player:
    """The player of that name."""
    if name in OPTUNA:
        if settings.keys() - {"initial"}:
            raise ConfigurationError(
                f"{name} takes no setting of windage: leave it out of --methods, or --set."
            )
        return OptunaPlayer(name, instance, seed, int(settings.get("initial", INITIAL)))
    if name == LEARN:
        if "aim" in settings:
            raise ConfigurationError(f'{name} has aim="learn": leave aim out of --set.')
        return WindagePlayer("auto", instance, seed, budget, {**settings, "aim": "learn"})
    return WindagePlayer(name, instance, seed, budget, settings)


def check_name(name: str) -> str:
    """The name, or a ConfigurationError with those there are."""
    return name if name in (*OPTUNA, *OWN, LEARN) else get_method(name).name


class WindagePlayer:
    """A method of windage."""

    def __init__(
        self, name: str, instance: Instance, seed: int, budget: int, settings: Mapping[str, Any]
    ) -> None:
        from windage.optimizer import Optimizer

        method = OWN.get(name) or METHODS[name]
        spaces = (instance.decisions, instance.contexts)
        keywords = {"initial": INITIAL, "screen": False, **settings}  # nothing is typed
        self.optimizer = Optimizer(*spaces, method=method, seed=seed, budget=budget, **keywords)
        self.trial: Any = None

    def ask(self) -> Decision:
        """The next decision."""
        self.trial = self.optimizer.ask()
        return dict(self.trial.decision)

    def tell(self, context: Mapping[str, float], value: float) -> None:
        """What came of it."""
        self.optimizer.tell(self.trial, context=context, value=value)

    def recommend(self) -> tuple[Decision, Interval | None]:
        """With the interval of the mean."""
        found = self.optimizer.recommend()
        return found.decision, found.interval

    def intervals(self, decisions: Sequence[Decision]) -> list[Interval] | None:
        """Of the mean."""
        return [found.interval for found in self.optimizer.predict(list(decisions))]


class OptunaPlayer:
    """A sampler of Optuna's. It sees no context, and recommends the best value that it met."""

    def __init__(self, name: str, instance: Instance, seed: int, initial: int) -> None:
        try:
            import optuna
        except ImportError as error:
            raise missing_extra("optuna", "studies", "Optuna's samplers") from error
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = optuna.samplers
        if name == "optuna-gp":
            sampler: Any = samplers.GPSampler(
                seed=seed, n_startup_trials=initial, deterministic_objective=False
            )
        else:
            sampler = samplers.TPESampler(seed=seed, n_startup_trials=initial, multivariate=True)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.space = {n: _distribution(optuna, p) for n, p in instance.decisions.items()}
        first = WindagePlayer("random", instance, seed, initial, {"initial": initial})
        for _ in range(initial):
            self.study.enqueue_trial(dict(first.ask()))
        self.trial: Any = None

    def ask(self) -> Decision:
        """The next decision."""
        self.trial = self.study.ask(self.space)
        return dict(self.trial.params)

    def tell(self, context: Mapping[str, float], value: float) -> None:
        """What came of it; the context goes unseen."""
        self.study.tell(self.trial, value)

    def recommend(self) -> tuple[Decision, Interval | None]:
        """The best value met."""
        return dict(self.study.best_trial.params), None

    def intervals(self, decisions: Sequence[Decision]) -> list[Interval] | None:
        """It has none."""
        return None


def _distribution(optuna: Any, parameter: Any) -> Any:
    kinds = optuna.distributions
    if isinstance(parameter, Categorical):
        return kinds.CategoricalDistribution(list(parameter.choices))
    if isinstance(parameter, Integer):
        return kinds.IntDistribution(parameter.low, parameter.high)
    return kinds.FloatDistribution(parameter.low, parameter.high, log=parameter.log)


def _at_last_context(state: State) -> Any:
    from windage.acquisition import Expectation

    return Expectation(state.models[0], state.coded(Nodes.equal(state.data.boxed_c[-1:])), state.sqrt_beta)


OWN: Mapping[str, Method] = {
    "last-context": Method(
        "last-context",
        "the last context alone",
        "the upper bound in the last context",
        _at_last_context,
        settings=frozenset({"sqrt_beta", "lipschitz"}),
    )
}
"""Methods of this suite alone. Xopt 3.2 takes the last context for the next."""


def need_known(names: Sequence[str]) -> list[str]:
    """Names of players, all known; or a ConfigurationError."""
    if not names:
        raise ConfigurationError("name at least one method.")
    return [check_name(name) for name in dict.fromkeys(names)]
