"""Distributions of the context: from the contexts seen to weighted nodes."""

from windage.contexts.density import ContextDensity
from windage.contexts.forecasts import Forecast
from windage.contexts.kde import Kde
from windage.contexts.moment import NOTHING, Given, at_the_moment, estimate, shift_of, skills
from windage.contexts.nodes import NO_CONTEXT, Nodes, box, grid, thinned, whole_space
from windage.contexts.shift import Shift
from windage.contexts.skill import ForecastSkill

__all__ = [
    "NOTHING",
    "NO_CONTEXT",
    "ContextDensity",
    "Forecast",
    "ForecastSkill",
    "Given",
    "Kde",
    "Nodes",
    "Shift",
    "at_the_moment",
    "box",
    "estimate",
    "grid",
    "shift_of",
    "skills",
    "thinned",
    "whole_space",
]
