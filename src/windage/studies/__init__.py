"""Studies that last and are shared: an Optuna sampler, the study file, and the store behind the commands.

    >>> from windage.studies import ContextSampler, recommend, report_context

Storage and trials are Optuna's. Optuna is imported when it is first needed, the engine when a decision is
computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windage.errors import WindageWarning, missing_extra

if TYPE_CHECKING:
    from windage.studies.records import report_context, report_forecast, report_known
    from windage.studies.sampler import ContextSampler, recommend

__all__ = [
    "ContextSampler",
    "WindageWarning",
    "recommend",
    "report_context",
    "report_forecast",
    "report_known",
]

_LAZY = {
    "ContextSampler": "windage.studies.sampler",
    "recommend": "windage.studies.sampler",
    "report_context": "windage.studies.records",
    "report_forecast": "windage.studies.records",
    "report_known": "windage.studies.records",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'windage.studies' has no attribute {name!r}")
    from importlib import import_module

    need_optuna()
    return getattr(import_module(_LAZY[name]), name)


def need_optuna() -> None:
    """A MissingExtraError where Optuna is not installed."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise missing_extra("optuna", "studies", "a study that lasts") from error
