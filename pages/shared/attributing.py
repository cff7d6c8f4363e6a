"""Token scores of one wording by the method that the user chose, kept by content for all sessions."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from analysis import findings
from analysis.ablation import deletion_curve, leave_one_out
from analysis.attribution import gradient_maps, per_target_token
from analysis.attribution_results import (
    AttributionError,
    DeletionCurve,
    IntegratedGradients,
    LeaveOneOut,
    TargetTokenMaps,
)
from analysis.charts.words import number, signed
from analysis.encoding import EncodingError, encode_target
from analysis.integrated import fixed_rule, integrated_gradients
from analysis.results import PromptResult, Target, Trace
from analysis.tokens import Grouping, by_role
from pages.shared import display, session, tokens

Report = Callable[[float], object]

GRADIENT_X_INPUT = "gradient × input"
SALIENCY = "saliency"
DELETION = "leave-one-out"
REPLACEMENT = "replacement"
INTEGRATED = "integrated gradients"
METHODS = (GRADIENT_X_INPUT, SALIENCY, DELETION, REPLACEMENT, INTEGRATED)
MAGNITUDES = (SALIENCY,)


@dataclass(frozen=True, eq=False)
class Scores:
    """One score per token, how it was made, and what is to be said about it."""

    values: np.ndarray  # [token]
    magnitude: bool
    converged: bool = True
    said: str = ""


def foil_of(page: session.Page, result: PromptResult) -> Target | None:
    """The set's foil, tokenised after this wording; a sentence on the page where that fails."""
    assert result.trace is not None
    if page.prompt_set.foil is None:
        return None
    try:
        return encode_target(page.loaded.lm.encoder, result.row.prompt, result.trace.tokens, page.prompt_set.foil)
    except EncodingError as error:
        st.text(f"The foil cannot be used: {error}.")
        return None


def _key(trace: Trace, foil: Target | None, *rest: Hashable) -> Hashable:
    return (trace.tokens.ids, trace.tokens.roles, trace.target.ids, foil.ids if foil else None, *rest)


def scores(page: session.Page, result: PromptResult, method: str, foil: Target | None) -> Scores | None:
    """The scores; None where the user stopped the run or the model cannot do it (the page says which)."""
    assert result.trace is not None
    lm, trace = page.loaded.lm, result.trace
    try:
        if method in (GRADIENT_X_INPUT, SALIENCY):
            live = foil is None and trace.saliency is not None
            maps = trace if live else page.kept("contrasting target and foil", _key(trace, foil),
                lambda report: gradient_maps(lm, trace.tokens, trace.target, foil, report),
            )  # fmt: skip
            if maps is None:
                return None
            values = maps.saliency if method == SALIENCY else maps.gradient_x_input
            assert values is not None
            return Scores(values, method in MAGNITUDES)
        if method == INTEGRATED:
            return _integrated(page, trace, foil)
        truth = without(page, trace, foil, "replacement" if method == REPLACEMENT else "deletion")
        return Scores(truth.scores, False) if truth else None
    except AttributionError as error:
        display.error(str(error))
        return None


def _leaving_out(by: str) -> str:
    return f"leaving out one token at a time ({by})"


def without(page: session.Page, trace: Trace, foil: Target | None, by: str = "deletion") -> LeaveOneOut | None:
    """Leave-one-out, the yardstick."""
    return page.kept(_leaving_out(by), _key(trace, foil, by),
        lambda report: leave_one_out(page.loaded.lm, trace.tokens, trace.target, foil, by=by, report=report),  # type: ignore[arg-type]
    )  # fmt: skip


def _integrated(page: session.Page, trace: Trace, foil: Target | None) -> Scores | None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        baseline = st.segmented_control(
            "Baseline", ("filler", "mean"), default="filler", required=True, key="baseline",
            help="What the tokens start from: the pad (or EOS) embedding, or the mean of all embeddings.",
        )  # fmt: skip
        rule = st.segmented_control("Points", ("adaptive", "fixed 50"), default="adaptive", required=True, key="rule")
    compute = fixed_rule if rule == "fixed 50" else integrated_gradients
    found = page.kept("integrating gradients", _key(trace, foil, baseline, rule),
        lambda report: compute(page.loaded.lm, trace.tokens, trace.target, foil, baseline=baseline, report=report),
    )  # fmt: skip
    if found is None:
        return None
    return Scores(found.scores, False, found.converged, _convergence(found))


