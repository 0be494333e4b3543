"""Variants of the default method, to see what each of its parts brings: a plugin for ``windage bench run``.

    windage bench run --suite later --seeds 0-9 --plugin benchmarks/variants.py \
        --methods auto,kg-without-logs,kg-without-look,bq-two-matern --jobs 2 --out results/development
"""

from __future__ import annotations

from dataclasses import replace

from windage.methods import BEST, METHODS, register
from windage.schedules import paper_sqrt_beta, steep_sqrt_beta

register(
    replace(
        METHODS["bq-kde"],
        name="kg-without-look",
        objective="as kg-kde, without the gain of a look",
        sqrt_beta=steep_sqrt_beta,
        logs=True,
    )
)
register(
    replace(
        METHODS[BEST],
        name="kg-without-logs",
        objective="as kg-kde, with outcomes as they are",
        logs=False,
    )
)
register(
    replace(
        METHODS[BEST],
        name="kg-fitted",
        objective="as kg-kde, with the best fit of each kernel alone, equal weights",
        members=0,
    )
)
register(
    replace(
        METHODS["bq-kde"],
        name="bq-two-matern",
        objective="as bq-kde, with the best fits of two Matérn kernels, equal weights and √β = 1.5",
        kernels=("matern", "matern-3/2"),
        members=0,
        sqrt_beta=paper_sqrt_beta,
    )
)
