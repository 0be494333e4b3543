"""The portfolio's return: the posterior mean of a GP on a table of simulated years (paper, Section 4.3).

The table that comes with windage was simulated by ``scripts/portfolio_samples.py`` (``data/README.md`` says
how); another one can be given by its path. The kernel is a product over decision variables and contexts, so
that the expectation over contexts is one vector (docs/methods.md).
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np

from windage.bench.cache import cached
from windage.errors import InputError
from windage.space import Array

DECISIONS = ("risk_aversion", "trade_aversion", "holding_multiplier")
CONTEXTS = ("bid_ask_spread", "borrow_cost")
VALUE = "annual_return_percent"
COLUMNS = (*DECISIONS, *CONTEXTS, VALUE)
FIT_ROWS = 1000
"""Rows that the lengthscales are fitted to; all rows make the mean."""
KERNEL: Literal["matern"] = "matern"
HYPERPARAMETERS = ("x", "c", "noise", "mean", "log_posterior")
PAIRS = 2**19
"""Kernel values computed at a time."""
FEWEST = 20


@dataclass(frozen=True)
class Samples:
    """Decisions (t × 3) and contexts (t × 2) in the unit box, returns (t), and the digest of the three."""

    x: Array
    c: Array
    y: Array

    @cached_property
    def digest(self) -> str:
        """Of the numbers, whatever file they came from."""
        table = np.column_stack([self.x, self.c, self.y])
        return hashlib.sha256(np.ascontiguousarray(table, dtype="<f8").tobytes()).hexdigest()


def read(path: str | Path | None = None) -> Samples:
    """The table at ``path`` (CSV or Parquet with our columns, or NPZ with x, c, y), or windage's own."""
    if path is None:
        with resources.as_file(_data("portfolio.csv")) as own:
            return read(own)
    path = Path(path)
    try:
        table = _npz(path) if path.suffix == ".npz" else _columns(path)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"the table of samples {path} cannot be read: {reason}") from None
    if len(table) < FEWEST:
        raise InputError(f"the table of samples {path} has {len(table)} rows; it needs at least {FEWEST}.")
    bad = ~np.isfinite(table)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"the table of samples {path} has {int(bad.any(axis=1).sum())} rows with a number missing or not "
            f"finite, the first in row {row + 1}, column {COLUMNS[column]}. Take them out."
        )
    outside = (table[:, :-1] < 0) | (table[:, :-1] > 1)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise InputError(
            f"the table of samples {path} has {table[row, column]:g} in row {row + 1}, column "
            f"{COLUMNS[column]}: decision variables and contexts must be scaled to 0 … 1."
        )
    if np.ptp(table[:, -1]) == 0:
        raise InputError(f"the table of samples {path} has the same {VALUE} in all rows.")
    split = len(DECISIONS)
    return Samples(table[:, :split], table[:, split:-1], table[:, -1])


def _npz(path: Path) -> Array:
    with path.open("rb") as file, np.load(file) as arrays:
        missing = [name for name in ("x", "c", "y") if name not in arrays]
        if missing:
            raise InputError(
                f"the table of samples {path} has no array {', '.join(missing)}; it needs x (t × 3), "
                "c (t × 2) and y (t)."
            )
        x, c, y = (np.asarray(arrays[name], dtype=float) for name in ("x", "c", "y"))
    if (x.ndim, c.ndim, x.shape[1:], c.shape[1:]) != (2, 2, (3,), (2,)) or not len(x) == len(c) == y.size:
        raise InputError(
            f"the table of samples {path} has x {x.shape}, c {c.shape}, y {y.shape}, not t × 3, t × 2 and t."
        )
    return np.column_stack([x, c, y.reshape(-1)])


def _columns(path: Path) -> Array:
    if path.suffix == ".parquet":
        import pandas

        frame = pandas.read_parquet(path)
        _check_names(path, [str(name) for name in frame.columns])
        return np.asarray(frame[list(COLUMNS)], dtype=float)
    with path.open(encoding="utf-8-sig", newline="") as file:  # Excel writes a mark before the first name
        rows = [row for row in csv.reader(file) if row]
    names = [name.strip() for name in rows[0]] if rows else []
    _check_names(path, names)
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(names):
            raise InputError(
                f"the table of samples {path} has {len(row)} entries in row {number}, not {len(names)}."
            )
    order = [names.index(name) for name in COLUMNS]
    numbers = [[_number(row[i]) for i in order] for row in rows[1:]]
    return np.array(numbers, dtype=float).reshape(-1, len(COLUMNS))


def _check_names(path: Path, names: list[str]) -> None:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise InputError(
            f"the table of samples {path} has the columns {', '.join(names)[:200]}; it lacks "
            f"{', '.join(missing)}."
        )


