"""Is the explanation any good? Agreement with leave-one-out, deletion curves, and stability between wordings."""

import numpy as np
import streamlit as st

from analysis.agreement import agreement as agree
from analysis.agreement import token_effects_pair
from analysis.attribution_results import LeaveOneOut
from analysis.charts import attribution as charts
from analysis.charts.look import Look
from analysis.diff import token_alignment
from analysis.results import Analysis, PromptResult, Target, Trace
from analysis.tokens import shown
from pages.shared import attributing, display, rows, session, tokens


def agreement(trace: Trace, truth: LeaveOneOut | None, look: Look) -> None:
    """How far the live maps rank the tokens as leaving each out does."""
    if truth is None or trace.saliency is None or trace.gradient_x_input is None:
        return
    found = agree(truth, trace.saliency, trace.gradient_x_input)
    display.chart(charts.agreement(found, look), "agreement", charts.HOW_TO_READ_AGREEMENT)


def curve(
    page: session.Page, trace: Trace, foil: Target | None, scores: attributing.Scores, method: str, look: Look
) -> None:
    """The deletion curve, on demand: it takes a pass per point and order."""
    st.subheader("Is the explanation any good?")
    if not st.toggle("Deletion curve: remove tokens in this order, against 10 random orders", key="deletion curve"):
        return
    found = attributing.curve(page, trace, foil, scores, method)
    if found is not None:
        display.chart(charts.deletion_curve(found, look), "deletion curve chart", charts.HOW_TO_READ_DELETION)


def per_target_token(page: session.Page, trace: Trace, look: Look) -> None:
    """Which prompt token matters for which target token."""
    if len(trace.target) < 2:
        return
    st.subheader("Each target token")
    if not st.toggle(f"A map for each of the {len(trace.target)} target tokens", key="target matrix"):
        return
    found = attributing.target_tokens(page, trace)
    if found is not None:
        display.chart(charts.target_matrix(found, look), "target matrix chart", charts.HOW_TO_READ_MATRIX)


def pair(analysis: Analysis, result: PromptResult, look: Look) -> None:
    """The reference and this wording, aligned: equal tokens linked, and how their scores change."""
    reference, other = analysis.reference.trace, result.trace
    if reference is None or other is None or result.row.index == 0:
        return
    if reference.gradient_x_input is None or other.gradient_x_input is None:
        return
    st.subheader("The same tokens in the reference")
    st.text("Gradient × input of both wordings on one scale; what differs is underlined.")
    scale = rows.common_scale([reference, other], "signed", "token")
    for trace, base, name in ((reference, other, "the reference"), (other, reference, result.label)):
        st.text(shown(name))
        tokens.strip(
            trace.tokens,
            trace.gradient_x_input,
            key=f"aligned {name == 'the reference'}",
            scale=scale,
            greyed=tokens.usually_greyed(trace.tokens),
            reference=base.tokens.text,
            labels=tokens.legend_words(trace.target.text),
            label=f"Tokens of {name}",
        )
    effects = token_effects_pair(
        np.asarray(reference.gradient_x_input), other.gradient_x_input, token_alignment(reference.tokens, other.tokens)
    )
    rho = effects.rank_correlation
    stable = "too few to rank their scores" if rho is None else f"the rank correlation of their scores is {rho:.2f}"
    st.text(f"{effects.aligned} tokens stand in both wordings; {stable}.")
    figure = charts.pair_change(effects, reference.tokens, other.tokens, look, result.row.index)
    display.chart(figure, "pair change", charts.HOW_TO_READ_PAIR)
