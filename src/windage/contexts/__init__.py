"""Distributions of the context: from the contexts seen to weighted nodes."""

from windage.contexts.density import ContextDensity
from windage.contexts.kde import Kde, estimate
from windage.contexts.nodes import NO_CONTEXT, Nodes, box, grid, thinned

__all__ = ["NO_CONTEXT", "ContextDensity", "Kde", "Nodes", "box", "estimate", "grid", "thinned"]
