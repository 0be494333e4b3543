"""Contexts of rows, of which some were not seen: the context kernel between points and rows, rows averaged.

An outcome whose context was not seen is one of the average of f(x, c) over what the context may have been,
Σ_m w_m f(x, c_m), plus what the context added to it (docs/methods.md). In the GP that is one rule. With
mixtures (c_m, w_m) of row i and (c_n, w_n) of row j,

    kc(i, c') = Σ_m w_m kc(c_m, c'),     kc(i, j) = Σ_m Σ_n w_m w_n kc(c_m, c_n),     i ≠ j,

and the noise of row i has 1 - kc(i, i) more: the diagonal of K is that of any other row, 1 + noise.

Symbols: t rows, p points of all their mixtures, g mixtures, Dc contexts. Where every context was seen there
is no mixture: ``Contexts`` is then the array itself, t × Dc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windage.contexts.bandwidth import rule_of_thumb
from windage.contexts.kde import MIN_BANDWIDTH, NEGLIGIBLE
from windage.dataset import OTHER_LEVEL
from windage.gp.kernels import Profile, Profiled, scaled_squares
from windage.space import Array, ContextKind

MOST, LEAST = 64, 4
"""Points of one mixture: at most, as many as the cells of one context, and where there are many mixtures."""
TOTAL = 1024
"""Points of all mixtures, while that leaves each ``LEAST``: a fit takes time with its square."""

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Mixtures:
    """The context of each row as weighted points: one of weight 1 where all of it was seen."""

    points: Array
    """p × Dc, those of one mixture after another."""
    weights: Array
    """p; those of one mixture have sum 1."""
    starts: Rows
    """Where each mixture starts, g, the first at 0."""
    rows: Rows
    """The mixture of each row, t: rows of which the same was seen share one."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Mixtures:
        """Some of the rows, with the points that are theirs."""
        kept, mixture = np.unique(self.rows[rows], return_inverse=True)
        sizes = self.sizes[kept]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        own = np.repeat(self.starts[kept] - starts, sizes) + np.arange(sizes.sum())
        return Mixtures(self.points[own], self.weights[own], starts, mixture.reshape(-1))

    @property
    def sizes(self) -> Rows:
        """How many points each mixture has, g."""
        return np.diff(np.append(self.starts, len(self.points)))

    @property
    def shape(self) -> tuple[int, int]:
        """t and Dc, as of an array."""
        return len(self.rows), self.points.shape[1]

    def columns(self, kernel: Array) -> Array:
        """Averages over each row's points: n × p → n × t."""
        averaged = np.add.reduceat(kernel * self.weights, self.starts, axis=1)
        return np.asarray(averaged[:, self.rows])

    def spread(self, by_rows: Array) -> Array:
        """The way back of averaging both sides: ∂/∂kc between rows, t × t → between points, p × p."""
        count = len(self.starts)
        pairs = (self.rows[:, None] * count + self.rows).reshape(-1)
        total: Any = np.bincount(pairs, by_rows.reshape(-1), count**2)
        by_mixture: Array = total.reshape(count, count)
        mixture = np.repeat(np.arange(count), self.sizes)
        weighted: Array = by_mixture[np.ix_(mixture, mixture)]
        weighted *= self.weights[:, None]
        weighted *= self.weights
        return weighted


Contexts = Array | Mixtures
"""Of t rows: the array where all were seen, t × Dc."""