def _convergence(found: IntegratedGradients) -> str:
    rise = found.value - found.baseline_value
    if rise == 0:
        return "Nothing to share out: log p is the same at the baseline as at the prompt."
    if found.relative_error is None:
        return "Integrated gradients could not be computed: a gradient on the way is not finite."
    verdict = "Converged" if found.converged else "Not converged: do not read single tokens off this map"
    return (
        f"{verdict}. From the baseline to the prompt log p rises by {rise:.2f} nats; the scores sum to"
        f" {found.scores.sum():.2f}, local errors add up to {100 * found.relative_error:.1f} % of the rise"
        f" ({found.evaluations} evaluations, {found.rule})."
    )


def target_tokens(page: session.Page, trace: Trace) -> TargetTokenMaps | None:
    """A map per target token."""
    return page.kept("attributing each target token", _key(trace, None, "matrix"),
        lambda report: per_target_token(page.loaded.lm, trace.tokens, trace.target, report),
    )  # fmt: skip


def curve(page: session.Page, trace: Trace, foil: Target | None, found: Scores, method: str) -> DeletionCurve | None:
    """The deletion curve of a ranking against random orders."""
    try:
        return page.kept("removing tokens in order", _key(trace, foil, "curve", method, found.values.tobytes()),
            lambda report: deletion_curve(
                page.loaded.lm, trace.tokens, trace.target, found.values, foil, magnitude=found.magnitude, report=report
            ),
        )  # fmt: skip
    except AttributionError as error:
        display.error(str(error))
        return None


LIVE_TOKENS = 160  # up to here leave-one-out is cheap enough to run unasked


def yardstick(page: session.Page, trace: Trace, foil: Target | None) -> LeaveOneOut | None:
    """Leave-one-out by deletion: at once for short prompts, on demand for long ones."""
    if (
        len(trace.tokens) > LIVE_TOKENS
        and page.loaded.caches.other.get((_leaving_out("deletion"), _key(trace, foil, "deletion"))) is None
    ):
        asked = st.session_state.get("yardstick asked") == trace.tokens.ids
        if not asked:
            count = len(trace.tokens)
            if not st.button(f"Compare with leave-one-out ({count} passes)", key="ask yardstick"):
                return None
            st.session_state["yardstick asked"] = trace.tokens.ids
    return without(page, trace, foil)


def finding(trace: Trace, found: Scores, method: str, foil: Target | None, truth: LeaveOneOut | None) -> str:
    return findings.attribution(
        trace,
        found.values,
        method=method,
        magnitude=found.magnitude,
        converged=found.converged,
        foil=foil.text if foil else None,
        truth=truth,
    )


def view(found: Scores) -> tokens.View:
    return "magnitude" if found.magnitude else "signed"


def strip(trace: Trace, found: Scores, foil: Target | None, by: Grouping) -> None:
    """The wording with its legend; held tokens are greyed unless the user wants them in the scale."""
    everything = st.toggle(
        "Colour position 0 and template tokens too",
        key="colour held",
        help="They often soak up attribution, and are left out of the colour scale.",
    )
    greyed = frozenset() if everything else tokens.usually_greyed(trace.tokens)
    values = np.asarray(found.values, dtype=float)
    labels = tokens.legend_words(trace.target.text, foil.text if foil else None, view(found))
    scale = tokens.full_scale(trace.tokens, values, view(found), by, greyed)
    tokens.legend(
        labels, scale, key="attribution legend", view=view(found), greyed=not everything, hatched=not found.converged
    )
    tokens.strip(
        trace.tokens,
        values,
        key="attribution strip",
        scale=scale,
        view=view(found),
        by=by,
        labels=labels,
        greyed=greyed,
        hatched=not found.converged,
        label="Tokens of the wording",
    )
    _regions(trace, values, found.magnitude)


_REGIONS = {
    "text": "your text",
    "system": "system prompt",
    "turn": "earlier turns",
    "prefill": "beginning of the answer",
    "template": "template",
    "added": "added by the tokenizer",
}


def _regions(trace: Trace, values: np.ndarray, magnitude: bool) -> None:
    """What each part of a rendered prompt sums to."""
    sums = by_role(trace.tokens, values, magnitude)
    if len(sums) < 2:
        return
    parts = [
        f"{_REGIONS[role]} {number(total) if magnitude else signed(total)} ({count} token{'s' if count > 1 else ''})"
        for role, (count, total) in sums.items()
    ]
    unit = "of the magnitudes" if magnitude else "in nats"
    st.text(f"Sums {unit}, position 0 and template included: {'; '.join(parts)}.")
