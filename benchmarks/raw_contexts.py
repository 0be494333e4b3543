"""What it does that the published code reports contexts before they are clipped: a plugin for the bench.

    windage bench run --plugin benchmarks/raw_contexts.py --suite later \
        --problems hartmann-complicated-raw --methods sbo-kde-raw --budget 100 --out results/raw

In that code f sees a context clipped to [0, 1], the GP and the KDE see it as it was drawn. It matters where
Cauchy draws lie far out: on the complicated Hartmann function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from windage.acquisition import Acquisition, Expectation
from windage.bench import problems
from windage.bench.distributions import ClippedDistribution
from windage.contexts import Kde
from windage.gp import ProductGP, Training, fit
from windage.methods import METHODS, State, register
from windage.methods.settings import PAPER_SAMPLES
from windage.space import Array, Real

NAME = "hartmann-complicated-raw"


@dataclass(frozen=True)
class Reported(ClippedDistribution):
    """Draws as they come; expectations are of the clipped ones."""

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws, n × Dc."""
        return np.stack([one.rvs(size=n, random_state=rng) for one in self.marginals], axis=1)


def build(state: State) -> Acquisition:
    """SBO-KDE with a GP and a KDE of the contexts as they were reported, in their own units."""
    data, seen, box = state.data, state.data.seen, (np.zeros(state.dc), np.ones(state.dc))
    form = state.models[0].data
    training = Training(data.x, seen, data.y, form.groups, form.kernel, surrogate=form.surrogate)
    kde = Kde.of(seen, state.settings.bandwidth, "clamp", *box)
    nodes = kde.monte_carlo(PAPER_SAMPLES, np.random.default_rng(state.seeds("context samples")))
    model = ProductGP(training, fit(training))
    return Expectation(model, nodes, state.sqrt_beta, decisions=state.evaluations)


def _raw(problem: problems.Problem) -> problems.Problem:
    function, law = problem.function, problem.distribution
    return replace(
        problem,
        name=NAME,
        contexts={name: Real() for name in problem.contexts},
        distribution=Reported(law.marginals, law.bounds),
        function=lambda x, c: function(x, np.clip(c, *law.box)),
    )


if "sbo-kde-raw" not in METHODS:
    problems.PROBLEMS[NAME] = _raw(problems.PROBLEMS["hartmann-complicated"])  # register wants equal bounds
    register(replace(METHODS["sbo-kde"], name="sbo-kde-raw", build=build))
