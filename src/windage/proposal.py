"""How a decision is proposed: from the Sobol sequence at first, then by maximising the method's acquisition.

Pure functions of the evidence, the pending decisions and a seed; each purpose has a random stream of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from windage.combined import MeanBound
from windage.density import Kde, sobol
from windage.errors import ConfigurationError
from windage.evidence import Evidence
from windage.maximize import from_uniform, maximize
from windage.methods import Method, Situation
from windage.nearby import best_nearby
from windage.space import Block, whole
from windage.surrogate import ProductGP

INITIAL = 10
"""Decisions from the Sobol sequence before the model is asked (paper, Section 4)."""
KNOWN_STARTS = 32
"""How many of the best decisions so far are scored beside the raw samples."""
_STREAMS = {"sobol": 0, "ask": 1, "pending": 2, "retry": 3, "recommend": 4, "density": 5, "members": 6}


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums in one order, whatever the machine: results are then equal in any process."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(False):  # gradients are needed, wherever we are called from
            yield
    finally:
        torch.set_num_threads(threads)


def stream(seed: int, purpose: str, index: int = 0) -> int:
    """A seed of its own for each purpose and trial."""
    return int(np.random.SeedSequence([seed, _STREAMS[purpose], index]).generate_state(1)[0])


def initial_decisions(
    method: Method, blocks: tuple[Block, ...], initial: int | None, budget: int | None = None
) -> int:
    """How many first decisions come from the Sobol sequence: as asked for, or what the method needs and the
    budget has room for. What it needs among choices, of which none tells about another, is ``INITIAL``."""
    if initial is not None:
        return whole(initial, "initial", ConfigurationError)
    own = None if any(block.categorical for block in blocks) else method.initial
    needed = INITIAL if own is None else own
    if budget is None:
        return needed
    return min(needed, max(1, whole(budget, "budget", ConfigurationError, 1) // 4))


def first_decision(
    blocks: tuple[Block, ...], waiting: Tensor, seed: int, index: int, inside: int = 0
) -> Tensor:
    """The index-th point of the first decisions; in a small discrete space, one that is not pending.

    ``inside``: of how many it is one, if they are to keep off the ends of each range; 0 if they need not.
    """
    first = sobol(1, len(blocks), stream(seed, "sobol"), skip=index)
    if inside:
        first = off_the_ends(first, blocks, max(inside, index + 1))
    more = sobol(256, len(blocks), stream(seed, "retry", index))
    points = from_uniform(torch.cat([first, more]), blocks)
    taken = (points[:, None, :] == waiting).all(dim=2).any(dim=1)
    return points[int(taken.int().argmin())]  # the first that is free, or simply the first


def off_the_ends(u: Tensor, blocks: tuple[Block, ...], count: int) -> Tensor:
    """Uniform numbers, n × decisions, drawn to the middle of each range: 1/2 + (1 - 1/count)(u - 1/2).

    Of so many decisions spread over a range each stands for a ``count``-th of it, and in the middle of such a
    part none is closer to an end than half a part. At an end a look tells about one side only, and where the
    best decision may be anywhere, what is far from the middle is far from it on average. Choices have no
    middle and stay.
    """
    factor = u.new_tensor([1.0 if block.categorical else 1 - 1 / count for block in blocks])
    return 0.5 + factor * (u - 0.5)


def random_decision(blocks: tuple[Block, ...], seed: int, index: int) -> Tensor:
    """Any decision, whatever is known."""
    generator = torch.Generator().manual_seed(stream(seed, "ask", index))
    return from_uniform(torch.rand(1, len(blocks), generator=generator, dtype=torch.double), blocks)[0]


def next_decision(
    method: Method,
    models: Sequence[ProductGP],
    evidence: Evidence,
    waiting: Tensor,
    numbers: Sequence[int],
    seed: int,
    index: int,
) -> Tensor:
    """The maximum of the acquisition, allowing for the pending decisions (n × d, of these numbers)."""
    assert method.build is not None
    data = models[0].data
    known = data.x[data.y.argsort(descending=True, stable=True)[:KNOWN_STARTS]]
    if len(waiting):
        law = evidence.kde if method.uses_context else None
        imagined = imagined_contexts(law, numbers, seed)
        models = [model.extended(waiting, imagined) for model in models]
    settings = evidence.settings
    own = stream(seed, "ask", index)
    first, *others = models
    sqrt_beta = method.sqrt_beta(len(evidence.decisions.blocks))
    situation = Situation(first, evidence.law_contexts, evidence.kde, settings, own, tuple(others), sqrt_beta)
    acquisition = method.build(situation)
    blocks = evidence.decisions.blocks
    top = maximize(acquisition, blocks, settings.raw_samples, settings.restarts, own, known, waiting)
    other = method.elsewhere(situation, acquisition, top.point, blocks) if method.elsewhere else None
    if other is not None:
        return other
    if not data.grain:
        return top.point
    assert isinstance(acquisition, MeanBound)
    return best_nearby(acquisition, top.point, waiting, own)


def imagined_contexts(kde: Kde | None, numbers: Sequence[int], seed: int) -> Tensor:
    """A context for each pending trial, drawn from the density; n × Dc."""
    if kde is None:
        return torch.zeros(len(numbers), 0, dtype=torch.double)
    generators = [torch.Generator().manual_seed(stream(seed, "pending", k)) for k in numbers]
    return torch.cat([kde.sample(1, generator) for generator in generators])
