"""SBO-KDE (Huang, Song, Xue & Qian, AAAI 2024, Algorithm 1).

1. Fit a GP on (x, c) to all observations.
2. Estimate the density of the context by a KDE from the contexts seen.
3. Draw M = 1,024 contexts from it.
4. Decide x that maximises the mean of the upper bound, Σ_m (μ + √β σ)(x, c_m)/M, with √β = 1.5.
"""

from windage.acquisition import Acquisition, Expectation
from windage.methods.method import Method, State


def build(state: State) -> Acquisition:
    """The mean of the upper bound over the nodes of the KDE."""
    return Expectation(state.models[0], state.kde_nodes(), state.sqrt_beta, decisions=state.evaluations)


METHOD = Method(
    "sbo-kde",
    "kernel density estimate",
    "the mean of the upper bound",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "samples"}),
)
