"""The surrogate: a GP on (x, c), its fit in closed form, and its fast posterior on x × c."""

from windage.surrogate.ensemble import ensemble, likeliest, likeliest_grain
from windage.surrogate.fit import Hyperparameters, Training, fit, fit_in_logs
from windage.surrogate.follow import Fitted, follow
from windage.surrogate.log_expectation import expectation, look
from windage.surrogate.log_scale import LogScale
from windage.surrogate.low_rank import kernel_factor
from windage.surrogate.model import ProductGP
from windage.surrogate.posterior import (
    ExpectationPosterior,
    NodePosterior,
    SlopePosterior,
    WorstPosterior,
)

__all__ = [
    "ExpectationPosterior",
    "Fitted",
    "Hyperparameters",
    "LogScale",
    "NodePosterior",
    "ProductGP",
    "SlopePosterior",
    "Training",
    "WorstPosterior",
    "ensemble",
    "expectation",
    "fit",
    "fit_in_logs",
    "follow",
    "kernel_factor",
    "likeliest",
    "likeliest_grain",
    "look",
]
