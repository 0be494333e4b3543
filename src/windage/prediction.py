"""Predictions and recommendations: what is to be expected of a decision, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from windage.acquisition import Acquisition, ExpectedBound
from windage.contexts import NO_CONTEXT, Nodes, shift_of
from windage.dataset import Dataset
from windage.gp import ExpectationPosterior, ProductGP
from windage.gp.posterior import node_means
from windage.methods import Method, State
from windage.methods.schedules import total_variation_radius
from windage.objectives import total_variation
from windage.outcome import Outcome, outcomes
from windage.search import score
from windage.space import Array, Decision

FEW, SOME = 5, 10
"""Below the first, nothing said about the expectation deserves trust; below the second, not much."""
FREEDOM = 7
"""Degrees of freedom of an interval at most, with an ensemble: its variance is estimated from eight members
(docs/decisions/0004-interval.md)."""
SPACE_POINTS = 1024
CHUNK = 1024
"""Decisions at a time."""


@dataclass(frozen=True)
class Prediction:
    """What is to be expected of a decision, in the user's units."""

    decision: Decision
    """Decision variable → value, in the order of the study."""
    expected: float
    """The expected outcome under the estimated distribution of the context."""
    interval: tuple[float, float]
    """95 % interval of ``expected``. It counts what is unknown of the outcome, and of the distribution."""
    worst_case: float
    """The expected outcome under the worst distribution near the estimate: within the total-variation radius
    δ_t, or of the method's own ambiguity set where it has one."""
    outcome: Outcome
    """One single outcome of this decision: it varies more than the expected one."""


@dataclass(frozen=True)
class Recommendation(Prediction):
    """The decision that windage would take now."""

    criterion: Literal["expected", "worst_case"] = "expected"
    """Which of both the decision is the best by: the worst case for robust methods."""
    note: str = ""
    """In words, when too little is known, or a distribution seems to have changed; else empty."""


class _Moments(NamedTuple):
    """Of the expectation under one surrogate, n each."""

    mean: Array
    variance: Array
    worst: Array


def context_nodes(state: State) -> Nodes:
    """Deterministic nodes of the distribution; a single empty node where there is no context."""
    return NO_CONTEXT if state.density is None else state.deterministic_nodes()


def objective(method: Method, state: State) -> Acquisition:
    """What a recommendation maximises: a robust method's own worst case, else the expectation."""
    if method.robust and method.build is not None:
        return method.acquisition(state)
    return ExpectedBound(state.models, context_nodes(state), 0.0)


def recommend(method: Method, state: State, point: Array, threshold: float | None = None) -> Recommendation:
    """The recommendation of a point of the unit box (d)."""
    found = predict(method, state, [state.data.decisions.decode(point)], threshold)[0]
    note = " ".join(words for words in (weakness(state.data), changes(state.data)) if words)
    criterion: Literal["expected", "worst_case"] = "worst_case" if method.robust else "expected"
    return Recommendation(**vars(found), criterion=criterion, note=note)


def predict(
    method: Method, state: State, decisions: Sequence[Decision], threshold: float | None = None
) -> list[Prediction]:
    """The expectation at decisions, and a single outcome of each.

    The first has variance σ_F² of the GP (docs/methods.md), plus that of a mean over the contexts seen,
    Var_c[μ(x, c)] / (n - 1), because the distribution is estimated too, from n contexts seen; and the first
    from t values, so the interval takes Student's quantile with t - 1 degrees of freedom, or fewer with an
    ensemble.
    """
    state = state.without_exploration()
    points = state.data.decisions.encode(decisions)
    freedom, nodes = max(state.t - 1, 1), context_nodes(state)
    parts = [_moments(model, state, nodes, points) for model in state.models]
    means, variances, worsts = (np.stack(column) for column in zip(*parts, strict=True))
    mean, worst = means.mean(axis=0), worsts.mean(axis=0)
    if method.robust and method.build is not None:
        # the estimate itself counts too: a box about the mean, say, does not hold all of it
        worst = np.minimum(score(method.acquisition(state), points), mean)
    variance = variances.mean(axis=0) + means.var(axis=0)  # of the mixture of the surrogates
    degrees = freedom if len(state.models) == 1 else min(freedom, FREEDOM)
    reach = float(stdtrit(degrees, 0.975)) * np.sqrt(variance)
    single = outcomes(state.models, nodes, points, state.data.outcome, threshold)
    columns = [state.data.outcome.restore(v) for v in (mean, mean - reach, mean + reach, worst)]
    return [
        Prediction(decision, float(e), (float(min(a, b)), float(max(a, b))), float(w), one)
        for decision, e, a, b, w, one in zip(decisions, *columns, single, strict=True)
    ]


def _moments(model: ProductGP, state: State, nodes: Nodes, points: Array) -> _Moments:
    freedom = max(state.contexts_seen - 1, 1)
    posterior = ExpectationPosterior(model, nodes)
    parts = [_chunk(posterior, state, nodes, points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
    mean, variance, spread, worst = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Moments(mean, variance + spread / freedom, worst)


def _chunk(
    posterior: ExpectationPosterior, state: State, nodes: Nodes, points: Array
) -> tuple[Array, Array, Array, Array]:
    """Mean and variance of F, Var_c[μ(x, c)], and the total-variation worst case of μ; n each."""
    moments = posterior.moments(points)
    mean, variance = moments.mean[:, 0], moments.variance[:, 0]
    if state.density is None:
        return mean, variance, np.zeros_like(mean), mean
    space = state.space(SPACE_POINTS, 0)
    means = node_means(posterior.model, points, np.concatenate([nodes.points, space]))
    inner, floor = means[:, : len(nodes)], means.min(axis=1)
    spread = (inner - (inner @ nodes.weights)[:, None]) ** 2 @ nodes.weights
    radius = total_variation_radius(state.contexts_seen, state.dc)
    return mean, variance, spread, total_variation(inner, nodes.weights, radius, floor).value


def weakness(data: Dataset) -> str:
    """In words, what makes a recommendation weak; empty if nothing does."""
    observations, seen = data.observations, data.seen
    count = len(observations)
    words = [f"{never_seen(data.unseen)}: how it varies is unknown."] if data.unseen else []
    if count < FEW:
        known = "1 observation is" if count == 1 else f"{count} observations are"
        guess = f"Only {known} known: this is hardly more than a guess. Tell some more."
        return " ".join([*words, guess])
    if count < SOME:
        words.append(f"Only {count} observations are known: the interval and the worst case are rough.")
    if len(set(observations.values)) == 1:
        words.append("All outcomes told so far are equal: nothing yet speaks for one decision over another.")
    if data.contexts.names and (np.nanmax(seen, axis=0) == np.nanmin(seen, axis=0)).all():
        words.append("All contexts told so far are equal: what happens under other conditions is unknown.")
    return " ".join(words)


def changes(data: Dataset) -> str:
    """In words, that the distribution of a context seems to have changed; empty if it does not."""
    found = shift_of(data)
    return "" if found is None else found.words()


def never_seen(names: Sequence[str]) -> str:
    """In words, that no observation has seen these contexts."""
    if len(names) == 1:
        return f"Context {names[0]!r} was not seen yet"
    return f"Contexts {', '.join(map(repr, names[:-1]))} and {names[-1]!r} were not seen yet"
