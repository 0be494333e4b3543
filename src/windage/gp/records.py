"""Frozen records of the GP: what it is fitted to, and what was found."""

from __future__ import annotations

from dataclasses import dataclass

from windage.dataset import Dataset
from windage.gp.kernels import KernelName
from windage.space import Array


@dataclass(frozen=True)
class Hyperparameters:
    """A fitted GP, as plain numbers."""

    x: tuple[float, ...]
    """Lengthscales of the coordinates of x."""
    c: tuple[float, ...]
    """Lengthscales of the coordinates of c."""
    noise: float
    """The noise variance, as a share of the prior variance."""
    mean: float
    """The constant prior mean."""
    log_posterior: float
    """At these hyper-parameters; nan where it was not computed."""
    inverse_hessian: tuple[tuple[float, ...], ...] = ()
    """Of minus the log posterior in θ, as far as the fit has learnt it; empty where it has not."""


@dataclass(frozen=True)
class Training:
    """Points of the unit boxes, standardised outcomes, and the form of the GP."""

    x: Array
    """t × d."""
    c: Array
    """t × Dc; t × 0 for a GP on x alone."""
    y: Array
    """t."""
    groups: tuple[int, ...]
    """The lengthscale of each coordinate of x: those of one categorical variable share one."""
    kernel: KernelName
    free_scale: bool = False
    """Whether the prior variance is unknown and integrated out, or 1, as of standardised outcomes."""
    exchangeable: tuple[int, ...] = ()
    """Which lengthscales have an exchangeable prior; the others are independent (``windage.gp.priors``)."""

    @classmethod
    def of(cls, data: Dataset, joint: bool, kernel: KernelName = "rbf", member: bool = False) -> Training:
        """What a GP of this kernel is fitted to: on (x, c), or on x alone; ``member``: of an ensemble.

        The lengthscales of numbers are exchangeable in an ensemble. Those of choices are not: how much a
        choice matters has nothing to do with how much a number does.
        """
        blocks = data.decisions.blocks
        return cls(
            data.x,
            data.c if joint else data.c[:, :0],
            data.y,
            tuple(i for i, b in enumerate(blocks) for _ in range(b.stop - b.start)),
            kernel,
            free_scale=member,
            exchangeable=tuple(i for i, b in enumerate(blocks) if member and not b.categorical),
        )

    @property
    def group_of(self) -> list[int]:
        """The lengthscale of each coordinate of (x, c)."""
        first = max(self.groups) + 1
        return [*self.groups, *range(first, first + self.c.shape[1])]
