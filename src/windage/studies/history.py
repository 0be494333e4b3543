"""What was recommended after how many observations, each computed once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from windage.studies.file import StudyFile
from windage.studies.pictures import Engine

if TYPE_CHECKING:
    from windage import Recommendation
    from windage.studies.axes import Axes
    from windage.studies.sampler import ContextSampler, Known

ALL_UNTIL, GROWTH = 12, 1.1
"""The history has every count of observations up to the first, then a tenth part more each time."""


def marks(count: int) -> list[int]:
    """The counts of observations of which the history tells."""
    found = list(range(1, min(count, ALL_UNTIL) + 1))
    while found and found[-1] < count:
        found.append(min(count, int(found[-1] * GROWTH) + 1))
    return found


class History:
    """Recommendations after so many observations, each computed once."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Recommendation] = {}

    def missing(self, sampler: ContextSampler, file: StudyFile, axes: Axes, known: Known) -> Iterator[int]:
        """Compute what is missing, one after the other; how many are still missing after each."""
        wanted = [key for key in _digests(known.observations) if key not in self._found]
        for i, (count, digest) in enumerate(wanted):
            part = replace(known, observations=known.observations[:count], pending=[], fits={})
            engine = Engine(file, axes, sampler.optimizer(axes, file.direction, part, count))
            self._found[count, digest] = engine.recommend()
            yield len(wanted) - i - 1

    def points(self, known: Known) -> dict[int, Recommendation]:
        """Those that are computed of these observations."""
        keys = _digests(known.observations)
        return {count: self._found[count, d] for count, d in keys if (count, d) in self._found}


def _digests(observations: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """The marks, each with a digest of the observations up to it."""
    wanted, running, found = set(marks(len(observations))), hashlib.sha256(), []
    for count, row in enumerate(observations, start=1):
        running.update(json.dumps(row, sort_keys=True).encode())
        if count in wanted:
            found.append((count, running.hexdigest()))
    return found
