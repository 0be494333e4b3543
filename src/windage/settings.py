"""What can be changed by a keyword of ``Optimizer``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from windage.errors import ConfigurationError, near_match
from windage.space import plain, whole

DETERMINISTIC = "nodes"
PAPER_SAMPLES = 1024
THEOREM = "theorem"
BANDWIDTHS = ("rule-of-thumb", "silverman", "isj", "held-out")
BOUNDARIES = ("clamp", "reflect", "none", "held-out")
KERNELS = ("rbf", "matern", "matern-3/2", "rational-quadratic")


@dataclass(frozen=True)
class Settings:
    """What can be changed by a keyword of ``Optimizer``. The defaults are the paper's."""

    sqrt_beta: float | str | None = None
    """√β of the bound μ + √β·σ; "theorem" for the schedule of Theorems 1 and 2. None: the method's own, which
    is 1.5 for those of the papers."""
    lipschitz: float = 1.0
    """a·b·r of the theorem's schedule."""
    samples: int | str | None = None
    """M, the draws from the density; "nodes" for weighted cells (one or two contexts) or Sobol points (more).
    None: the paper's 1,024 draws with one or two contexts, the nodes with more: fewer, and more exact."""
    space_points: int = 1024
    """Sobol points of the context space for an infimum."""
    grid: int | None = None
    """Points of the context grid; None: 100 for drbo-mmd, 1,024 for drbo-mmd-minimax."""
    radius: float | None = None
    """Of the ambiguity set; None: the paper's δ_t or ε_t."""
    gamma: float = 0.1
    """Confidence of ε_t = (2 + sqrt(2 log(1/γ)))/√t."""
    bandwidth: str | float = "rule-of-thumb"
    """Of the KDE: "rule-of-thumb", "silverman", "isj" (laws of several humps), "held-out" (whichever of them
    makes each context likeliest, given the others), or a width in the unit box."""
    boundary: str = "clamp"
    """At the stated bounds of a context: "clamp", "reflect", "none", or "held-out" (one of the first two)."""
    kernel: str | None = None
    """Of the GP: "rbf", "matern" (a product of two Matérn-5/2), "matern-3/2" or "rational-quadratic".
    None: the method's own, which is "rbf" for those of the paper."""
    members: int | None = None
    """How many surrogates to average over, drawn from the posterior of kernels and hyper-parameters; 0: those
    fitted best, one a kernel. None: the method's own, which is 0 for those of the papers."""
    raw_samples: int = 1024
    """Sobol points that are scored before climbing."""
    restarts: int = 50
    """From how many of them to climb."""

    @classmethod
    def of(cls, given: Mapping[str, Any], also: tuple[str, ...] = ()) -> Settings:
        """The settings with changes, or a ConfigurationError; ``also`` are the other keywords that exist."""
        known = [*also, *(f.name for f in fields(cls))]
        for name in given:
            if name not in known:
                raise ConfigurationError(
                    f"unknown keyword {name!r}; the keywords are {', '.join(known)}.{near_match(name, known)}"
                )
        changes: dict[str, Any] = {name: plain(value) for name, value in given.items()}
        settings = replace(cls(), **changes)
        settings._check()
        return settings

    def _check(self) -> None:
        for name in ("space_points", "raw_samples", "restarts"):
            whole(getattr(self, name), name, ConfigurationError, 1)
        if self.grid is not None:
            whole(self.grid, "grid", ConfigurationError, 2)
        if self.samples is not None and not (isinstance(self.samples, str) and self.samples == DETERMINISTIC):
            whole(self.samples, "samples", ConfigurationError, 1, f', or "{DETERMINISTIC}"')
        if self.members is not None:
            whole(self.members, "members", ConfigurationError)
        if self.sqrt_beta is not None and not (isinstance(self.sqrt_beta, str) and self.sqrt_beta == THEOREM):
            _positive("sqrt_beta", self.sqrt_beta, zero=True, words=f' or "{THEOREM}"')
        for name in ("lipschitz", "gamma"):
            _positive(name, getattr(self, name))
        if self.gamma >= 1:
            raise ConfigurationError(f"gamma is a probability and must be below 1, not {self.gamma!r}.")
        if self.radius is not None:
            _positive("radius", self.radius, zero=True)
        if self.kernel is not None:
            _one_of("kernel", self.kernel, KERNELS)
        _one_of("boundary", self.boundary, BOUNDARIES)
        if isinstance(self.bandwidth, str):
            _one_of("bandwidth", self.bandwidth, BANDWIDTHS)
        else:
            _positive("bandwidth", self.bandwidth)

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        default = Settings()
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if getattr(self, f.name) != getattr(default, f.name)
        }


def _positive(name: str, value: object, zero: bool = False, words: str = "") -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1e300 or (value == 0 and not zero):  # type: ignore[operator]
        kind = "0 or a positive" if zero else "a positive"
        raise ConfigurationError(f"{name} must be {kind} number{words}, not {value!r}.")


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ConfigurationError(
            f"{name} must be one of {', '.join(known)}, not {value!r}.{near_match(value, known)}"
        )
