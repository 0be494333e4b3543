"""What pictures share: names with units, numbers along an axis, and the row that a picture becomes."""

from __future__ import annotations

from windage.studies.file import StudyFile
from windage.studies.quantities import figure
from windage.web.svg import Picture

Figure = dict[str, str]


def outcome(file: StudyFile) -> str:
    """What comes out, in a few words."""
    return file.quantities["value"].description or "outcome"


def named(file: StudyFile, name: str) -> str:
    """``stock (kg)``."""
    quantity = file.quantities[name]
    label = outcome(file) if name == "value" else name
    return f"{label} ({quantity.unit})" if quantity.unit else label


def numbers(value: float) -> str:
    """How numbers along an axis are written: three digits do."""
    return figure(float(f"{value:.6g}"))


def row(key: str, group: str, picture: Picture, words: str) -> Figure:
    """A picture with its sentence."""
    return {"key": key, "group": group, "title": picture.title, "words": words, "svg": picture.svg(key)}
