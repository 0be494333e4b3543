"""DRBO-KDE (Huang, Song, Xue & Qian, AAAI 2024, Algorithm 2).

1. to 3. As SBO-KDE.
4. The ambiguity set is the total-variation ball of radius δ_t = t^(-2/(4+Dc)) about the KDE.
5. Decide x that maximises the worst mean of the upper bound in it: δ_t/2 of probability is moved from the
   highest bounds to the lowest of the whole context space (Proposition 2, in closed form).
"""

from windage.acquisition import Acquisition, TotalVariation
from windage.methods import as_published
from windage.methods.method import Method, State
from windage.methods.schedules import total_variation_radius


def build(state: State) -> Acquisition:
    """The worst mean of the upper bound within a total-variation radius of the KDE."""
    if state.settings.as_published:
        return as_published.drbo_kde(state)
    radius = state.radius(total_variation_radius(state.contexts_seen, state.dc))
    nodes, space = state.kde_nodes(), state.space()
    model, expected = state.models[0], state.evaluations
    return TotalVariation(model, nodes, radius, space, state.sqrt_beta, decisions=expected)


METHOD = Method(
    "drbo-kde",
    "kernel density estimate",
    "the worst mean within a total-variation distance",
    build,
    settings=frozenset({"sqrt_beta", "lipschitz", "as_published", "samples", "space_points", "radius"}),
    robust=True,
)
