"""Frozen records of the GP: what it is fitted to, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from windage.dataset import Dataset
from windage.gp.kernels import KernelName
from windage.gp.mixtures import Contexts, row_contexts
from windage.space import Array

SurrogateName = Literal["2023"]
"""Another surrogate than today's. "2023": the priors of BoTorch in that year, and an output scale."""


@dataclass(frozen=True)
class Hyperparameters:
    """A fitted GP, as plain numbers."""

    x: tuple[float, ...]
    """Lengthscales of the coordinates of x."""
    c: tuple[float, ...]
    """Lengthscales of the coordinates of c."""
    noise: float
    """The noise variance, as a share of ``scale``."""
    mean: float
    """The constant prior mean."""
    log_posterior: float
    """At these hyper-parameters; nan where it was not computed."""
    inverse_hessian: tuple[tuple[float, ...], ...] = ()
    """Of minus the log posterior in θ, as far as the fit has learnt it; empty where it has not."""
    scale: float = 1.0
    """The output scale: the prior variance of the standardised outcome without noise."""


@dataclass(frozen=True)
class Training:
    """Points of the unit boxes, standardised outcomes, and the form of the GP."""

    x: Array
    """t × d."""
    c: Contexts
    """t × Dc; t × 0 for a GP on x alone. Mixtures, where some were not seen."""
    y: Array
    """t."""
    groups: tuple[int, ...]
    """The lengthscale of each coordinate of x: those of one categorical variable share one."""
    kernel: KernelName
    exchangeable: tuple[int, ...] = ()
    """Which lengthscales have an exchangeable prior; the others are independent (``windage.gp.priors``)."""
    surrogate: SurrogateName | None = None
    """Whose priors, and whether there is an output scale."""
    context_groups: tuple[int, ...] = ()
    """The lengthscale of each coordinate of c, from 0, as ``groups``; empty: each has its own."""

    @classmethod
    def of(
        cls,
        data: Dataset,
        joint: bool,
        kernel: KernelName = "rbf",
        member: bool = False,
        surrogate: SurrogateName | None = None,
    ) -> Training:
        """What a GP of this kernel is fitted to: on (x, c), or on x alone; ``member``: of an ensemble.

        The lengthscales of numbers are exchangeable in an ensemble. Those of choices are not: how much a
        choice matters has nothing to do with how much a number does.
        """
        blocks = data.decisions.blocks
        return cls(
            data.x,
            contexts_of(data) if joint else np.zeros((len(data), 0)),
            data.y,
            tuple(i for i, b in enumerate(blocks) for _ in range(b.stop - b.start)),
            kernel,
            exchangeable=tuple(i for i, b in enumerate(blocks) if member and not b.categorical),
            surrogate=surrogate,
            context_groups=data.groups if joint else (),
        )

    @property
    def group_of(self) -> list[int]:
        """The lengthscale of each coordinate of (x, c)."""
        first = max(self.groups) + 1
        own = self.context_groups or range(self.c.shape[1])
        return [*self.groups, *(first + group for group in own)]


def contexts_of(data: Dataset, rows: Sequence[int] | None = None) -> Contexts:
    """The contexts of the rows of a dataset that are fitted, or of some of them, as a GP sees them."""
    some = slice(None) if rows is None else rows
    clock = data.clock[data.rows][some] if data.drift else None
    return row_contexts(data.unit_c[some], data.boxed_c, data.scale.kinds, data.code, clock)
