r"""Integrated gradients that can be believed, or say that they cannot.

For a baseline B and a prompt E the score of token t is (Sundararajan et al., ICML 2017)

    $(E_t − B_t) · \int_0^1 ∂s/∂e_t (B + α(E − B)) dα$,

and the scores sum to s(E) − s(B). On the way the gradient of a language model has narrow peaks, so a
fixed rule can miss that sum by a multiple. But s itself is known at every point that was visited, which
gives the exact error of each interval: points are added where it is largest.

Zero embeddings are singular under RMSNorm; the way starts from the filler's or the mean embedding.
Held tokens (position 0, and what nobody typed) stay as they are all the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from analysis import gradients
from analysis.attribution_results import AttributionError, Held, IntegratedGradients, held_tokens
from analysis.gradients import Ids, Objective, Report
from analysis.model import LanguageModel
from analysis.results import Target, Tokens

Baseline = Literal["filler", "mean"]

TOLERANCE = 0.05
BUDGET = 129  # evaluations: 2⁷ equal intervals have as many ends
FIRST_INTERVALS = 4  # a coarser start may close by chance


@dataclass(frozen=True, eq=False)
class _Way:
    """The straight way from baseline to prompt, and what was found at the points visited so far."""

    lm: LanguageModel
    what: Objective
    start: torch.Tensor  # B [T, H]
    end: torch.Tensor  # E [T, H]
    values: dict[float, float] = field(default_factory=dict)  # α → s
    flows: dict[float, np.ndarray] = field(default_factory=dict)  # α → ∂s/∂e_t · (E_t − B_t) [T]

    @property
    def batch(self) -> int:
        return gradients.points_per_pass(self.lm.network, self.what)

    @property
    def change(self) -> torch.Tensor:
        """E − B [T, H]: 0 at held tokens."""
        return self.end - self.start

    def visit(self, alphas: Sequence[float], tick: Report) -> None:
        """Evaluate points, a few in a pass; `tick` gets the share of them done between passes."""
        new = sorted(set(alphas) - self.values.keys())
        for first in range(0, len(new), self.batch):
            part = new[first : first + self.batch]

            def within(fraction: float, first: int = first, size: int = len(part)) -> None:
                tick((first + fraction * size) / len(new))

            within(0.0)
            share = torch.tensor(part, dtype=torch.float64)[:, None, None]
            points = torch.where(share == 1, self.end, self.start + share * self.change)  # [B, T, H]
            values, gradient = gradients.value_and_gradient(self.lm, self.what, self.on_model(points), within)
            flow = (gradient.cpu().double() * self.change).sum(-1).numpy()
            self.values.update(zip(part, values.tolist(), strict=True))
            self.flows.update(zip(part, flow, strict=True))

    def on_model(self, embeds: torch.Tensor) -> torch.Tensor:
        """Embeddings in the dtype and on the device of the model's own."""
        return embeds.to(self.lm.network.embedding.weight)  # type: ignore[arg-type]

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(list(self.values.values())).all() and np.isfinite(list(self.flows.values())).all())


