"""How far apart the wordings' states are: layer by layer, in a plane, pair by pair, and against other intents."""

from collections.abc import Sequence

import streamlit as st

from analysis import dispersion_findings, explore, similarity
from analysis.charts import animation, distance, pairwise
from analysis.charts import contrast as contrast_charts
from analysis.charts.look import Look
from analysis.charts.plane import HOW_TO_READ_PLANE
from analysis.contrast import Contrast, contrast
from analysis.dispersion import Dispersion, dispersion, planes
from analysis.prompts import PromptSet
from analysis.results import Analysis, PromptResult, Trace
from analysis.tokens import shown
from pages.shared import display, other_sets, session

VIEWS = ("raw", "relative", "cosine")


def usable(analysis: Analysis) -> list[PromptResult]:
    """The rows with states; the page ends here, with what there is to say, where there are fewer than two."""
    session.two_rows(analysis, "how far its states drift from the reference's")
    return [result for result in analysis.prompts if result.trace is not None]


def target_token(rows: Sequence[PromptResult]) -> int:
    """Which token of a target of several the page looks at: states, gradients and bounds belong to one."""
    trace = rows[0].trace
    assert trace is not None
    if len(trace.target) == 1:
        return 0
    chosen = st.selectbox(
        "Target token",
        range(len(trace.target)),
        format_func=lambda k: f"{k + 1}: {shown(trace.target.names[k])}",
        key="target token",
        help="States, gradients and bounds belong to the position that predicts one token of the target.",
        width=240,
    )
    return chosen or 0


def token_name(rows: Sequence[PromptResult], target: int) -> str:
    """The token that the page looks at; empty where the target has only one."""
    trace = rows[0].trace
    return trace.target.names[target] if trace is not None and len(trace.target) > 1 else ""


def traces_of(rows: Sequence[PromptResult]) -> list[Trace]:
    return [row.trace for row in rows if row.trace is not None]


def aligned(rows: Sequence[PromptResult], target: int) -> list[PromptResult]:
    """The rows that have this token of the reference's target, the reference first."""
    reference = rows[0].trace
    assert reference is not None
    return [row for row in rows if row.trace and (target == 0 or row.trace.target.ids == reference.target.ids)]


def _view(key: str) -> tuple[distance.View, bool]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = st.segmented_control("Distance", VIEWS, default="raw", required=True, key=f"{key} view")
        log = st.toggle("Logarithmic", key=f"{key} log")
    return view, log


@st.fragment
def by_layer(found: Dispersion, rows: Sequence[PromptResult], look: Look, chosen: int) -> None:
    """The distance from the reference at every layer, with all pairs behind it."""
    session.follow_click()
    view, log = _view("by layer")
    figure = distance.distance_by_layer(found, rows, look, view, log, chosen, all_pairs=len(rows) > 2)
    display.chart(figure, "distance by layer", distance.HOW_TO_READ_DISTANCE, session.select_from("distance by layer"))


def other_intents(page: session.Page, rows: Sequence[PromptResult], look: Look) -> None:
    """Prompts of other sets as a measure: are wordings of one intent closer to each other than to those?"""
    st.subheader("One intent against others")
    chosen = other_sets.choose(
        "contrast", "Prompts of a different intent", page.prompt_set, "built-in sets that mean something else"
    )
    sets = [prompt_set for _, prompt_set in chosen]
    if not sets:
        st.text(
            "Choose sets to see whether these wordings cluster: closer to each other than to prompts of another intent."
        )
        return None
    found = _contrast(page, rows, sets)
    if found is None:
        return None
    view, log = _view("contrast")
    st.text(dispersion_findings.contrast(found, view))
    figure = contrast_charts.contrast(found, page.prompt_set.name or "this set", look, view, log)
    display.chart(figure, "contrast", contrast_charts.HOW_TO_READ)
    return found


def _contrast(page: session.Page, rows: Sequence[PromptResult], sets: Sequence[PromptSet]) -> Contrast | None:
    """Within and between; the other sets' prompts need a pass where nobody has looked at them yet."""
    lm, caches = page.loaded.lm, page.loaded.caches

    def work(report: session.Report) -> list[Trace]:
        found: list[Trace] = []
        for number, prompt_set in enumerate(sets):
            made = explore.analyse(
                lm, prompt_set, caches, attributions=False,
                report=lambda share, number=number: report((number + share) / len(sets)),
            )  # fmt: skip
            found += traces_of([result for result in made.prompts if not result.row.is_control])
        return found

    others = page.kept("reading the other sets", tuple(sets), work)
    own = traces_of(rows)
    ids = {trace.tokens.ids for trace in own}
    different = [trace for trace in others or () if trace.tokens.ids not in ids]
    if others is not None and not different:
        st.text("The other sets hold the same prompts as this one.")
    return contrast(own, different) if different and len(own) > 1 else None


@st.fragment
def plane(rows: Sequence[PromptResult], target: int, look: Look, chosen: int) -> None:
    """The states in a plane, layer after layer."""
    session.follow_click()
    kind = st.segmented_control(
        "Plane", ("PCA", "MDS raw", "MDS relative", "MDS cosine"), default="PCA", required=True, key="plane kind",
        help="PCA shows the two directions of largest spread; MDS keeps the chosen distance as well as a plane can.",
    )  # fmt: skip
    traces = traces_of(rows)
    if kind == "PCA":
        figure = animation.plane_animation(planes(traces, target), rows, look, chosen)
    else:
        view = kind.removeprefix("MDS ")
        pictures = similarity.maps(dispersion(traces, target), view)
        figure = animation.plane_animation(pictures, rows, look, chosen, view=view)
    display.chart(figure, "plane by layer", HOW_TO_READ_PLANE, session.select_from("plane by layer"))


@st.fragment
def pairs(rows: Sequence[PromptResult], target: int, look: Look, chosen: int) -> None:
    """Every pair's distance at one layer, similar wordings side by side."""
    session.follow_click()
    traces = traces_of(rows)
    last = traces[0].hidden.shape[1] - 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = st.segmented_control("Distance", VIEWS, default="raw", required=True, key="pairs view")
        layer = st.slider("Layer", 0, last, last, key="pairs layer")
    matrix = similarity.distance_matrix(dispersion(traces, target), layer, view)
    figure = pairwise.distances(matrix, rows, layer, last, look, view, chosen)
    display.chart(figure, "pairwise distances", pairwise.HOW_TO_READ, session.select_from("pairwise distances"))
