"""The density that users see: of their contexts, in their units and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from windage.density.kde import Kde
from windage.errors import InputError
from windage.space import Array, ContextScale
from windage.space.parameters import check_names


class ContextDensity:
    """The estimated density of the context, in the user's units."""

    def __init__(self, kde: Kde, scale: ContextScale, names: tuple[str, ...], seed: int) -> None:
        self._kde, self._scale, self._seed = kde, scale, seed
        self.names = names

    def __repr__(self) -> str:
        return f"ContextDensity({', '.join(self.names)}; {len(self._kde.centres)} contexts)"

    @property
    def bandwidth(self) -> dict[str, float]:
        """The kernel's width for each context, in its units (in units of its logarithm if log-scaled)."""
        widths = self._kde.bandwidth.numpy() * (self._scale.high - self._scale.low)
        return dict(zip(self.names, widths.tolist(), strict=True))

    def pdf(self, c: Any) -> Any:
        """The density at contexts.

        ``c`` is a dictionary from names to a number or an array; or an array n × Dc; with a single context
        also a number or an array of n numbers. Returns a float for one context, else an array of n. Mass that
        the estimate puts beyond a stated bound sits on the bound (see ``boundary``) and is no part of it.
        """
        points, single = self._points(c)
        possible = self._scale.possible(points)
        density = np.zeros(len(points))
        units = torch.from_numpy(self._scale.to_unit(points[possible]))
        density[possible] = self._kde.pdf(units).numpy() * self._scale.jacobian(points[possible])
        return float(density[0]) if single else density

    def sample(self, n: int, seed: int | None = None) -> Array:
        """n draws from the estimated density, n × Dc, one column a context. The same seed, the same draws."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise InputError(f"n must be a whole number, 0 or more, not {n!r}.")
        generator = torch.Generator().manual_seed(self._seed if seed is None else seed)
        return self._scale.to_user(self._kde.sample(n, generator).numpy())

    def _points(self, c: Any) -> tuple[Array, bool]:
        dimensions = len(self.names)
        if isinstance(c, Mapping):
            given = check_names(c, self.names, "context")
            columns = [np.asarray(given[name], dtype=float) for name in self.names]
            single = all(column.ndim == 0 for column in columns)
            points = np.stack([np.atleast_1d(col) for col in np.broadcast_arrays(*columns)], axis=-1)
        else:
            array = np.asarray(c, dtype=float)
            single = array.ndim == 0 or (array.ndim == 1 and dimensions > 1)
            points = array.reshape(-1, dimensions) if array.size % dimensions == 0 else array
        if points.ndim != 2 or points.shape[1] != dimensions or not np.isfinite(points).all():
            names = ", ".join(self.names)
            raise InputError(f"contexts must be finite numbers, n × {dimensions} ({names}); got {c!r}.")
        return points, single
