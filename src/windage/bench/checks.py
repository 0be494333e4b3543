"""What a problem of one's own must be, refused before a long run and not after it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from windage.errors import ConfigurationError
from windage.space import Categorical, ContextSpace, DecisionSpace, Real

if TYPE_CHECKING:
    from windage.bench.problems import Problem

COLUMNS = ("problem", "method", "seed", "step", "value", "expected", "regret", "ask_seconds")
"""Of the results, beside the decision variables and the contexts."""
MARGINAL = ("pdf", "cdf", "sf", "ppf", "rvs")


def check(problem: Problem) -> None:
    """Raise a ConfigurationError that says what is wrong and what to do."""
    words = f"problem {problem.name!r}:"
    file_name(problem.name, "problem")
    space = DecisionSpace.of(problem.decisions)
    contexts = ContextSpace.of(problem.contexts, space)
    for name in (*space.names, *contexts.names):
        if name in COLUMNS:
            raise ConfigurationError(f"{words} {name!r} is a column of the results; choose another name.")
    if any(isinstance(p, Categorical) for p in space.parameters.values()):
        raise ConfigurationError(
            f"{words} decision variables are numbers here, Real or Integer, not Categorical."
        )
    if not all(isinstance(p, Real) for p in contexts.parameters.values()):
        raise ConfigurationError(f"{words} contexts are real numbers here, Real.")
    stated = [(p.low, p.high) for p in contexts.parameters.values() if isinstance(p, Real)]
    clipped = list(zip(*(bound.tolist() for bound in problem.distribution.box), strict=True))
    if stated != clipped:
        raise ConfigurationError(
            f"{words} the contexts are within {stated}, the distribution within {clipped}. They must "
            "agree: ClippedDistribution(marginals, bounds=[(low, high), ...])."
        )
    if not all(hasattr(marginal, name) for marginal in problem.distribution.marginals for name in MARGINAL):
        raise ConfigurationError(
            f"{words} a marginal must have {', '.join(MARGINAL)}, as scipy's continuous distributions."
        )
    _check_function(problem, words)


def _check_function(problem: Problem, words: str) -> None:
    rng = np.random.default_rng(0)
    low, high = problem.box
    x = low + (high - low) * rng.random((3, 1, len(low)))
    c = problem.sample_contexts(4, rng)[None]
    try:
        gave = str(np.shape(problem.function(x, c)))
    except Exception as error:
        gave = " ".join(f"{type(error).__name__}: {error}".split())
    if gave != "(3, 4)":
        raise ConfigurationError(
            f"{words} f must broadcast its leading dimensions: x of shape {x.shape} and c of shape {c.shape} "
            f"must give (3, 4), but gave {gave}. Write x[..., 0] for the first decision variable."
        )


def file_name(name: str, what: str) -> None:
    """Refuse a name that cannot be a folder's."""
    if not re.fullmatch(r"[\w@+-][\w@.+-]*", name):
        raise ConfigurationError(f"the name of a {what} is of letters, digits and @ . + - _, not {name!r}.")
