"""Variants of the default method, to see what each of its parts brings: a plugin for ``windage bench run``.

    windage bench run --suite later --seeds 0-9 --plugin benchmarks/variants.py \
        --methods auto,bq-fitted,bq-two-matern,bq-wider --jobs 2 --out results/development
"""

from __future__ import annotations

from dataclasses import replace

from windage.methods import METHODS, paper_sqrt_beta, register

DEFAULT = METHODS["bq-kde"]

register(
    replace(
        DEFAULT, name="bq-fitted", objective="as bq-kde, with the best fit of each kernel alone", members=0
    )
)
register(
    replace(
        DEFAULT,
        name="bq-two-matern",
        objective="as bq-kde, with the best fits of two Matérn kernels, equal weights and √β = 1.5",
        kernels=("matern", "matern-3/2"),
        members=0,
        sqrt_beta=paper_sqrt_beta,
    )
)
register(replace(DEFAULT, name="bq-wider", objective="as bq-kde, with √β = 1.5", sqrt_beta=paper_sqrt_beta))
