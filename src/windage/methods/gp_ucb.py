"""GP-UCB (Srinivas, Krause, Kakade & Seeger, ICML 2010).

1. Fit a GP on x alone: what the context does is noise to it.
2. Decide x that maximises its upper bound μ + √β σ.
"""

from windage.acquisition import Acquisition, Expectation
from windage.contexts import NO_CONTEXT
from windage.methods import as_published
from windage.methods.method import Method, State


def build(state: State) -> Acquisition:
    """The upper bound itself."""
    if state.settings.as_published:
        return as_published.gp_ucb(state)
    return Expectation(state.models[0], NO_CONTEXT, state.sqrt_beta)


METHOD = Method(
    "gp-ucb",
    "none: contexts count as noise",
    "the upper bound itself",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "as_published"}),
    uses_context=False,
)
