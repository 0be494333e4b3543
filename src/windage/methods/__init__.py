"""The methods: one file each, and the table that names them."""

from __future__ import annotations

import warnings
from typing import Any

from windage.errors import ConfigurationError, WindageWarning, near_match
from windage.methods import (
    auto,
    bq_kde,
    drbo_kde,
    drbo_mmd,
    drbo_mmd_minimax,
    erbo,
    gp_ucb,
    ledrbo,
    random_search,
    rbq_kde,
    sbo_kde,
    stableopt,
    wdrbo,
)
from windage.methods.method import INITIAL, Method, MethodName, State
from windage.methods.settings import Settings

__all__ = [
    "AUTO",
    "GONE",
    "INITIAL",
    "METHODS",
    "Method",
    "MethodName",
    "Settings",
    "State",
    "check_used",
    "continued",
    "get_method",
    "register",
]

AUTO = "auto"
METHODS: dict[str, Method] = {
    module.METHOD.name: module.METHOD
    for module in (
        auto,
        sbo_kde,
        drbo_kde,
        drbo_mmd,
        drbo_mmd_minimax,
        stableopt,
        gp_ucb,
        bq_kde,
        rbq_kde,
        erbo,
        wdrbo,
        ledrbo,
        random_search,
    )
}
GONE = {"kg-kde": AUTO}
"""Methods of saved studies that are no longer there, and what continues them."""


def register(method: Method) -> None:
    """Make a method of your own known by its name."""
    if method.name in METHODS:
        raise ConfigurationError(f"there is a method {method.name!r} already: give yours another name.")
    METHODS[method.name] = method


def get_method(name: object) -> Method:
    """The method of that name, or itself; or a ConfigurationError with the list."""
    if isinstance(name, Method):
        return name
    if isinstance(name, str) and name in METHODS:
        return METHODS[name]
    raise ConfigurationError(
        f"unknown method {name!r}; the methods are {', '.join(METHODS)}.{near_match(name, METHODS)}"
    )


def continued(name: Any) -> Any:
    """The method with which a study goes on that was saved or described with ``name``.

    A name in ``GONE`` gives its successor and a WindageWarning; any other is returned as it is.
    """
    if not isinstance(name, str) or name not in GONE:
        return name
    then = GONE[name]
    warnings.warn(
        f"the method {name!r} is no longer there: the study continues as {then!r}.",
        WindageWarning,
        stacklevel=3,
    )
    return then


def check_used(method: Method, settings: Settings) -> None:
    """A ConfigurationError where a setting was changed that the method does not use."""
    for name in settings.changed():
        if name not in method.used:
            users = ", ".join(other.name for other in METHODS.values() if name in other.used)
            raise ConfigurationError(
                f"method {method.name!r} does not use {name}: leave it out, or use one of {users}."
            )
    if settings.lipschitz != Settings().lipschitz and settings.sqrt_beta != "theorem":
        raise ConfigurationError('lipschitz is of sqrt_beta="theorem" alone: give that, or leave it out.')
