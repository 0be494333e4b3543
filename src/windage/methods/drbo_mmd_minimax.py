"""DRBO-MMD-MinimaxApprox (Tay, Foo, Daisuke, Leong & Low, AISTATS 2022).

1. to 3. As DRBO-MMD, on a grid of about 1,024 points.
4. Decide x that maximises an approximation of the worst mean: half-way between a lower and an upper bound of
   it, from the worst-case sensitivity at radius 0 and the chord to the worst node.
"""

from windage.acquisition import Acquisition, Minimax
from windage.methods import as_published
from windage.methods.drbo_mmd import ball_radius, counts
from windage.methods.method import Method, State

GRID = 1024
"""Points of the grid (Tay et al., Section 5)."""


def build(state: State) -> Acquisition:
    """The approximate worst mean of the upper bound within an MMD radius of the counts."""
    if state.settings.as_published:
        return as_published.drbo_mmd_minimax(state, GRID)
    return Minimax(state.models[0], counts(state, GRID), ball_radius(state), state.sqrt_beta)


METHOD = Method(
    "drbo-mmd-minimax",
    "counts on a grid",
    "a quick approximation of drbo-mmd's worst mean",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "as_published", "grid", "radius", "gamma"}),
    robust=True,
)