def row_contexts(
    c: Array,
    centres: Array,
    kinds: Sequence[ContextKind] = (),
    code: Callable[[Array, Array | None], Array] = lambda points, _: points,
    clock: Array | None = None,
) -> Contexts:
    """What the contexts of rows may have been, as the GP sees it.

    A context that was not seen is one of those met in other rows, with weights ∝ Π_d K_d(c_d, c_ld) over what
    was seen of this row: a conditional KDE (Rosenblatt 1969), normal with rule-of-thumb bandwidths for
    numbers; of a choice, the same level counts.

    Args:
        c: t × Dc on the unit box, nan where a context was not seen.
        centres: n × Dc, contexts that were seen, whole (``Dataset.boxed_c``).
        kinds: what values each context has; empty: all are real numbers.
        code: points of the unit box, and their times, as the GP sees them.
        clock: the time of each row, t, where it is an input of the GP.
    """
    partial = np.isnan(c).any(axis=1)
    if not partial.any():
        return code(c, clock)
    times = np.zeros(len(c)) if clock is None else clock
    flags = np.isnan(c[partial])
    table = [flags, np.where(flags, 0.0, c[partial]), times[partial, None]]
    rows_of_kind, kind_of = np.unique(np.concatenate(table, axis=1), axis=0, return_inverse=True)
    dc = c.shape[1]
    missing, values, when = rows_of_kind[:, :dc] > 0, rows_of_kind[:, dc:-1], rows_of_kind[:, -1]
    weights = _weights(missing, values, centres, kinds)
    most = int(np.clip(TOTAL // len(missing), LEAST, MOST))
    points, shares, moments = [c[~partial]], [np.ones(int((~partial).sum()))], [times[~partial]]
    for lacks, value, weight, moment in zip(missing, values, weights, when, strict=True):
        chosen, share = _few(weight, centres[:, int(lacks.argmax())], most)
        points.append(np.where(lacks, centres[chosen], value))
        shares.append(share)
        moments.append(np.full(len(share), moment))
    whole = len(shares[0])
    sizes = [1] * whole + [len(share) for share in shares[1:]]
    rows = np.empty(len(c), dtype=np.intp)
    rows[~partial], rows[partial] = np.arange(whole), whole + kind_of.reshape(-1)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    coded = code(np.concatenate(points), np.concatenate(moments))
    return Mixtures(coded, np.concatenate(shares), starts, rows)


def _weights(
    missing: NDArray[np.bool_], values: Array, centres: Array, kinds: Sequence[ContextKind]
) -> Array:
    """How likely each centre is, given what was seen of each kind of row: g × n; equal where nothing was."""
    width = rule_of_thumb(centres)
    width = np.where(width > 1e-12, width, MIN_BANDWIDTH)
    away = np.zeros((len(missing), len(centres)))
    for d, h in enumerate(width):
        if kinds and kinds[d].choice:
            squares = np.where(values[:, d, None] == centres[:, d], 0.0, OTHER_LEVEL)
        else:
            squares = ((values[:, d, None] - centres[:, d]) / h) ** 2
        away += np.where(missing[:, d, None], 0.0, squares)
    found = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True)))  # the nearest counts, however far it is
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _few(weights: Array, along: Array, most: int) -> tuple[Rows, Array]:
    """The centres that count, and their weights; at equal steps of probability where they are too many."""
    counts = np.flatnonzero(weights > NEGLIGIBLE)
    if len(counts) <= most:
        return counts, weights[counts] / weights[counts].sum()
    order = counts[np.argsort(along[counts], kind="stable")]
    total = weights[order].cumsum()
    marks = (0.5 + np.arange(most)) / most * total[-1]
    return order[np.searchsorted(total, marks)], np.full(most, 1 / most)


def points_of(contexts: Contexts) -> Array:
    """The array itself, t × Dc, or the points of the mixtures, p × Dc."""
    return contexts.points if isinstance(contexts, Mixtures) else contexts


def columns(kernel: Array, contexts: Contexts) -> Array:
    """A kernel's columns at ``points_of`` contexts, as columns of their rows: n × p → n × t."""
    return contexts.columns(kernel) if isinstance(contexts, Mixtures) else kernel


def context_kernel(profile: Profile, a: Contexts, b: Contexts, lengthscale: Array) -> Profiled:
    """kc(a, b) and its slope h, n × m; averages where contexts were not seen."""
    found = profile(scaled_squares(points_of(a), points_of(b), lengthscale))
    if not isinstance(a, Mixtures) and not isinstance(b, Mixtures):
        return found
    k, h = (columns(columns(part, b).T, a).T for part in found)
    return Profiled(k, h)


def stacked(a: Contexts, b: Array) -> Contexts:
    """The rows of a, then rows whose context is known."""
    if not isinstance(a, Mixtures):
        return np.concatenate([a, b])
    first, more = len(a.starts), np.arange(len(b))
    return Mixtures(
        np.concatenate([a.points, b]),
        np.concatenate([a.weights, np.ones(len(b))]),
        np.concatenate([a.starts, len(a.points) + more]),
        np.concatenate([a.rows, first + more]),
    )
