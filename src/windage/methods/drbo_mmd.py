"""DRBO-MMD (Kirschner, Bogunovic, Jegelka & Krause, AISTATS 2020, Algorithm 1).

1. Fit a GP on (x, c) to all observations.
2. Count the contexts seen on a full grid of about 100 points.
3. The ambiguity set is the MMD ball of radius ε_t = (2 + sqrt(2 log(1/γ)))/√t about these counts (Lemma 3),
   in the norm of the context kernel.
4. Decide x that maximises the worst mean of the upper bound in it (Eq. 8).
"""

from windage.acquisition import Acquisition, Mmd
from windage.contexts import Nodes, grid
from windage.methods import as_published
from windage.methods.method import Method, State
from windage.methods.schedules import mmd_radius

GRID = 100
"""Points of the grid (Kirschner et al., Section 4)."""


def counts(state: State, size: int) -> Nodes:
    """The contexts seen, counted on a grid."""
    kde = state.kde
    return state.coded(grid(kde.centres, state.settings.grid or size, kde.weights, kde.kinds, kde.known))


def ball_radius(state: State) -> float:
    """ε_t, or the setting."""
    return state.radius(mmd_radius(state.contexts_seen, state.settings.gamma))


def build(state: State) -> Acquisition:
    """The worst mean of the upper bound within an MMD radius of the counts."""
    if state.settings.as_published:
        return as_published.drbo_mmd(state, GRID)
    return Mmd(state.models[0], counts(state, GRID), ball_radius(state), state.sqrt_beta)


METHOD = Method(
    "drbo-mmd",
    "counts on a grid",
    "the worst mean within an MMD distance",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "as_published", "grid", "radius", "gamma"}),
    robust=True,
)
