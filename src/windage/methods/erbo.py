"""ERBO: the empirical distribution (a baseline of Micheli et al. 2025).

1. Fit a GP on (x, c) to all observations.
2. Decide x that maximises the mean of the upper bound over the contexts seen.
"""

from windage.acquisition import Acquisition, Expectation
from windage.methods.method import Method, State


def build(state: State) -> Acquisition:
    """The mean of the upper bound over the contexts seen."""
    nodes = state.seen_nodes()
    return Expectation(state.models[0], nodes, state.sqrt_beta, decisions=state.evaluations)


METHOD = Method(
    "erbo",
    "the contexts seen",
    "the mean of the upper bound",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz"}),
)
