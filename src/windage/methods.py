"""The methods: rows of one table. A method is a law of the context, a functional of it, and its schedule.

``t`` is the number of observations, ``Dc`` the number of contexts, ``Dx`` that of decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windage.errors import ConfigurationError, near_match
from windage.schedules import (
    mmd_radius,
    paper_sqrt_beta,
    root_sqrt_beta,
    steep_sqrt_beta,
    theorem_sqrt_beta,
    total_variation_radius,
    wasserstein_radius,
)
from windage.settings import DETERMINISTIC, KERNELS, PAPER_SAMPLES, THEOREM, Settings

if TYPE_CHECKING:
    from torch import Tensor

    from windage.density import Kde
    from windage.maximize import Acquisition
    from windage.space import Block
    from windage.surrogate import ProductGP

AUTO, BEST = "auto", "kg-kde"
FORESIGHT, LOG_FORESIGHT = 0.02, 10.0
"""Of KG-KDE: how many decisions to come a better one would serve, for each of those so far; and in logs."""
MOST_SERVED, PLACE_SERVED = 100.0, 600.0
"""How many at most, in logs: by a look, and by a look at another place."""
LEDRBO_AVERSION = 1.41
"""By how many standard deviations of its members' means LEDRBO goes below their mean."""


@dataclass(frozen=True)
class Situation:
    """What a method may look at: the surrogate, the contexts seen (t × Dc, unit box), the density, a seed."""

    model: ProductGP
    contexts: Tensor
    kde: Kde | None
    settings: Settings
    seed: int
    others: tuple[ProductGP, ...] = ()
    """The method's other surrogates."""
    own_sqrt_beta: float = 1.5
    """The method's √β, unless the settings say otherwise."""

    @property
    def models(self) -> tuple[ProductGP, ...]:
        """All surrogates."""
        return (self.model, *self.others)

    @property
    def count(self) -> int:
        """t, the number of observations."""
        return len(self.contexts)

    @property
    def dx(self) -> int:
        """The number of decisions."""
        return len(set(self.model.data.groups))

    @property
    def sqrt_beta(self) -> float:
        """√β now."""
        if self.settings.sqrt_beta == THEOREM:
            return theorem_sqrt_beta(self.count, self.dx, self.settings.lipschitz)
        return float(self.own_sqrt_beta if self.settings.sqrt_beta is None else self.settings.sqrt_beta)


@dataclass(frozen=True)
class Method:
    """A row of the table."""

    name: str
    law: str
    """How it sees the law of the context, in words."""
    objective: str
    """What it maximises, in words."""
    build: Callable[[Situation], Acquisition] | None
    """None: decisions at random."""
    uses_context: bool = True
    kernels: tuple[str, ...] = ("rbf",)
    """Of its surrogates, unless ``Settings.kernel`` says otherwise."""
    members: int = 0
    """Its own ``Settings.members``; with one decision twice as many."""
    sqrt_beta: Callable[[int], float] = paper_sqrt_beta
    """Its own ``Settings.sqrt_beta``, by the number of decisions."""
    logs: bool = False
    """Whether its members may see the outcomes in logs, if likelier so; for bounds on the mean."""
    elsewhere: Callable[[Situation, Any, Tensor, tuple[Block, ...]], Tensor | None] | None = None
    """What is decided in place of its acquisition's maximum, if anything; from both and the decisions."""
    grain: bool = False
    """Whether its members may see a grain in the noise, unless unlikely; for bounds on the mean."""
    initial: int | None = None
    """How many first decisions it needs where none is a choice, if that is its own affair; None:
    ``windage.proposal.INITIAL``."""
    off_the_ends: bool = False
    """Whether its first decisions keep off the ends of each range (``windage.proposal.off_the_ends``)."""


def _kde_nodes(s: Situation) -> Any:
    import torch

    assert s.kde is not None
    samples = s.settings.samples
    if samples is None:
        samples = PAPER_SAMPLES if s.contexts.shape[1] <= 2 else DETERMINISTIC
    if samples == DETERMINISTIC:
        return s.kde.nodes(s.seed)
    return s.kde.monte_carlo(int(samples), torch.Generator().manual_seed(s.seed))


def _sbo_kde(s: Situation) -> Acquisition:
    from windage.acquisition import Expectation

    return Expectation(s.model, _kde_nodes(s), s.sqrt_beta)


def _space(s: Situation) -> Tensor:
    """Points of the whole context space."""
    from windage.density import sobol

    return sobol(s.settings.space_points, s.contexts.shape[1], s.seed)


def _ball(s: Situation) -> tuple[float, Tensor]:
    """A total-variation radius, and the space over which to take the infimum."""
    radius = s.settings.radius
    return total_variation_radius(s.count, s.contexts.shape[1]) if radius is None else radius, _space(s)


def _drbo_kde(s: Situation) -> Acquisition:
    from windage.acquisition import TotalVariation

    return TotalVariation(s.model, _kde_nodes(s), *_ball(s), s.sqrt_beta)


def _kernel_ball(s: Situation, size: int) -> tuple[Any, float]:
    from windage.density import grid

    radius = s.settings.radius
    radius = mmd_radius(s.count, s.settings.gamma) if radius is None else radius
    return grid(s.contexts, s.settings.grid or size), radius


def _drbo_mmd(s: Situation) -> Acquisition:
    from windage.acquisition import Mmd

    nodes, radius = _kernel_ball(s, 100)
    return Mmd(s.model, nodes, radius, s.sqrt_beta)


def _minimax(s: Situation) -> Acquisition:
    from windage.acquisition import Minimax

    nodes, radius = _kernel_ball(s, 1024)
    return Minimax(s.model, nodes, radius, s.sqrt_beta)


