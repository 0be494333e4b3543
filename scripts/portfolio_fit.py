"""Fit the GP of the portfolio problems to windage's own table, and say how well it predicts unseen rows.

    python scripts/portfolio_fit.py

Writes ``src/windage/bench/data/portfolio.json``: the hyper-parameters come with the package, so that f is the
same function everywhere.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from windage.bench import portfolio

HELD_OUT = 600


def main() -> None:
    """Fit, check on held-out rows, write."""
    samples = portfolio.read()
    split = len(samples.y) - HELD_OUT
    part = portfolio.Samples(samples.x[:split], samples.c[:split], samples.y[:split])
    found = portfolio.fit(samples)
    f = portfolio.Portfolio.of(part, found)
    error = f(samples.x[split:], samples.c[split:]) - samples.y[split:]
    ratio = float(np.sqrt(np.mean(error**2)) / samples.y[split:].std())
    print(f"{HELD_OUT} held-out rows: root-mean-square error {ratio:.3f} of their standard deviation")
    text = json.dumps({"digest": samples.digest, "hyperparameters": found}, indent=1)
    Path(portfolio.__file__).with_name("data").joinpath("portfolio.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
