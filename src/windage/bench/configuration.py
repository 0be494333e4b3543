"""What is run: suites, the configuration that a result depends on, and the single runs."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from windage import __version__
from windage.bench import portfolio, problems
from windage.errors import ConfigurationError, near_match
from windage.methods import METHODS, get_method

PAPER_PROBLEMS = (
    "ackley",
    "branin",
    "hartmann",
    "hartmann-complicated",
    "newsvendor",
    "portfolio-normal",
    "portfolio-uniform",
    "ackley-4",
)
PAPER_METHODS = ("gp-ucb", "stableopt", "drbo-mmd", "drbo-mmd-minimax", "sbo-kde", "drbo-kde")
LATER_PROBLEMS = ("ackley@0.2", "branin@0.2", "hartmann@0.2", "hartmann-complicated", "newsvendor")
FIXED = ("decisions", "contexts", "method", "direction", "seed", "budget")
"""Keywords of ``Optimizer`` that a run sets by itself."""


@dataclass(frozen=True)
class Suite:
    """A set of runs with a name."""

    summary: str
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    budget: int
    seeds: tuple[int, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


SUITES: Mapping[str, Suite] = {
    "paper": Suite(
        "the paper's eight problems and six methods",
        PAPER_PROBLEMS,
        PAPER_METHODS,
        100,
        tuple(range(100, 105)),
    ),
    "later": Suite(
        "the protocol of the later works: σ = 0.2, 5 initial decisions, 200 steps, 10 seeds",
        LATER_PROBLEMS,
        PAPER_METHODS,
        200,
        tuple(range(100, 110)),
        {"initial": 5},
    ),
    "smoke": Suite(
        "all problems and methods, 5 steps each: does everything work?",
        (*PAPER_PROBLEMS, "ackley@0.2", "branin@0.2", "hartmann@0.2"),
        PAPER_METHODS,
        5,
        (100,),
        {"initial": 3},
    ),
}


@dataclass(frozen=True)
class Configuration:
    """What the result of a run depends on, beside its problem, method and seed. Two of them never mix."""

    budget: int
    settings: Mapping[str, Any]
    """Keywords of ``Optimizer``."""
    noise: float = 0.0
    portfolio: str | None = None
    """The digest of another table of samples."""
    plugins: tuple[str, ...] = ()
    """The digests of the plugin files."""
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "settings": dict(self.settings), "plugins": list(self.plugins)}


@dataclass(frozen=True)
class Task:
    """One run: a problem, a method and a seed, under a configuration. Can be sent to another process."""

    problem: str
    method: str
    seed: int
    configuration: Configuration
    folder: str
    """The output folder."""
    portfolio_data: str | None = None
    plugins: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.problem} {self.method} {self.seed}"

    @property
    def path(self) -> Path:
        """Of the run's files, without their ending."""
        return Path(self.folder) / "runs" / self.problem / self.method / str(self.seed)

    def find_problem(self) -> problems.Problem:
        """The problem, with the plugins loaded that may define it."""
        for plugin in self.plugins:
            load_plugin(plugin)
        return problems.get(self.problem, self.configuration.noise, self.portfolio_data)


def plan(
    folder: Path,
    suite: str = "paper",
    problem_names: Sequence[str] = (),
    method_names: Sequence[str] = (),
    budget: int | None = None,
    seeds: Sequence[int] = (),
    settings: Mapping[str, Any] | None = None,
    noise: float = 0.0,
    portfolio_data: str | None = None,
    plugins: Sequence[str] = (),
) -> list[Task]:
    """The runs of a suite with changes, all checked, or a ConfigurationError."""
    if suite not in SUITES:
        raise ConfigurationError(
            f"unknown suite {suite!r}; the suites are {', '.join(SUITES)}.{near_match(suite, SUITES)}"
        )
    base = SUITES[suite]
    digests = tuple(load_plugin(path) for path in plugins)
    chosen = [problems.get(name, noise, portfolio_data) for name in problem_names or base.problems]
    names = list(method_names or base.methods)
    keywords = {**base.settings, **(settings or {})}
    wrong = next((name for name in keywords if name in FIXED), None)
    if wrong is not None:
        raise ConfigurationError(f"{wrong!r} cannot be set with --set: each run sets it by itself.")
    steps = base.budget if budget is None else budget
    if steps < 1:
        raise ConfigurationError(f"the budget must be at least 1, not {steps}.")
    table = None if portfolio_data is None else portfolio.read(portfolio_data).digest
    configuration = Configuration(steps, keywords, noise, table, digests)
    for method in names:
        get_method(method)
    for problem in chosen:
        new_optimizer(problem, names[0], 0, configuration)  # refuses a wrong setting before anything runs
    data = None if portfolio_data is None else str(Path(portfolio_data).resolve())
    files = tuple(str(Path(path).resolve()) for path in plugins)
    return [
        Task(name, method, seed, configuration, str(folder.resolve()), data, files)
        for seed in dict.fromkeys(seeds or base.seeds)  # an interrupted sweep has all problems of some seeds
        for name in dict.fromkeys(problem.name for problem in chosen)
        for method in dict.fromkeys(names)
    ]


def new_optimizer(problem: problems.Problem, method: str, seed: int, configuration: Configuration) -> Any:
    """A fresh ``Optimizer`` for a run."""
    from windage.optimizer import Optimizer

    return Optimizer(
        problem.decisions,
        problem.contexts,
        method=method,
        seed=seed,
        budget=configuration.budget,
        **configuration.settings,
    )


def parse_seeds(text: str) -> tuple[int, ...]:
    """``"100-104"``, ``"1,2,5"`` or both → the seeds."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ConfigurationError(f"seeds are given as 100-104 or 1,2,5, not {text!r}.")
        low, high = int(first), int(last or first)
        if high < low:
            raise ConfigurationError(f"the seeds {part.strip()!r} run backwards: write {high}-{low}.")
        seeds.extend(range(low, high + 1))
    return tuple(seeds)


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``["initial=5", "kernel=matern"]`` → keywords; numbers are read as numbers, none as None."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"--set takes key=value, such as --set initial=5, not {pair!r}.")
        found[name.strip()] = _value(text.strip())
    return found


def _value(text: str) -> Any:
    if text.lower() in ("none", "null"):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_loaded: dict[str, str] = {}


def load_plugin(path: str) -> str:
    """Run a Python file that registers problems or methods, once a process; its digest."""
    file = Path(path).resolve()
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigurationError(f"the plugin {path} cannot be read: {error.strerror or error}.") from None
    if _loaded.get(str(file)) == digest:
        return digest
    name = f"windage_plugin_{digest[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"the plugin {path} is not a Python file: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigurationError(f"the plugin {path} failed: {type(error).__name__}: {error}") from error
    _loaded[str(file)] = digest
    return digest


def method_order(names: Sequence[str]) -> list[str]:
    """The order of the methods' table, then any others."""
    known = [name for name in METHODS if name in names]
    return known + sorted(set(names) - set(known))
