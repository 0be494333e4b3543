"""One BLAS thread while the engine computes.

Sums are then in one order whatever the machine, so that results are equal in any process; and small matrices
are faster so. Most BLAS libraries have one number of threads for the whole process: asks that overlap in
several threads share one limit, which the last of them lifts. Those on OpenMP have one for each thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

_lock = Lock()
_inside = 0
_before: list[int] = []


class _Libraries(NamedTuple):
    """The BLAS libraries of NumPy and SciPy, as threadpoolctl controls them."""

    process: list[Any]
    """Those with one number of threads for the whole process."""
    thread: list[Any]
    """Those with one for each thread."""


@cache
def _libraries() -> _Libraries:
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    own = [getattr(library, "threading_layer", "") == "openmp" for library in found]
    return _Libraries(
        [library for library, alone in zip(found, own, strict=True) if not alone],
        [library for library, alone in zip(found, own, strict=True) if alone],
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread, and no floating-point warnings: the engine handles what is not finite."""
    global _inside, _before
    process, thread = _libraries()
    mine = _numbers(thread)
    _set(thread, [1] * len(thread))
    with _lock:
        if _inside == 0:
            _before = _numbers(process)
            _set(process, [1] * len(process))
        _inside += 1
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _set(process, _before)
        _set(thread, mine)


def _numbers(libraries: Sequence[Any]) -> list[int]:
    return [library.num_threads for library in libraries]


def _set(libraries: Sequence[Any], numbers: Sequence[int]) -> None:
    """Set the numbers of threads.

    From 3.8 on threadpoolctl lets only the Python thread that was the first to set one set others, and
    ignores the rest without a word: so it is made to forget which that was.
    """
    from threadpoolctl import OpenBLASController

    forget = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    forget(force=True)
    for library, number in zip(libraries, numbers, strict=True):
        library.set_num_threads(number)
    forget(force=True)
