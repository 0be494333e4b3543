"""What is run: suites, the configuration that a result depends on, and the single runs."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windage import __version__
from windage.bench import portfolio, problems
from windage.bench.checks import file_name
from windage.errors import ConfigurationError, near_match
from windage.methods import INITIAL, METHODS, get_method

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
MOST_SEEDS = 10_000
ENGINE = "numpy"
"""What computed the decisions: another one's are not the same to the last bit."""
FIXED = ("decisions", "contexts", "method", "direction", "seed", "budget")
"""Keywords of ``Optimizer`` that a run sets by itself."""


@dataclass(frozen=True)
class Suite:
    """A set of runs with a name."""

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    budget: int
    seeds: tuple[int, ...]
    initial: int | None = None
    """The first decisions of the methods without a number of their own; None: as windage has it."""


SUITES: Mapping[str, Suite] = {
    "paper": Suite(PAPER_PROBLEMS, PAPER_METHODS, 100, tuple(range(100, 105))),
    # the protocol of the later works: wider distributions, 5 first decisions of the methods they compare
    "later": Suite(
        LATER_PROBLEMS,
        PAPER_METHODS,
        200,
        tuple(range(100, 110)),
        initial=5,
    ),
    # does everything work?
    "smoke": Suite(
        (*PAPER_PROBLEMS, "ackley@0.2", "branin@0.2", "hartmann@0.2"),
        PAPER_METHODS,
        5,
        (100,),
        initial=3,
    ),
}


@dataclass(frozen=True)
class Configuration:
    """What every run of a folder has in common. Two configurations never mix."""

    budget: int
    settings: Mapping[str, Any]
    """Keywords of ``Optimizer``."""
    initial: int | None = None
    """The suite's."""
    noise: float = 0.0
    version: str = __version__
    engine: str = ENGINE

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "settings": dict(self.settings)}


@dataclass(frozen=True)
class Sources:
    """Files beside the package that a problem or a method may come from."""

    portfolio_data: str | None = None
    plugins: tuple[str, ...] = ()

    @classmethod
    def of(cls, portfolio_data: str | None, plugins: Sequence[str]) -> Sources:
        """With absolute paths, for processes that work elsewhere."""
        data = None if portfolio_data is None else str(Path(portfolio_data).resolve())
        return cls(data, tuple(str(Path(path).resolve()) for path in plugins))

    def load(self) -> None:
        """Run the plugins."""
        for path in self.plugins:
            load_plugin(path)

    def problem(self, name: str, noise: float = 0.0) -> problems.Problem:
        """A problem that these files may define."""
        self.load()
        return problems.get(name, noise, self.portfolio_data)


def problem_digest(problem: problems.Problem) -> str:
    """Of the table or the plugin that a problem comes from; empty for windage's own functions."""
    if isinstance(problem.function, portfolio.Portfolio):
        return problem.function.digest
    return _origins.get(("problem", problem.name), "")


def method_digest(method: str) -> str:
    """Of the plugin that a method comes from; empty for windage's own."""
    return _origins.get(("method", method), "")


def digests(problem: problems.Problem, method: str) -> dict[str, str]:
    """What a run depends on beside its configuration."""
    return {"problem": problem_digest(problem), "method": method_digest(method)}


@dataclass(frozen=True)
class Task:
    """One run: a problem, a method and a seed, under a configuration. Can be sent to another process."""

    problem: str
    method: str
    seed: int
    configuration: Configuration
    folder: str
    """The output folder."""
    sources: Sources
    inputs: Mapping[str, str]
    """The digests of what the problem and the method come from."""

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.problem} {self.method} {self.seed}"

    @property
    def path(self) -> Path:
        """Of the run's files, without their ending."""
        return Path(self.folder) / "runs" / self.problem / self.method / str(self.seed)

    def find_problem(self) -> problems.Problem:
        """The problem; refused if the file that it comes from is another one by now."""
        problem = self.sources.problem(self.problem, self.configuration.noise)
        if digests(problem, self.method) != dict(self.inputs):
            raise ConfigurationError("the plugin or the table of samples was changed while the runs went on.")
        return problem


