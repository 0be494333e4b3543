"""The surrogate: GPs on (x, c), their fit in closed form, and their fast posteriors on x × c."""

from windage.gp.ensemble import Ensemble, Fit, Key
from windage.gp.expectation import ExpectationPosterior, WorstPosterior
from windage.gp.fit import fit
from windage.gp.kernels import KERNELS, KernelName
from windage.gp.likelihood import LogPosterior
from windage.gp.low_rank import kernel_factor
from windage.gp.model import ProductGP
from windage.gp.posterior import Moments, NodePosterior, Posterior, SlopePosterior
from windage.gp.records import Hyperparameters, Training

__all__ = [
    "KERNELS",
    "Ensemble",
    "ExpectationPosterior",
    "Fit",
    "Hyperparameters",
    "KernelName",
    "Key",
    "LogPosterior",
    "Moments",
    "NodePosterior",
    "Posterior",
    "ProductGP",
    "SlopePosterior",
    "Training",
    "WorstPosterior",
    "fit",
    "kernel_factor",
]
