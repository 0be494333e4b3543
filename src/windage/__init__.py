"""Windage: decisions whose outcome depends on conditions nobody controls, with a distribution nobody knows.

    >>> import windage
    >>> optimizer = windage.Optimizer({"stock": windage.Real(0, 1)}, {"demand": windage.Real(0, 1)}, seed=7)
    >>> trial = optimizer.ask()
    >>> optimizer.tell(trial, context={"demand": 0.31}, value=1.9)

Heavy libraries are imported when they are first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windage.errors import (
    ConfigurationError,
    InputError,
    MissingExtraError,
    NotEnoughDataError,
    TrialError,
    WindageError,
    WindageWarning,
)
from windage.observations import Observations, Trial
from windage.space import Categorical, Integer, Real

if TYPE_CHECKING:
    from windage.optimizer import Optimizer
    from windage.prediction import Prediction, Recommendation

__version__ = "0.1.0"
__all__ = [
    "Categorical",
    "ConfigurationError",
    "InputError",
    "Integer",
    "MissingExtraError",
    "NotEnoughDataError",
    "Observations",
    "Optimizer",
    "Prediction",
    "Real",
    "Recommendation",
    "Trial",
    "TrialError",
    "WindageError",
    "WindageWarning",
    "__version__",
]

_LAZY = {
    "Optimizer": "windage.optimizer",
    "Prediction": "windage.prediction",
    "Recommendation": "windage.prediction",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'windage' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
