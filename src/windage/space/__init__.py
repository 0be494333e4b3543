"""Spaces of decisions and contexts.

Users speak in their own units and names; everything inside windage runs on unit boxes, and this room
is the only one that knows both.
"""

from windage.space.contexts import ContextScale, ContextSpace
from windage.space.decisions import ONE_HOT, Block, DecisionSpace
from windage.space.parameters import Array, Categorical, Integer, Parameter, Real, Value, number, plain, whole

__all__ = [
    "ONE_HOT",
    "Array",
    "Block",
    "Categorical",
    "ContextScale",
    "ContextSpace",
    "DecisionSpace",
    "Integer",
    "Parameter",
    "Real",
    "Value",
    "number",
    "plain",
    "whole",
]
