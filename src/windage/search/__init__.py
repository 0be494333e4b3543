"""Search over decisions: Sobol points, batched ascent, multi-start, and a local search over choices."""

from windage.search.ascent import Maxima, Valued, ascend
from windage.search.discrete import every, from_uniform
from windage.search.maximize import Maximum, Target, maximize, score, untaken
from windage.search.seeds import Purpose, Seeds
from windage.search.sobol import sobol

__all__ = [
    "Maxima",
    "Maximum",
    "Purpose",
    "Seeds",
    "Target",
    "Valued",
    "ascend",
    "every",
    "from_uniform",
    "maximize",
    "score",
    "sobol",
    "untaken",
]
