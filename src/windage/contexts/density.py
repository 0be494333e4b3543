"""The density that users see: of their contexts, in their units and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from windage.contexts.kde import Kde
from windage.errors import InputError, near_match
from windage.space import Array, Categorical, ContextScale, whole
from windage.space.checks import check_names


class ContextDensity:
    """The estimated density of the context, in the user's units."""

    def __init__(self, kde: Kde, scale: ContextScale, names: tuple[str, ...], seed: int) -> None:
        self._kde, self._scale, self._seed = kde, scale, seed
        self.names = names

    def __repr__(self) -> str:
        return f"ContextDensity({', '.join(self.names)}; {len(self._kde.centres)} contexts)"

    @property
    def bandwidth(self) -> dict[str, float]:
        """The kernel's width for each context, in its units (in units of its logarithm if log-scaled).

        Of a choice, the probability that the kernel puts on other levels.
        """
        widths = self._kde.bandwidth * (self._scale.high - self._scale.low)
        return dict(zip(self.names, widths.tolist(), strict=True))

    def marginal(self, name: str) -> ContextDensity:
        """The density of one context alone."""
        if name not in self.names:
            known = ", ".join(map(repr, self.names))
            raise InputError(
                f"unknown context {name!r}; the names are {known}.{near_match(name, self.names)}"
            )
        d = self.names.index(name)
        return ContextDensity(self._kde.marginal(d), self._scale.marginal(d), (name,), self._seed)

    @np.errstate(all="ignore")
    def pdf(self, c: Any) -> Any:
        """The density at contexts.

        ``c`` is a dictionary from names to a number or an array; or an array n × Dc; with a single context
        also a number or an array of n numbers. Returns a float for one context, else an array of n. Mass that
        the estimate puts beyond a stated bound sits on the bound (see ``boundary``) and is no part of it.
        Whole numbers and choices have probabilities in place of a density.
        """
        points, single = self._points(c)
        possible = self._scale.possible(points)
        density = np.zeros(len(points))
        units = self._scale.to_unit(points[possible])
        density[possible] = self._kde.pdf(units) * self._scale.jacobian(points[possible])
        return float(density[0]) if single else density

    @np.errstate(all="ignore")
    def sample(self, n: int, seed: int | None = None) -> Array:
        """n draws from the estimated density, n × Dc, one column a context. The same seed, the same draws.

        With choices among the contexts it is an array of objects, which holds their levels.
        """
        own = self._seed if seed is None else whole(seed, "seed")
        draws = self._kde.sample(whole(n, "n"), np.random.default_rng(own))
        found = self._scale.to_user(draws, clip=self._kde.boundary != "none")
        choices = [(d, p) for d, p in enumerate(self._scale.parameters) if isinstance(p, Categorical)]
        if not choices:
            return found
        named: Any = found.astype(object)
        for d, parameter in choices:
            named[:, d] = [parameter.choices[int(place)] for place in found[:, d]]
        return np.asarray(named)

    def _points(self, c: Any) -> tuple[Array, bool]:
        dimensions = len(self.names)
        try:
            if isinstance(c, Mapping):
                given = check_names(c, self.names, "context")
                columns = np.broadcast_arrays(*(self._places(d, given[n]) for d, n in enumerate(self.names)))
                single = columns[0].ndim == 0
                points = np.stack([np.atleast_1d(column) for column in columns], axis=-1)
            else:
                points = self._places(0, c) if dimensions == 1 else np.asarray(c, dtype=float)
                single = points.ndim == 0 or (points.ndim == 1 and dimensions > 1)
                points = points.reshape(-1, 1) if dimensions == 1 and points.ndim < 2 else points
                points = points[None] if points.ndim == 1 else points
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise self._refusal(c) from error
        if points.ndim != 2 or points.shape[1] != dimensions or not np.isfinite(points).all():
            raise self._refusal(c)
        return points, single

    def _places(self, d: int, given: Any) -> Array:
        """Values of one context in numbers: levels of a choice by their places."""
        parameter = self._scale.parameters[d]
        if not isinstance(parameter, Categorical):
            return np.asarray(given, dtype=float)
        levels, label = np.asarray(given, dtype=object), f"context {self.names[d]!r}"
        places = [parameter.choices.index(parameter.check(level, label)) for level in levels.reshape(-1)]
        return np.array(places, dtype=float).reshape(levels.shape)

    def _refusal(self, c: Any) -> InputError:
        names = ", ".join(self.names)
        shown = repr(c) if len(repr(c)) < 60 else f"an array of shape {np.shape(c)}"
        return InputError(f"contexts must be finite numbers, n × {len(self.names)} ({names}); got {shown}.")
