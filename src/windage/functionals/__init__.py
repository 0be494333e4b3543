"""Functionals of the context: values g[..., m] at nodes with weights w[m] → [...] (docs/methods.md).

Pure functions, differentiable in the values; larger is better, so a robust functional takes a minimum over
laws near the weights. Each returns what its inner problem's optimal weights w* give, Σ_m w*_m g_m, so that
autograd yields the envelope gradient Σ_m w*_m ∇g_m.
"""

from windage.functionals.minimax import MinimaxBall, minimax
from windage.functionals.mmd import MmdSolver, mmd, mmd_weights
from windage.functionals.simple import expectation, worst_case
from windage.functionals.total_variation import (
    total_variation,
    total_variation_law,
    total_variation_weights,
)

__all__ = [
    "MinimaxBall",
    "MmdSolver",
    "expectation",
    "minimax",
    "mmd",
    "mmd_weights",
    "total_variation",
    "total_variation_law",
    "total_variation_weights",
    "worst_case",
]
