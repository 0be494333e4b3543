"""What each part of ``auto`` brings: each is taken away in turn, on the development half of the wide suite.

    python benchmarks/ablation.py results/ablation --seeds 0-1 --jobs 2

prints a table, and continues what was stopped. A variant that changes a constant of the engine needs
processes of its own. So each is a sweep for itself, with this file as plugin and the variant's name in the
environment. As a plugin of ``windage bench wide`` it also has ``interim``, the default before this one.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from windage import prediction
from windage.acquisition import ExpectedBound, MixtureBound
from windage.contexts import Nodes
from windage.gp import KERNELS, Hyperparameters, LogPosterior, ProductGP, ensemble, priors
from windage.methods import METHODS, Method, register
from windage.methods.auto import METHOD
from windage.space import Array

VARIANT = "WINDAGE_VARIANT"
"""The environment variable with the variant's name."""


def _constants(module: object, **values: float) -> Callable[[], None]:
    return lambda: vars(module).update(values)


def _hamiltonian() -> None:
    ensemble._draws = hamiltonian_draws  # type: ignore[assignment]


def hamiltonian_draws(
    model: ProductGP,
    count: int,
    rng: np.random.Generator,
    rounds: int = 4,
    steps: int = 6,
    step: float = 0.35,
) -> list[ProductGP]:
    """Laplace's draws, each moved by a few rounds of Hamiltonian Monte Carlo (Neal 2011)."""
    target = LogPosterior(model.data)
    centre = target.theta(model.hyperparameters)
    spread = ensemble.laplace(model.hyperparameters, len(centre)) + 1e-6 * np.eye(len(centre))
    low, high = target.bounds

    def at(u: Array) -> tuple[float, Array]:
        theta = centre + spread @ u
        if (theta < low).any() or (theta > high).any():
            return -math.inf, np.zeros_like(u)
        found = target(theta)
        return found.value, spread.T @ found.gradient

    drawn = []
    for u in rng.standard_normal((count, len(centre))):
        u, (value, slope) = (u, at(u)) if math.isfinite(at(u)[0]) else (0 * u, at(0 * u))
        for _ in range(rounds):
            momentum = rng.standard_normal(len(u))
            before, new, new_value, new_slope = value - 0.5 * momentum @ momentum, u, value, slope
            for _ in range(steps):
                momentum = momentum + 0.5 * step * new_slope
                new = new + step * momentum
                new_value, new_slope = at(new)
                momentum = momentum + 0.5 * step * new_slope
            if math.log(rng.random()) < new_value - 0.5 * momentum @ momentum - before:
                u, value, slope = new, new_value, new_slope
        drawn.append(ensemble._with(model, target, np.clip(centre + spread @ u, low, high)))
    return drawn


def _capped() -> None:
    whole = ensemble.laplace

    def laplace(hyper: Hyperparameters, size: int) -> Array:
        found = whole(hyper, size)
        widths = np.sqrt((found**2).sum(axis=0))
        return found * np.minimum(1, 1 / np.maximum(widths, 1e-300))

    ensemble.laplace = laplace


def _nothing() -> None:
    pass


def _bound(sqrt_beta: float) -> Method:
    return replace(METHOD, sqrt_beta=lambda dx: sqrt_beta)


def _mean_of_bounds(state):
    return ExpectedBound(state.models, state.deterministic_nodes(), state.sqrt_beta)


def _contexts_seen(state):
    return MixtureBound(state.models, Nodes.equal(state.data.boxed_c), state.sqrt_beta)


VARIANTS: dict[str, tuple[str, Method, Callable[[], None]]] = {
    "no-draws": ("one GP, fitted with the same priors", replace(METHOD, members=1), _nothing),
    "no-ensemble": ("one GP, fitted with BoTorch's priors", replace(METHOD, members=0), _nothing),
    "four-members": ("four members", replace(METHOD, members=4), _nothing),
    "four-kernels": ("four kernels", replace(METHOD, kernels=KERNELS), _nothing),
    "mean-of-bounds": ("the mean of the members' bounds", replace(METHOD, build=_mean_of_bounds), _nothing),
    "contexts-seen": ("no KDE: the contexts seen", replace(METHOD, build=_contexts_seen), _nothing),
    "untied": ("lengthscales not tied", METHOD, _constants(priors, OWN=0.999 * priors.COMMON)),
    "wide-prior": (
        "lengthscales not tied, BoTorch's width",
        METHOD,
        _constants(priors, COMMON=math.sqrt(3), OWN=0.999 * math.sqrt(3)),
    ),
    "cap": ("a cap on the draws, variance 1", METHOD, _capped),
    "hmc": ("draws moved by Hamiltonian Monte Carlo", METHOD, _hamiltonian),
    "many-degrees": ("t - 1 degrees of freedom", METHOD, _constants(prediction, FREEDOM=10**6)),
    "ten-first": ("ten first decisions", METHOD, _nothing),
    "bound-1": ("√β = 1", _bound(1.0), _nothing),
    "bound-2": ("√β = 2, as with aim=learn", _bound(2.0), _nothing),
    "bound-3": ("√β = 3", _bound(3.0), _nothing),
}
"""Name → in words, the method, and what changes in the engine."""
SETTINGS = {"ten-first": ["--set", "initial=10"]}


def _register() -> None:
    """The variant that the environment names, and the default before this one."""
    if "interim" not in METHODS:
        third = replace(METHODS["bq-kde"], name="interim", initial=4, sqrt_beta=lambda dx: min(dx / 3, 5 / 3))
        register(third)
    name = os.environ.get(VARIANT)
    if name in VARIANTS and name not in METHODS:
        _, method, change = VARIANTS[name]
        change()
        register(replace(method, name=name))


def main() -> None:
    """Run what is left, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", default="0-1")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--budget", default="80")
    parser.add_argument("--problems", help="only these, with commas")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    given = parser.parse_args()
    common = ["--out", str(given.out), "--seeds", given.seeds, "--jobs", given.jobs, "--plugin", __file__]
    common += ["--budget", given.budget, *(["--problems", given.problems] if given.problems else [])]
    wide = [sys.executable, "-m", "windage.cli", "bench", "wide", *common]
    for name in ("auto", *given.variants.split(",")):
        command = [*wide, "--methods", name, "--against", "auto", *SETTINGS.get(name, [])]
        done = subprocess.run(
            command, env={**os.environ, VARIANT: name}, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode > 1:  # 1: a run failed, and the others went on
            sys.exit(done.returncode)
    from windage.bench.display import show
    from windage.bench.wide import scores, sweep

    names = ["auto", *given.variants.split(",")]
    for sheet in scores.sheets(sweep.read(given.out), names, ["auto"]):
        show(sheet, given.out)


if __name__ == "__main__":
    main()
else:
    _register()
