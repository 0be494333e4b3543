"""A problem and a method of your own for the benchmark, in one file.

    windage bench run --plugin examples/own_problem.py --problems ice-cream --methods sbo-kde,careful \
        --budget 30 --seeds 1-5 --out results/ice-cream
    windage bench tables results/ice-cream --plugin examples/own_problem.py
"""

from dataclasses import replace

import numpy as np
from scipy import stats

from windage import Real
from windage.acquisition import Acquisition, Expectation
from windage.bench import distributions, problems
from windage.methods import METHODS, State, register


def profit(x, c):
    """What is earned; how hot the day gets is seen afterwards. Leading dimensions broadcast."""
    made, price, heat = x[..., 0], x[..., 1], c[..., 0]
    demand = (0.2 + heat) * (1.2 - price)
    return price * np.minimum(made, demand) - 0.3 * made


problems.register(
    problems.Problem(
        name="ice-cream",
        summary="how much to make, at what price, before the heat is known",
        decisions={"made": Real(0, 1), "price": Real(0, 1)},
        contexts={"heat": Real(0, 1)},
        distribution=distributions.ClippedDistribution((stats.beta(2, 3),)),
        function=profit,
    )
)


def careful(state: State) -> Acquisition:
    """SBO-KDE with half the exploration."""
    return Expectation(state.models[0], state.kde_nodes(), 0.5 * state.sqrt_beta)


register(replace(METHODS["sbo-kde"], name="careful", build=careful))

if __name__ == "__main__":
    best = problems.get("ice-cream").optimum
    print(f"best on average: make {best.decision[0]:.3f} at {best.decision[1]:.3f}, profit {best.value:.4f}")
