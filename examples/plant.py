"""A plant is set each morning before the quality of its feedstock is known. Mixed decisions, two contexts.

The yield of a batch depends on temperature, number of stirrers and catalyst, and on two conditions that the
laboratory reports only after the batch: the feed's moisture and its particle size (in mm, no bounds known).
"""

import numpy as np

import windage

rng = np.random.default_rng(3)


def batch(decision: dict, moisture: float, size: float) -> float:
    """What the plant really does; windage does not see this."""
    best = 340 + 60 * moisture + (8 if decision["catalyst"] == "zinc" else 0)
    stirring = 3 * np.log(decision["stirrers"]) - 0.5 * decision["stirrers"] * size
    return 80 - 0.004 * (decision["temperature"] - best) ** 2 + stirring + rng.normal(0, 0.5)


plant = windage.Optimizer(
    decisions={
        "temperature": windage.Real(280, 420),
        "stirrers": windage.Integer(1, 6),
        "catalyst": windage.Categorical(["iron", "zinc"]),
    },
    contexts={"moisture": windage.Real(0, 1), "size": windage.Real(low=0)},
    method="drbo-kde",
    seed=1,
)
for _ in range(25):
    trial = plant.ask()
    moisture, size = rng.beta(2, 5), rng.lognormal(0, 0.4)
    plant.tell(
        trial, context={"moisture": moisture, "size": size}, value=batch(trial.decision, moisture, size)
    )

best = plant.recommend()
low, high = best.interval
print(best.decision)
print(f"expected yield {best.expected:.1f} (95 % {low:.1f} to {high:.1f}), at worst {best.worst_case:.1f}")
