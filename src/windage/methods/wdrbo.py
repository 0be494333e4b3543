"""WDRBO: Wasserstein distributionally robust Bayesian optimisation (Micheli et al. 2025).

1. Fit a GP on (x, c) to all observations.
2. The ambiguity set is the Wasserstein ball of radius ε_t = 0.3/√t about the contexts seen.
3. Decide x that maximises the mean of the upper bound less ε_t times its steepest slope in the context.
"""

from windage.acquisition import Acquisition, Wasserstein
from windage.methods.method import Method, State
from windage.methods.schedules import wasserstein_radius


def build(state: State) -> Acquisition:
    """The mean of the upper bound, less the steepest slope."""
    radius = state.radius(wasserstein_radius(state.contexts_seen))
    nodes = state.seen_nodes()
    model, space, moving = state.models[0], state.space(), state.moving()
    return Wasserstein(model, nodes, state.sqrt_beta, radius, space, moving)


METHOD = Method(
    "wdrbo",
    "the contexts seen",
    "the mean of the upper bound, less the steepest slope in the context",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "space_points", "radius"}),
    robust=True,
)
