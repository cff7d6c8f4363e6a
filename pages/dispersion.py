"""Why does the wording matter: how far do the states drift apart, and what does that allow?"""

import streamlit as st

from analysis import dispersion_findings
from analysis.dispersion import dispersion
from pages.shared import bounds, display, drift, export, patches, session, small_network

page = session.open_page("Dispersion")
analysis = page.analysis()
rows = drift.usable(analysis)
look = display.look()
top = st.container()

with st.container(horizontal=True, vertical_alignment="bottom"):
    target = drift.target_token(rows)
    chosen = session.selected(analysis)
    session.row_box({row.row.index: row.label for row in rows if row.row.index}, chosen or rows[1].row.index, width=320)
aligned = drift.aligned(rows, target)
summed = [row for row in aligned if not row.row.is_control]
with top:
    found = dispersion(drift.traces_of(summed), target)
    pairs = bounds.against_reference(page, summed, target)
    display.finding(dispersion_findings.dispersion(found, pairs, drift.token_name(rows, target)))
    if sentence := bounds.same_last_token(summed, analysis):
        st.text(sentence)
    for failed in analysis.prompts:
        if failed.trace is None:
            display.notes(failed.notes)

left, right = st.columns(2)
with left:
    drift.by_layer(found, summed, look, chosen)
with right:
    bounds.gradient_and_displacement(found, summed, target, look, chosen)
st.subheader("Bound, estimate, truth")
bounds.by_layer(summed, target, bounds.linear_head(page), look, chosen)
bounds.certified_ranges(page, aligned, target, look, chosen)
patches.draw(page, aligned, target, look, chosen)
st.subheader("The wordings' states")
left, right = st.columns(2)
with left:
    drift.plane(aligned, target, look, chosen)
with right:
    drift.pairs(aligned, target, look, chosen)
contrast = drift.other_intents(page, summed, look)
small_network.draw(page, look, contrast)
with top:
    answers, candidates = page.known_answers(analysis), page.candidates(analysis)
    export.draw(page, analysis, answers, candidates, patches.known(page, analysis), contrast)