def _number(text: str) -> float:
    """NaN for what is no number: it is then reported with its row."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _data(name: str) -> Any:
    return resources.files("windage.bench") / "data" / name


def fit(samples: Samples) -> dict[str, Any]:
    """The GP's hyper-parameters as plain numbers, fitted to the first ``FIT_ROWS`` rows."""
    from windage import gp
    from windage.threads import one_thread

    y = (samples.y - samples.y.mean()) / samples.y.std()
    x, c, outcome = (np.ascontiguousarray(a[:FIT_ROWS]) for a in (samples.x, samples.c, y))
    with one_thread():
        found = asdict(gp.fit(gp.Training(x, c, outcome, (0, 1, 2), KERNEL)))
    return {name: found[name] for name in HYPERPARAMETERS}


@dataclass(frozen=True)
class Portfolio:
    """(risk, trade, holding), (spread, borrowing) → annual return in percent; shapes as in ``functions``."""

    path: str | None = None

    @classmethod
    def of(cls, samples: Samples, hyperparameters: dict[str, Any]) -> Portfolio:
        """The function of a table that is not on disk, with known hyper-parameters."""
        own = cls()
        vars(own).update(samples=samples, hyperparameters=hyperparameters)
        return own

    @cached_property
    def samples(self) -> Samples:
        """The table."""
        return read(self.path)

    @cached_property
    def hyperparameters(self) -> dict[str, Any]:
        """Those that come with windage's table, or fitted once to another."""
        shipped: dict[str, Any] = json.loads(_data("portfolio.json").read_text())
        if shipped["digest"] == self.samples.digest:
            return dict(shipped["hyperparameters"])
        names = ("x", "c", "noise", "mean")
        return cached(f"portfolio-{KERNEL}-{self.samples.digest[:32]}", lambda: fit(self.samples), names)

    @cached_property
    def digest(self) -> str:
        """Of the table and of the hyper-parameters that come with it: what f depends on."""
        shipped = _data("portfolio.json").read_bytes() if self.path is None else b""
        return hashlib.sha256(self.samples.digest.encode() + shipped).hexdigest()

    def __call__(self, x: Array, c: Array) -> Array:
        """The posterior mean; leading dimensions broadcast."""
        shape = np.broadcast_shapes(x.shape[:-1], c.shape[:-1])
        pairs = [np.broadcast_to(a, (*shape, a.shape[-1])).reshape(-1, a.shape[-1]) for a in (x, c)]
        sums = [
            np.einsum("it,it,t->i", self._kernel(x, "x"), self._kernel(c, "c"), self._alpha)
            for x, c in zip(*map(self._chunks, pairs), strict=True)
        ]
        return self._outcome(np.concatenate(sums)).reshape(shape)

    def _chunks(self, rows: Array) -> list[Array]:
        """Some rows at a time (at least one part), so that the kernel values fit a cache."""
        step = max(1, PAIRS // len(self.samples.y))
        return [rows[i : i + step] for i in range(0, max(len(rows), 1), step)]

    def average(self, points: Array, weights: Array) -> Callable[[Array], Array]:
        """x (n × 3) → Σ_m w_m f(x, c_m): m + (kx ∘ Kcᵀw)·α, whatever the number of nodes."""
        nodes = zip(self._chunks(points), self._chunks(weights), strict=True)
        mass = sum((w @ self._kernel(c, "c") for c, w in nodes), np.zeros(len(self.samples.y)))
        total = float(weights.sum())

        def expected(x: Array) -> Array:
            sums = [self._kernel(some, "x") @ (mass * self._alpha) for some in self._chunks(x)]
            return self._outcome(np.concatenate(sums), total)

        return expected

    def _outcome(self, standardised: Array, total: float = 1.0) -> Array:
        y = self.samples.y
        mean: float = self.hyperparameters["mean"]
        return np.asarray(y.mean() * total + y.std() * (mean * total + standardised))

    @cached_property
    def _alpha(self) -> Array:
        """K⁻¹(y - m), on one thread so that it is the same in every process."""
        from scipy.linalg import cho_solve

        from windage.threads import one_thread

        samples, hyper = self.samples, self.hyperparameters
        y = (samples.y - samples.y.mean()) / samples.y.std() - hyper["mean"]
        covariance = self._kernel(samples.x, "x") * self._kernel(samples.c, "c")
        covariance[np.diag_indices(len(y))] += hyper["noise"]
        with one_thread():
            return np.asarray(cho_solve((np.linalg.cholesky(covariance), True), y))

    def _kernel(self, points: Array, part: str) -> Array:
        """The Matérn-5/2 kernel between points and the table, n × t, over decision variables or contexts."""
        lengthscale = np.array(self.hyperparameters[part])
        a, b = points / lengthscale, (self.samples.x if part == "x" else self.samples.c) / lengthscale
        s = -2 * a @ b.T  # squared distances ‖a‖² + ‖b‖² - 2ab; in place, as they are many
        s += (a**2).sum(axis=1)[:, None]
        s += (b**2).sum(axis=1)
        np.maximum(s, 0, out=s)
        root = np.sqrt(5 * s)
        s *= 5 / 3
        s += root
        s += 1
        s *= np.exp(-root, out=root)
        return np.asarray(s)
