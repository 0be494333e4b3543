"""Mistakes that an editor should show: mypy has an error at each line that says so, and at no other."""

from windage import Optimizer, Real

space = {"x": Real(0, 1)}
contexts = {"c": Real()}

Optimizer(space, contexts, restart=5)  # wrong
Optimizer(space, contexts, sqrt_bta=2.0)  # wrong
Optimizer(space, contexts, method="sbo-kd")  # wrong
Optimizer(space, contexts, method="kg-kde")  # wrong
Optimizer(space, contexts, direction="max")  # wrong
Optimizer(space, contexts, "sbo-kde", "maximise")  # wrong
Optimizer(space, contexts, sqrt_beta="theorm")  # wrong
Optimizer(space, contexts, samples="cells")  # wrong
Optimizer(space, contexts, bandwidth="scott")  # wrong
Optimizer(space, contexts, boundary="wrap")  # wrong
Optimizer(space, contexts, kernel="mattern")  # wrong
Optimizer(space, contexts, members=2.5)  # wrong
Optimizer(space, contexts, seed="seven")  # wrong
Optimizer(space, {"c": (0, 3)})  # wrong
Optimizer()  # wrong

opt = Optimizer(space, contexts)
opt.ask("3")  # wrong
print(opt.ask().choice)  # wrong
opt.tell(opt.ask(), "high", 1.0)  # wrong
opt.tell(opt.ask(), {"c": 1.0}, "12")  # wrong
print(opt.recommend().mean)  # wrong
assert opt.recommend().criterion == "mean"  # wrong
opt.predict(0.5)  # wrong
Real(0, 1, outside="cut")  # wrong
