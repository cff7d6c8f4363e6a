"""What the published bound allows, what really happened, and what is certain: charts that come from the traces alone."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from analysis import dispersion_findings
from analysis.charts import bounds, certified, displacement
from analysis.charts.look import Look
from analysis.dispersion import Dispersion
from analysis.head import next_log_probs
from analysis.remainder import Remainder, remainder
from analysis.results import Analysis, PromptResult
from analysis.taylor import TokenPair, compare, gradient_norms
from analysis.tokens import shown
from pages.shared import display, drift, session


def linear_head(page: session.Page) -> bool:
    return not _why(page)


def against_reference(page: session.Page, rows: Sequence[PromptResult], target: int) -> list[TokenPair]:
    """The reference with every other row, in the rows' order."""
    reference = rows[0].trace
    assert reference is not None
    return [compare(reference, row.trace, target, linear_head(page)) for row in rows[1:] if row.trace is not None]


@st.fragment
def gradient_and_displacement(
    found: Dispersion, rows: Sequence[PromptResult], target: int, look: Look, chosen: int
) -> None:
    """The two factors of the bound."""
    session.follow_click()
    log = st.toggle("Logarithmic", key="factors log")
    gradients, distances = gradient_norms(drift.traces_of(rows), target), found.from_reference.raw
    figure = displacement.gradient_and_displacement(gradients, distances, rows, look, log, chosen)
    display.chart(figure, "factors", displacement.HOW_TO_READ, session.select_from("factors"))


@st.fragment
def by_layer(rows: Sequence[PromptResult], target: int, linear: bool, look: Look, chosen: int) -> None:
    """Bound, estimate and truth: one pair, or all of them."""
    session.follow_click()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        which = st.segmented_control(
            "Pairs", ("selected wording", "all pairs"), default="selected wording", required=True, key="bound pairs"
        )
        log = st.toggle("Logarithmic", value=True, key="bound log")
    traces = drift.traces_of(rows)
    by_index = {row.row.index: (row, trace) for row, trace in zip(rows, traces, strict=True)}
    if which == "selected wording" and chosen in by_index and chosen != 0:
        row, trace = by_index[chosen]
        pair = compare(traces[0], trace, target, linear)
        if pair.bound is None or pair.delta is None:
            st.text(_no_bound(row))
            return
        st.text(dispersion_findings.violations([pair]))
        figure = bounds.pair_bound(pair, rows[0], row, look, log)
    else:
        pairs = [
            compare(a, b, target, linear)
            for place, a in enumerate(traces)
            for b in traces[place + 1 :]
            if a.target.ids == b.target.ids
        ]
        st.text(dispersion_findings.violations(pairs))
        if all(pair.bound is None for pair in pairs):
            return
        figure = bounds.bound_over_pairs(pairs, look, log)
    display.chart(figure, "bound by layer", bounds.HOW_TO_READ, session.select_from("bound by layer"))


def _no_bound(row: PromptResult) -> str:
    return (
        f"{shown(row.label)} has no bound against the reference: its target differs, or the model gives no gradients."
    )


def certified_ranges(page: session.Page, rows: Sequence[PromptResult], target: int, look: Look, chosen: int) -> None:
    """The exact interval of every wording, with the true change and both estimates in it."""
    st.subheader("What is certain")
    reason = _why(page)
    found = [
        (row, pair, _remainder(page, rows[0], row, pair, target))
        for row, pair in zip(rows[1:], against_reference(page, rows, target), strict=True)
    ]
    if reason:
        st.text(f"Certified ranges are not valid here: {reason}.")
    else:
        st.text(
            "Δ lies between g_b·Δh and g_a·Δh at the head, exactly: the first-order error is the KL divergence of the two"
            " predictions. It explains, it does not predict: it needs both passes."
        )
        st.text(dispersion_findings.second_order([remainder for _, _, remainder in found if remainder is not None]))
    assert rows[0].trace is not None
    linear = st.toggle("True to scale", key="certified linear", help="Off: logarithmic beyond ±1 nat.")
    figure = certified.certified(
        found,
        look,
        target=rows[0].trace.target.names[target],
        reason=reason,
        noise=page.loaded.lm.card.noise_floor,
        linear=linear,
        selected=chosen,
    )
    display.chart(figure, "certified", certified.HOW_TO_READ, session.select_from("certified"))


def _remainder(
    page: session.Page, reference: PromptResult, row: PromptResult, pair: TokenPair, target: int
) -> Remainder | None:
    if pair.delta is None or pair.upper is None or reference.trace is None or row.trace is None:
        return None
    logs = [next_log_probs(page.loaded.lm, trace, target) for trace in (reference.trace, row.trace)]
    return remainder(pair.delta, pair.upper, *logs)


def _why(page: session.Page) -> str:
    """Why nothing can be certified; empty where it can."""
    return next((why for name, why in page.loaded.lm.card.unavailable if name == "certified bounds"), "")


def same_last_token(rows: Sequence[PromptResult], analysis: Analysis) -> str:
    """Why the distances are 0 at layer 0, where they are."""
    hidden = [trace.hidden[0, 0] for trace in drift.traces_of(rows)]
    equal = all(np.array_equal(state, hidden[0]) for state in hidden)
    return dispersion_findings.same_last_token(equal, analysis.prompt_set.mode == "chat")
