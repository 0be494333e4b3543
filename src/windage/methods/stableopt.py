"""StableOpt (Bogunovic, Scarlett, Jegelka & Cevher, NeurIPS 2018), as the paper adapts it.

1. Fit a GP on (x, c) to all observations.
2. Take the box [mean - std, mean + std] of the contexts seen, within their bounds.
3. Decide x that maximises the least upper bound anywhere in the box (1,024 Sobol points).
"""

from windage.acquisition import Acquisition, WorstCase
from windage.contexts import box
from windage.methods import as_published
from windage.methods.method import Method, State


def build(state: State) -> Acquisition:
    """The least upper bound in the box."""
    if state.settings.as_published:
        return as_published.stableopt(state)
    count, seed = state.settings.space_points, state.seeds("context space")
    kde = state.kde
    nodes = box(kde.centres, kde.lower, kde.upper, count, seed, kde.weights, kde.kinds)
    return WorstCase(state.models[0], state.coded(nodes), state.sqrt_beta)


METHOD = Method(
    "stableopt",
    "a box around the contexts seen",
    "the worst value anywhere in the box",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "as_published", "space_points"}),
    robust=True,
)
