"""How sensitive is the answer to the wording, is that more than noise, and which edit did it?"""

import streamlit as st

from analysis import sensitivity_findings
from pages.shared import culprit, display, measuring, noise, sampled, second_model, sensitivity_export, session

page = session.open_page("Sensitivity")
analysis = page.analysis()
session.two_rows(analysis, "how sensitive the answer is to the wording")
look = display.look()
chosen = session.selected(analysis)
top = st.container()

match, correct = measuring.matches()
answers, candidates = page.known_answers(analysis), page.candidates(analysis)
responses = measuring.responses(page, analysis, answers)
found = measuring.measures(page, analysis, answers, responses, candidates, match, correct)
with top:
    display.finding(sensitivity_findings.finding(analysis, answers, responses, match, correct))
    display.notes(analysis.notes)
if answers is None:
    page.complete(analysis)

left, right = st.columns(2)
with left:
    measuring.groups(found, analysis, look, chosen)
with right:
    measuring.matrices(found, analysis, answers, look, chosen)
measuring.spread(analysis, look, chosen)
measuring.table(found.metrics)
samples = sampled.draw(page, analysis, answers, correct, look, chosen)
measuring.one_wording(analysis, chosen)
tests = noise.draw(page, analysis, look, chosen)
culprit.draw(page, analysis, look, chosen)
posix = responses.posix if responses else None
comparison = second_model.draw(page, analysis, answers, posix, (match, correct), look, chosen)
with top:
    sensitivity_export.draw(page, analysis, answers, candidates, (match, correct), samples, tests, comparison)
