"""What one single outcome of a decision will be: a mixture over GPs k and context nodes m (docs/methods.md),

    Σ_k Σ_m (w_m / K) N(μ_k(x, c_m), (σ_k²(x, c_m) + noise_k)·s_t²).

It is wider than the interval of the mean, which says how well the average is known. All is estimated from t
values, so s_t widens each part until its 95 % are Student's with t - 1 degrees of freedom, as in the interval
of the mean. How many outcomes then lie inside: docs/mistakes.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from windage.contexts import Nodes
from windage.gp import NodePosterior, ProductGP
from windage.space import Array, OutcomeScale

LEVELS = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
"""Of the quantiles: the ends of 95 %, 90 %, 80 % and 50 %, and the median."""
WIDEST, HALVINGS = 8.0, 24
"""Quantiles are searched this many deviations about every mean, by so many halvings: to a millionth of it."""
CHUNK = 2**18
"""Numbers at a time."""


@dataclass(frozen=True)
class Outcome(Mapping[float, float]):
    """Quantiles of one single outcome, in the user's units: ``outcome[0.5]`` is the median."""

    quantiles: Mapping[float, float]
    """Probability → value that a single outcome stays below with it."""
    threshold: float | None = None
    """As it was asked for."""
    below: float | None = None
    """The probability that a single outcome is below the threshold; None without one."""

    def __getitem__(self, level: float) -> float:
        return self.quantiles[level]

    def __iter__(self) -> Iterator[float]:
        return iter(self.quantiles)

    def __len__(self) -> int:
        return len(self.quantiles)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of single outcomes lie here."""
        return self[LEVELS[0]], self[LEVELS[-1]]

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        quantiles = {f"{level:g}": value for level, value in self.items()}
        return {"quantiles": quantiles, "threshold": self.threshold, "below": self.below}


def outcomes(
    models: Sequence[ProductGP], nodes: Nodes, points: Array, scale: OutcomeScale, threshold: float | None
) -> list[Outcome]:
    """Of decisions, points of the unit box n × d."""
    posteriors = [NodePosterior(model, nodes.points, decisions=len(points)) for model in models]
    step = max(1, CHUNK // (len(models) * len(nodes) * len(LEVELS)))
    found: list[Outcome] = []
    for i in range(0, len(points), step):
        part = points[i : i + step]
        moments = [posterior.moments(part) for posterior in posteriors]
        noises = [model.scale * model.hyperparameters.noise for model in models]
        means = np.concatenate([m.mean for m in moments], axis=1)
        spread = [np.maximum(m.variance, 0) + noise for m, noise in zip(moments, noises, strict=True)]
        deviations = widening(len(models[0].data.y)) * np.sqrt(np.concatenate(spread, axis=1))
        mixture = Mixture(means, deviations, np.tile(nodes.weights, len(models)))
        found += _in_units(mixture, scale, threshold)
    return found


def widening(count: int) -> float:
    """s_t: the 95 % of Student's distribution for an estimate from so many values, by those of the normal."""
    return float(stdtrit(max(count - 1, 1), LEVELS[-1]) / ndtri(LEVELS[-1]))


@dataclass(frozen=True)
class Mixture:
    """Normal distributions, C of them for each of B decisions."""

    means: Array
    """B × C."""
    deviations: Array
    """B × C."""
    weights: Array
    """C, of any positive sum."""

    def below(self, values: Array) -> Array:
        """The probability of less than values, B × L → B × L."""
        away = (values[:, :, None] - self.means[:, None, :]) / self.deviations[:, None, :]
        return np.asarray(ndtr(away) @ (self.weights / self.weights.sum()))

    def quantiles(self, levels: Array) -> Array:
        """Of probabilities, L → B × L, by halving."""
        reach = WIDEST * self.deviations
        low = np.repeat((self.means - reach).min(axis=1)[:, None], len(levels), axis=1)
        high = np.repeat((self.means + reach).max(axis=1)[:, None], len(levels), axis=1)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            less = self.below(middle) < levels
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return np.asarray((low + high) / 2)


def _in_units(mixture: Mixture, scale: OutcomeScale, threshold: float | None) -> list[Outcome]:
    """Standardised outcomes, of which larger is better, in the user's units."""
    levels = np.array(LEVELS)
    found = scale.restore(mixture.quantiles(levels))
    if scale.sign < 0:  # what is low for the user is high inside
        found = found[:, ::-1]
    rows = [Outcome(dict(zip(LEVELS, row, strict=True))) for row in found.tolist()]
    if threshold is None:
        return rows
    at = scale.standardise(np.array([threshold]))[0]
    share = mixture.below(np.full((len(rows), 1), at))[:, 0]
    share = share if scale.sign > 0 else 1 - share
    return [Outcome(o.quantiles, threshold, float(s)) for o, s in zip(rows, share, strict=True)]
