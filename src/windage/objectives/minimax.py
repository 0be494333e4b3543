"""The minimax approximation of the MMD ball (Tay et al. 2022).

Between the slope at radius 0 (the worst-case sensitivity S) and the chord to the worst node (T), the convex
function ε → worst expectation is approximated by the mean of its lower and its upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windage.search import Valued
from windage.space import Array

JITTER = 1e-3


def minimax(values: Array, weights: Array, factor: Array, radius: float) -> Valued:
    """The approximation at ``radius``.

    Args:
        values: g at the nodes, ``... × n``.
        weights: the reference distribution ŵ, ``n``.
        factor: A of ``windage.gp.kernel_factor``, ``r × n``; rows orthogonal if r < n.
        radius: ε ≥ 0.

    Returns:
        ``...``: E + ε(T+S)/2 for ε < ε', (E + εT + mn)/2 for ε' ≤ ε < ε*, mn for ε ≥ ε*; and the gradient.
    """
    return MinimaxBall.of(weights, factor, radius)(values)


@dataclass(frozen=True)
class _Parts:
    """Of values ``... × n``: what value and gradient share, each ``...`` unless stated."""

    where: NDArray[np.intp]
    mean: Array
    lowest: Array
    corner: Array
    chord: Array
    slope: Array
    centred: Array
    """``... × n``."""
    image: Array
    """root·centred, ``... × r``."""
    quadratic: Array


@dataclass(frozen=True)
class MinimaxBall:
    """What of a ball does not depend on the values, computed once for many of them."""

    weights: Array
    radius: float
    corner: Array
    """ε* = ‖A(e - ŵ)‖ for all probability on each node, n."""
    ones: Array
    """P1 times the jitter, n; P = (AᵀA + jitter·I)⁻¹."""
    root: Array
    """r × n with gᵀPg times the jitter equal to ‖root g‖², or to ‖g‖² - ‖root g‖² where ``rest`` is set."""
    rest: bool

    @classmethod
    def of(cls, weights: Array, factor: Array, radius: float) -> MinimaxBall:
        """The ball of that radius around the weights."""
        n = len(weights)
        corner = np.maximum(np.linalg.norm(factor.T - factor @ weights, axis=1), 1e-12)
        if len(factor) < n:
            # orthogonal rows, of squares λ: P = (I - Aᵀ diag(1/(λ + jitter)) A)/jitter
            root = factor / np.sqrt((factor**2).sum(axis=1, keepdims=True) + JITTER)
            return cls(weights, radius, corner, 1 - root.sum(axis=1) @ root, root, rest=True)
        chol = np.linalg.cholesky(factor.T @ factor + JITTER * np.eye(n))
        root = JITTER**0.5 * np.linalg.inv(chol)
        return cls(weights, radius, corner, root.sum(axis=1) @ root, root, rest=False)

    def value(self, values: Array) -> Array:
        """Values ``... × n`` → ``...``."""
        return self._value(self._parts(values))

    def __call__(self, values: Array) -> Valued:
        """Values ``... × n`` → the approximation ``...`` and its gradient ``... × n``."""
        parts = self._parts(values)
        at_lowest = np.zeros_like(values)
        np.put_along_axis(at_lowest, parts.where[..., None], 1.0, axis=-1)
        by_chord = (at_lowest - self.weights) / parts.corner[..., None]
        steep = (parts.slope < parts.chord)[..., None]
        by_slope = np.where(steep, -self._sensitivity_gradient(parts), by_chord)
        near = self.weights + self.radius * (by_chord + by_slope) / 2
        far = (self.weights + self.radius * by_chord + at_lowest) / 2
        inner = np.where(self._is_near(parts)[..., None], near, far)
        gradient = np.where((self.radius < parts.corner)[..., None], inner, at_lowest)
        return Valued(self._value(parts), gradient)

    def _value(self, p: _Parts) -> Array:
        near = p.mean + self.radius * (p.chord + p.slope) / 2
        far = (p.mean + self.radius * p.chord + p.lowest) / 2
        return np.where(self.radius < p.corner, np.where(self._is_near(p), near, far), p.lowest)

    def _is_near(self, p: _Parts) -> Array:
        """ε < ε'. T ≤ 0 and S ≤ T, so all is finite; where all values are equal both are 0."""
        turn = (p.lowest - p.mean) / np.where(p.slope < 0, p.slope, -1.0)
        return np.asarray(self.radius < turn)

    def _parts(self, values: Array) -> _Parts:
        where = values.argmin(axis=-1)
        mean, lowest = values @ self.weights, np.take_along_axis(values, where[..., None], axis=-1)[..., 0]
        corner = self.corner[where]
        chord = (lowest - mean) / corner
        centred = values - values.mean(axis=-1, keepdims=True)  # the form ignores constants; keeps digits
        image = centred @ self.root.T
        quadratic = (image**2).sum(axis=-1)
        if self.rest:
            quadratic = (centred**2).sum(axis=-1) - quadratic
        # gᵀP g - (gᵀP1)²/(1ᵀP1), all times the jitter until here
        quadratic = np.maximum((quadratic - (centred @ self.ones) ** 2 / self.ones.sum()) / JITTER, 1e-30)
        slope = np.minimum(-np.sqrt(quadratic), chord)
        return _Parts(where, mean, lowest, corner, chord, slope, centred, image, quadratic)

    def _sensitivity_gradient(self, p: _Parts) -> Array:
        """Of sqrt(quadratic), ``... × n``; 0 where all values are equal."""
        applied = p.image @ self.root
        if self.rest:
            applied = p.centred - applied
        applied = applied - (p.centred @ self.ones / self.ones.sum())[..., None] * self.ones
        applied -= applied.mean(axis=-1, keepdims=True)
        scale = np.where(p.quadratic > 1e-30, 1 / (JITTER * np.sqrt(p.quadratic)), 0.0)
        return np.asarray(applied * scale[..., None])
