"""Prompt Sensitivity Lab: the page table."""

import streamlit as st

# Without icons here: for the browser's tab they would be fetched from Google's servers.
st.navigation(
    [
        st.Page("pages/explore.py", title="Explore", default=True),
        st.Page("pages/attribution.py", title="Attribution"),
        st.Page("pages/dispersion.py", title="Dispersion"),
        st.Page("pages/variants.py", title="Variants"),
        st.Page("pages/sensitivity.py", title="Sensitivity"),
    ],
    position="top",
).run()
