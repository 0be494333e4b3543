"""BQ-KDE: an upper bound on the expectation itself, averaged over an ensemble.

For a known distribution the posterior of the expectation is that of Williams, Santner & Notz (2000) and
Toscano-Palmerin & Frazier (2018). Here the distribution is estimated.

1. Fit GPs on (x, c) with four kernels; draw eight from the posterior of kernels and hyper-parameters.
2. Estimate the density of the context by a KDE, as weighted cells.
3. The expectation F(x) under it is Gaussian under each GP, with mean μ_F and deviation σ_F.
4. Decide x that maximises μ_F + √β σ_F, averaged over the GPs, with √β = √Dx/2.

σ_F is smaller than the mean of σ, so it explores less than SBO-KDE.
"""

from windage.acquisition import Acquisition, ExpectedBound
from windage.gp import KERNELS
from windage.methods.method import Method, State
from windage.methods.schedules import root_sqrt_beta

MEMBERS = 8
"""GPs of the ensemble: room for four kernels and for draws around their fits. The cost of an ask grows with
it."""


def build(state: State) -> Acquisition:
    """The upper bound of the expectation, averaged over the ensemble."""
    return ExpectedBound(state.models, state.deterministic_nodes(), state.sqrt_beta)


METHOD = Method(
    "bq-kde",
    "kernel density estimate",
    "the upper bound of the mean itself",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "members"}),
    kernels=KERNELS,
    members=MEMBERS,
    sqrt_beta=root_sqrt_beta,
)
