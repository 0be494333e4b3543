"""The families of the wide suite, and which half each belongs to."""

from __future__ import annotations

import re

from windage.bench.wide import classics, gp_draws, kinetics, mixed, operations, shapes
from windage.bench.wide.instance import Family, Instance, Split
from windage.errors import ConfigurationError, near_match

INSTANCES = 3
"""Of each family in the suite: the noises are three."""
FAMILIES: dict[str, Family] = {
    family.name: family
    for module in (gp_draws, classics, operations, kinetics, shapes, mixed)
    for family in module.FAMILIES
}


def problems(split: Split | None = None) -> list[str]:
    """The names of the instances of a half, or of both."""
    chosen = [family.name for family in FAMILIES.values() if split in (None, family.split)]
    return [f"{name}+{number}" for name in chosen for number in range(INSTANCES)]


def family_of(problem: str) -> Family:
    """The family of an instance's name."""
    return FAMILIES[problem.partition("+")[0]]


def instance(problem: str) -> Instance:
    """The instance of that name, such as levy+1; or a ConfigurationError."""
    name, _, number = problem.partition("+")
    if name not in FAMILIES or not re.fullmatch(r"0|[1-9][0-9]{0,5}", number):
        raise ConfigurationError(
            f"unknown problem {problem!r}: write a family and a number, such as {next(iter(FAMILIES))}+0. "
            f"The families are {', '.join(FAMILIES)}.{near_match(name, FAMILIES)}"
        )
    return FAMILIES[name].instance(int(number))
