"""The table of wordings: strip, answer, p, Δ, rank; one row can be selected or made the reference."""

from collections.abc import Sequence

import streamlit as st

from analysis import explore, findings
from analysis.results import Analysis, Answer, PromptResult
from analysis.tokens import shown
from pages.shared import display, draft, session, tokens

_WIDTHS = (6.2, 2.2, 1.0, 1.1, 0.7, 1.0)
_HEADS = ("Wording", "Answer", "p(target)", "Δ nats", "Rank", "Entropy")


def table(page: session.Page, analysis: Analysis, answers: Sequence[Answer | None] | None) -> None:
    """Draw every row of the set."""
    order = list(range(len(analysis.prompts)))
    for column, head in zip(st.columns(_WIDTHS), _HEADS, strict=True):
        column.caption(head)
    scale = _scale(analysis)
    for place in order:
        answer = answers[place] if answers else None
        _row(analysis, analysis.prompts[place], answer, answers is not None, scale)


def _scale(analysis: Analysis) -> float:
    scales = [
        tokens.full_scale(r.trace.tokens, r.trace.gradient_x_input, greyed=tokens.usually_greyed(r.trace.tokens))
        for r in analysis.prompts
        if r.trace is not None and r.trace.gradient_x_input is not None
    ]
    return max(scales, default=1.0)


def _row(analysis: Analysis, result: PromptResult, answer: Answer | None, answered: bool, scale: float) -> None:
    with st.container(key=f"row {result.row.index}", gap="xsmall"):
        columns = st.columns(_WIDTHS)
        with columns[0]:
            st.text(result.label)
            if result.trace is None:
                display.notes(result.notes)
                return
            trace = result.trace
            reference = analysis.reference.trace
            tokens.strip(
                trace.tokens,
                trace.gradient_x_input,
                key=f"strip {result.row.index}",
                scale=scale,
                greyed=tokens.usually_greyed(trace.tokens),
                reference=reference.tokens.text if reference and result.row.index else None,
                label=f"Tokens of {result.label}",
            )
        columns[1].text(shown(answer.text) if answer else "…" if not answered else "")
        columns[2].text(findings.probability(trace.log_prob), text_alignment="right")
        columns[3].text("" if result.row.index == 0 else f"{result.delta:+.2f}", text_alignment="right")
        columns[4].text(str(explore.rank(trace)), text_alignment="right")
        columns[5].text(f"{explore.entropy(trace):.2f}", text_alignment="right")
        display.notes(result.notes)
