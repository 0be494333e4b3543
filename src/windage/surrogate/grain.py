"""Noise with a grain: a part of it is the decision's own and returns with the decision.

What a GP cannot follow, because it is finer than any lengthscale that it may have, it takes for noise:
ripples, steps, the mesh of a simulation. But such noise is nearly the same at nearly the same decision,
whatever the context. With a grain the noise of observations i and j has the covariance

    noise·((1 - s)·[i = j] + s·r(x_i, x_j)),

where r is a Matérn-5/2 kernel of one lengthscale. Where no two decisions are closer than a few of these, it
is ordinary noise; where some are, the outcomes tell which of the two it is (``ensemble.likeliest_grain``).
The part s is the decision's own noise e(x): what is to be expected of a decision is F(x) + e(x), or in logs
floor + (F(x) - floor)·e^{e(x)} (``posterior.ExpectationPosterior.with_noise``).
"""

from __future__ import annotations

from torch import Tensor

from windage.surrogate import kernels

SHARE = 0.5
"""s, the part of the noise that is the decision's own."""
SCALE = 0.006
"""The lengthscale of r in units of the box: about a quarter of the least that a surrogate may have."""


def shared(x: Tensor, x2: Tensor, scale: float) -> Tensor:
    """The covariance of the noise of different observations at x and x2, n × m, for noise of variance 1."""
    squares = kernels.scaled_squares(x, x2, x.new_full((x.shape[1],), scale))
    return SHARE * kernels.matern52(squares)[0]


def pattern(x: Tensor, scale: float) -> Tensor:
    """That of the observations at x, t × t, each with itself too."""
    found = shared(x, x, scale)
    found.diagonal().add_(1 - SHARE)
    return found
