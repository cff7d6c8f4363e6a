"""Do two explanations say the same? Rank correlations of scores, between methods and between wordings."""

from collections.abc import Sequence

import numpy as np

from analysis.attribution_results import Agreement, LeaveOneOut, PairEffects

FEWEST_RANKED = 3  # a rank correlation of two points is ±1 whatever they are


def rank_correlation(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> float | None:
    """Spearman's ρ over the entries that both have; None for fewer than three, or where one is constant."""
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = np.isfinite(first) & np.isfinite(second)
    first, second = first[both], second[both]
    if len(first) < FEWEST_RANKED or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    from scipy import stats  # takes a second to import, which the first page need not wait for

    return float(stats.spearmanr(first, second).statistic)


def agreement(truth: LeaveOneOut, saliency: np.ndarray, gradient_x_input: np.ndarray) -> Agreement:
    """How far the gradient maps [token] rank the tokens as leaving each out does.

    Held tokens are left out. Signs are compared with signs and magnitudes with magnitudes.
    """
    if truth.groups != tuple((t,) for t in range(len(truth.tokens))):
        raise ValueError("agreement is of scores per token, not of groups of tokens")
    free = ~np.array(truth.held)
    scores, sizes, signed = truth.scores[free], saliency[free], gradient_x_input[free]
    return Agreement(
        by=truth.by,
        tokens=int((np.isfinite(scores) & np.isfinite(signed)).sum()),
        saliency=rank_correlation(np.abs(scores), sizes),
        gradient_x_input=rank_correlation(scores, signed),
    )


def token_effects_pair(
    reference: np.ndarray, variant: np.ndarray, alignment: Sequence[tuple[int | None, int | None]]
) -> PairEffects:
    """The scores [token] of two wordings by aligned token: how stable is the explanation itself?

    `alignment` has a row for every token of either wording, as `analysis.diff.token_alignment` gives.
    """
    a = np.array([np.nan if i is None else reference[i] for i, _ in alignment], dtype=float)
    b = np.array([np.nan if j is None else variant[j] for _, j in alignment], dtype=float)
    aligned = sum(i is not None and j is not None for i, j in alignment)
    return PairEffects(tuple(alignment), a, b, b - a, aligned, rank_correlation(a, b))
