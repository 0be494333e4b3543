"""How a person at an editor uses windage. mypy --strict has nothing to say to it."""

from collections.abc import Sequence
from typing import Literal, assert_type

import windage
from windage import Categorical, Integer, Observations, Optimizer, Prediction, Real, Recommendation, Trial
from windage.methods import METHODS, Method

opt = Optimizer(
    {"x": Real(0, 1), "n": Integer(1, 9), "kind": Categorical(["a", "b"])},
    {"demand": Real(low=0)},
    method="sbo-kde",
    direction="minimize",
    sqrt_beta=2.0,
    seed=7,
)
Optimizer(
    decisions={"x": Real(0, 1)}, contexts={"c": Real()}, method="drbo-kde", sqrt_beta="theorem", radius=1
)
Optimizer({"x": Real(0, 1)}, {"c": Real()}, bandwidth=0.1, boundary="reflect", kernel="matern", members=4)
Optimizer({"x": Real(0, 1)}, {"c": Real()}, "sbo-kde", samples="nodes", bandwidth="isj", initial=3, budget=40)
Optimizer({"x": Real(0, 1)}, method="gp-ucb")
Optimizer({"x": Real(0, 1)}, {"c": Real()}, method=METHODS["auto"])

trial = opt.ask()
assert_type(trial, Trial)
assert_type(opt.ask(3), list[Trial])
outcome: float = trial.decision["x"] * 2 + 1
larger: bool = trial.decision["n"] ** 2 >= 4
label: str = "kind " + trial.decision["kind"]
opt.tell(trial, context={"demand": 3.5}, value=outcome)
opt.tell({"x": 0.5, "n": 2, "kind": "a"}, context={"demand": 4}, value=1)
opt.tell({**trial.decision, "x": 0.25}, {"demand": 3.0}, 1.5)
opt.tell({**trial.decision, "x": 0.75}, {"demand": None}, 1.5)

best = opt.recommend()
assert_type(best, Recommendation)
assert_type(best.expected, float)
assert_type(best.interval, tuple[float, float])
assert_type(best.worst_case, float)
assert_type(best.note, str)
assert_type(best.criterion, Literal["expected", "worst_case"])
half: float = best.decision["x"] / 2
low, high = best.interval
width: float = high - low

assert_type(opt.predict(best.decision), Prediction)
assert_type(opt.predict({"x": 0.5, "n": 2, "kind": "a"}), Prediction)
assert_type(opt.predict([best.decision, {"x": 0.5, "n": 2, "kind": "a"}]), list[Prediction])


def spread(found: Sequence[Prediction]) -> float:
    return max(p.expected for p in found) - min(p.expected for p in found)


assert_type(spread(opt.predict([best.decision])), float)
assert_type(opt.observations, Observations)
assert_type(opt.observations.values, tuple[float, ...])
assert_type(opt.pending, tuple[Trial, ...])
assert_type(Optimizer.from_dict(opt.to_dict()), Optimizer)
method: Method = METHODS["auto"]
error: type[Exception] = windage.WindageError
