"""Which rewordings mean the same as the prompt, and which kinds are risky?"""

import streamlit as st

from analysis import variant_findings
from pages.shared import display, making, proposals, risky, session, variants_export

page = session.open_page("Variants")
top = st.container()

wanted = making.controls()
protected = making.protection(page)
made = making.made(page, wanted, protected)
judged = proposals.judged(page, made)
with top:
    waiting = making.waiting(made, wanted)
    display.finding(variant_findings.proposals(judged, page.prompt_set.reference, wanted.some, waiting))
    proposals.keep(page, judged)
making.shortfalls(made)
proposals.draw(page, judged)
kinds = risky.draw(page)
with top:
    variants_export.draw(page, made, judged, kinds)
