"""What a method is, and what it may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from windage.acquisition import Acquisition
from windage.contexts import Kde, Nodes
from windage.dataset import Dataset
from windage.gp import KernelName, ProductGP
from windage.gp.posterior import FEW, MANY
from windage.methods.schedules import paper_sqrt_beta, theorem_sqrt_beta
from windage.methods.settings import DETERMINISTIC, PAPER_SAMPLES, SHARED, THEOREM, Settings
from windage.search import Seeds, sobol
from windage.search.discrete import continuous
from windage.space import Array

INITIAL = 10
"""First decisions, from a Sobol sequence (paper, Section 4)."""
MethodName = Literal[
    "auto",
    "sbo-kde",
    "drbo-kde",
    "drbo-mmd",
    "drbo-mmd-minimax",
    "stableopt",
    "gp-ucb",
    "bq-kde",
    "rbq-kde",
    "erbo",
    "wdrbo",
    "ledrbo",
    "random",
]


@dataclass(frozen=True)
class State:
    """What a method may use: all that is known when a decision is to be made."""

    models: tuple[ProductGP, ...]
    """The surrogates; pending decisions are observations that they pretend to have."""
    data: Dataset
    density: Kde | None
    """The estimated distribution of the context; None where there is no context."""
    settings: Settings
    sqrt_beta: float
    seeds: Seeds

    @property
    def t(self) -> int:
        """The number of observations."""
        return len(self.data)

    @property
    def dc(self) -> int:
        """The number of contexts."""
        return len(self.data.contexts.names)

    @property
    def kde(self) -> Kde:
        """The estimated distribution of the context, where there must be one."""
        assert self.density is not None
        return self.density

    def kde_nodes(self) -> Nodes:
        """Nodes of the estimated distribution: draws, or deterministic ones, as the settings say."""
        samples = self.settings.samples
        if samples is None:
            samples = PAPER_SAMPLES if self.dc <= 2 else DETERMINISTIC
        if samples == DETERMINISTIC:
            return self.deterministic_nodes()
        return self.kde.monte_carlo(int(samples), np.random.default_rng(self.seeds("context samples")))

    def deterministic_nodes(self) -> Nodes:
        """Cells of the estimated distribution, or Sobol points from three contexts on."""
        return self.kde.nodes(self.seeds("context samples"))

    def space(self) -> Array:
        """Sobol points of the whole context space, n × Dc."""
        return sobol(self.settings.space_points, self.dc, self.seeds("context space"))

    def radius(self, schedule: float) -> float:
        """Of the ambiguity set: the setting, or else the schedule's."""
        return schedule if self.settings.radius is None else self.settings.radius

    @property
    def evaluations(self) -> int:
        """About how many decisions are asked for where a coarse approximation is climbed first."""
        return FEW if continuous(self.data.decisions.blocks) else MANY

    def without_exploration(self) -> State:
        """The same with √β = 0, and nodes that are deterministic and the same in every trial.

        For recommendations and predictions, which do not depend on what was asked since the last tell.
        """
        settings, seeds = replace(self.settings, samples=DETERMINISTIC), replace(self.seeds, trial=0)
        return replace(self, sqrt_beta=0.0, settings=settings, seeds=seeds)


@dataclass(frozen=True)
class Method:
    """A way to choose decisions. Each has a file of its own in ``windage.methods``."""

    name: str
    distribution: str
    """How it sees the distribution of the context, in words."""
    objective: str
    """What it maximises, in words."""
    build: Callable[[State], Acquisition] | None
    """Its acquisition function; None: decisions at random."""
    settings: frozenset[str] = frozenset()
    """The settings that it uses beside those that every method does."""
    uses_context: bool = True
    """Whether its surrogate sees the context."""
    robust: bool = False
    """Whether it maximises a worst case: then its recommendation does, too."""
    kernels: tuple[KernelName, ...] = ("rbf",)
    """Of its surrogates, unless ``Settings.kernel`` says otherwise."""
    members: int = 0
    """Its own ``Settings.members``."""
    sqrt_beta: Callable[[int], float] = paper_sqrt_beta
    """Its own ``Settings.sqrt_beta``, by the number of decision variables."""
    learn_sqrt_beta: Callable[[int], float] = paper_sqrt_beta
    """The same with ``aim="learn"``, where that is among its settings."""
    initial: int = INITIAL
    """How many first decisions it needs where none is a choice; with choices, ``INITIAL``."""

    @property
    def used(self) -> frozenset[str]:
        """All settings that it uses."""
        return self.settings | SHARED

    def sqrt_beta_at(self, data: Dataset, settings: Settings) -> float:
        """√β now."""
        dx, given = len(data.decisions.names), settings.sqrt_beta
        if given == THEOREM:
            return theorem_sqrt_beta(len(data), dx, settings.lipschitz)
        own = self.learn_sqrt_beta if settings.aim == "learn" else self.sqrt_beta
        return own(dx) if given is None else float(given)
