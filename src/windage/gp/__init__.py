"""The surrogate: GPs on (x, c), their fit in closed form, and their fast posteriors on x × c."""

from windage.gp.ensemble import Ensemble, Fit, Key
from windage.gp.expectation import ExpectationPosterior, WorstPosterior
from windage.gp.fit import fit
from windage.gp.kernels import KERNELS, KernelName
from windage.gp.likelihood import LogPosterior
from windage.gp.low_rank import kernel_factor
from windage.gp.mixtures import Contexts, Mixtures, row_contexts
from windage.gp.model import ProductGP
from windage.gp.posterior import Moments, NodePosterior, Posterior, SlopePosterior
from windage.gp.records import Hyperparameters, SurrogateName, Training, contexts_of

__all__ = [
    "KERNELS",
    "Contexts",
    "Ensemble",
    "ExpectationPosterior",
    "Fit",
    "Hyperparameters",
    "KernelName",
    "Key",
    "LogPosterior",
    "Mixtures",
    "Moments",
    "NodePosterior",
    "Posterior",
    "ProductGP",
    "SlopePosterior",
    "SurrogateName",
    "Training",
    "WorstPosterior",
    "contexts_of",
    "fit",
    "kernel_factor",
    "row_contexts",
]
