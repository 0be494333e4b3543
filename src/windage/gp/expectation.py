"""The posterior of the expectation itself, F(x) = Σ_m w_m f(x, c_m) (docs/methods.md).

For a known distribution: Williams, Santner & Notz 2000; Toscano-Palmerin & Frazier 2018. With z = Kcᵀw and
v0 = wᵀ K_cc w:

    μ_F = m + (kx∘z)·α,     σ_F² = s (v0 - (kx∘z)ᵀ K⁻¹ (kx∘z)),

with the output scale s, which is 1 but for another surrogate.

O(t²) a decision, however many nodes there are.
"""

from __future__ import annotations

import numpy as np

from windage.contexts import Nodes
from windage.gp.kernels import PROFILES
from windage.gp.model import ProductGP
from windage.gp.posterior import DecisionKernel, Moments
from windage.objectives import remaining
from windage.space import Array

CHUNK, CHUNK_WORST = 2**13, 2**18
"""Decisions at a time; and the largest intermediate where each has weights of its own, in numbers."""


class ExpectationPosterior:
    """The Gaussian posterior of F under fixed weights; its moments are B × 1."""

    chunk = CHUNK

    def __init__(self, model: ProductGP, nodes: Nodes) -> None:
        self.model, self.kernel = model, DecisionKernel(model)
        self.z = nodes.weights @ model.context_kernel(nodes.points, model.data.c).k
        self.v0 = prior_variance(model, nodes)

    def moments(self, x: Array) -> Moments:
        """At decisions, B × d."""
        k, h = self.kernel(x)
        return self._moments(x, k, h, self.z, np.full((1, 1), self.v0))

    def _moments(self, x: Array, k: Array, h: Array, z: Array, v0: Array) -> Moments:
        seen = k * z
        solved = seen @ self.model.precision
        mean = self.model.mean + seen @ self.model.alpha
        variance = self.model.scale * (v0 - (solved * seen).sum(axis=1, keepdims=True))
        return Moments(mean[:, None], np.maximum(variance, 0), x, h, (solved, z))

    def vjp(self, moments: Moments, by_mean: Array, by_variance: Array) -> Array:
        """∂/∂x from ∂/∂mean and ∂/∂variance, B × 1 each → B × d."""
        solved, z = moments.inner
        by_seen = by_mean * self.model.alpha - 2 * self.model.scale * by_variance * solved
        return self.kernel.vjp(moments.x, moments.slope, z * by_seen)


def prior_variance(model: ProductGP, nodes: Nodes) -> float:
    """v0 = wᵀ K_cc w, as a share of the prior variance: each pair of nodes once."""
    kernel = PROFILES[model.data.kernel]
    between = kernel((1 / model.covariance.c_scale**2) @ nodes.pairs.squares).k
    return float(nodes.weights @ nodes.weights + nodes.pairs.weights @ between)


class WorstPosterior(ExpectationPosterior):
    """The posterior of F under weights w*(x) of each decision's own: the worst for its posterior means.

    Within the total-variation radius, probability is moved from the nodes of the highest means to the point
    of the lowest: w* = what remains of the weights, and ``moved`` on that point. The weights are piecewise
    constant in x, so they are constant to the gradient.

    Args:
        model: the GP.
        nodes: with M weights.
        radius: the full L1 distance.
        space: S points of the whole context space, S × Dc, beside the nodes.
    """

    def __init__(self, model: ProductGP, nodes: Nodes, radius: float, space: Array) -> None:
        self.model, self.kernel = model, DecisionKernel(model)
        self.weights, self.radius = nodes.weights, radius
        points = np.concatenate([nodes.points, space])
        self.kc = model.context_kernel(points, model.data.c).k  # M+S × t
        self.between = model.context_kernel(points, nodes.points).k  # M+S × M
        self.chunk = max(1, CHUNK_WORST // len(points))

    def moments(self, x: Array) -> Moments:
        """At decisions, B × d."""
        k, h = self.kernel(x)
        means, m = (k * self.model.alpha) @ self.kc.T, len(self.weights)
        left, moved = remaining(means[:, :m], self.weights, self.radius)
        lowest = means.argmin(axis=1)
        z = left @ self.kc[:m] + moved * self.kc[lowest]
        covered = left @ self.between[:m] + 2 * moved * self.between[lowest]
        v0 = (covered * left).sum(axis=1, keepdims=True) + moved**2
        return self._moments(x, k, h, z, v0)
