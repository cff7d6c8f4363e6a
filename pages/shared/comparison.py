"""What Explore shows below its table: dispersion, candidates, and the selected wording beside the reference."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st
from streamlit.errors import StreamlitPageNotFoundError

from analysis.candidates import merged_forms
from analysis.charts import candidates as candidate_charts
from analysis.charts import states
from analysis.charts.look import Look
from analysis.charts.words import number
from analysis.continuation import continuation_cells
from analysis.dispersion import dispersion, planes
from analysis.results import Analysis, CandidateScores, PromptResult
from analysis.text import percent
from analysis.tokens import shown
from pages.shared import display, rows, session, target, tokens


def _traced(analysis: Analysis) -> list[PromptResult]:
    return [result for result in analysis.prompts if result.trace is not None]


@st.fragment
def plane(analysis: Analysis, look: Look, chosen: int, how_to_read: str) -> None:
    """The last-token states at a layer of the user's choice."""
    session.follow_click()
    results = _traced(analysis)
    found = planes([result.trace for result in results if result.trace])
    last = len(found) - 1
    layer = st.slider("Layer", 0, last, last, key="layer")
    figure = states.plane(found[layer], results, layer, last, look, chosen)
    display.chart(figure, "plane", how_to_read, session.select_from("plane"))


@st.fragment
def distances(analysis: Analysis, look: Look, chosen: int, how_to_read: str) -> None:
    """How far each wording's state is from the reference's, layer by layer; controls would distort the mean."""
    session.follow_click()
    results = [result for result in _traced(analysis) if not result.row.is_control]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = st.segmented_control(
            "Distance", ("raw", "relative", "cosine"), default="raw", required=True, key="distance view"
        )
        log = st.toggle("Logarithmic", key="distance log")
    found = dispersion([result.trace for result in results if result.trace])
    figure = states.distance_by_layer(found, results, look, view, log, chosen)
    display.chart(figure, "distance", how_to_read, session.select_from("distance"))


def candidates(
    analysis: Analysis, scores: Sequence[CandidateScores | None], look: Look, chosen: int, how_to_read: str
) -> None:
    """The declared candidates after every wording."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        mean = st.toggle("Mean per token", key="mean per token", help="Sums favour short candidates.")
        merged = st.toggle(
            "Count surface forms as one answer",
            key="merge forms",
            help="Forms that differ only in letter case and blanks around them: their probabilities are added.",
        )
    drawn = [merged_forms(s) if s and merged else s for s in scores]
    figure = candidate_charts.candidates(analysis, drawn, look, mean, chosen)
    display.chart(figure, "candidates", how_to_read, session.select_from("candidates"))


def target_picker(page: session.Page, listed: Sequence[tuple[int, str]]) -> None:
    """Make one of the leading next tokens the target."""
    pieces = dict(listed)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        index = st.selectbox(
            "A next token",
            list(pieces),
            format_func=lambda index: f"{shown(pieces[index])}   (id {index})",
            key="next token",
            width=240,
        )
        st.button(
            "Make it the target",
            key="pick target",
            on_click=target.pick,
            args=(page.loaded, index),
            disabled=index is None,
        )


def pair(page: session.Page, analysis: Analysis, chosen: int) -> None:
    """The selected wording and the reference, one under the other, with what differs marked."""
    results = {result.row.index: result for result in _traced(analysis)}
    reference, other = results[0], results.get(chosen)
    if other is None or chosen == 0 or reference.trace is None or other.trace is None:
        return
    st.subheader("Selected wording against the reference")
    session.row_box({index: result.label for index, result in results.items() if index}, chosen, width=320)
    scale = rows.common_scale([reference.trace, other.trace], "signed", "token")
    for result, base in ((reference, other), (other, reference)):
        assert result.trace is not None
        assert base.trace is not None
        p, nats = percent(result.trace.log_prob), result.trace.log_prob
        per_token = f", {number(nats / len(result.trace.target))} a token" if len(result.trace.target) > 1 else ""
        st.text(f"{shown(result.label)}: p {p}, {number(nats)} nats{per_token}")
        tokens.strip(
            result.trace.tokens,
            result.trace.gradient_x_input,
            key=f"pair strip {result.row.index == 0}",
            scale=scale,
            greyed=tokens.usually_greyed(result.trace.tokens),
            reference=base.trace.tokens.text,
            labels=tokens.legend_words(result.trace.target.text),
            label=f"Tokens of {result.label}",
        )
    _per_target_token(page, reference, other)
    with suppress(
        StreamlitPageNotFoundError
    ):  # where this page was opened before `app.py` has run, there are no others
        st.page_link(
            "pages/attribution.py", label="Which words did it? Open Attribution", icon=":material/arrow_forward:"
        )


def _per_target_token(page: session.Page, reference: PromptResult, other: PromptResult) -> None:
    """Where a target of several tokens gains or loses."""
    assert reference.trace is not None
    assert other.trace is not None
    if len(reference.trace.target) < 2 or reference.trace.target.ids != other.trace.target.ids:
        return
    st.text("log p of each target token, given the ones before it, in nats (parts of one character together):")
    groups = continuation_cells(page.loaded.lm.encoder.decode, reference.trace.target.ids)
    a, b = (
        [float(result.trace.target_log_probs[places.start : places.stop].sum()) for _, places in groups]
        for result in (reference, other)
        if result.trace
    )
    st.dataframe(
        {
            "token": [shown(text) for text, _ in groups],
            "reference": [round(x, 3) for x in a],
            f"wording “{shown(other.label)}”": [round(x, 3) for x in b],
            "Δ": [round(y - x, 3) for x, y in zip(a, b, strict=True)],
        },
        key="per target token",
    )
