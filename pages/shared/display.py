"""How findings, notes and charts are shown; all text here is literal."""

from collections.abc import Sequence

import streamlit as st

from analysis.results import Note

_ICONS = {"info": ":material/info:", "warning": ":material/warning:", "error": ":material/error:"}


def finding(sentence: str) -> None:
    """The page's first lines: one sentence, large, and literal."""
    with st.container(key="finding"):
        st.text(sentence)


def notes(found: Sequence[Note]) -> None:
    """Notes, one a line, with an icon for their level."""
    for note in found:
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="top"):
            st.markdown(_ICONS[note.level], width="content")
            st.text(note.text, width="stretch")
