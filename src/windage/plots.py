"""Pictures of one decision variable and one context of a study: matplotlib, readable in grey."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from windage.errors import InputError, missing_extra, near_match
from windage.space import Array, Categorical, Real

if TYPE_CHECKING:
    from windage import Optimizer

INK, SOFT, BAND, PALE = "#1f3a5f", "#8a8f98", "#c9d6e8", "#e4e4e0"
ACCENT = "#c2571a"


def pyplot() -> Any:
    """matplotlib, without a window, or an error that says how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise missing_extra("matplotlib", "plots", "a picture") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def _check(name: str, known: Iterable[str], what: str) -> None:
    """An InputError where a picture cannot be drawn of this name."""
    names = list(known)
    if name not in names:
        there = f"there is {', '.join(map(repr, names))}" if names else "this study has none"
        raise InputError(f"the picture needs a {what}, not {name!r}; {there}.{near_match(name, names)}")


def _real_decisions(optimizer: Optimizer) -> list[str]:
    return [name for name, parameter in optimizer.decisions.items() if isinstance(parameter, Real)]


def _levels(axes: Any, optimizer: Optimizer, context: str) -> None:
    """The shares of whole numbers or choices seen, and their estimated probabilities."""
    kind, told = optimizer.contexts[context], [row[context] for row in optimizer.observations.contexts]
    seen = [value for value in told if value is not None]
    levels = kind.choices if isinstance(kind, Categorical) else sorted(set(seen))
    places = np.arange(len(levels))
    axes.bar(
        places, [seen.count(level) / len(seen) for level in levels], color=PALE, label=f"{len(seen)} seen"
    )
    chances = optimizer.density.marginal(context).pdf(list(levels))
    axes.plot(places, chances, "o", color=INK, label="estimated")
    axes.set_xticks(places, [str(level) for level in levels])
    axes.set_xlabel(context)
    axes.legend(frameon=False)


def density(
    axes: Any, optimizer: Optimizer, context: str, truth: Callable[[Array], Array] | None = None
) -> None:
    """The contexts seen, their estimated density, and the true one where it is known."""
    _check(context, optimizer.contexts, "context")
    marginal, kind = optimizer.density.marginal(context), optimizer.contexts[context]
    if not isinstance(kind, Real):
        _levels(axes, optimizer, context)
        return
    seen = optimizer.observations.context_array((context,))[:, 0]
    seen = seen[~np.isnan(seen)]
    reach = 4 * marginal.bandwidth[context] if not kind.log else 0.1 * np.ptp(seen)
    line = np.linspace(seen.min() - reach, seen.max() + reach, 400)
    estimate = marginal.pdf(line)
    inside = line[estimate > 0]
    bins = min(20, 5 + len(seen) // 4)
    axes.hist(seen, bins=bins, density=True, color=PALE, edgecolor="white", label=f"{len(seen)} seen")
    axes.plot(seen, np.zeros_like(seen), "|", color=SOFT, markersize=9, clip_on=False)
    axes.plot(inside, estimate[estimate > 0], color=INK, linewidth=2, label="estimated")
    if truth is not None:
        axes.plot(inside, truth(inside), color=ACCENT, linewidth=1.2, linestyle="--", label="true")
    axes.legend(framealpha=0.85, edgecolor="none", fontsize="small")
    axes.set(xlabel=context, ylabel="density", ylim=(0, None))
    axes.set_title(f"Density of {context}", loc="left")


def expectation(
    axes: Any,
    optimizer: Optimizer,
    decision: str,
    outcome: str = "value",
    truth: Callable[[Array], Array] | None = None,
) -> None:
    """The expected outcome over one decision variable with its 95 % band; the others as recommended."""
    _check(decision, _real_decisions(optimizer), "Real decision variable")
    best, parameter = optimizer.recommend(), optimizer.decisions[decision]
    assert isinstance(parameter, Real)
    line = np.linspace(float(parameter.low or 0), float(parameter.high or 0), 200)
    found = optimizer.predict([{**best.decision, decision: float(v)} for v in line])
    low, high = np.array([p.interval for p in found]).T
    axes.fill_between(line, low, high, color=BAND, label="95 % interval")
    axes.plot(line, [p.expected for p in found], color=INK, linewidth=2, label=f"expected {outcome}")
    if truth is not None:
        true = truth(line)
        axes.plot(line, true, color=ACCENT, linewidth=1.2, linestyle="--", label="true expectation")
        axes.plot(line[true.argmax()], true.max(), "x", color=ACCENT, markersize=9, label="true optimum")
    values = np.array(optimizer.observations.values)
    taken = np.array([d[decision] for d in optimizer.observations.decisions], dtype=float)
    axes.plot(taken, values, ".", color=SOFT, markersize=5, label="single results")
    here = float(best.decision[decision])
    axes.plot([here], [best.expected], "o", color=INK, markersize=9, label=f"recommended: {here:.3g}")
    axes.legend(framealpha=0.85, edgecolor="none", loc="best", fontsize="small")
    axes.set(xlabel=decision, ylabel=outcome)
    axes.set_title(f"Expected {outcome} over {decision}", loc="left")


def overview(
    optimizer: Optimizer,
    decision: str,
    context: str,
    path: str,
    outcome: str = "value",
    true_density: Callable[[Array], Array] | None = None,
    true_expectation: Callable[[Array], Array] | None = None,
) -> None:
    """Both pictures side by side, written to ``path`` (PNG, PDF or SVG by its ending).

    Raises:
        InputError: ``decision`` is no Real decision variable, or ``context`` no context, of this study.
    """
    _check(context, optimizer.contexts, "context")
    _check(decision, _real_decisions(optimizer), "Real decision variable")
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    density(left, optimizer, context, true_density)
    expectation(right, optimizer, decision, outcome, true_expectation)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
