"""Four evaluations at a time: each decision allows for those still on their way. Kept as JSON."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import windage


def simulate(trial: windage.Trial) -> tuple[windage.Trial, float, float]:
    """A slow experiment: the wind is met while it runs, and reported with the result."""
    wind = float(np.random.default_rng(trial.number).normal(5, 2))
    drift = 0.3 * wind - trial.decision["allowance"]
    return trial, wind, -(drift**2)


rifle = windage.Optimizer({"allowance": windage.Real(-5, 5)}, {"wind": windage.Real()}, seed=0, initial=4)
with ThreadPoolExecutor(4) as pool:
    for _ in range(5):
        for trial, wind, score in pool.map(simulate, rifle.ask(4)):
            rifle.tell(trial, context={"wind": wind}, value=score)

text = json.dumps(rifle.to_dict())
again = windage.Optimizer.from_dict(json.loads(text))
assert again.recommend() == rifle.recommend()
print(f"{len(again.observations)} shots; aim {again.recommend().decision['allowance']:.2f} into the wind")
