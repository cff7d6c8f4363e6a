"""The table of wordings: strip, answer, p, Δ, rank; one row can be selected or made the reference."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from analysis import explore
from analysis.results import Analysis, Answer, PromptResult, Trace
from analysis.text import percent
from analysis.tokens import GROUPINGS, Grouping, shown
from pages.shared import display, draft, session, tokens

_WIDTHS = (6.2, 2.7, 1.2, 0.9, 0.7, 0.9)
_HEADS = ("Wording", "Answer", "p(target)", "Δ nats", "Rank", "Entropy")
_AT_ONCE = 12
VIEWS: tuple[tokens.View, ...] = ("signed", "magnitude")
_SORTS = ("as written", "Δ, lowest first", "Δ, highest first")


def table(analysis: Analysis, answers: Sequence[Answer | None] | None) -> None:
    """Draw every row of the set; long sets in part, until asked for whole."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sort = st.selectbox("Order", _SORTS, key="order", bind="query-params", width=180)
        by = st.segmented_control("Group tokens by", GROUPINGS, default="token", required=True, key="group by")
        view = st.segmented_control("Show", VIEWS, default="signed", required=True, key="view")
    order = _ordered(analysis, sort)
    shown_rows = order
    if len(order) > _AT_ONCE and not st.toggle(f"Show all {len(order)} rows", key="all rows"):
        shown_rows = order[:_AT_ONCE]
    legend = analysis.reference.trace is not None and analysis.reference.trace.saliency is not None
    scale = common_scale([r.trace for r in analysis.prompts if r.trace], view, by)
    if legend and analysis.target is not None:
        words = tokens.legend_words(analysis.target.text, view=view)
        tokens.legend(words, scale, key="legend", view=view, greyed=True, changed=True)
    with st.container(key="heads"):
        for place, (column, head) in enumerate(zip(st.columns(_WIDTHS), _HEADS, strict=True)):
            column.caption(head, text_alignment="right" if place > 1 else "left")
    for place in shown_rows:
        result = analysis.prompts[place]
        with st.container(key=f"row {result.row.index}", gap="xsmall"):
            _row(analysis, result, _answers(answers, place), scale, view, by)


def _answers(answers: Sequence[Answer | None] | None, place: int) -> str:
    if answers is None:
        return "…"
    return _answer(answers[place], answers[0] if place else None)


def _ordered(analysis: Analysis, sort: str | None) -> list[int]:
    """Row places; the reference stays first, rows without a Δ go last."""
    rest = list(range(1, len(analysis.prompts)))
    if sort in _SORTS[1:]:
        sign = 1 if sort == _SORTS[1] else -1
        deltas = [result.delta for result in analysis.prompts]
        rest.sort(key=lambda place: (deltas[place] is None, sign * (deltas[place] or 0.0)))
    return [0, *rest]


def _row(
    analysis: Analysis,
    result: PromptResult,
    answer: str,
    scale: float,
    view: tokens.View,
    by: Grouping,
) -> None:
    columns = st.columns(_WIDTHS)
    with columns[0]:
        _head(analysis, result)
        if result.trace is not None:
            reference = analysis.reference.trace
            tokens.strip(
                result.trace.tokens,
                scores_of(result.trace, view),
                key=f"strip {result.row.index}",
                scale=scale,
                view=view,
                by=by,
                labels=tokens.legend_words(result.trace.target.text, view=view),
                greyed=tokens.usually_greyed(result.trace.tokens),
                reference=reference.tokens.text if reference and result.row.index else None,
                label=f"Tokens of {result.label}",
            )
        display.notes(result.notes)
        if result.row.index:
            _buttons(analysis, result)
    if result.trace is None:
        return
    columns[1].text(answer)
    numbers = {
        "p": percent(result.trace.log_prob).replace(" ", "\N{NO-BREAK SPACE}"),
        "delta": _delta(result),
        "rank": str(explore.rank(result.trace)),
        "entropy": f"{explore.entropy(result.trace):.2f}",
    }
    for column, (name, text) in zip(columns[2:], numbers.items(), strict=True):
        # The key is for the style sheet, which names the number where the columns are stacked.
        with column.container(key=f"number {name} {result.row.index}"):
            st.text(text, width="stretch", text_alignment="right")


def _head(analysis: Analysis, result: PromptResult) -> None:
    index = result.row.index
    count = f" · {len(result.trace.tokens)} tokens" if result.trace else ""
    kind = f" · {shown(result.row.kind)}" if index else ""
    st.text(f"{shown(result.label)}{kind}{count}")


def _buttons(analysis: Analysis, result: PromptResult) -> None:
    index = result.row.index
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Make reference", key=f"reference {index}", type="tertiary", on_click=draft.make_reference, args=(index,)
        )
        if result.trace is not None and session.selected(analysis) != index:
            st.button("Look closer", key=f"select {index}", type="tertiary", on_click=session.select, args=(index,))


def _answer(answer: Answer | None, reference: Answer | None) -> str:
    """The answer in one line, and the token with which it leaves the reference's."""
    if answer is None:
        return ""
    text = shown(answer.text) if answer.text else "(ends at once)"
    if reference is None or answer.ids == reference.ids:
        return text
    place = next(
        (k for k, (a, b) in enumerate(zip(answer.ids, reference.ids, strict=False)) if a != b),
        min(len(answer.ids), len(reference.ids)),
    )
    if place == len(answer.ids):
        return f"{text}\n(then stops)"
    return f"{text}\n(differs from token {place + 1}: {shown(answer.names[place])})"


def _delta(result: PromptResult) -> str:
    if result.row.index == 0 or result.delta is None:
        return ""
    return "0" if result.delta == 0 else f"{result.delta:+.2f}".replace("-", "−")


def scores_of(trace: Trace, view: tokens.View) -> np.ndarray | None:
    """The live map of a view: gradient × input, or saliency."""
    return trace.gradient_x_input if view == "signed" else trace.saliency


def common_scale(traces: Sequence[Trace], view: tokens.View, by: Grouping) -> float:
    """The largest score over all traces: everything compared shares one colour scale."""
    scales = [
        tokens.full_scale(trace.tokens, scores, view, by, tokens.usually_greyed(trace.tokens))
        for trace in traces
        if (scores := scores_of(trace, view)) is not None
    ]
    return max(scales, default=0.0)
