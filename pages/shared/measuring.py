"""How sensitive the answers are: who says what, every pair, and every metric."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from analysis.answers_match import CHOICES, Match
from analysis.charts import matrices as matrix_charts
from analysis.charts import metrics as charts
from analysis.charts.look import Look
from analysis.measured import Measured, measured
from analysis.responses import ResponseScores, response_scores
from analysis.results import Analysis, Answer, CandidateScores
from analysis.sensitivity_metric import Metric
from analysis.sensitivity_table import DELTA, EPSILON
from pages.shared import display, export, session

WIDTHS = {"metric": 270, "value": 80, "unit": 120, "N": 50, "95 % interval": 140, "lowest": 300, "highest": 300}
MATRICES = {"Δ log p": "delta", "JSD": "jsd", "answers": "response"}


def matches() -> tuple[Match, Match]:
    """When two answers are the same, and when one is the expected one."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        same = st.segmented_control(
            "Answers are the same by", list(CHOICES), default="case-folded", required=True, key="same by",
            bind="query-params",
        )  # fmt: skip
        correct = st.segmented_control(
            "An answer is right by", list(CHOICES), default="contains", required=True, key="right by",
            bind="query-params",
        )  # fmt: skip
    return CHOICES[same or "case-folded"], CHOICES[correct or "contains"]


def responses(page: session.Page, analysis: Analysis, answers: Sequence[Answer | None] | None) -> ResponseScores | None:
    """log P of every answer after every wording: N² scores, from a button where they are many."""
    if answers is None:
        return None
    rows = len(analysis.prompts)
    identity = (page.prompt_set, "responses")
    label = f"Score {rows} answers after {rows} wordings (for POSIX)"
    if not page.asked(export.RESPONSES, identity, label, "ask responses", free=rows <= export.SCORED_ROWS):
        return None
    lm, scores = page.loaded.lm, page.loaded.caches.scores
    return page.kept(export.RESPONSES, identity, lambda report: response_scores(lm, analysis, answers, scores, report))


def measures(
    page: session.Page,
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    responses: ResponseScores | None,
    candidates: Sequence[CandidateScores | None] | None,
    match: Match,
    correct: Match,
) -> Measured:
    """All figures of the set, computed once: N² divergences and some thousand resamples."""
    known = (answers is not None, responses is not None, candidates is not None)
    store, identity = page.loaded.caches.other, ("figures", page.prompt_set, match, correct, known)
    found = store.get(identity)
    if found is None:
        found = measured(analysis, answers, responses, match, candidates, correct=correct)
        store.put(identity, found)
    return found


def groups(found: Measured, analysis: Analysis, look: Look, chosen: int) -> None:
    """Which answer is given after how many wordings."""
    st.subheader("Who says what")
    if not found.groups:
        st.text("The answers are not there yet.")
        return
    figure = charts.answer_groups(found.groups, analysis, look, chosen)
    display.chart(figure, "answer groups", charts.HOW_TO_READ_GROUPS, session.select_from("answer groups"))


@st.fragment
def matrices(
    found: Measured, analysis: Analysis, answers: Sequence[Answer | None] | None, look: Look, chosen: int
) -> None:
    """A number for every two wordings."""
    session.follow_click()
    st.subheader("Every pair")
    kind = st.segmented_control("Matrix", list(MATRICES), default="Δ log p", required=True, key="matrix")
    matrix = next((one for one in found.matrices if one.kind == MATRICES[kind or "Δ log p"]), None)
    if matrix is None:
        st.text("The answers have not been scored after every wording.")
        return
    figure = matrix_charts.pair_matrix(matrix, analysis, look, chosen, answers)
    display.chart(figure, "pair matrix", matrix_charts.HOW_TO_READ[matrix.kind], session.select_from("pair matrix"))


def one_wording(analysis: Analysis, chosen: int) -> None:
    """The wording that the rest of the page is about."""
    labels = {row.row.index: row.label for row in analysis.prompts if row.trace is not None and row.row.index}
    st.subheader("One wording")
    session.row_box(labels, chosen if chosen in labels else next(iter(labels)), width=320)


@st.fragment
def table(found: Sequence[Metric]) -> None:
    """Every metric in a row; the selected one in full below it."""
    st.subheader("Metrics")
    frame = pd.DataFrame(
        {
            "metric": [one.name for one in found],
            "value": [_value(one) for one in found],
            "unit": [one.unit for one in found],
            "N": [one.n for one in found],
            "95 % interval": [_interval(one) for one in found],
            "lowest": [one.lowest for one in found],
            "highest": [one.highest for one in found],
            "definition": [one.definition for one in found],
            "source": [one.source for one in found],
            "note": [one.note for one in found],
        }
    )
    picked = st.dataframe(
        frame, hide_index=True, key="metrics table", on_select="rerun", selection_mode="single-row",
        column_config={name: st.column_config.Column(width=width) for name, width in WIDTHS.items()}, height="content",
    )  # fmt: skip
    rows = picked["selection"]["rows"]
    if not rows or rows[0] >= len(found):
        st.text("Choose a row to read what its metric is, what its ends mean, and where it comes from.")
        return
    one = found[rows[0]]
    interval = f", 95 % interval {_interval(one)}" if one.interval else ""
    st.text(
        f"{one.name}: {_value(one)} {one.unit}".rstrip()
        + f" over {one.n} wording{'' if one.n == 1 else 's'}{interval}."
    )
    st.text(one.definition)
    st.text(f"Lowest: {one.lowest}. Highest: {one.highest}.")
    for line in (one.note, f"Source: {one.source}." if one.source else ""):
        if line:
            st.text(f"{line[0].upper()}{line[1:]}")


def spread(analysis: Analysis, look: Look, chosen: int) -> None:
    """The wordings from best to worst, and how many of them a stable mean needs."""
    left, right = st.columns(2)
    with left:
        figure = charts.best_to_worst(analysis, look, chosen)
        display.chart(figure, "best to worst", charts.HOW_TO_READ_ORDER, session.select_from("best to worst"))
    with right:
        figure = charts.resamplings(analysis, look, EPSILON, DELTA)
        display.chart(figure, "wordings needed", charts.HOW_TO_READ_RESAMPLINGS)


def _value(one: Metric) -> str:
    if one.value is None:
        return "–"
    if isinstance(one.value, bool):
        return "yes" if one.value else "no"
    if isinstance(one.value, int):
        return str(one.value)
    return _number(one.value)


def _interval(one: Metric) -> str:
    return f"{_number(one.interval[0])} … {_number(one.interval[1])}" if one.interval else "–"


def _number(value: float) -> str:
    small = value != 0 and abs(value) < 0.0005  # 0.000 would say that there is nothing
    return f"{value:{'.1e' if small else '.3f'}}".replace("-", "−")
