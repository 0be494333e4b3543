"""The recommendation: the decision with the best posterior mean of the expectation, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import stdtrit
from torch import Tensor

from windage.data import Observations, Outcome
from windage.density import Kde, Nodes, sobol
from windage.functionals import total_variation
from windage.schedules import total_variation_radius
from windage.space import Value
from windage.surrogate import NodePosterior, ProductGP, expectation

FEW, SOME = 5, 10
"""Below the first, nothing said about the expectation deserves trust; below the second, not much."""
SPACE_POINTS = 1024


@dataclass(frozen=True)
class Prediction:
    """What is to be expected of a decision, in the user's units."""

    decision: Mapping[str, Value]
    expected: float
    """The expected outcome under the estimated law of the context."""
    interval: tuple[float, float]
    """95 %: it counts what is unknown of the outcome and what is unknown of the law of the context."""
    worst_case: float
    """The expected outcome under the worst law within the total-variation radius δ_t of the estimate."""


@dataclass(frozen=True)
class Recommendation(Prediction):
    """The decision that windage would take now."""

    note: str = ""
    """In words, when too little is known; else empty."""


def context_nodes(kde: Kde | None) -> Nodes:
    """Deterministic nodes of the law; a single empty node where there is no context."""
    return Nodes.equal(torch.zeros(1, 0, dtype=torch.double)) if kde is None else kde.nodes()


def predict(
    models: Sequence[ProductGP],
    kde: Kde | None,
    outcome: Outcome,
    points: Tensor,
    decisions: list[dict[str, Value]],
) -> list[Prediction]:
    """The expectation at decisions, given as points of the unit box too (n × d).

    Its variance is σ_F² of the GP (docs/methods.md) plus that of a mean over as many contexts as were seen,
    Var_c[μ(x, c)] / (t - 1), because the law is estimated too; and both from t values, so the interval takes
    Student's quantile with t - 1 degrees of freedom.
    """
    freedom, nodes = max(len(models[0].data.y) - 1, 1), context_nodes(kde)
    with torch.no_grad():
        parts = [_moments(model, kde, nodes, points, freedom) for model in models]
    means, variances, worsts = (torch.stack(column) for column in zip(*parts, strict=True))
    mean, worst = means.mean(0), worsts.mean(0)
    variance = variances.mean(0) + means.var(0, correction=0)  # of the mixture of the surrogates
    reach = float(stdtrit(freedom, 0.975)) * variance.sqrt()
    columns = [outcome.restore(v.numpy()) for v in (mean, mean - reach, mean + reach, worst)]
    return [
        Prediction(decision, float(e), (float(min(a, b)), float(max(a, b))), float(w))
        for decision, e, a, b, w in zip(decisions, *columns, strict=True)
    ]


def _moments(
    model: ProductGP, kde: Kde | None, nodes: Nodes, points: Tensor, freedom: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance and worst case of the expectation under one surrogate, n each."""
    posterior = expectation(model, nodes.points, nodes.weights)
    smooth, *_ = found = posterior.moments(points)
    mean, variance = posterior.with_noise(points, found)
    if kde is None:
        return mean, variance, mean
    logs = model.data.logs
    values = _at_contexts(model, nodes, kde.centres.shape[1], points)
    if logs is None:
        values = values + (mean - smooth)[:, None]
    else:
        values = logs.floor + logs.above(values) * ((mean - logs.floor) / (smooth - logs.floor))[:, None]
    spread, worst = _context_moments(kde, nodes, values)
    return mean, variance + spread / freedom, worst


def _at_contexts(model: ProductGP, nodes: Nodes, dc: int, points: Tensor) -> Tensor:
    """μ(x, c) as the GP sees it, at the nodes and at points of the whole context space, n × m."""
    posterior = NodePosterior(model, torch.cat([nodes.points, sobol(SPACE_POINTS, dc, 0)]))
    return torch.cat([posterior(part)[0] for part in points.split(posterior.chunk)])


def _context_moments(kde: Kde, nodes: Nodes, values: Tensor) -> tuple[Tensor, Tensor]:
    """Var_c[μ(x, c)] and the total-variation worst case of μ, n each."""
    inner, space = values.tensor_split([len(nodes.weights)], dim=1)
    spread = (inner - (inner @ nodes.weights)[:, None]).square() @ nodes.weights
    radius = total_variation_radius(*kde.centres.shape)
    return spread, total_variation(inner, nodes.weights, radius, space.min(1).values)


def weakness(observations: Observations, names: tuple[str, ...]) -> str:
    """In words, what makes a recommendation weak; empty if nothing does."""
    count = len(observations)
    if count < FEW:
        known = "1 observation is" if count == 1 else f"{count} observations are"
        return f"Only {known} known: this is hardly more than a guess. Tell some more."
    words = []
    if count < SOME:
        words.append(f"Only {count} observations are known: the interval and the worst case are rough.")
    if len(set(observations.values)) == 1:
        words.append("All outcomes told so far are equal: nothing yet speaks for one decision over another.")
    if names and (np.ptp(observations.context_array(names), axis=0) == 0).all():
        words.append("All contexts told so far are equal: what happens under other conditions is unknown.")
    return " ".join(words)
