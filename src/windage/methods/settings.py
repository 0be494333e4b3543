"""What can be changed by a keyword of ``Optimizer``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from windage.contexts.forgetting import Forget, half_life
from windage.contexts.kde import Bandwidth, Boundary, check_rules
from windage.errors import ConfigurationError
from windage.gp.kernels import KERNELS, KernelName
from windage.gp.records import SurrogateName
from windage.space import one_of, plain, positive, whole
from windage.space.checks import brief

DETERMINISTIC: Literal["nodes"] = "nodes"
PAPER_SAMPLES = 1024
THEOREM: Literal["theorem"] = "theorem"
Aim = Literal["earn", "learn"]
"""Whether every decision counts, or the recommendation alone."""
MOST: Mapping[str, int] = {
    "space_points": 2**16,
    "raw_samples": 2**16,
    "samples": 2**16,
    "restarts": 2**12,
    "grid": 2**12,
    "members": 2**8,
}
"""More of them take gigabytes of memory and minutes of time, and do not move the decision."""
SHARED = frozenset(
    {"bandwidth", "boundary", "budget", "kernel", "raw_samples", "restarts", "screen", "surrogate"}
    | {"forget", "distribution", "drift"}
)
"""Settings that every method uses: ``recommend`` does, or the number of first decisions."""


@dataclass(frozen=True)
class Settings:
    """What can be changed by a keyword of ``Optimizer``. The defaults are the paper's."""

    budget: int | None = None
    """How many decisions are planned, if that is known: first decisions are at most a quarter of them."""
    aim: Aim = "earn"
    """"earn": every decision counts. "learn": only the recommendation counts, so decisions may cost."""
    sqrt_beta: float | Literal["theorem"] | None = None
    """√β of the bound μ + √β·σ; "theorem" for the schedule of Theorems 1 and 2. None: the method's own, which
    is 1.5 for those of the papers."""
    lipschitz: float = 1.0
    """a·b·r of the theorem's schedule."""
    samples: int | Literal["nodes"] | None = None
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
    bandwidth: Bandwidth | float = "rule-of-thumb"
    """Of the KDE: "rule-of-thumb", "silverman", "isj" (several modes), "held-out" (whichever of them makes
    each context likeliest, given the others), or a width in the unit box."""
    boundary: Boundary = "clamp"
    """At the stated bounds of a context: "clamp", "reflect", "none", or "held-out" (one of the first two)."""
    kernel: KernelName | None = None
    """Of the GP: "rbf", "matern" (a product of two Matérn-5/2), "matern-3/2" or "rational-quadratic".
    None: the method's own, which is "rbf" for those of the paper."""
    members: int | None = None
    """How many surrogates to average over, drawn from the posterior of kernels and hyper-parameters; 0: those
    fitted best, one a kernel. None: the method's own."""
    surrogate: SurrogateName | None = None
    """"2023" for the GP of the paper's own runs: Matérn-5/2, an output scale, and BoTorch's priors of that
    year. None: today's. For comparisons."""
    as_published: bool = False
    """Whether to do as the paper's published code does where that is not what the paper says
    (``windage.methods.as_published``). For the benchmark alone."""
    raw_samples: int = 1024
    """Sobol points that are scored before climbing."""
    restarts: int = 50
    """From how many of them to climb."""
    forget: Forget = "auto"
    """How old contexts lose weight in the density: a half-life in observations, or in days ("30 days"); None:
    they never do; "auto": at a rate that is learnt with ``auto``, and never with the methods of the
    papers."""
    distribution: Mapping[str, Any] | None = None
    """Contexts whose distribution is known for good, and what it is."""
    drift: bool = False
    """Whether outcomes themselves change with time: then time is an input of the GP."""
    screen: bool = True
    """Whether what looks mistyped is noticed: a warning when it is told, and no part in the fit."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """The checked settings, or a ConfigurationError."""
        changes: dict[str, Any] = {name: plain(value) for name, value in given.items()}
        settings = replace(cls(), **changes)
        settings._check()
        return settings

    def _check(self) -> None:
        self._check_sizes()
        if self.budget is not None:
            whole(self.budget, "budget", ConfigurationError, 1)
        one_of(self.aim, "aim", get_args(Aim))
        for name in ("space_points", "raw_samples", "restarts"):
            whole(getattr(self, name), name, ConfigurationError, 1)
        if self.grid is not None:
            whole(self.grid, "grid", ConfigurationError, 2)
        if self.samples is not None and not _is(self.samples, DETERMINISTIC):
            whole(self.samples, "samples", ConfigurationError, 1, f', or "{DETERMINISTIC}"')
        if self.members is not None:
            whole(self.members, "members", ConfigurationError)
        if self.sqrt_beta is not None and not _is(self.sqrt_beta, THEOREM):
            positive(self.sqrt_beta, "sqrt_beta", zero=True, words=f' or "{THEOREM}"')
        for name in ("lipschitz", "gamma"):
            positive(getattr(self, name), name)
        if self.gamma >= 1:
            raise ConfigurationError(f"gamma is a probability and must be below 1, not {self.gamma!r}.")
        if self.radius is not None:
            positive(self.radius, "radius", zero=True)
        if self.kernel is not None:
            one_of(self.kernel, "kernel", KERNELS)
        if self.surrogate is not None:
            one_of(self.surrogate, "surrogate", get_args(SurrogateName))
            if self.kernel is not None:
                raise ConfigurationError('surrogate="2023" has a kernel of its own: leave kernel out.')
        for name in ("screen", "drift", "as_published"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigurationError(f"{name} must be True or False, not {brief(getattr(self, name))}.")
        half_life(self.forget)
        check_rules(self.bandwidth, self.boundary)

    def _check_sizes(self) -> None:
        for name, most in MOST.items():
            given = getattr(self, name)
            if isinstance(given, int) and given > most:
                raise ConfigurationError(
                    f"{name} must be at most {most}, not {brief(given)}: more takes gigabytes of memory "
                    "and does not move the decision. Choose a smaller one, or leave it out."
                )

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        default = Settings()
        names = [f.name for f in fields(self)]
        return {n: getattr(self, n) for n in names if getattr(self, n) != getattr(default, n)}


NAMES = tuple(f.name for f in fields(Settings))


def _is(value: object, word: str) -> bool:
    """Whether it is this word: what was given may be an array, which compares by element."""
    return isinstance(value, str) and value == word
