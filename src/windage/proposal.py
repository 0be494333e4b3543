"""How a decision is proposed: from a Sobol sequence at first, then by maximising the method's acquisition.

Pure functions of what is known, the pending decisions and the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from windage.acquisition import Acquisition
from windage.contexts import Kde
from windage.errors import ConfigurationError
from windage.methods import INITIAL, Method, State
from windage.search import Maximum, Seeds, from_uniform, maximize, sobol
from windage.search.discrete import rounded
from windage.space import Array, Block, whole

KNOWN_STARTS = 32
"""How many of the best decisions so far are scored beside the raw samples."""
RETRIES = 256
"""Further points among which a first decision that is not pending is found, in a small discrete space."""


def initial_decisions(
    method: Method, blocks: tuple[Block, ...], initial: int | None, budget: int | None = None
) -> int:
    """How many first decisions come from the Sobol sequence.

    As asked for, or what the method needs and a quarter of the budget has room for. Choices, of which none
    says anything about another, need ``INITIAL``.
    """
    if initial is not None:
        return whole(initial, "initial", ConfigurationError)
    needed = INITIAL if any(block.categorical for block in blocks) else method.initial
    if budget is None:
        return needed
    return min(needed, max(1, budget // 4))


def first_decision(blocks: tuple[Block, ...], pending: Array, seeds: Seeds) -> Array:
    """The next point of the first decisions; in a small discrete space, one that is not pending."""
    shared = replace(seeds, trial=0)  # one sequence for all first decisions
    first = sobol(1, len(blocks), shared("first decisions"), skip=seeds.trial)
    more = sobol(RETRIES, len(blocks), seeds("retries"))
    points = from_uniform(np.concatenate([first, more]), blocks)
    taken = (points[:, None, :] == pending).all(axis=2).any(axis=1)
    return np.asarray(points[int(taken.argmin())])  # the first that is free, or simply the first


def random_decision(blocks: tuple[Block, ...], seeds: Seeds) -> Array:
    """Any decision, whatever is known."""
    uniform = np.random.default_rng(seeds("random decisions")).random((1, len(blocks)))
    return np.asarray(from_uniform(uniform, blocks)[0])


def with_pending(
    state: State, uses_context: bool, pending: Array, densities: Sequence[Kde | None], numbers: Sequence[int]
) -> State:
    """The state in which the pending decisions (n × d, of these numbers) have come out as expected.

    ``densities``: of the context of each, as it was known when it was asked for.
    """
    if not len(pending):
        return state
    contexts = np.zeros((len(pending), 0))
    if uses_context and state.density is not None:
        contexts = state.data.code(pending_contexts(densities, numbers, state.seeds))
    elif uses_context:
        contexts = state.data.code(np.zeros((len(pending), state.dc)))
    return replace(state, models=tuple(model.extended(pending, contexts) for model in state.models))


def pending_contexts(densities: Sequence[Kde | None], numbers: Sequence[int], seeds: Seeds) -> Array:
    """A context for each pending trial, drawn from its density; n × Dc. Each trial keeps its own."""
    own = [np.random.default_rng(replace(seeds, trial=k)("pending contexts")) for k in numbers]
    pairs = zip(densities, own, strict=True)
    return np.concatenate([kde.sample(1, generator) for kde, generator in pairs if kde is not None])


def best_decision(acquisition: Acquisition, state: State, seed: int, avoid: Array | None = None) -> Maximum:
    """The maximum of an acquisition function, apart from decisions to avoid (n × d)."""
    data, settings, blocks = state.data, state.settings, state.data.decisions.blocks
    count = 0 if settings.as_published else KNOWN_STARTS
    told = data.x[np.argsort(-data.y, kind="stable")[:count]]
    known = rounded(np.clip(told, 0, 1), blocks)  # bounds and steps may have been others when it was told
    return maximize(acquisition, blocks, settings.raw_samples, settings.restarts, seed, known, avoid)
