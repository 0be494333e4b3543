"""LEDRBO: several surrogates and their disagreement (EDRBO, 2026).

1. Fit four GPs on (x, c), one a kernel, to all observations.
2. Decide x that maximises the mean over the contexts seen of: the surrogates' mean upper bound, less λ = 1.41
   standard deviations of their means.
"""

from windage.acquisition import Acquisition, Disagreement
from windage.methods.method import Method, State

AVERSION = 1.41
"""λ (EDRBO)."""


def build(state: State) -> Acquisition:
    """The mean of the upper bounds, less the surrogates' disagreement."""
    nodes = state.seen_nodes()
    expected = state.evaluations
    return Disagreement(state.models, nodes, state.sqrt_beta, AVERSION, decisions=expected)


METHOD = Method(
    "ledrbo",
    "the contexts seen",
    "the mean of the upper bounds of four surrogates, less their disagreement",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz"}),
    kernels=("rbf", "rational-quadratic", "matern-3/2", "matern"),
)
