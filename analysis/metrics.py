"""How much scores, answers and distributions differ between the wordings of one prompt: single numbers.

Each function is arithmetic on values that were computed elsewhere; POSIX and the combined performance
score are in `sensitivity`, the divergence of two distributions in `divergence`.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

BLOCK = 16_384  # tokens of the vocabulary at a time: 64 prompts of a large vocabulary would take gigabytes


def mean_of_pairs(matrix: Float[np.ndarray, "prompt prompt"]) -> float | None:
    """The mean of a matrix over all i ≠ j, in its unit; None for fewer than two prompts."""
    n = len(matrix)
    if n < 2:
        return None
    values = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(values, 0.0)
    return float(values.sum() / (n * (n - 1)))


def score_differences(scores: Sequence[float] | Float[np.ndarray, " prompt"]) -> Float[np.ndarray, "prompt prompt"]:
    """|Y_i − Y_j|, in the unit of the scores."""
    values = np.asarray(scores, dtype=np.float64)
    return np.abs(values[:, None] - values[None, :])


def pss(scores: Sequence[float] | Float[np.ndarray, " prompt"]) -> float | None:
    """PromptSensiScore S = Σ_{i<j} |Y_i − Y_j| / C(N, 2) of scores between 0 and 1; None below two.

    0: every wording scores the same. Its largest value is `largest_pss`, not 1. With k of N right it is
    k(N − k)/C(N, 2). Source: ProSA, Zhuo et al., EMNLP Findings 2024.
    """
    return mean_of_pairs(score_differences(scores))


def largest_pss(n: int) -> float | None:
    """PSS where half of `n` scores are 0 and half 1: N/(2(N − 1)) for even N, (N + 1)/(2N) for odd; None below two."""
    if n < 2:
        return None
    return n / (2 * (n - 1)) if n % 2 == 0 else (n + 1) / (2 * n)


def sensitivity_of(classes: Sequence[Hashable], possible: int) -> float | None:
    """H(p̄)/ln C with p̄ the shares of the classes that the wordings were answered with; None without any.

    Without unit. 0: one answer after every wording; 1: each of the C possible classes equally often. C is
    how many there can be (`possible`), 1 gives 0. Source: Errica et al., NAACL 2025.
    """
    counts = Counter(classes)
    if len(counts) > possible:
        raise ValueError(f"{len(counts)} classes were found where at most {possible} are possible")
    if not counts:
        return None
    if possible == 1 or len(counts) == 1:
        return 0.0
    shares = np.array(list(counts.values())) / len(classes)
    return min(-float(shares @ np.log(shares)) / math.log(possible), 1.0)


def consistency(p: Float[np.ndarray, " answer"], q: Float[np.ndarray, " answer"]) -> float:
    """1 − ½‖p − q‖₁ of the answer shares of two items of one class, answers in the same order.

    Without unit. 1: the wordings are answered alike for both items; 0: no answer in common. Source:
    Errica et al., NAACL 2025.
    """
    return float(1 - np.abs(np.asarray(p, dtype=np.float64) - np.asarray(q, dtype=np.float64)).sum() / 2)


def jsd_of_many(log_probs: Float[np.ndarray, "prompt vocab"]) -> float | None:
    """Jensen–Shannon divergence of N distributions, H(mean) − mean H, in nats; None without any.

    0: all are equal, and then it is exactly 0; at most ln N: no token is possible after two of them. Computed
    as the mean of KL(p_i‖mean) with the mean in log space, so it is finite where probabilities underflow.
    Source: Lin, "Divergence measures based on the Shannon entropy", 1991.
    """
    logs = np.asarray(log_probs)
    n = len(logs)
    if n == 0:
        return None
    total = 0.0
    for start in range(0, logs.shape[1], BLOCK):
        # A probability of exactly 0 gets a finite log that stays 0.
        block = np.maximum(logs[:, start : start + BLOCK].astype(np.float64), -1e4)
        highest = block.max(axis=0)
        mean = highest + np.log(np.exp(block - highest).mean(axis=0))
        total += float((np.exp(block) * (block - mean)).sum())
    return min(max(total / n, 0.0), math.log(n))


def half_widths(scores: Sequence[float] | Float[np.ndarray, " prompt"], delta: float = 0.05) -> Float[np.ndarray, " n"]:
    """For n = 1 … N: how far the mean of n of the N scores is from the mean of all, with probability 1 − δ.

    z · SE(n), SE(n) = s/√n · √((N − n)/(N − 1)), in the unit of the scores. The n are drawn without
    replacement, s is the standard deviation of the N with divisor N (then SE is exact), z the 1 − δ/2 quantile of the normal
    distribution (1.96 for δ = 0.05), which is an approximation for few scores. 0 at n = N. Source:
    ReliableEval, EMNLP Findings 2025.
    """
    values = np.asarray(scores, dtype=np.float64)
    count = len(values)
    if count < 2:
        return np.zeros(count)
    n = np.arange(1, count + 1)
    return normal_quantile(delta) * values.std() / np.sqrt(n) * np.sqrt((count - n) / (count - 1))


def resamplings(
    scores: Sequence[float] | Float[np.ndarray, " prompt"], epsilon: float, delta: float = 0.05
) -> int | None:
    """The smallest n whose mean of n scores is within ε of the mean of all N with probability 1 − δ.

    None below two scores, or where one is not finite. 1: the scores hardly differ; N: only all of them will do. See `half_widths`.
    """
    widths = half_widths(scores, delta)
    if len(widths) < 2 or not np.isfinite(widths).all():
        return None
    return int(np.argmax(widths <= epsilon)) + 1


def resamplings_of_many(
    scores: Sequence[float] | Float[np.ndarray, " prompt"], epsilon: float, delta: float = 0.05
) -> int | None:
    """The same for the mean of all wordings that could be written, of which the scores are a sample: (z · s/ε)².

    s has divisor N − 1. None below two scores.
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    return max(1, math.ceil((normal_quantile(delta) * values.std(ddof=1) / epsilon) ** 2))


def normal_quantile(delta: float) -> float:
    """z with P(|Z| ≤ z) = 1 − δ: 1.96 for δ = 0.05."""
    return NormalDist().inv_cdf(1 - delta / 2)
