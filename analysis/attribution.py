"""Which tokens of a prompt move log p(y), or log p(y) − log p(y′)? Gradient maps.

Every map is with respect to the input embeddings. The live maps of a plain target come with the trace
(`analysis.trace`); here are the maps against a foil and of each target token.
"""

import numpy as np
import torch

from analysis import gradients
from analysis.attribution_results import GradientMaps, TargetTokenMaps
from analysis.gradients import Objective, Report
from analysis.model import LanguageModel
from analysis.results import Target, Tokens


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
