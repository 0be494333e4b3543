"""The default, in six steps.

1. The first four decisions are points of a scrambled Sobol sequence.
2. Fit a GP on (x, c) with a Matérn-5/2 kernel to all observations, and draw seven more from the posterior of
   its hyper-parameters.
3. Estimate the density of the context by a KDE, as weighted cells: contexts count less as they age, at a rate
   that is learnt (Raftery, Kárný & Ettler 2010), and what is known of the next one conditions it.
4. The expectation F(x) under it is Gaussian under each GP (Williams, Santner & Notz 2000; Toscano-Palmerin &
   Frazier 2018), so under all of them it is a mixture, with mean μ_F and deviation σ_F.
5. Decide x that maximises μ_F + √β σ_F: √β = 1.5 where every decision counts, 2 where only the recommendation
   does.
6. Recommend x that maximises μ_F.

How it compares, and what each part brings: docs/evidence.md.
"""

from windage.acquisition import Acquisition, MixtureBound
from windage.methods.method import Method, State

INITIAL = 4
"""First decisions learn nothing from outcomes. The first four points of a scrambled Sobol sequence lie one in
each quarter of every range; three would leave a quarter unseen."""
MEMBERS = 8
"""GPs of the ensemble: the fit, and seven draws around it. The cost of an ask grows with it."""
EARN, LEARN = 1.5, 2.0
"""√β where every decision counts, which is the paper's, and where only the recommendation does. Lower ones
stay in local optima; higher ones cost more than they find (docs/evidence.md)."""


def build(state: State) -> Acquisition:
    """The upper bound of the expectation under the mixture of all GPs."""
    return MixtureBound(state.models, state.deterministic_nodes(), state.sqrt_beta)


def earn(dx: int) -> float:
    """√β where every decision counts."""
    return EARN


def learn(dx: int) -> float:
    """√β where only the recommendation counts."""
    return LEARN


METHOD = Method(
    "auto",
    "kernel density estimate",
    "the upper bound of the mean itself, over many surrogates",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "members", "aim"}),
    kernels=("matern",),
    members=MEMBERS,
    sqrt_beta=earn,
    learn_sqrt_beta=learn,
    forgets=True,
    initial=INITIAL,
)
