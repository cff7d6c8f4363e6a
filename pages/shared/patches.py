"""Where the difference enters: one state exchanged at a time, for the selected pair and for all wordings."""

from collections.abc import Sequence

import streamlit as st

from analysis import dispersion_findings
from analysis.charts import patching as charts
from analysis.charts.look import Look
from analysis.patching import PatchingError, patch_curves
from analysis.patching_results import PatchCurve
from analysis.results import Analysis, PromptResult, Trace
from analysis.taylor import compare
from analysis.text import shortened
from analysis.tokens import shown
from pages.shared import display, session

LIVE_STATES = 800  # exchanged states that are cheap enough to run unasked
LIVE_TOKENS = 400  # of the prompt whose states are exchanged


def draw(page: session.Page, rows: Sequence[PromptResult], target: int, look: Look, chosen: int) -> None:
    """The patch curve of a pair of the user's choice, and the reference with every wording."""
    st.subheader("Where the difference enters")
    by_index = {row.row.index: row for row in rows}
    labels = {index: shown(shortened(row.label, 60)) for index, row in by_index.items()}
    start = st.selectbox(
        "In the prompt", list(by_index), format_func=labels.__getitem__, key="patch in", width=320,
        help="Its last token's state is replaced, layer by layer, by the state of the selected wording.",
    )  # fmt: skip
    a = by_index[start or 0]
    others = [row for row in rows if row is not a and _same_target(a, row)]
    if not others:
        st.text("There is no other wording with the same target to take states from.")
        return
    curves = _curves(page, a, others, target)
    if curves is None:
        return
    shown_row = next((row for row in others if row.row.index == chosen), others[0])
    curve = curves[others.index(shown_row)]
    assert a.trace is not None
    assert shown_row.trace is not None
    pair = compare(a.trace, shown_row.trace, target)
    aim, noise = a.trace.target.names[target], page.loaded.lm.card.noise_floor
    st.text(f"{labels[a.row.index]} with the states of {labels[shown_row.row.index]}:")
    st.text(dispersion_findings.patch(curve, pair.delta or 0.0))
    left, right = st.columns(2)
    with left:
        figure = charts.patch_curve(curve, a, shown_row, look, target=aim, taylor=pair.taylor, noise=noise)
        display.chart(figure, "patch curve", charts.HOW_TO_READ_CURVE, session.select_from("patch curve"))
    with right:
        drawn = list(zip(others, curves, strict=True))
        figure = charts.patch_heatmap(drawn, look, target=aim, noise=noise, selected=chosen)
        display.chart(figure, "patch heatmap", charts.HOW_TO_READ_HEATMAP, session.select_from("patch heatmap"))


def known(page: session.Page, analysis: Analysis) -> dict[tuple[int, int], list[PatchCurve]]:
    """The reference's curves that have been computed already, by places in `analysis.prompts`, for the export."""
    a = analysis.reference
    places = [place for place, row in enumerate(analysis.prompts) if place and _same_target(a, row)]
    traces = [trace for place in places if (trace := analysis.prompts[place].trace) is not None]
    found: dict[tuple[int, int], list[PatchCurve]] = {}
    for k in range(len(a.trace.target) if a.trace is not None else 0):
        assert a.trace is not None
        curves = page.loaded.caches.other.get((WHAT, key(a.trace, traces, k)))
        for place, curve in zip(places, curves or (), strict=False):
            found.setdefault((0, place), []).append(curve)
    return found


def _same_target(a: PromptResult, b: PromptResult) -> bool:
    return a.trace is not None and b.trace is not None and a.trace.target.ids == b.trace.target.ids


def key(a: Trace, others: Sequence[Trace], target: int) -> tuple[object, ...]:
    """What a run of curves is kept under."""
    return a.tokens.ids, a.target.ids, target, tuple(b.tokens.ids for b in others)


WHAT = "exchanging states"


def _curves(
    page: session.Page, a: PromptResult, others: Sequence[PromptResult], target: int
) -> list[PatchCurve] | None:
    """The curves: at once where they are cheap, else from a button."""
    traces = [row.trace for row in others if row.trace is not None]
    assert a.trace is not None
    own, identity = a.trace, key(a.trace, traces, target)
    states = len(traces) * (own.hidden.shape[1] - 1)
    cheap = states <= LIVE_STATES and len(own.tokens) <= LIVE_TOKENS
    label = f"Exchange {states} states of a prompt of {len(own.tokens)} tokens"
    if not page.asked(WHAT, identity, label, "ask patches", free=cheap):
        return None
    try:
        return page.kept(
            WHAT, identity, lambda report: patch_curves(page.loaded.lm, own, traces, report, target=target)
        )
    except PatchingError as error:
        display.error(f"{error}.")
        return None