def plan(
    folder: Path,
    suite: str = "paper",
    problem_names: Sequence[str] = (),
    method_names: Sequence[str] = (),
    budget: int | None = None,
    seeds: Sequence[int] = (),
    settings: Mapping[str, Any] | None = None,
    noise: float = 0.0,
    sources: Sources | None = None,
) -> list[Task]:
    """The runs of a suite with changes, all checked, or a ConfigurationError."""
    if suite not in SUITES:
        raise ConfigurationError(
            f"unknown suite {suite!r}; the suites are {', '.join(SUITES)}.{near_match(suite, SUITES)}"
        )
    base, sources = SUITES[suite], sources or Sources()
    sources.load()
    names = list(dict.fromkeys(problem_names or base.problems))
    methods = [get_method(name).name for name in dict.fromkeys(method_names or base.methods)]
    for method in methods:
        file_name(method, "method")
    keywords = dict(settings or {})
    wrong = next((name for name in keywords if name in FIXED), None)
    if wrong is not None:
        raise ConfigurationError(f"{wrong!r} cannot be set with --set: each run sets it by itself.")
    if keywords.get("initial") == 0:
        raise ConfigurationError("initial must be at least 1 here: a run begins without history.")
    steps = base.budget if budget is None else budget
    if steps < 1:
        raise ConfigurationError(f"the budget must be at least 1, not {steps}.")
    if sources.portfolio_data is not None:
        portfolio.read(sources.portfolio_data)
    configuration = Configuration(steps, keywords, base.initial, noise)
    chosen = [problems.get(name, noise, sources.portfolio_data) for name in names]
    for problem in chosen:  # refuses a wrong setting before anything runs
        for method in methods:
            new_optimizer(problem, method, 0, configuration)
    where = str(folder.resolve())
    return [
        Task(problem.name, method, seed, configuration, where, sources, digests(problem, method))
        for seed in dict.fromkeys(seeds or base.seeds)  # an interrupted sweep has all problems of some seeds
        for problem in chosen
        for method in methods
    ]


def new_optimizer(problem: problems.Problem, method: str, seed: int, configuration: Configuration) -> Any:
    """A fresh ``Optimizer`` for a run."""
    from windage.optimizer import Optimizer

    keywords, chosen = {"screen": False, **configuration.settings}, get_method(method)  # nothing is typed
    if chosen.initial == INITIAL:
        keywords.setdefault("initial", configuration.initial)
    return Optimizer(
        problem.decisions,
        problem.contexts,
        method=chosen,
        seed=seed,
        budget=configuration.budget,
        **keywords,
    )


def parse_seeds(text: str) -> tuple[int, ...]:
    """``"100-104"``, ``"1,2,5"`` or both → the seeds."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ConfigurationError(f"seeds are given as 100-104 or 1,2,5, not {text!r}.")
        if len(first) > 9 or len(last) > 9:
            raise ConfigurationError("a seed has at most nine digits.")
        low, high = int(first), int(last or first)
        if high < low:
            raise ConfigurationError(f"the seeds {part.strip()!r} run backwards: write {high}-{low}.")
        if high - low >= MOST_SEEDS:
            raise ConfigurationError(f"{part.strip()!r} are more than {MOST_SEEDS:,} seeds.")
        seeds.extend(range(low, high + 1))
    return tuple(seeds)


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``["initial=5", "kernel=matern"]`` → keywords; numbers, none, true and false are read as such."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"--set takes key=value, such as --set initial=5, not {pair!r}.")
        if name.strip() in found:
            raise ConfigurationError(f"--set {name.strip()} is given twice.")
        found[name.strip()] = text.strip() if name.strip() == "surrogate" else _value(text.strip())  # a year
    return found


def _value(text: str) -> Any:
    words: dict[str, bool | None] = {"none": None, "null": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_loaded: dict[str, str] = {}
_origins: dict[tuple[str, str], str] = {}
"""The digest of the plugin that a problem or a method comes from."""


def load_plugin(path: str) -> str:
    """Run a Python file that registers problems or methods, once a process; its digest."""
    file = Path(path).resolve()
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigurationError(f"the plugin {path} cannot be read: {error.strerror or error}.") from None
    known = _loaded.get(str(file))
    if known is not None:
        if known != digest:
            raise ConfigurationError(f"the plugin {path} was changed since it was loaded.")
        return digest
    name = f"windage_plugin_{digest[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"the plugin {path} is not a Python file: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    before = (set(problems.PROBLEMS), set(METHODS))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigurationError(f"the plugin {path} failed: {reason}") from error
    _origins.update({("problem", added): digest for added in set(problems.PROBLEMS) - before[0]})
    _origins.update({("method", added): digest for added in set(METHODS) - before[1]})
    _loaded[str(file)] = digest
    return digest
