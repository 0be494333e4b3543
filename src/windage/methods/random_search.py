"""Decisions at random, whatever is known: the baseline that every method must beat.

1. Draw x uniformly.
"""

from windage.methods.method import Method

METHOD = Method("random", "none", "nothing: decisions at random", None, uses_context=False)
