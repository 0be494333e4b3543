"""Windage as a sampler of a plain Optuna study: the context is reported before the trial ends."""

import random

import optuna

import windage
from windage.studies import ContextSampler, recommend, report_context

optuna.logging.set_verbosity(optuna.logging.WARNING)
space = {"stock": optuna.distributions.FloatDistribution(0, 40)}
sampler = ContextSampler(contexts={"demand": windage.Real(low=0)}, search_space=space, seed=7)
study = optuna.create_study(direction="maximize", sampler=sampler)


def objective(trial: optuna.Trial) -> float:
    """A day of a shop."""
    stock = trial.suggest_float("stock", 0, 40)
    demand = random.Random(trial.number).weibullvariate(12, 2)
    report_context(trial, demand=demand)
    return 9 * min(stock, demand) - 5 * stock


study.optimize(objective, n_trials=15)
best = recommend(study)  # study.best_trial is the luckiest day, not the best decision
print(f"stock {best.decision['stock']:.1f}: expect {best.expected:.1f}")
