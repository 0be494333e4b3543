"""Objectives: values g[..., m] at context nodes with weights w[m] → value [...] and gradient [..., m].

Pure functions on arrays; larger is better, so a robust objective takes a minimum over distributions near the
weights (docs/methods.md). Each is Σ_m w*_m g_m with the optimal weights w* of an inner problem, so w* is its
gradient (the envelope theorem).
"""

from windage.objectives.minimax import MinimaxBall, minimax
from windage.objectives.mmd import MmdSolver, mmd
from windage.objectives.simple import expectation, worst_case
from windage.objectives.total_variation import Remaining, remaining, total_variation
from windage.search import Valued

__all__ = [
    "MinimaxBall",
    "MmdSolver",
    "Remaining",
    "Valued",
    "expectation",
    "minimax",
    "mmd",
    "remaining",
    "total_variation",
    "worst_case",
]
