"""How findings, notes and charts are shown; all text here is literal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from analysis.charts.look import Look, config, data_of, describe
from analysis.results import Note

_ICONS = {"info": ":material/info:", "warning": ":material/warning:", "error": ":material/error:"}
_FOLDER = Path(__file__).parent


def styles() -> None:
    """The project's constant styles, with larger type in presenter mode."""
    st.html(_FOLDER / "style.css")
    if st.session_state.get("presenter kept"):
        st.html(_FOLDER / "presenter.css")


def warm_up() -> None:
    """Once a session, an empty chart out of sight: the browser fetches its chart library while the model is read."""
    if "warm" not in st.session_state:
        st.session_state["warm"] = True
        st.container(key="warming").plotly_chart(
            {"data": [{"x": [0], "y": [0]}], "layout": {"height": 40}}, theme=None, key="warming chart"
        )


def look() -> Look:
    """Theme and room, for charts."""
    return Look(dark=st.context.theme.type == "dark", presenter=bool(st.session_state.get("presenter kept")))


def presenter_toggle() -> None:
    """Larger type, kept for all pages."""

    def keep() -> None:
        st.session_state["presenter kept"] = st.session_state["presenter"]

    kept = bool(st.session_state.get("presenter kept"))
    st.toggle("Presenter mode (larger type)", value=kept, key="presenter", on_change=keep)


def picture_choice() -> None:
    """What the camera button of a chart saves, kept for all pages."""

    def keep() -> None:
        st.session_state["picture kept"] = st.session_state["picture format"]

    st.segmented_control(
        "The camera button of a chart saves",
        ("png", "svg"),
        default=st.session_state.get("picture kept", "png"),
        required=True,
        key="picture format",
        on_change=keep,
    )


def finding(sentence: str) -> None:
    """The page's first lines: one sentence, large, and literal."""
    with st.container(key="finding"):
        st.text(sentence)


def notes(found: Sequence[Note]) -> None:
    """Notes, one a line, with an icon for their level."""
    for note in found:
        with st.container(horizontal=True, wrap=False, gap="xsmall", vertical_alignment="top"):
            st.markdown(_ICONS[note.level], width="content")
            st.text(note.text, width="stretch")


def warning(sentence: str) -> None:
    """One sentence about what is in doubt."""
    notes((Note("warning", sentence),))


def error(sentence: str) -> None:
    """One sentence about what cannot be done."""
    notes((Note("error", sentence),))


def chart(figure: go.Figure, key: str, how_to_read: str, clicked: Any = "ignore") -> Any:
    """A chart with its explanation and its data; returns the selection where `clicked` asks for one.

    `how_to_read` is a constant of ours, so it may be Markdown.
    """
    image = st.session_state.get("picture kept", "png")
    selection = st.plotly_chart(
        figure,
        theme=None,
        key=key,
        on_select=clicked,
        selection_mode="points",
        config=config(image, name=key),
        alt=describe(figure),
    )
    with st.container(horizontal=True, gap="xsmall"):
        with st.popover("How to read this, and how it can mislead", type="tertiary", icon=":material/help:"):
            st.markdown(how_to_read)
        st.download_button(
            "Data (CSV)",
            lambda: data_of(figure),
            file_name=f"{key}.csv",
            mime="text/csv",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
            key=f"data of {key}",
        )
    return selection


def clicked_point(key: str) -> list[Any] | None:
    """The customdata of the point that was clicked in the chart `key`, or None."""
    state = st.session_state.get(key)
    points = state["selection"]["points"] if state else []
    data = points[0].get("customdata") if points else None
    return list(data) if isinstance(data, list | tuple) else None
