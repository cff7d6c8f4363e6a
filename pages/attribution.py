"""Which words of the prompt move the answer?"""

import streamlit as st

from analysis.charts import attribution as charts
from analysis.tokens import GROUPINGS, cells
from pages.shared import attributing, display, session, trust

page = session.open_page("Attribution")
analysis = page.analysis()
look = display.look()
top = st.container()

result = session.pick_row(analysis)
with st.container(horizontal=True, vertical_alignment="bottom"):
    method = st.segmented_control(
        "Method", attributing.METHODS, default=attributing.METHODS[0], required=True, key="method", bind="query-params"
    )
    by = st.segmented_control("Group tokens by", GROUPINGS, default="token", required=True, key="group by")
foil = attributing.foil_of(page, result)
trace = result.trace

scores = attributing.scores(page, result, method, foil)
if scores is None:
    st.stop()
truth = attributing.yardstick(page, trace, foil)
with top:
    display.finding(attributing.finding(trace, scores, method, foil, truth))
display.notes(result.notes)
attributing.strip(trace, scores, foil, by)
if scores.said:
    st.text(scores.said)

left, right = st.columns(2)
with left:
    figure = charts.token_bars(
        cells(trace.tokens, by),
        scores.values,
        look,
        attributing.view(scores),
        target=trace.target.text,
        foil=foil.text if foil else None,
        converged=scores.converged,
    )
    display.chart(figure, "token scores", charts.HOW_TO_READ_TOKENS)
with right:
    trust.agreement(trace, truth, look)
trust.curve(page, trace, foil, scores, method, look)
trust.per_target_token(page, trace, look)
trust.pair(analysis, result, look)