def integrated_gradients(
    lm: LanguageModel,
    tokens: Tokens,
    target: Target,
    foil: Target | None = None,
    *,
    baseline: Baseline = "filler",
    tolerance: float = TOLERANCE,
    budget: int = BUDGET,
    held: Held | None = None,
    report: Report = lambda fraction: None,
) -> IntegratedGradients:
    """Integrated gradients by Simpson's rule on intervals that are halved where the error is largest.

    Ends with `converged` when the intervals' absolute errors sum to at most `tolerance` · |s(E) − s(B)|,
    otherwise when the next halving would pass `budget` evaluations. NaN where a point is not finite.
    `report` gets the share of the budget spent. Errors: AttributionError as `gradients.objective`, and
    where every token is held.
    """
    if budget < 3:
        raise ValueError(f"integrated gradients need a budget of at least 3 evaluations, not {budget}")
    way, held = _way(lm, tokens, target, foil, baseline, held)
    count = min(FIRST_INTERVALS, (budget - 1) // 2)
    intervals = [(i / count, (i + 1) / count) for i in range(count)]
    errors: dict[tuple[float, float], float] = {}
    while True:
        points = sorted({point for a, b in intervals for point in (a, (a + b) / 2, b)} - way.values.keys())
        spent = len(way.values)

        def tick(fraction: float, spent: int = spent, new: int = len(points)) -> None:
            report((spent + fraction * new) / budget)

        way.visit(points, tick)
        rise = abs(way.values[1.0] - way.values[0.0])
        if not way.finite:
            break
        errors.update({interval: abs(_error(way, *interval)) for interval in intervals})
        halved = _worst(errors, tolerance * rise, min(max(1, way.batch // 2), (budget - len(way.values)) // 2))
        if not halved:
            break
        for interval in halved:
            del errors[interval]
        intervals = [half for a, b in halved for half in ((a, (a + b) / 2), ((a + b) / 2, b))]
    report(1.0)
    total = sum(errors.values()) if way.finite else np.nan
    scores = (
        np.sum([_simpson(way, *interval) for interval in errors], axis=0)
        if way.finite
        else np.full(len(tokens), np.nan)
    )
    return IntegratedGradients(
        tokens=tokens,
        target=target,
        foil=foil,
        baseline=baseline,
        rule="adaptive Simpson",
        held=held,
        scores=scores,
        value=way.values[1.0],
        baseline_value=way.values[0.0],
        local_error=total,
        evaluations=len(way.values),
        tolerance=tolerance,
        converged=bool(total <= tolerance * rise),
    )


def _way(
    lm: LanguageModel, tokens: Tokens, target: Target, foil: Target | None, baseline: Baseline, held: Held | None
) -> tuple[_Way, Held]:
    gradients.require_gradients(lm)
    held = held_tokens(tokens) if held is None else held
    if all(held):
        raise AttributionError("every token of this prompt is held, so there is no way from a baseline to it")
    embeds = _embedded(lm, tokens.ids)
    start = _embedded(lm, (lm.encoder.filler_id,)) if baseline == "filler" else _mean(lm)
    start = torch.where(torch.tensor(held)[:, None], embeds, start)
    return _Way(lm, gradients.objective(tokens, target, foil), start, embeds), held


def _mean(lm: LanguageModel) -> torch.Tensor:
    """The mean input embedding [1, H] over the tokenizer's vocabulary, as the decoder gets it (scaled, if it is)."""
    size = min(lm.encoder.full.get_vocab_size(), lm.card.vocabulary)
    parts = [range(first, min(first + 8192, size)) for first in range(0, size, 8192)]
    return torch.stack([_embedded(lm, tuple(part)).sum(0) for part in parts]).sum(0, keepdim=True) / size


def _embedded(lm: LanguageModel, ids: Ids) -> torch.Tensor:
    """Input embeddings [T, H] in float64, on the CPU: some accelerators have no float64."""
    return gradients.embedded(lm, ids).cpu().double()


def _simpson(way: _Way, a: float, b: float) -> np.ndarray:
    """The integral of every token's flow over an interval, [T]."""
    return (b - a) / 6 * (way.flows[a] + 4 * way.flows[(a + b) / 2] + way.flows[b])


def _error(way: _Way, a: float, b: float) -> float:
    """By how much the tokens' integrals miss the rise of s over the interval, in nats."""
    return float(_simpson(way, a, b).sum()) - (way.values[b] - way.values[a])


def _worst(errors: dict[tuple[float, float], float], allowed: float, most: int) -> list[tuple[float, float]]:
    """The intervals with the largest errors: as many as must get better for the sum to be allowed, at most `most`."""
    rest = sum(errors.values())
    chosen: list[tuple[float, float]] = []
    for interval in sorted(errors, key=lambda interval: -errors[interval]):
        if rest <= allowed or len(chosen) >= most:
            break
        chosen.append(interval)
        rest -= errors[interval]
    return chosen


def fixed_rule(
    lm: LanguageModel,
    tokens: Tokens,
    target: Target,
    foil: Target | None = None,
    *,
    baseline: Baseline = "filler",
    points: int = 50,
    tolerance: float = TOLERANCE,
    held: Held | None = None,
    report: Report = lambda fraction: None,
) -> IntegratedGradients:
    """The usual rule, for comparison: Gauss–Legendre with a fixed number of points, by captum.

    Nothing is known of the error inside, so `local_error` is that of the sum.
    """
    from captum.attr import IntegratedGradients as Captum

    way, held = _way(lm, tokens, target, foil, baseline, held)
    way.visit([0.0, 1.0], lambda fraction: None)
    done = 0

    def gradient(inputs: tuple[torch.Tensor], **_: Any) -> tuple[torch.Tensor]:
        """captum's hook for the gradient: a pass under the lock, and a report before it."""
        nonlocal done
        report(done / points)
        done += len(inputs[0])
        return (gradients.value_and_gradient(lm, way.what, inputs[0])[1],)

    rule = Captum(lambda embeds: gradients.values(lm.network, way.what, embeds))
    rule.gradient_func = gradient
    start, end = way.on_model(way.start)[None], way.on_model(way.end)[None]
    found = rule.attribute(end, start, n_steps=points, method="gausslegendre", internal_batch_size=way.batch)
    report(1.0)
    scores = found[0].detach().cpu().double().sum(-1).numpy()
    scores = scores if np.isfinite(scores).all() else np.full(len(tokens), np.nan)
    value, baseline_value = way.values[1.0], way.values[0.0]
    error = abs(float(scores.sum()) - (value - baseline_value))
    return IntegratedGradients(
        tokens=tokens,
        target=target,
        foil=foil,
        baseline=baseline,
        rule=f"Gauss–Legendre, {points} points",
        held=held,
        scores=scores,
        value=value,
        baseline_value=baseline_value,
        local_error=error,
        evaluations=points,
        tolerance=tolerance,
        converged=bool(error <= tolerance * abs(value - baseline_value)),
    )
