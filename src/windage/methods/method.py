"""What a method is, and what it may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from windage.acquisition import Acquisition, MixtureBound
from windage.contexts import NO_CONTEXT, Kde, Nodes, whole_space
from windage.dataset import Dataset
from windage.gp import KernelName, ProductGP
from windage.gp.posterior import FEW, MANY
from windage.methods.schedules import paper_sqrt_beta, theorem_sqrt_beta
from windage.methods.settings import DETERMINISTIC, PAPER_SAMPLES, SHARED, THEOREM, Settings
from windage.search import Seeds
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
    """The distribution of the next context, on the unit box; None where there is no context, or none was seen
    yet."""
    settings: Settings
    sqrt_beta: float
    seeds: Seeds

    @property
    def t(self) -> int:
        """The number of observations."""
        return len(self.data)

    @property
    def contexts_seen(self) -> float:
        """From how many contexts the distribution is known: n_eff where they have weights."""
        if self.density is None or (self.density.weights is None and self.density.seen is None):
            return self.data.contexts_seen
        return max(self.density.count, 1.0)

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
        generator = np.random.default_rng(self.seeds("context samples"))
        return self.coded(self.kde.monte_carlo(int(samples), generator))

    def deterministic_nodes(self) -> Nodes:
        """Cells of the estimated distribution, or Sobol points from three numbers on."""
        return self.coded(self.kde.nodes(self.seeds("context samples")))

    def seen_nodes(self) -> Nodes:
        """The contexts seen, with what is known of the next one in each of them."""
        return self.coded(Nodes(self.kde.centres, self.kde.shares))

    def coded(self, nodes: Nodes) -> Nodes:
        """Nodes of the contexts' unit box as the GP sees them."""
        return Nodes(self.data.code(nodes.points), nodes.weights)

    def space(self, count: int | None = None, seed: int | None = None) -> Array:
        """Sobol points of the whole context space, as the GP sees them; what is known stays."""
        count = self.settings.space_points if count is None else count
        seed = self.seeds("context space") if seed is None else seed
        points = whole_space(count, seed, self.data.scale.kinds)
        known = list(self.kde.known)
        points[:, known] = self.kde.centres[0, known]
        return self.data.code(points)

    def moving(self) -> Array:
        """1 for each coordinate of the context that is a number and not known, as the GP sees it; 0 else."""
        kinds, known = self.data.scale.kinds, self.kde.known
        free = [not kind.choice and d not in known for d, kind in enumerate(kinds)] + [False]  # time
        return np.array([float(free[group]) for group in self.data.groups])

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
    forgets: bool = False
    """Whether ``forget="auto"`` learns how fast to forget contexts; else it never does, as in the papers."""
    initial: int = INITIAL
    """How many first decisions it needs where none is a choice; with choices, ``INITIAL``."""

    def acquisition(self, state: State) -> Acquisition:
        """Its acquisition function; the upper bound of the outcome itself where no context was seen yet."""
        assert self.build is not None
        if self.uses_context and state.density is None:
            return MixtureBound(state.models, NO_CONTEXT, state.sqrt_beta)
        return self.build(state)

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
