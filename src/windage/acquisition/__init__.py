"""Acquisition functions: posterior + nodes + objective → value and gradient over decisions."""

from windage.acquisition.base import Acquisition
from windage.acquisition.bounds import (
    BoundAcquisition,
    Expectation,
    KernelBall,
    Minimax,
    Mmd,
    TotalVariation,
    WorstCase,
)
from windage.acquisition.disagreement import Disagreement
from windage.acquisition.expectation import ExpectedBound, MeanBound, MixtureBound, WorstBound
from windage.acquisition.wasserstein import Wasserstein

__all__ = [
    "Acquisition",
    "BoundAcquisition",
    "Disagreement",
    "Expectation",
    "ExpectedBound",
    "KernelBall",
    "MeanBound",
    "Minimax",
    "MixtureBound",
    "Mmd",
    "TotalVariation",
    "Wasserstein",
    "WorstBound",
    "WorstCase",
]
