"""The distribution of the context at the moment of a decision: a part of it is known, or forecast.

A conditional KDE (Rosenblatt 1969; Hyndman, Bashtannyk & Grunwald 1996) is the same KDE with other weights,

    w_i ∝ w_i Π_{d ∈ known} K_d(κ_d, c_id),

and the value κ_d in every centre. The widths of the kernels that condition, and a factor of the widths of the
rest, maximise the likelihood of each context's rest given its known part, by the others (Hall, Racine & Li
2004):

    Σ_i w_i [ log Σ_{j≠i} w_j K_known(i, j) K_rest(i, j) - log Σ_{j≠i} w_j K_known(i, j) ].

Where the known part says nothing about the rest, the weights stay as they were. That has half of the prior;
what the candidates add to the likelihood must exceed the logarithm of their number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from windage.contexts.axes import Axis
from windage.contexts.kde import Kde
from windage.search import sobol
from windage.space import Array

REST = (1.0, 0.5, 0.25)
"""Factors of the widths of the rest: what is known may leave much less of its spread."""
NUMBERS = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25)
"""Factors of the widths of known numbers, beside infinity."""
CHOICES = (0.5, 0.2, 0.1, 0.05, 0.01)
"""λ of a known choice, by the largest, with which it says nothing."""
LATEST = 200
"""Contexts that are held out, one at a time: the latest."""
ROUNDS = 2
LEAST = 1e-300
DRAWS, EACH = 64, 8
"""Values of a forecast, and centres for the rest about each of them."""


@dataclass(frozen=True)
class Marginal:
    """A distribution of one coordinate that is given: points on the unit box, and the width about them."""

    points: Array
    """m, equally likely."""
    width: float


@dataclass(frozen=True)
class _Widths:
    """What the likelihood of the rest has chosen."""

    known: Mapping[int, Axis | None]
    """The kernel of each known coordinate; None: it says nothing."""
    rest: float
    """The factor of the widths of the rest."""


def conditioned(kde: Kde, known: Mapping[int, float]) -> Kde:
    """The distribution where some coordinates are known: place → value on the unit box."""
    if not known:
        return kde
    rest = [d for d in range(len(kde.bandwidth)) if d not in known and d not in kde.known]
    fixed = kde.known | {*known}
    if not rest:
        centre = kde.centres[:1].copy()
        centre[0, list(known)] = list(known.values())
        return replace(kde, centres=centre, weights=None, known=fixed, seen=kde.count)
    widths = choose_widths(kde, list(known), rest)
    weights = _weights(kde, widths, {d: np.array([value]) for d, value in known.items()})[0]
    return given_widths(kde, known, weights, widths.rest)


def given_widths(kde: Kde, known: Mapping[int, float], weights: Array, factor: float) -> Kde:
    """The conditional KDE of these weights, the widths of the rest times a factor."""
    centres = kde.centres.copy()
    centres[:, list(known)] = list(known.values())
    return replace(
        kde,
        centres=centres,
        weights=weights,
        bandwidth=_scaled(kde.bandwidth, factor),
        known=kde.known | {*known},
    )


def forecast(kde: Kde, known: Mapping[int, float], marginals: Mapping[int, Marginal]) -> Kde:
    """The distribution where coordinates are known, and others have a marginal distribution that is given.

    The rest follows conditionally: about each of the values that the marginals may take, centres are chosen
    by their weights there.
    """
    if not marginals:
        return conditioned(kde, known)
    first = conditioned(kde, known)
    rest = [d for d in range(len(kde.bandwidth)) if d not in first.known and d not in marginals]
    points = _points(marginals, DRAWS if rest else max(len(m.points) for m in marginals.values()))
    widths = first.bandwidth.copy()
    for d, marginal in marginals.items():
        widths[d] = marginal.width
    if rest:
        chosen = choose_widths(first, list(marginals), rest)
        rows = _drawn(_weights(first, chosen, dict(zip(marginals, points.T, strict=True))), first, rest[0])
        widths = _scaled(widths, chosen.rest, rest)
        points = np.repeat(points, EACH, axis=0)
        centres = first.centres[rows]
    else:
        centres = np.repeat(first.centres[:1], len(points), axis=0)
    centres = centres.copy()
    centres[:, list(marginals)] = points
    return replace(first, centres=centres, weights=None, bandwidth=widths, seen=kde.count)


def _points(marginals: Mapping[int, Marginal], count: int) -> Array:
    """Values of all marginals together, count × marginals: independent, each at equal steps."""
    uniform = sobol(count, len(marginals), 0)
    columns = []
    for place, marginal in enumerate(marginals.values()):
        ranks = (np.argsort(np.argsort(uniform[:, place])) + 0.5) / count
        index = np.minimum((ranks * len(marginal.points)).astype(int), len(marginal.points) - 1)
        columns.append(np.sort(marginal.points)[index])
    return np.stack(columns, axis=1)


def _drawn(weights: Array, kde: Kde, along: int) -> Array:
    """EACH centres for each row of weights, m × n, at equal steps of probability along a coordinate."""
    order = np.argsort(kde.centres[:, along], kind="stable")
    total = weights[:, order].cumsum(axis=1)
    marks = (np.arange(EACH) + 0.5) / EACH
    place = np.stack([np.searchsorted(row, marks * row[-1]) for row in total])
    return np.asarray(order[np.minimum(place, len(order) - 1)].reshape(-1))


def _weights(kde: Kde, widths: _Widths, values: Mapping[int, Array]) -> Array:
    """The weights of the centres at each of m values of the known coordinates, m × n."""
    count = len(next(iter(values.values())))
    logs = np.tile(np.log(np.maximum(kde.shares, LEAST)), (count, 1))
    for d, axis in widths.known.items():
        if axis is not None:
            logs += log_kernels(axis, values[d], kde.centres[:, d])
    found = np.exp(logs - logs.max(axis=1, keepdims=True))  # the nearest counts, however far it is
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def log_kernels(axis: Axis, points: Array, centres: Array) -> Array:
    """The log of a kernel, m × n: of a normal one without underflow, so that the nearest centre counts."""
    width = getattr(axis, "width", 1.0)
    if axis.size == 0:
        return np.asarray(-0.5 * (np.subtract.outer(points, centres) / width) ** 2)
    return np.asarray(np.log(np.maximum(axis.kernels(points, centres), LEAST)))


def choose_widths(kde: Kde, known: Sequence[int], rest: Sequence[int]) -> _Widths:
    """The kernels of the known coordinates and the factor of the rest's widths, by the rest's likelihood."""
    part = slice(-LATEST, None)
    centres, shares = kde.centres[part], kde.shares[part]
    n = len(centres)
    none = _Widths(dict.fromkeys(known), 1.0)
    if n < 3:
        return none
    others = np.tile(shares, (n, 1))
    np.fill_diagonal(others, 0.0)
    rests = {}
    for factor in REST:
        widths = _scaled(kde.bandwidth, factor)
        rests[factor] = np.prod([_own(kde.axis(d, float(widths[d])), centres[:, d]) for d in rest], axis=0)
    bank = {d: _bank(kde, d, centres[:, d]) for d in known}
    flat = np.ones((n, n))
    kernels = dict.fromkeys(known, flat)

    def likelihood(kernel: Array, scale: float) -> float:
        joint = others * kernel
        ratio = (joint * rests[scale]).sum(axis=1) / np.maximum(joint.sum(axis=1), LEAST)
        return float(np.log(np.maximum(ratio, LEAST)) @ shares)

    price = math.log(len(REST) * sum(map(len, bank.values()))) * float((shares**2).sum() / shares.sum())
    found, factor, highest = dict(none.known), none.rest, likelihood(flat, none.rest) + price
    for _ in range(ROUNDS):
        for d in known:
            apart = np.prod([kernels[e] for e in known if e != d], axis=0) if len(known) > 1 else flat
            for scale in REST:
                for axis, kernel in bank[d]:
                    value = likelihood(apart * kernel, scale)
                    if value > highest + 1e-12:
                        highest, factor, kernels[d], found[d] = value, scale, kernel, axis
    return _Widths(found, factor)


def _own(axis: Axis, column: Array) -> Array:
    return axis.kernels(column, column)


def _bank(kde: Kde, d: int, column: Array) -> list[tuple[Axis | None, Array]]:
    """Kernels of a known coordinate, from one that says nothing to narrow ones, with their values (n × n)."""
    kind = kde.kinds[d] if kde.kinds else None
    tried: list[tuple[Axis | None, Array]] = [(None, np.ones((len(column), len(column))))]
    if kind is not None and kind.choice:
        axes = [kde.axis(d, share * (kind.levels - 1) / kind.levels) for share in CHOICES]
    else:
        axes = [kde.axis(d, factor * float(kde.bandwidth[d])) for factor in NUMBERS]
    return tried + [(axis, np.exp(log_kernels(axis, column, column))) for axis in axes]


def _scaled(widths: Array, factor: float, places: Sequence[int] | None = None) -> Array:
    """The widths with those of the rest times a factor."""
    every = range(len(widths)) if places is None else places
    found = widths.copy()
    found[list(every)] *= factor
    return found
