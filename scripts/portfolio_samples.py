"""Simulate the samples behind the portfolio problems: 3,000 settings of a trading policy, one year each.

    python -m venv portfolio-env
    portfolio-env/bin/pip install cvxportfolio==1.5.1 skfolio==1.12.2
    portfolio-env/bin/python scripts/portfolio_samples.py samples.csv [--count 3000] [--jobs 2]

The policy is that of the paper's source (Cakmak et al. 2020, after Boyd et al. 2017): single-period
optimisation of the forecast return minus risk, trading and holding cost, leverage at most 3. The prices are
real: the 20 stocks of the S&P 500 that skfolio ships. The portfolio starts the year 2014 with equal holdings
and trades weekly; the covariance is that of the weeks since 2009.

Forecasts are, as in Boyd et al., noisy views of the returns to come, a·(r + noise) with SKILL the share of
their variance that is signal; the forecaster claims BOAST times that skill. So trading pays where the spread
is narrow and ruins where it is wide. Honest forecasts (BOAST = 1) leave the policy almost without trades over
most of the box and the function flat; much better ones (SKILL = 0.024) make the lowest risk aversion the best
decision whatever the costs are.

A row is appended as soon as it is done; the same command continues an interrupted file. CVXPortfolio is under
the GPL and is used by this script alone.
"""

from __future__ import annotations

import argparse
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy: one thread a process

import cvxportfolio as cvx
import numpy as np
import pandas as pd
from scipy.stats import qmc
from skfolio.datasets import load_sp500_dataset

RANGES = {
    "risk_aversion": (0.1, 1000.0),
    "trade_aversion": (5.5, 8.0),
    "holding_multiplier": (0.1, 100.0),
    "bid_ask_spread": (1e-4, 1e-2),
    "borrow_cost": (1e-4, 1e-3),
}
"""What is varied; the table holds each scaled to [0, 1]."""
VALUE = "annual_return_percent"
HISTORY, START, END = "2009", "2014-01-01", "2014-12-31"
SKILL, BOAST = 0.006, 16.0
TRADING_DAYS = 252
WEALTH = 1e6
SOBOL_SEED, FORECAST_SEED = 2024, 2017


@cache
def market() -> tuple[cvx.UserProvidedMarketData, pd.DataFrame]:
    """The weekly market of 20 stocks with a cash account that earns nothing, and the forecasts."""
    daily = load_sp500_dataset().loc[HISTORY:END].pct_change().dropna()
    daily["cash"] = 0.0
    data = cvx.UserProvidedMarketData(
        returns=daily, cash_key="cash", trading_frequency="weekly", min_history=pd.Timedelta(days=365)
    )
    weekly = data.returns.drop(columns="cash")
    noise = np.random.default_rng(FORECAST_SEED).normal(size=weekly.shape)
    noise *= np.sqrt(weekly.var().to_numpy() * (1 / SKILL - 1))
    return data, BOAST * SKILL * (weekly + noise)


def simulate(unit: np.ndarray) -> float:
    """The annualised return in percent of the policy at a point of the unit box."""
    low, high = np.array(list(RANGES.values())).T
    risk, trade, holding, spread, borrow = low + unit * (high - low)
    fee = 100 * ((1 + borrow) ** TRADING_DAYS - 1)  # a daily rate as an annual percentage
    data, forecasts = market()

    def trading() -> cvx.TransactionCost:
        return cvx.TransactionCost(a=spread / 2, b=None)

    def short() -> cvx.HoldingCost:
        return cvx.HoldingCost(short_fees=fee)

    objective = (
        cvx.ReturnsForecast(forecasts) - risk * cvx.FullCovariance() - trade * trading() - holding * short()
    )
    policy = cvx.SinglePeriodOptimization(objective, [cvx.LeverageLimit(3)], solver="CLARABEL")
    simulator = cvx.MarketSimulator(market_data=data, costs=[trading(), short()])
    holdings = pd.Series(WEALTH / len(forecasts.columns), index=data.returns.columns)
    holdings["cash"] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simulator.backtest(policy, start_time=START, end_time=END, h=holdings)
    return 100 * float(result.annualized_average_return)


def finished(path: Path) -> int:
    """The number of whole rows in the file; a torn last one is cut off."""
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if not whole:
        whole = (",".join([*RANGES, VALUE]) + "\n").encode()
        path.write_bytes(whole)
    elif len(whole) < len(content):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return whole.count(b"\n") - 1


def main() -> None:
    """Append what is missing, in order."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    scrambled = qmc.Sobol(len(RANGES), seed=SOBOL_SEED).random_base2((arguments.count - 1).bit_length())
    points = np.round(scrambled[: arguments.count], 6)[finished(arguments.out) :]
    with arguments.out.open("a") as file, ProcessPoolExecutor(arguments.jobs) as pool:
        for point, value in zip(points, pool.map(simulate, points), strict=True):
            file.write(",".join([*(f"{u:.6f}" for u in point), f"{value:.5f}"]) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
