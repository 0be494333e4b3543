"""The decision variables of a study, and the coding of decisions as points of a unit box.

One coordinate for a real or an integer, k coordinates (a scaled one-hot vector) for a categorical with k
choices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windage.errors import ConfigurationError
from windage.space.checks import check_names
from windage.space.parameters import (
    Array,
    Categorical,
    Decision,
    Integer,
    Parameter,
    Real,
    check_space,
)

ONE_HOT = math.sqrt(0.5)
"""Height of a one-hot coordinate: two different choices are then at distance 1."""
FARTHEST = 1e6
"""Of the unit box: what lies further out is no less like the rest, and its square must not overflow."""


@dataclass(frozen=True)
class Block:
    """The coordinates of one decision variable. ``levels``: 0 for a real, else how many values."""

    start: int
    stop: int
    levels: int
    categorical: bool


@dataclass(frozen=True)
class DecisionSpace:
    """The decision variables by name, and the coding of decisions as points of a unit box."""

    parameters: Mapping[str, Parameter]

    @classmethod
    def of(cls, decisions: object) -> DecisionSpace:
        """The checked space, or a ConfigurationError."""
        parameters = check_space(decisions, "decision", (Real, Integer, Categorical))
        if not parameters:
            raise ConfigurationError(
                "there are no decisions: give at least one variable, such as {'stock': Real(0, 1)}."
            )
        for name, parameter in parameters.items():
            if isinstance(parameter, Real):
                if parameter.low is None or parameter.high is None:
                    raise ConfigurationError(
                        f"decision variable {name!r} needs both bounds: Real(low, high)."
                    )
                if parameter.outside != "error":
                    raise ConfigurationError(
                        f'decision variable {name!r}: outside="clip" is for contexts; leave it out.'
                    )
        return cls(parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the user's order."""
        return tuple(self.parameters)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Where each decision variable lies in the unit box."""
        blocks: list[Block] = []
        start = 0
        for parameter in self.parameters.values():
            if isinstance(parameter, Categorical):
                width, levels = len(parameter.choices), len(parameter.choices)
            else:
                width = 1
                levels = parameter.high - parameter.low + 1 if isinstance(parameter, Integer) else 0
            blocks.append(Block(start, start + width, levels, isinstance(parameter, Categorical)))
            start += width
        return tuple(blocks)

    def check(self, decision: object) -> dict[str, Any]:
        """The decision in the user's order and types, or an InputError."""
        given = check_names(decision, self.names, "decision")
        return {
            name: p.check(given[name], f"decision variable {name!r}") for name, p in self.parameters.items()
        }

    def recall(self, decision: object) -> dict[str, Any]:
        """A decision of the past: bounds and steps may have been others then. Or an InputError."""
        given = check_names(decision, self.names, "decision")
        return {
            name: p.recall(given[name], f"decision variable {name!r}") for name, p in self.parameters.items()
        }

    def encode(self, decisions: Sequence[Decision]) -> Array:
        """Points of the unit box, n × d; outside of it where a past decision is outside of its bounds."""
        points = np.zeros((len(decisions), self.blocks[-1].stop))
        for (name, parameter), block in zip(self.parameters.items(), self.blocks, strict=True):
            column = [decision[name] for decision in decisions]
            if isinstance(parameter, Categorical):
                for row, choice in enumerate(column):
                    points[row, block.start + parameter.choices.index(choice)] = ONE_HOT
            else:
                values = np.asarray(column, dtype=float)
                low, high = _ends(parameter)
                warped = parameter.warp(values) if isinstance(parameter, Real) else values
                inside = (values >= parameter.low) & (values <= parameter.high)
                ends = np.where(inside, 0.0, -FARTHEST), np.where(inside, 1.0, FARTHEST)
                points[:, block.start] = np.clip((warped - low) / (high - low), *ends)
        return points

    def decode(self, point: Array) -> dict[str, Any]:
        """The decision at a point of the unit box (the nearest one, for integers and choices)."""
        decision: dict[str, Any] = {}
        for (name, parameter), block in zip(self.parameters.items(), self.blocks, strict=True):
            if isinstance(parameter, Categorical):
                decision[name] = parameter.choices[int(np.argmax(point[block.start : block.stop]))]
                continue
            low, high = _ends(parameter)
            warped = np.asarray(low + (high - low) * float(np.clip(point[block.start], 0, 1)))
            if isinstance(parameter, Integer):
                decision[name] = round(float(warped))
            else:
                decision[name] = float(parameter.unwarp(warped))
        return decision


def _ends(parameter: Real | Integer) -> tuple[float, float]:
    if isinstance(parameter, Integer):
        return float(parameter.low), float(parameter.high)
    return parameter.box(np.empty(0))
