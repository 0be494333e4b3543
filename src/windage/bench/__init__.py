"""The benchmark: problems with a known answer, the runner, and the paper's tables and figures.

``windage bench run`` does the work; ``load`` reads its folder back as one pandas table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windage.bench.results import load as load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    if name == "load":  # later, so that the light commands stay light
        from windage.bench.results import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
