"""Studies that last and are shared: an Optuna sampler, the study file, and the commands on it.

    >>> from windage.studies import ContextSampler, recommend, report_context

Storage, trials and the web page are Optuna's; torch is imported when a decision is computed, not before.
"""

from __future__ import annotations

from windage.errors import missing_extra

try:
    import optuna  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise missing_extra("optuna", "studies", "a study that lasts") from error

from windage.studies.records import report_context
from windage.studies.sampler import ContextSampler, recommend

__all__ = ["ContextSampler", "recommend", "report_context"]
