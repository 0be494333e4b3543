"""The surrogate: a GP on (x, c), its fit in closed form, and its fast posterior on x × c."""

from windage.surrogate.ensemble import ensemble, likeliest
from windage.surrogate.fit import Hyperparameters, Training, fit
from windage.surrogate.follow import Fitted, follow
from windage.surrogate.low_rank import kernel_factor
from windage.surrogate.model import ProductGP
from windage.surrogate.posterior import (
    ExpectationPosterior,
    LookPosterior,
    NodePosterior,
    SlopePosterior,
    WorstPosterior,
)

__all__ = [
    "ExpectationPosterior",
    "Fitted",
    "Hyperparameters",
    "LookPosterior",
    "NodePosterior",
    "ProductGP",
    "SlopePosterior",
    "Training",
    "WorstPosterior",
    "ensemble",
    "fit",
    "follow",
    "kernel_factor",
    "likeliest",
]
