"""Laws of the context, from the contexts seen to weighted nodes."""

from windage.density.estimate import ContextDensity
from windage.density.kde import Kde
from windage.density.nodes import Nodes, box, empirical, grid, sobol, sobol_box, thinned

__all__ = [
    "ContextDensity",
    "Kde",
    "Nodes",
    "box",
    "empirical",
    "grid",
    "sobol",
    "sobol_box",
    "thinned",
]
