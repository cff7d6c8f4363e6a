"""Intervals for numbers that are taken over the wordings of a prompt.

What is resampled are the wordings: an interval says how far the number would move if other wordings
of the same kind had been written, as far as these are a fair sample of them. There is no interval for the
largest, the smallest and what is made of them (spread, worst, best, CPS): a resample never goes beyond
what is there, so the interval would always end at the number itself.

Source: Efron & Tibshirani, "An Introduction to the Bootstrap", 1993 (percentile method); Wilson 1927.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

RESAMPLES = 2_000
LEVEL = 0.95
FEWEST = 5  # wordings: of fewer there are hardly different resamples

Interval = tuple[float, float]
Counts = Float[np.ndarray, "resample prompt"]  # how often each wording is in a resample


def bootstrap(
    statistic: Callable[[Counts], Float[np.ndarray, " resample"]], prompts: int, seed: int = 0
) -> Interval | None:
    """The percentile interval of a statistic of resampled prompts; None for fewer than five.

    `statistic` takes how often each prompt is in each resample; where it is NaN the resample is left out.
    """
    if prompts < FEWEST:
        return None
    counts = np.random.default_rng(seed).multinomial(prompts, np.full(prompts, 1 / prompts), size=RESAMPLES)
    values = np.asarray(statistic(counts.astype(np.float64)))
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def of_mean(values: Sequence[float] | Float[np.ndarray, " prompt"], seed: int = 0) -> Interval | None:
    """For the mean of one value per prompt."""
    given = np.asarray(values, dtype=np.float64)
    return bootstrap(lambda counts: counts @ given / len(given), len(given), seed)


def of_pairs(matrix: Float[np.ndarray, "prompt prompt"], seed: int = 0, most: float = math.inf) -> Interval | None:
    """For the mean over all pairs i ≠ j of a matrix, such as POSIX and PSS.

    A prompt that is in a resample twice makes no pair with itself, which would be 0 and pull the interval down;
    so a resample of few prompts can go beyond `most`, the largest value for this many, and is cut there.
    """
    pairs = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(pairs, 0.0)

    def mean(counts: Counts) -> Float[np.ndarray, " resample"]:
        sums = ((counts @ pairs) * counts).sum(axis=1)
        weights = counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)
        return np.minimum(np.divide(sums, weights, out=np.full(len(sums), np.nan), where=weights > 0), most)

    return bootstrap(mean, len(pairs), seed)


def of_entropy(classes: Sequence[Hashable], possible: int, seed: int = 0) -> Interval | None:
    """For H(p̄)/ln C of the answers' classes (`metrics.sensitivity_of`)."""
    names = list(dict.fromkeys(classes))
    member = np.array([[name == one for name in names] for one in classes], dtype=np.float64)  # [prompt, class]

    def normalised(counts: Counts) -> Float[np.ndarray, " resample"]:
        shares = counts @ member / len(classes)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return -(shares * logs).sum(axis=1) / math.log(possible) if possible > 1 else np.zeros(len(counts))

    return bootstrap(normalised, len(classes), seed)


def wilson(successes: int, trials: int, level: float = LEVEL) -> Interval | None:
    """Wilson's score interval of a share; None without trials.

    For shares of few trials: a bootstrap of 0 of 6 would have no width.
    """
    if trials == 0:
        return None
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, weight = successes / trials, z**2 / trials
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    # Rounding would leave a trace of 1e-17 at the ends.
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == trials else middle + half
    return low, high
