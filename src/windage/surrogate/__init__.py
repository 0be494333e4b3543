"""The surrogate: a GP on (x, c), its fit in closed form, and its fast posterior on x × c."""

from windage.surrogate.fit import Hyperparameters, Training, fit
from windage.surrogate.low_rank import kernel_factor
from windage.surrogate.model import ProductGP
from windage.surrogate.posterior import ExpectationPosterior, NodePosterior

__all__ = [
    "ExpectationPosterior",
    "Hyperparameters",
    "NodePosterior",
    "ProductGP",
    "Training",
    "fit",
    "kernel_factor",
]
