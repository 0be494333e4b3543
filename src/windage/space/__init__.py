"""Spaces of decisions and contexts.

Users speak in their own units and names; everything inside windage runs on unit boxes, and this room
is the only one that knows both.
"""

from windage.space.checks import check_names, days, number, one_of, plain, positive, whole
from windage.space.contexts import ContextKind, ContextScale, ContextSpace
from windage.space.decisions import FARTHEST, ONE_HOT, Block, DecisionSpace
from windage.space.outcome import Direction, OutcomeScale
from windage.space.parameters import (
    Array,
    Categorical,
    Decision,
    Integer,
    Parameter,
    Real,
    Value,
    refuse_beyond,
)

__all__ = [
    "FARTHEST",
    "ONE_HOT",
    "Array",
    "Block",
    "Categorical",
    "ContextKind",
    "ContextScale",
    "ContextSpace",
    "Decision",
    "DecisionSpace",
    "Direction",
    "Integer",
    "OutcomeScale",
    "Parameter",
    "Real",
    "Value",
    "check_names",
    "days",
    "number",
    "one_of",
    "plain",
    "positive",
    "refuse_beyond",
    "whole",
]