def _stableopt(s: Situation) -> Acquisition:
    from windage.acquisition import WorstCase
    from windage.density import box

    assert s.kde is not None
    nodes = box(s.contexts, s.kde.lower, s.kde.upper, s.settings.space_points, s.seed)
    return WorstCase(s.model, nodes, s.sqrt_beta)


def _few_nodes(s: Situation) -> Any:
    """Deterministic nodes; half as many a context in logs, where each costs."""
    assert s.kde is not None
    return s.kde.nodes(s.seed, coarse=s.model.data.logs is not None)


def _bq_kde(s: Situation) -> Acquisition:
    from windage.combined import ExpectedBound

    return ExpectedBound(s.models, _few_nodes(s), s.sqrt_beta)


def _kg_kde(s: Situation) -> Acquisition:
    from windage.combined import ExpectedGain

    if s.dx == 1:  # on a line, the bound alone leaves nothing unseen
        return _bq_kde(s)
    served = FORESIGHT * s.count
    if s.model.data.logs is not None:
        served = min(LOG_FORESIGHT * s.count, MOST_SERVED)
    return ExpectedGain(s.models, _few_nodes(s), s.sqrt_beta, served)


def _other_places(s: Situation, acquisition: Any, top: Tensor, blocks: tuple[Block, ...]) -> Tensor | None:
    from windage.places import another_place

    if s.dx == 1 or s.model.data.logs is None:
        return None
    served = min(LOG_FORESIGHT * s.count, PLACE_SERVED)
    return another_place(acquisition, top, blocks, served, s.seed)


def _rbq_kde(s: Situation) -> Acquisition:
    from windage.combined import WorstBound

    assert s.kde is not None
    return WorstBound(s.models, s.kde.nodes(s.seed), s.sqrt_beta, *_ball(s))


def _erbo(s: Situation) -> Acquisition:
    from windage.acquisition import Expectation
    from windage.density import Nodes

    return Expectation(s.model, Nodes.equal(s.contexts), s.sqrt_beta)


def _wdrbo(s: Situation) -> Acquisition:
    from windage.combined import Wasserstein
    from windage.density import Nodes

    radius = s.settings.radius
    radius = wasserstein_radius(s.count) if radius is None else radius
    return Wasserstein(s.model, Nodes.equal(s.contexts), s.sqrt_beta, radius, _space(s))


def _ledrbo(s: Situation) -> Acquisition:
    from windage.combined import Disagreement
    from windage.density import Nodes

    return Disagreement(s.models, Nodes.equal(s.contexts), s.sqrt_beta, LEDRBO_AVERSION)


def _gp_ucb(s: Situation) -> Acquisition:
    import torch

    from windage.acquisition import Expectation
    from windage.density import Nodes

    return Expectation(s.model, Nodes.equal(torch.zeros(1, 0, dtype=torch.double)), s.sqrt_beta)


METHODS: dict[str, Method] = {
    row.name: row
    for row in (
        Method("sbo-kde", "kernel density estimate", "the mean of the upper bound", _sbo_kde),
        Method(
            "drbo-kde",
            "kernel density estimate",
            "the worst mean within a total-variation distance",
            _drbo_kde,
        ),
        Method("drbo-mmd", "counts on a grid", "the worst mean within an MMD distance", _drbo_mmd),
        Method(
            "drbo-mmd-minimax", "counts on a grid", "a quick approximation of drbo-mmd's worst mean", _minimax
        ),
        Method(
            "stableopt", "a box around the contexts seen", "the worst value anywhere in the box", _stableopt
        ),
        Method(
            "gp-ucb", "none: contexts count as noise", "the upper bound itself", _gp_ucb, uses_context=False
        ),
        Method(
            "bq-kde",
            "kernel density estimate",
            "the upper bound of the mean itself",
            _bq_kde,
            kernels=KERNELS,
            members=8,
            sqrt_beta=root_sqrt_beta,
        ),
        Method(
            "kg-kde",
            "kernel density estimate",
            "the upper bound of the mean itself, and what one more look may gain",
            _kg_kde,
            kernels=KERNELS,
            members=8,
            sqrt_beta=steep_sqrt_beta,
            logs=True,
            elsewhere=_other_places,
            grain=True,
            initial=4,
            off_the_ends=True,
        ),
        Method(
            "rbq-kde",
            "kernel density estimate",
            "the upper bound of the worst mean within a total-variation distance",
            _rbq_kde,
            kernels=KERNELS,
            members=8,
            sqrt_beta=root_sqrt_beta,
        ),
        Method("erbo", "the contexts seen", "the mean of the upper bound", _erbo),
        Method(
            "wdrbo",
            "the contexts seen",
            "the mean of the upper bound, less the steepest slope in the context",
            _wdrbo,
        ),
        Method(
            "ledrbo",
            "the contexts seen",
            "the mean of the upper bounds of four surrogates, less their disagreement",
            _ledrbo,
            kernels=("rbf", "rational-quadratic", "matern-3/2", "matern"),
        ),
        Method("random", "none", "nothing: decisions at random", None, uses_context=False),
    )
}


def register(method: Method) -> None:
    """Make a method of your own known by its name."""
    if method.name in METHODS:
        raise ConfigurationError(f"there is a method {method.name!r} already: give yours another name.")
    METHODS[method.name] = method


def get_method(name: object) -> Method:
    """The row of that name, or a ConfigurationError with the list; "auto" is ``BEST``."""
    if isinstance(name, str) and name == AUTO:
        return METHODS[BEST]
    if isinstance(name, str) and name in METHODS:
        return METHODS[name]
    known = [AUTO, *METHODS]
    raise ConfigurationError(
        f"unknown method {name!r}; the methods are {', '.join(known)}.{near_match(name, known)}"
    )
