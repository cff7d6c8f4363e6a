"""What a benchmark returns, and how a time is taken."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A value, and beside it the baseline of the same run; `ratio` says which way round it is by its name."""

    name: str
    value: float
    unit: str
    baseline: float | None = None
    ratio: float | None = None


def median_seconds(work: Callable[[], object], runs: int = 5) -> float:
    """The median of `runs` runs after one to warm up."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
