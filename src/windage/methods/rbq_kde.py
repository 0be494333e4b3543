"""RBQ-KDE: an upper bound on the worst expectation near the estimate, averaged over an ensemble.

1. to 3. As BQ-KDE.
4. For each GP and x, the worst weights w*(x) for its posterior mean within the total-variation radius
   δ_t = t^(-2/(4+Dc)) of the KDE.
5. Decide x that maximises μ_F + √β σ_F of the expectation under w*(x), averaged over the GPs.
"""

from windage.acquisition import Acquisition, WorstBound
from windage.gp import KERNELS
from windage.methods.bq_kde import MEMBERS
from windage.methods.method import Method, State
from windage.methods.schedules import root_sqrt_beta, total_variation_radius


def build(state: State) -> Acquisition:
    """The upper bound of the worst expectation, averaged over the ensemble."""
    radius = state.radius(total_variation_radius(state.contexts_seen, state.dc))
    return WorstBound(state.models, state.deterministic_nodes(), state.sqrt_beta, radius, state.space())


METHOD = Method(
    "rbq-kde",
    "kernel density estimate",
    "the upper bound of the worst mean within a total-variation distance",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "members", "space_points", "radius"}),
    robust=True,
    kernels=KERNELS,
    members=MEMBERS,
    sqrt_beta=root_sqrt_beta,
)
