"""Problems whose conditions are known in part, forecast or changing, and runs on them.

``benchmarks/conditions.py`` prints their tables. Decisions are judged day by day: against the best decision
under the distribution of that day.
"""

from windage.bench.conditions.change import KINDS, changing, stable
from windage.bench.conditions.days import Day, Problem, Words
from windage.bench.conditions.known import known_problems

__all__ = ["KINDS", "Day", "Problem", "Words", "changing", "known_problems", "stable"]
