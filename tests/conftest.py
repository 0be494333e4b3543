"""One thread, hypothesis without its clock, and a cache of our own: the same cases on every machine."""

import os
import tempfile

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile(
    "windage", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("windage")


def pytest_configure(config: pytest.Config) -> None:
    """Optima are computed once a test run and shared by its processes, never taken from the user's cache."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="windage-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["WINDAGE_CACHE"] = folder.name
