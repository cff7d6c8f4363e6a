"""Prompt Sensitivity Lab: the page table."""

import streamlit as st

st.navigation(
    [
        st.Page("pages/explore.py", title="Explore", icon=":material/explore:", default=True),
        st.Page("pages/attribution.py", title="Attribution", icon=":material/format_ink_highlighter:"),
    ],
    position="top",
).run()
