"""Windage's sampler of a study file. It needs the engine, and no storage."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from windage.errors import ConfigurationError
from windage.studies.file import StudyFile

if TYPE_CHECKING:
    from windage.studies.sampler import ContextSampler


def file_sampler(file: StudyFile) -> ContextSampler:
    """The sampler. A ConfigurationError where the file's method or a setting is wrong."""
    from windage.studies.sampler import ContextSampler

    method, seed = file.engine_method(), file.seed
    if seed is None:  # the same for every worker and every day
        seed = int.from_bytes(hashlib.sha256(file.name.encode()).digest()[:4], "big")
    try:
        found = ContextSampler(
            file.contexts, file.space, method, seed, file.initial, file.lease, **file.settings
        )
        found.warns_of_flags = False  # windage status names them
        if file.axes.decisions:
            found.new_optimizer(file.axes, file.direction)
    except (ConfigurationError, TypeError) as error:
        raise ConfigurationError(f"{file.path}: {error}") from error
    return found
