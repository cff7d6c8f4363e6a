"""How much does the wording move the answer?"""

import streamlit as st

from analysis import candidate_findings, findings
from analysis.charts import candidates as candidate_charts
from analysis.charts import deltas, next_tokens, states
from pages.shared import comparison, display, export, rows, session

page = session.open_page("Explore")
analysis = page.analysis()
answers = page.known_answers(analysis)
candidates = page.candidates(analysis)
chosen = session.selected(analysis)
look = display.look()

display.finding(findings.explore(analysis, answers))
if candidates is not None:
    st.text(candidate_findings.candidates(analysis, candidates))
display.notes(analysis.notes)
export.draw(page, analysis, answers, candidates)
rows.table(analysis, answers)

if analysis.reference.trace is not None:
    left, right = st.columns(2)
    with left:
        bars = deltas.delta_bars(analysis, look, chosen)
        display.chart(bars, "deltas", deltas.HOW_TO_READ, session.select_from("deltas"))
    with right:
        tokens = [(index, page.loaded.lm.encoder.name_of(index)) for index in next_tokens.leading_tokens(analysis)]
        squares = next_tokens.next_tokens(analysis, tokens, look, chosen)
        display.chart(squares, "next tokens", next_tokens.HOW_TO_READ, session.select_from("next tokens"))
        comparison.target_picker(page, tokens)
    if candidates is not None and any(candidates):
        comparison.candidates(analysis, candidates, look, chosen, candidate_charts.HOW_TO_READ)
    left, right = st.columns(2)
    with left:
        comparison.plane(analysis, look, chosen, states.HOW_TO_READ_PLANE)
    with right:
        comparison.distances(analysis, look, chosen, states.HOW_TO_READ_DISTANCE)
    comparison.pair(page, analysis, chosen)

if answers is None:
    page.complete(analysis)
