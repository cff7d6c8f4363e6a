"""Which tokens of a prompt move log p(y), or log p(y) − log p(y′)? Gradient maps and their comparison.

Every map is with respect to the input embeddings. The live maps of a plain target come with the trace
(`analysis.trace`); here are the maps against a foil and of each target token.
"""

from collections.abc import Sequence

import numpy as np
import torch
from scipy import stats

from analysis import gradients
from analysis.attribution_results import (
    Agreement,
    GradientMaps,
    Held,
    LeaveOneOut,
    PairEffects,
    TargetTokenMaps,
)
from analysis.gradients import Objective, Report
from analysis.model import LanguageModel
from analysis.results import Target, Tokens

FEWEST_RANKED = 3  # a rank correlation of two points is ±1 whatever they are


def held_tokens(tokens: Tokens) -> Held:
    """Tokens that soak up attribution and are shown apart: position 0, and what nobody typed."""
    return tuple(t == 0 or role in ("template", "added") for t, role in enumerate(tokens.roles))


def gradient_maps(
    lm: LanguageModel,
    tokens: Tokens,
    target: Target,
    foil: Target | None = None,
    report: Report = lambda fraction: None,
) -> GradientMaps:
    """Saliency and gradient × input of s from one backward pass; NaN where they are not finite.

    A foil may have another number of tokens than the target: the whole continuations are contrasted.
    Errors: AttributionError without gradients, or where target and foil are the same tokens.
    """
    gradients.require_gradients(lm)
    report(0.0)
    what = gradients.objective(tokens, target, foil)
    embeds = gradients.embedded(lm, tokens.ids)
    value, gradient = gradients.value_and_gradient(lm, what, embeds[None], report)
    saliency, product = _maps(gradient, embeds)
    report(1.0)
    at = None if foil is None else gradients.diverges_at(target, foil)
    return GradientMaps(tokens, target, foil, at, float(value[0]), saliency[0], product[0])


def per_target_token(
    lm: LanguageModel, tokens: Tokens, target: Target, report: Report = lambda fraction: None
) -> TargetTokenMaps:
    """The maps of log p(y_k | prompt, y_<k) for every target token k, a pass for each."""
    gradients.require_gradients(lm)
    embeds = gradients.embedded(lm, tokens.ids)
    log_probs, saliency, product = [], [], []
    for k, index in enumerate(target.ids):

        def tick(fraction: float, k: int = k) -> None:
            report((k + fraction) / len(target))

        tick(0.0)
        what = Objective(tokens.ids, (target.ids[:k],), ((0, k, index, 1.0),))
        value, gradient = gradients.value_and_gradient(lm, what, embeds[None], tick)
        row_saliency, row_product = _maps(gradient, embeds)
        log_probs.append(value[0])
        saliency.append(row_saliency[0])
        product.append(row_product[0])
    report(1.0)
    return TargetTokenMaps(tokens, target, np.array(log_probs), np.stack(saliency), np.stack(product))


def _maps(gradient: torch.Tensor, embeds: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """‖g_t‖₂ and g_t · e_t from gradients [B, T, H] and embeddings [T, H]."""
    gradient, embeds = gradient.float(), embeds.float()
    saliency, product = gradient.norm(dim=-1).cpu().numpy(), (gradient * embeds).sum(-1).cpu().numpy()
    return _finite(saliency), _finite(product)


def _finite(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(scores), scores, np.nan)


def rank_correlation(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> float | None:
    """Spearman's ρ over the entries that both have; None for fewer than three, or where one is constant."""
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = np.isfinite(first) & np.isfinite(second)
    first, second = first[both], second[both]
    if len(first) < FEWEST_RANKED or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
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
